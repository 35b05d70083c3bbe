//! Batches over a cache: cached tickets are answered when the inner map asks for the next one; the others go
//! to it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use nczarr_model::Result;
use nczarr_storage::batch::{
    ObjectSink, Payload, PutPart, ReadJob, ReadOutcome, ReadTicket, WriteJob, WriteTicket,
};
use nczarr_storage::{Key, Version, WriteOutcome};

use super::in_flight::{SlotState, WriterGuard};
use super::part::ObjectPart;
use super::{CacheAnswer, Cached};

/// Tickets that the inner map holds, by index.
type Outstanding<T> = Mutex<HashMap<usize, T>>;

fn add<T>(out: &Outstanding<T>, index: usize, what: T) {
    out.lock().unwrap_or_else(PoisonError::into_inner).insert(index, what);
}

fn take<T>(out: &Outstanding<T>, index: usize) -> Option<T> {
    out.lock().unwrap_or_else(PoisonError::into_inner).remove(&index)
}

pub(super) struct CachedReads<'a> {
    cached: &'a Cached,
    inner: &'a dyn ReadJob,
    out: Outstanding<(Key, ObjectPart, Option<SlotState>)>,
}

impl<'a> CachedReads<'a> {
    pub(super) fn new(cached: &'a Cached, inner: &'a dyn ReadJob) -> Self {
        Self { cached, inner, out: Outstanding::default() }
    }

    /// Answers a ticket from the cache; returns it if that is not possible.
    fn serve<'j>(&'j self, key: &Key, ticket: ReadTicket<'j>) -> Option<ReadTicket<'j>> {
        if ticket.versioned {
            return Some(ticket);
        }
        let part = ObjectPart::of_ranges(&ticket.ranges);
        let (answer, seen) = self.cached.find(key, part);
        let found = match &answer {
            None => {
                if let Some(part) = part {
                    add(&self.out, ticket.index, (key.clone(), part, seen));
                }
                return Some(ticket);
            }
            Some(CacheAnswer::Absent) => {
                self.cached.hit(0);
                self.inner.done(ticket, Ok(None));
                return None;
            }
            Some(CacheAnswer::Whole(bytes)) => ticket.ranges.cut(key, bytes, ticket.limit),
            Some(CacheAnswer::Part(bytes)) => {
                ticket.check_len(key, bytes.len() as u64).map(|()| (&**bytes).into())
            }
        };
        self.cached.hit(found.as_ref().map_or(0, |bytes| bytes.len()));
        match found {
            Ok(bytes) => self.inner.done(ticket, Ok(Some((ReadOutcome::Bytes(&bytes), None)))),
            Err(error) => self.inner.done(ticket, Err(error)),
        }
        None
    }
}

#[deny(clippy::missing_trait_methods)]
impl ReadJob for CachedReads<'_> {
    fn threads(&self) -> usize {
        self.inner.threads()
    }

    fn remaining(&self) -> Option<usize> {
        self.inner.remaining()
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        loop {
            let ticket = self.inner.next(key)?;
            if let Some(ticket) = self.serve(key, ticket) {
                return Some(ticket);
            }
        }
    }

    /// The cache needs whole answers, so no sinks.
    fn sink<'j>(&'j self, _: &ReadTicket<'_>) -> Option<Box<dyn ObjectSink + 'j>> {
        None
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        if let Some((key, part, seen)) = take(&self.out, ticket.index) {
            match (&found, &ticket.into) {
                (Ok(Some((ReadOutcome::Bytes(bytes), _))), _) => {
                    self.cached.record_answer(&key, part, Some(bytes), seen)
                }
                (Ok(Some((ReadOutcome::InPlace, _))), Some(into)) => {
                    self.cached.record_answer(&key, part, Some(into.filled()), seen);
                }
                (Ok(None), _) => self.cached.record_answer(&key, part, None, seen),
                _ => {}
            }
        }
        self.inner.done(ticket, found);
    }
}

/// A batch of writes that invalidates the cache while each write lasts.
pub(super) struct TrackedWrites<'a> {
    cached: &'a Cached,
    inner: &'a dyn WriteJob,
    out: Outstanding<WriterGuard<'a>>,
}

impl<'a> TrackedWrites<'a> {
    pub(super) fn new(cached: &'a Cached, inner: &'a dyn WriteJob) -> Self {
        Self { cached, inner, out: Outstanding::default() }
    }
}

#[deny(clippy::missing_trait_methods)]
impl WriteJob for TrackedWrites<'_> {
    fn threads(&self) -> usize {
        self.inner.threads()
    }

    fn next(&self, key: &mut Key) -> Option<WriteTicket> {
        loop {
            let ticket = self.inner.next(key)?;
            match self.cached.begin(key) {
                Ok(writing) => {
                    add(&self.out, ticket.index, writing);
                    return Some(ticket);
                }
                Err(error) => self.inner.done(ticket, Err(error)),
            }
        }
    }

    fn value(&self, index: usize, scratch: &mut Vec<u8>) -> Result<Payload<'_>> {
        self.inner.value(index, scratch)
    }

    fn has_parts(&self) -> bool {
        self.inner.has_parts()
    }

    fn parts(&self, index: usize, put: &mut PutPart<'_>) -> Result<()> {
        self.inner.parts(index, put)
    }

    fn done(&self, ticket: WriteTicket, outcome: Result<WriteOutcome>) {
        // The cache must know before the caller does.
        drop(take(&self.out, ticket.index));
        self.inner.done(ticket, outcome);
    }
}
