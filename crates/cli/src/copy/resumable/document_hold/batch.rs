//! The batches of a [`DocumentHold`]: batches of the inner map without the documents.

use nczarr::storage::batch::{
    ObjectSink, Payload, PutPart, ReadJob, ReadOutcome, ReadTicket, WriteJob, WriteTicket,
};
use nczarr::storage::{Key, Version, WriteOutcome};
use nczarr_model::Result;

use super::hold::DocumentHold;

/// A batch of reads; reads of documents are answered from memory.
pub(super) struct HeldReads<'a> {
    pub(super) job: &'a dyn ReadJob,
    pub(super) hold: &'a DocumentHold,
}

#[deny(clippy::missing_trait_methods)]
impl ReadJob for HeldReads<'_> {
    fn threads(&self) -> usize {
        self.job.threads()
    }

    fn remaining(&self) -> Option<usize> {
        self.job.remaining()
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        loop {
            let ticket = self.job.next(key)?;
            if !self.hold.is_held(key) {
                return Some(ticket);
            }
            match self.hold.held(key) {
                None => self.job.done(ticket, Ok(None)),
                Some((bytes, write)) => {
                    let part = ticket.ranges.cut(key, &bytes, ticket.limit);
                    let version = ticket.versioned.then(|| Version::comparable(write));
                    match part {
                        Ok(part) => self.job.done(ticket, Ok(Some((ReadOutcome::Bytes(&part), version)))),
                        Err(error) => self.job.done(ticket, Err(error)),
                    }
                }
            }
        }
    }

    fn sink<'j>(&'j self, ticket: &ReadTicket<'_>) -> Option<Box<dyn ObjectSink + 'j>> {
        self.job.sink(ticket)
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        self.job.done(ticket, found);
    }
}

/// A batch of writes; writes of documents are held back.
pub(super) struct HeldWrites<'a> {
    pub(super) job: &'a dyn WriteJob,
    pub(super) hold: &'a DocumentHold,
}

#[deny(clippy::missing_trait_methods)]
impl WriteJob for HeldWrites<'_> {
    fn threads(&self) -> usize {
        self.job.threads()
    }

    fn next(&self, key: &mut Key) -> Option<WriteTicket> {
        loop {
            let ticket = self.job.next(key)?;
            if !self.hold.is_held(key) {
                return Some(ticket);
            }
            let mut scratch = Vec::new();
            let payload = self.job.value(ticket.index, &mut scratch).map(|payload| match payload {
                Payload::Scratch => None,
                Payload::Borrowed(bytes) => Some(bytes),
            });
            let outcome = payload.map(|bytes| {
                let (bytes, mut documents) = (bytes.unwrap_or(&scratch), self.hold.documents());
                documents.put_if(key, bytes, &ticket.precondition)
            });
            self.job.done(ticket, outcome);
        }
    }

    fn value(&self, index: usize, scratch: &mut Vec<u8>) -> Result<Payload<'_>> {
        self.job.value(index, scratch)
    }

    fn has_parts(&self) -> bool {
        self.job.has_parts()
    }

    fn parts(&self, index: usize, put: &mut PutPart<'_>) -> Result<()> {
        self.job.parts(index, put)
    }

    fn done(&self, ticket: WriteTicket, outcome: Result<WriteOutcome>) {
        self.job.done(ticket, outcome);
    }
}
