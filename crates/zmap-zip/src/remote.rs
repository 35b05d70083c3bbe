//! Batches of reads from a remote archive: many requests at a time, one for each member.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nczarr_model::{Error, ErrorKind, Result};
use nczarr_storage::batch::{
    FetchReply, FetchRequest, FetchResult, InFlightLimits, Ranges, ReadJob, ReadOutcome, ReadTicket,
};
use nczarr_storage::source::ByteSource;
use nczarr_storage::{Key, Version};

use crate::listing::{MemberEntry, MemberStorage};
use crate::member::{self, RemoteMember};
use crate::{ZipMap, batch};

/// The most requests in flight.
const IN_FLIGHT: InFlightLimits = InFlightLimits { requests: 64, bytes: 256 << 20 };

/// Members up to this length are read whole.
const READ_WHOLE_UP_TO: u64 = 256 << 10;

/// A member that is being read.
struct RemoteRead {
    name: String,
    source: Arc<dyn ByteSource>,
    entry: MemberEntry,
    version: Option<Version>,
    wanted: FetchRequest,
    reply: FetchReply,
}

impl RemoteRead {
    /// Processes bytes that begin at `at`: replies, or requests missing bytes. It must not block.
    fn received(self, at: u64, read: Result<Vec<u8>>) {
        let FetchRequest { key, ranges, limit, .. } = &self.wanted;
        let outcome = match read.and_then(|bytes| member::within(&self.entry, at, bytes)) {
            Ok(RemoteMember::There(range)) => {
                let source = Arc::clone(&self.source);
                return source.start_read(range, Box::new(move |read| self.received(range.offset, read)));
            }
            Ok(RemoteMember::Whole(bytes)) => ranges.cut(key, &bytes, *limit).map(Cow::into_owned),
            Err(error) => Err(error),
        };
        let named = |error: Error| error.at(format_args!("{}: key {:?}", self.name, key.as_str()));
        let found = outcome.map(|bytes| Some((bytes, self.version))).map_err(named);
        self.reply.send(found);
    }
}

/// A job with one ticket.
struct SingleRead<'w> {
    wanted: &'w FetchRequest,
    found: Mutex<Option<FetchResult>>,
    taken: AtomicBool,
}

impl ReadJob for SingleRead<'_> {
    fn threads(&self) -> usize {
        1
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        if self.taken.swap(true, Ordering::Relaxed) {
            return None;
        }
        key.set(&self.wanted.key);
        let FetchRequest { ranges, limit, versioned, .. } = self.wanted;
        Some(ReadTicket::new(0, ranges.clone(), *limit).versioned(*versioned))
    }

    fn done(&self, _: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        let found = found.map(|found| {
            found.map(|(found, version)| match found {
                ReadOutcome::Bytes(bytes) => (bytes.to_vec(), version),
                ReadOutcome::InPlace => (Vec::new(), version),
            })
        });
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
    }
}

/// Runs a batch of reads.
pub(crate) fn read(map: &ZipMap, source: &Arc<dyn ByteSource>, job: &dyn ReadJob) {
    nczarr_storage::batch::read_overlapped(job, IN_FLIGHT, &mut |wanted, reply| {
        begin(map, source, wanted, reply)
    });
}

/// Starts the read of a ticket: with the member's header, whose length is unknown before the first read.
fn begin(map: &ZipMap, source: &Arc<dyn ByteSource>, wanted: FetchRequest, reply: FetchReply) {
    let entry = match map.find(&wanted.key) {
        Ok(Some(entry)) => entry,
        Ok(None) => return reply.send(Ok(None)),
        Err(error) => return reply.send(Err(error)),
    };
    let stored = matches!(entry.form, MemberStorage::Stored);
    let version = wanted.versioned.then(|| map.version(&entry));
    // Small parts of large members are read individually by `batch`.
    let whole = matches!(wanted.ranges, Ranges::All) || entry.len <= READ_WHOLE_UP_TO;
    if !stored || !whole || entry.len > (wanted.limit as u64).max(READ_WHOLE_UP_TO) {
        return reply.send(serve_locally(map, &wanted));
    }
    let header = map.folder().len() + 1 + wanted.key.as_str().len();
    let (at, range) = member::around(&entry, header);
    let (name, source_of, entry) = (map.path().display().to_string(), Arc::clone(source), entry.copy());
    let coming = RemoteRead { name, source: source_of, entry, version, wanted, reply };
    source.start_read(range, Box::new(move |read| coming.received(at, read)));
}

/// Serves a ticket on this thread.
fn serve_locally(map: &ZipMap, wanted: &FetchRequest) -> FetchResult {
    let one = SingleRead { wanted, found: Mutex::new(None), taken: AtomicBool::new(false) };
    batch::read(map, &one);
    let found = one.found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.unwrap_or_else(|| Err(ErrorKind::Internal.context("the read returned no result")))
}
