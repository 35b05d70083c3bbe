//! Batches of a slow map. A failing ticket is returned at once; the others go to the inner map.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use nczarr_model::{Error, Result};
use nczarr_storage::batch::{
    ObjectSink, Payload, PutPart, ReadJob, ReadOutcome, ReadTicket, WriteJob, WriteTicket,
};
use nczarr_storage::{Key, Version, WriteOutcome};

use super::{Fault, Slow, injected, panic_at};
use crate::Op;

/// The planned result of a ticket.
enum PlannedResult {
    /// This error.
    Error(Error),
    /// Half of the bytes.
    Short,
    /// A panic.
    Panic,
}

/// Tickets in the inner map with a planned result.
#[derive(Default)]
struct PlannedResults(Mutex<HashMap<usize, PlannedResult>>);

impl PlannedResults {
    fn add(&self, index: usize, later: PlannedResult) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(index, later);
    }

    fn take(&self, index: usize) -> Option<PlannedResult> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&index)
    }
}

pub(super) struct SlowReads<'a> {
    slow: &'a Slow,
    inner: &'a dyn ReadJob,
    planned: PlannedResults,
}

impl<'a> SlowReads<'a> {
    pub(super) fn new(slow: &'a Slow, inner: &'a dyn ReadJob) -> Self {
        Self { slow, inner, planned: PlannedResults::default() }
    }
}

#[deny(clippy::missing_trait_methods)]
impl ReadJob for SlowReads<'_> {
    fn threads(&self) -> usize {
        self.inner.threads()
    }

    fn remaining(&self) -> Option<usize> {
        self.inner.remaining()
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        loop {
            let ticket = self.inner.next(key)?;
            match self.slow.begin(Op::ReadBatch, key) {
                Some(Fault::Fail(kind) | Fault::Torn(kind)) => {
                    self.inner.done(ticket, Err(injected(kind, Op::ReadBatch, key)));
                    continue;
                }
                Some(Fault::Late(kind)) => {
                    self.planned.add(ticket.index, PlannedResult::Error(injected(kind, Op::ReadBatch, key)));
                }
                Some(Fault::Short) => self.planned.add(ticket.index, PlannedResult::Short),
                Some(Fault::LatePanic) => self.planned.add(ticket.index, PlannedResult::Panic),
                Some(Fault::Panic) | None => {}
            }
            return Some(ticket);
        }
    }

    /// Delays and faults apply to whole objects.
    fn sink<'j>(&'j self, _: &ReadTicket<'_>) -> Option<Box<dyn ObjectSink + 'j>> {
        None
    }

    fn done(&self, mut ticket: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        let filled = |ticket: &ReadTicket<'_>| ticket.into.as_ref().map_or(0, |into| into.filled().len());
        match &found {
            Ok(Some((ReadOutcome::Bytes(bytes), _))) => self.slow.carry(bytes.len()),
            Ok(Some((ReadOutcome::InPlace, _))) => self.slow.carry(filled(&ticket)),
            Ok(None) | Err(_) => {}
        }
        match (self.planned.take(ticket.index), found) {
            (Some(PlannedResult::Panic), Ok(_)) => panic_at(Op::ReadBatch, &Key::root()),
            (Some(PlannedResult::Error(error)), Ok(_)) => self.inner.done(ticket, Err(error)),
            (Some(PlannedResult::Short), Ok(Some((found, version)))) => {
                let bytes = match found {
                    ReadOutcome::Bytes(bytes) => bytes[..bytes.len() / 2].to_vec(),
                    ReadOutcome::InPlace => {
                        let into = ticket.into.as_ref().map(|into| into.filled()).unwrap_or_default();
                        into[..into.len() / 2].to_vec()
                    }
                };
                if let Some(into) = &mut ticket.into {
                    into.clear();
                }
                self.inner.done(ticket, Ok(Some((ReadOutcome::Bytes(&bytes), version))));
            }
            (_, found) => self.inner.done(ticket, found),
        }
    }
}

pub(super) struct SlowWrites<'a> {
    slow: &'a Slow,
    inner: &'a dyn WriteJob,
    planned: PlannedResults,
}

impl<'a> SlowWrites<'a> {
    pub(super) fn new(slow: &'a Slow, inner: &'a dyn WriteJob) -> Self {
        Self { slow, inner, planned: PlannedResults::default() }
    }

    /// Stores half of a ticket's value.
    fn tear(&self, ticket: &WriteTicket, key: &Key) -> Result<()> {
        let mut scratch = Vec::new();
        let value = match self.inner.value(ticket.index, &mut scratch)? {
            Payload::Scratch => &scratch,
            Payload::Borrowed(value) => value,
        };
        let half = &value[..value.len() / 2];
        self.slow.carry(half.len());
        self.slow.inner.write_if(key, half, &ticket.precondition).map(drop)
    }
}

#[deny(clippy::missing_trait_methods)]
impl WriteJob for SlowWrites<'_> {
    fn threads(&self) -> usize {
        self.inner.threads()
    }

    fn next(&self, key: &mut Key) -> Option<WriteTicket> {
        loop {
            let ticket = self.inner.next(key)?;
            let error = |kind| injected(kind, Op::WriteBatch, key);
            let outcome = match self.slow.begin(Op::WriteBatch, key) {
                Some(Fault::Fail(kind)) => error(kind),
                Some(Fault::Torn(kind)) => match self.tear(&ticket, key) {
                    Ok(()) => error(kind),
                    Err(other) => other,
                },
                Some(Fault::Late(kind)) => {
                    self.planned.add(ticket.index, PlannedResult::Error(error(kind)));
                    return Some(ticket);
                }
                Some(Fault::LatePanic) => {
                    self.planned.add(ticket.index, PlannedResult::Panic);
                    return Some(ticket);
                }
                Some(Fault::Short | Fault::Panic) | None => return Some(ticket),
            };
            self.inner.done(ticket, Err(outcome));
        }
    }

    fn value(&self, index: usize, scratch: &mut Vec<u8>) -> Result<Payload<'_>> {
        let payload = self.inner.value(index, scratch)?;
        self.slow.carry(match &payload {
            Payload::Scratch => scratch.len(),
            Payload::Borrowed(bytes) => bytes.len(),
        });
        Ok(payload)
    }

    fn has_parts(&self) -> bool {
        self.inner.has_parts()
    }

    fn parts(&self, index: usize, put: &mut PutPart<'_>) -> Result<()> {
        self.inner.parts(index, &mut |part| {
            self.slow.carry(part.len());
            put(part)
        })
    }

    fn done(&self, ticket: WriteTicket, outcome: Result<WriteOutcome>) {
        match (self.planned.take(ticket.index), outcome) {
            (Some(PlannedResult::Panic), Ok(_)) => panic_at(Op::WriteBatch, &Key::root()),
            (Some(PlannedResult::Error(error)), Ok(_)) => self.inner.done(ticket, Err(error)),
            (_, outcome) => self.inner.done(ticket, outcome),
        }
    }
}
