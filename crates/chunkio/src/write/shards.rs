//! Whole shards of a write: encoded chunk by chunk, from the caller's memory into the shard's, and stored in one piece.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use nczarr_dispatch::{DimVec, Key, Payload, PutPart, WriteJob, WriteOutcome, WriteTicket};
use nczarr_model::{ErrorKind, Result};

use super::Put;
use crate::claims::Claim;
use crate::grid::ChunkIndex;
use crate::project::Part;
use crate::shard::{Edits, Rewrite, Shards, has_parts};
use crate::threads;

/// Writes the shards that are written as a whole, of `chunks` chunks together.
pub(super) fn put(put: &Put<'_>, chunks: usize) -> Result<()> {
    let keeper = put.keeper;
    let Some(shards) = &keeper.shards else { return Ok(()) };
    let mut list: Vec<Shard> = Vec::new();
    let mut part = Part::default();
    // Those of a shard follow one another.
    for number in 0..put.projection.total {
        put.projection.part(number, &mut part);
        if !put.is_whole(&part) {
            continue;
        }
        let shard = shards.shard(&part.index);
        match list.last_mut() {
            Some(last) if last.index == shard => last.end = number + 1,
            _ => list.push(Shard { index: shard, start: number, end: number + 1 }),
        }
    }
    let all = threads::worth(&keeper.options, chunks, chunks.saturating_mul(keeper.form.bytes()));
    let several = all.min(list.len());
    let job = Batch {
        put,
        shards,
        each: all.checked_div(several).unwrap_or(1),
        threads: several,
        list,
        next: AtomicUsize::new(0),
        stored: AtomicUsize::new(0),
        flying: Mutex::new(Vec::new()),
    };
    keeper.store.map().write_batch(&job);
    put.outcome.failure()?;
    match job.list.len() - job.stored.load(Ordering::Acquire) {
        0 => Ok(()),
        lost => {
            Err(ErrorKind::Internal.context(format!("{}: the map did not return {lost} of its tickets", keeper.name)))
        }
    }
}

/// A shard, and the numbers of its chunks in the projection.
struct Shard {
    index: ChunkIndex,
    start: usize,
    end: usize,
}

struct Batch<'a> {
    put: &'a Put<'a>,
    shards: &'a Shards,
    /// Threads for each shard.
    each: usize,
    threads: usize,
    list: Vec<Shard>,
    next: AtomicUsize,
    stored: AtomicUsize,
    flying: Mutex<Vec<(usize, Claim<'a>)>>,
}

impl Batch<'_> {
    /// The chunks of a shard.
    fn chunks(&self, index: usize) -> Result<Chunks<'_>> {
        let Some(shard) = self.list.get(index) else {
            return Err(ErrorKind::Internal.context("the map asks for a ticket that is not its own"));
        };
        let numbers = |number: usize| self.shards.split(&self.put.projection.get(number).index).1;
        let mut chunks: Vec<_> = (shard.start..shard.end).map(|number| (numbers(number), number)).collect();
        chunks.sort_unstable();
        Ok(Chunks { put: self.put, chunks })
    }

    fn shard_of<'r>(&'r self, chunks: &'r Chunks<'_>) -> Rewrite<'r> {
        Rewrite { levels: &self.shards.levels, edits: chunks, threads: self.each }
    }
}

impl WriteJob for Batch<'_> {
    fn threads(&self) -> usize {
        self.threads
    }

    fn next(&self, key: &mut Key) -> Option<WriteTicket> {
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        let shard = self.list.get(at).filter(|_| !self.put.outcome.is_stopped())?;
        let claim = self.put.keeper.claims.take(&shard.index);
        self.flying.lock().unwrap_or_else(PoisonError::into_inner).push((at, claim));
        self.put.keeper.store.locate(&shard.index, key);
        Some(WriteTicket { index: at, precondition: None })
    }

    fn value(&self, index: usize, scratch: &mut Vec<u8>) -> Result<Payload<'_>> {
        let chunks = self.chunks(index)?;
        self.shard_of(&chunks).whole(None, scratch)?;
        Ok(Payload::Scratch)
    }

    fn has_parts(&self) -> bool {
        has_parts(&self.shards.levels)
    }

    fn parts(&self, index: usize, put: &mut PutPart<'_>) -> Result<()> {
        self.shard_of(&self.chunks(index)?).parts(put)
    }

    fn done(&self, ticket: WriteTicket, outcome: Result<WriteOutcome>) {
        let (put, keeper) = (self.put, self.put.keeper);
        let claim = {
            let mut flying = self.flying.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(at) = flying.iter().position(|(number, _)| *number == ticket.index) else { return };
            flying.swap_remove(at).1
        };
        let Some(shard) = self.list.get(ticket.index) else { return };
        let blame = |error: nczarr_model::Error| {
            let mut key = Key::root();
            keeper.store.locate(&shard.index, &mut key);
            error.at(format_args!("{}: shard {key}", keeper.name))
        };
        match outcome {
            Ok(WriteOutcome::Done(_)) => {
                let mut part = Part::default();
                for number in shard.start..shard.end {
                    put.projection.part(number, &mut part);
                    keeper.cache.stale(&part.index);
                    keeper.cache.remove(&part.index);
                    put.outcome.advance(part.elems * put.mem_item);
                }
                self.stored.fetch_add(1, Ordering::AcqRel);
            }
            Ok(WriteOutcome::Conflict) => {
                put.outcome.fail(blame(ErrorKind::Internal.context("the map compared what it was not asked to")));
            }
            Err(error) => put.outcome.fail(blame(error)),
        }
        drop(claim);
    }
}

/// The chunks of one shard.
struct Chunks<'a> {
    put: &'a Put<'a>,
    chunks: Vec<(DimVec<usize>, usize)>,
}

impl Edits for Chunks<'_> {
    fn count(&self) -> usize {
        self.chunks.len()
    }

    fn numbers(&self, edit: usize) -> &DimVec<usize> {
        &self.chunks[edit].0
    }

    fn make(&self, edit: usize, _old: Option<&[u8]>, new: &mut Vec<u8>) -> Result<Payload<'_>> {
        self.put.encode(&self.put.projection.get(self.chunks[edit].1), new)
    }
}
