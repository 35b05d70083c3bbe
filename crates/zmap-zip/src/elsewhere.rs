//! Batches of reads from an archive that lies somewhere else: many requests at a time, one for each member.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nczarr_dispatch::{
    ByteSource, FetchReply, FetchRequest, FetchResult, InFlightLimits, Key, Ranges, ReadJob, ReadOutcome, ReadTicket,
    Version,
};
use nczarr_model::{Error, ErrorKind, Result};

use crate::listing::{Entry, Form};
use crate::member::{self, Came};
use crate::{ZipMap, batch};

/// Requests under way at one time, where members lie elsewhere.
const AT_ONCE: InFlightLimits = InFlightLimits { requests: 64, bytes: 256 << 20 };

/// Members up to this length are read whole, whatever is wanted of them.
const TOGETHER: u64 = 256 << 10;

/// A member that is being read elsewhere.
struct Coming {
    name: String,
    source: Arc<dyn ByteSource>,
    entry: Entry,
    version: Option<Version>,
    wanted: FetchRequest,
    reply: FetchReply,
}

impl Coming {
    /// Takes bytes that begin at `at`, and answers, or asks for what is missing. Nothing may wait here.
    fn came(self, at: u64, read: Result<Vec<u8>>) {
        let FetchRequest { key, ranges, limit, .. } = &self.wanted;
        let outcome = match read.and_then(|bytes| member::within(&self.entry, at, bytes)) {
            Ok(Came::There(range)) => {
                let source = Arc::clone(&self.source);
                return source.start_read(range, Box::new(move |read| self.came(range.offset, read)));
            }
            Ok(Came::Whole(bytes)) => ranges.cut(key, &bytes, *limit).map(Cow::into_owned),
            Err(error) => Err(error),
        };
        let named = |error: Error| error.at(format_args!("{}: key {:?}", self.name, key.as_str()));
        let found = outcome.map(|bytes| Some((bytes, self.version))).map_err(named);
        self.reply.send(found);
    }
}

/// A job of one ticket.
struct One<'w> {
    wanted: &'w FetchRequest,
    found: Mutex<Option<FetchResult>>,
    taken: AtomicBool,
}

impl ReadJob for One<'_> {
    fn threads(&self) -> usize {
        1
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        if self.taken.swap(true, Ordering::Relaxed) {
            return None;
        }
        key.set(&self.wanted.key);
        let FetchRequest { ranges, limit, versioned, .. } = self.wanted;
        Some(ReadTicket { index: 0, ranges: ranges.clone(), hint: 0, limit: *limit, versioned: *versioned, into: None })
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
    nczarr_dispatch::read_overlapped(job, AT_ONCE, &mut |wanted, reply| begin(map, source, wanted, reply));
}

/// Begins to read what a ticket wants of a member that lies elsewhere: with the record before it, of which it is not
/// known how long it is, if that was not read before.
fn begin(map: &ZipMap, source: &Arc<dyn ByteSource>, wanted: FetchRequest, reply: FetchReply) {
    let entry = match map.find(&wanted.key) {
        Ok(Some(entry)) => entry,
        Ok(None) => return reply.send(Ok(None)),
        Err(error) => return reply.send(Err(error)),
    };
    let stored = matches!(entry.form, Form::Stored);
    let version = wanted.versioned.then(|| map.version(&entry));
    // Small parts of large members are asked for one by one, by who knows how.
    let whole = matches!(wanted.ranges, Ranges::All) || entry.len <= TOGETHER;
    if !stored || !whole || entry.len > (wanted.limit as u64).max(TOGETHER) {
        return reply.send(read_here(map, &wanted));
    }
    let header = map.folder().len() + 1 + wanted.key.as_str().len();
    let (at, range) = member::around(&entry, header);
    let (name, source_of, entry) = (map.path().display().to_string(), Arc::clone(source), entry.copy());
    let coming = Coming { name, source: source_of, entry, version, wanted, reply };
    source.start_read(range, Box::new(move |read| coming.came(at, read)));
}

/// Reads what a ticket wants, on this thread.
fn read_here(map: &ZipMap, wanted: &FetchRequest) -> FetchResult {
    let one = One { wanted, found: Mutex::new(None), taken: AtomicBool::new(false) };
    batch::read(map, &one);
    let found = one.found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.unwrap_or_else(|| Err(ErrorKind::Internal.context("no answer")))
}
