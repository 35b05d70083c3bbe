//! [`read_overlapped`]: runs a batch of reads over asynchronous storage, with many requests in flight.
//!
//! The calling thread starts requests and waits. Results go to the pool: threads that receive bytes never
//! decode, and threads that decode never wait for bytes. This module knows no runtime and no protocol. The
//! caller starts each [`FetchRequest`] and answers its [`FetchReply`] from any thread.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};

use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::StopSignal;

use super::job::{Ranges, ReadJob, ReadOutcome, ReadTicket};
use super::read::{all_ranges, cut};
use crate::ByteRange;
use crate::{Key, Version};

/// Limits for the requests in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InFlightLimits {
    /// The number of requests whose bytes are not consumed yet.
    pub requests: usize,
    /// The bytes of these requests, as far as their sizes are known. One request always starts.
    pub bytes: u64,
}

/// A read of one object.
#[derive(Debug)]
pub struct FetchRequest {
    /// The key of the object.
    pub key: Key,
    /// The parts wanted.
    pub ranges: Ranges,
    /// The largest allowed result, in bytes. A longer one is an error.
    pub limit: usize,
    /// Whether the reply must contain the version.
    pub versioned: bool,
}

impl FetchRequest {
    /// Returns the ranges if the request wants several; empty ranges are left out.
    ///
    /// # Errors
    /// `NC_EIO` if their total length exceeds the limit; `NC_EINVAL` for ranges beyond 64 bits.
    pub fn parts(&self) -> Result<Option<Vec<ByteRange>>> {
        match self.ranges {
            Ranges::All | Ranges::One(_) | Ranges::Suffix(_) => Ok(None),
            _ => {
                let mut parts = all_ranges(&self.key, &self.ranges, self.limit)?;
                parts.retain(|part| part.len != Some(0));
                Ok(Some(parts))
            }
        }
    }
}

/// The bytes read from one object, with its version. Several ranges follow one another. `None`: no such
/// object.
pub type FetchResult = Result<Option<(Vec<u8>, Option<Version>)>>;

/// Receives the result of a fetch. If you drop it unused, the ticket gets an error.
#[derive(Debug)]
pub struct FetchReply {
    number: u64,
    to: Option<Sender<FetchMessage>>,
}

#[derive(Debug)]
enum FetchMessage {
    Came(u64, FetchResult),
    /// This many bytes are consumed.
    Freed(u64),
}

impl FetchReply {
    /// Delivers the result.
    pub fn send(mut self, found: FetchResult) {
        if let Some(to) = self.to.take() {
            // The receiver is gone once the batch is over.
            let _ = to.send(FetchMessage::Came(self.number, found));
        }
    }
}

impl Drop for FetchReply {
    fn drop(&mut self) {
        if let Some(to) = self.to.take() {
            let lost = Err(ErrorKind::Internal.context("the storage dropped a request without an answer"));
            let _ = to.send(FetchMessage::Came(self.number, lost));
        }
    }
}

/// Reports consumed bytes when dropped, also on panic.
struct ReleaseOnDrop(Sender<FetchMessage>, u64);

impl Drop for ReleaseOnDrop {
    fn drop(&mut self) {
        let _ = self.0.send(FetchMessage::Freed(self.1));
    }
}

/// Runs a batch. `begin` is called on this thread for each object; its reply may come from any thread.
pub fn read_overlapped(
    job: &dyn ReadJob,
    most: InFlightLimits,
    begin: &mut dyn FnMut(FetchRequest, FetchReply),
) {
    let (to, from) = channel();
    #[cfg(feature = "parallel")]
    if job.threads() > 1 {
        StopSignal::pass_on(|signal| {
            rayon_core::in_place_scope(|scope| {
                StopSignal::run(signal, || {
                    drive(job, most, begin, &to, &from, &mut |done| {
                        scope.spawn(move |_| StopSignal::run(signal, || done.run()));
                    });
                });
            });
        });
        return;
    }
    drive(job, most, begin, &to, &from, &mut |done| done.run());
}

