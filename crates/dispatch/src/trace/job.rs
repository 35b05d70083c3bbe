//! Batches that log each ticket, from its start to its end.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use nczarr_model::Result;

use super::operation::log_operation;
use nczarr_storage::batch::{
    ObjectSink, Payload, PutPart, ReadJob, ReadOutcome, ReadTicket, WriteJob, WriteTicket,
};
use nczarr_storage::{Key, Version, WriteOutcome};

/// The open tickets: key, start time, and number of bytes if known.
#[derive(Default)]
struct OpenTickets(Mutex<HashMap<usize, (Key, Instant, u64)>>);

impl OpenTickets {
    fn take(&self, index: usize, key: &Key) {
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        out.insert(index, (key.clone(), Instant::now(), 0));
    }

    fn bytes(&self, index: usize, bytes: usize) {
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((.., known)) = out.get_mut(&index) {
            *known = bytes as u64;
        }
    }

    fn back(&self, index: usize) -> (Key, Instant, u64) {
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        out.remove(&index).unwrap_or_else(|| (Key::root(), Instant::now(), 0))
    }
}

/// A logged batch of reads.
pub(super) struct TracedReads<'a> {
    inner: &'a dyn ReadJob,
    out: OpenTickets,
}

impl<'a> TracedReads<'a> {
    pub fn new(inner: &'a dyn ReadJob) -> Self {
        Self { inner, out: OpenTickets::default() }
    }
}

#[deny(clippy::missing_trait_methods)]
impl ReadJob for TracedReads<'_> {
    fn threads(&self) -> usize {
        self.inner.threads()
    }

    fn remaining(&self) -> Option<usize> {
        self.inner.remaining()
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        let ticket = self.inner.next(key)?;
        self.out.take(ticket.index, key);
        Some(ticket)
    }

    /// Only whole objects are logged.
    fn sink<'j>(&'j self, _: &ReadTicket<'_>) -> Option<Box<dyn ObjectSink + 'j>> {
        None
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        let (key, started, _) = self.out.back(ticket.index);
        let bytes = found.as_ref().map(|found| match found {
            None => 0,
            Some((ReadOutcome::Bytes(bytes), _)) => bytes.len() as u64,
            Some((ReadOutcome::InPlace, _)) => {
                ticket.into.as_ref().map_or(0, |into| into.filled().len() as u64)
            }
        });
        log_operation("batch read", &key, bytes, started);
        self.inner.done(ticket, found);
    }
}

/// A logged batch of writes.
pub(super) struct TracedWrites<'a> {
    inner: &'a dyn WriteJob,
    out: OpenTickets,
}

impl<'a> TracedWrites<'a> {
    pub fn new(inner: &'a dyn WriteJob) -> Self {
        Self { inner, out: OpenTickets::default() }
    }
}

#[deny(clippy::missing_trait_methods)]
impl WriteJob for TracedWrites<'_> {
    fn threads(&self) -> usize {
        self.inner.threads()
    }

    fn next(&self, key: &mut Key) -> Option<WriteTicket> {
        let ticket = self.inner.next(key)?;
        self.out.take(ticket.index, key);
        Some(ticket)
    }

    fn value(&self, index: usize, scratch: &mut Vec<u8>) -> Result<Payload<'_>> {
        let payload = self.inner.value(index, scratch)?;
        self.out.bytes(
            index,
            match &payload {
                Payload::Scratch => scratch.len(),
                Payload::Borrowed(bytes) => bytes.len(),
            },
        );
        Ok(payload)
    }

    fn has_parts(&self) -> bool {
        self.inner.has_parts()
    }

    fn parts(&self, index: usize, put: &mut PutPart<'_>) -> Result<()> {
        let mut sum = 0;
        let outcome = self.inner.parts(index, &mut |part| {
            sum += part.len();
            put(part)
        });
        self.out.bytes(index, sum);
        outcome
    }

    fn done(&self, ticket: WriteTicket, outcome: Result<WriteOutcome>) {
        let (key, started, bytes) = self.out.back(ticket.index);
        let moved = outcome.as_ref().map(|written| match written {
            WriteOutcome::Done(_) => bytes,
            WriteOutcome::Conflict => 0,
        });
        log_operation("batch write", &key, moved, started);
        self.inner.done(ticket, outcome);
    }
}
