//! Batches over a cache: what is kept is answered when the map inside asks for the next ticket, the rest goes on to it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use nczarr_dispatch::{
    Key, ObjectSink, Payload, PutPart, ReadJob, ReadOutcome, ReadTicket, Version, WriteJob, WriteOutcome, WriteTicket,
};
use nczarr_model::Result;

use super::gate::{Seen, Writing};
use super::part::Part;
use super::{Answer, Cached};

/// Tickets that the map inside has, by their index.
type Out<T> = Mutex<HashMap<usize, T>>;

fn add<T>(out: &Out<T>, index: usize, what: T) {
    out.lock().unwrap_or_else(PoisonError::into_inner).insert(index, what);
}

fn take<T>(out: &Out<T>, index: usize) -> Option<T> {
    out.lock().unwrap_or_else(PoisonError::into_inner).remove(&index)
}

pub(super) struct CachedReads<'a> {
    cached: &'a Cached,
    inner: &'a dyn ReadJob,
    out: Out<(Key, Part, Option<Seen>)>,
}

impl<'a> CachedReads<'a> {
    pub(super) fn new(cached: &'a Cached, inner: &'a dyn ReadJob) -> Self {
        Self { cached, inner, out: Out::default() }
    }

    /// Gives a ticket back if what it wants is kept; else the ticket, and what its answer is to be taken for.
    fn serve<'j>(&'j self, key: &Key, ticket: ReadTicket<'j>) -> Option<ReadTicket<'j>> {
        if ticket.versioned {
            return Some(ticket);
        }
        let part = Part::of_ranges(&ticket.ranges);
        let (answer, seen) = self.cached.find(key, part);
        let found = match &answer {
            None => {
                if let Some(part) = part {
                    add(&self.out, ticket.index, (key.clone(), part, seen));
                }
                return Some(ticket);
            }
            Some(Answer::Absent) => {
                self.cached.hit(0);
                self.inner.done(ticket, Ok(None));
                return None;
            }
            Some(Answer::Whole(bytes)) => ticket.ranges.cut(key, bytes, ticket.limit),
            Some(Answer::Part(bytes)) => ticket.check_len(key, bytes.len() as u64).map(|()| (&**bytes).into()),
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

    /// What is kept is kept whole.
    fn sink<'j>(&'j self, _: &ReadTicket<'_>) -> Option<Box<dyn ObjectSink + 'j>> {
        None
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        if let Some((key, part, seen)) = take(&self.out, ticket.index) {
            match (&found, &ticket.into) {
                (Ok(Some((ReadOutcome::Bytes(bytes), _))), _) => self.cached.learn(&key, part, Some(bytes), seen),
                (Ok(Some((ReadOutcome::InPlace, _))), Some(into)) => {
                    self.cached.learn(&key, part, Some(into.filled()), seen);
                }
                (Ok(None), _) => self.cached.learn(&key, part, None, seen),
                _ => {}
            }
        }
        self.inner.done(ticket, found);
    }
}

/// Writes of which the cache knows as long as they last.
pub(super) struct WatchedWrites<'a> {
    cached: &'a Cached,
    inner: &'a dyn WriteJob,
    out: Out<Writing<'a>>,
}

impl<'a> WatchedWrites<'a> {
    pub(super) fn new(cached: &'a Cached, inner: &'a dyn WriteJob) -> Self {
        Self { cached, inner, out: Out::default() }
    }
}

#[deny(clippy::missing_trait_methods)]
impl WriteJob for WatchedWrites<'_> {
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
        // Nobody is told before the cache knows.
        drop(take(&self.out, ticket.index));
        self.inner.done(ticket, outcome);
    }
}