/// A finished fetch.
struct CompletedFetch<'s, 'j> {
    job: &'s dyn ReadJob,
    key: Key,
    ticket: ReadTicket<'j>,
    found: FetchResult,
    freeing: ReleaseOnDrop,
}

impl CompletedFetch<'_, '_> {
    fn run(self) {
        let Self { job, key, ticket, found, freeing } = self;
        match found {
            Ok(Some((bytes, version))) => match ticket.check_len(&key, bytes.len() as u64) {
                Ok(()) => job.done(ticket, Ok(Some((ReadOutcome::Bytes(&bytes), version)))),
                Err(error) => job.done(ticket, Err(error)),
            },
            Ok(None) => job.done(ticket, Ok(None)),
            Err(error) => job.done(ticket, Err(error)),
        }
        drop(freeing);
    }
}

fn drive<'s>(
    job: &'s dyn ReadJob,
    most: InFlightLimits,
    begin: &mut dyn FnMut(FetchRequest, FetchReply),
    to: &Sender<FetchMessage>,
    from: &Receiver<FetchMessage>,
    hand: &mut dyn FnMut(CompletedFetch<'s, 's>),
) {
    let mut waiting: HashMap<u64, (Key, ReadTicket<'s>, u64)> = HashMap::new();
    let (mut number, mut requests, mut bytes, mut ended) = (0u64, 0usize, 0u64, false);
    let mut key = Key::root();
    loop {
        while !ended && (requests == 0 || (requests < most.requests && bytes < most.bytes)) {
            let Some(ticket) = job.next(&mut key) else {
                ended = true;
                break;
            };
            if let Err(error) = StopSignal::check_current() {
                job.done(ticket, Err(error));
                continue;
            }
            let weight = ticket.hint as u64;
            let (ranges, limit, versioned) = (ticket.ranges.clone(), ticket.limit, ticket.versioned);
            waiting.insert(number, (key.clone(), ticket, weight));
            let reply = FetchReply { number, to: Some(to.clone()) };
            number += 1;
            requests += 1;
            bytes = bytes.saturating_add(weight);
            begin(FetchRequest { key: key.clone(), ranges, limit, versioned }, reply);
        }
        if requests == 0 {
            return;
        }
        // The channel stays open because this function holds a sender.
        let Ok(message) = from.recv() else { return };
        match message {
            FetchMessage::Freed(weight) => {
                requests -= 1;
                bytes = bytes.saturating_sub(weight);
            }
            FetchMessage::Came(number, found) => {
                let Some((key, ticket, weight)) = waiting.remove(&number) else { continue };
                // Counts the real size from now on instead of the expected one.
                let real = found
                    .as_ref()
                    .ok()
                    .and_then(Option::as_ref)
                    .map_or(0, |(bytes, _)| bytes.capacity() as u64);
                bytes = bytes.saturating_sub(weight).saturating_add(real);
                hand(CompletedFetch { job, key, ticket, found, freeing: ReleaseOnDrop(to.clone(), real) });
            }
        }
    }
}

/// Concatenates `parts`, taken from `pieces`. These are the results for the ranges of
/// [`coalesce`](super::coalesce), each with its offset.
///
/// # Errors
/// `NC_EIO` if a part is incomplete.
pub fn gather(key: &Key, parts: &[ByteRange], pieces: &[(u64, impl AsRef<[u8]>)]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    for part in parts {
        let holder = pieces.partition_point(|(from, _)| *from <= part.offset).checked_sub(1);
        let (from, bytes) = holder
            .and_then(|at| pieces.get(at))
            .map_or((part.offset, &[][..]), |(from, bytes)| (*from, bytes.as_ref()));
        out.extend_from_slice(cut(key, bytes, from, *part)?);
    }
    Ok(out)
}
