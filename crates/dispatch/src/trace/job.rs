//! Batches whose tickets are told one by one, from when a ticket is taken to when it is given back.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use nczarr_model::Result;

use super::map::tell;
use crate::{Found, Key, Payload, PutPart, ReadJob, ReadTicket, Sink, Version, WriteJob, WriteTicket, Written};

/// The tickets that are out: their keys, when they were taken, and how many bytes they move if that is known.
#[derive(Default)]
struct Out(Mutex<HashMap<usize, (Key, Instant, u64)>>);

impl Out {
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

/// A batch of reads that is told.
pub(super) struct TracedReads<'a> {
    inner: &'a dyn ReadJob,
    out: Out,
}

impl<'a> TracedReads<'a> {
    pub fn new(inner: &'a dyn ReadJob) -> Self {
        Self { inner, out: Out::default() }
    }
}

#[deny(clippy::missing_trait_methods)]
impl ReadJob for TracedReads<'_> {
    fn threads(&self) -> usize {
        self.inner.threads()
    }

    fn left(&self) -> Option<usize> {
        self.inner.left()
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        let ticket = self.inner.next(key)?;
        self.out.take(ticket.index, key);
        Some(ticket)
    }

    /// What is told is told of whole objects.
    fn sink<'j>(&'j self, _: &ReadTicket<'_>) -> Option<Box<dyn Sink + 'j>> {
        None
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(Found<'_>, Option<Version>)>>) {
        let (key, started, _) = self.out.back(ticket.index);
        let bytes = found.as_ref().map(|found| match found {
            None => 0,
            Some((Found::Bytes(bytes), _)) => bytes.len() as u64,
            Some((Found::InPlace, _)) => ticket.into.as_ref().map_or(0, |into| into.filled().len() as u64),
        });
        tell("batch read", &key, bytes, started);
        self.inner.done(ticket, found);
    }
}

/// A batch of writes that is told.
pub(super) struct TracedWrites<'a> {
    inner: &'a dyn WriteJob,
    out: Out,
}

impl<'a> TracedWrites<'a> {
    pub fn new(inner: &'a dyn WriteJob) -> Self {
        Self { inner, out: Out::default() }
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
                Payload::Caller(bytes) => bytes.len(),
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

    fn done(&self, ticket: WriteTicket, outcome: Result<Written>) {
        let (key, started, bytes) = self.out.back(ticket.index);
        let moved = outcome.as_ref().map(|written| match written {
            Written::Done(_) => bytes,
            Written::Lost => 0,
        });
        tell("batch write", &key, moved, started);
        self.inner.done(ticket, outcome);
    }
}
