//! Writes whole shards: chunks are encoded from the caller's memory into the shard, which is stored at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::DimVec;
use nczarr_storage::batch::{Payload, PutPart, WriteJob, WriteTicket};
use nczarr_storage::{Key, Precondition, WriteOutcome};

use super::ChunkWrite;
use crate::claims::ChunkClaim;
use crate::grid::ChunkIndex;
use crate::project::ChunkPart;
use crate::shard::{ChunkEdits, ShardRewrite, Shards, has_parts};
use crate::threads;

/// Writes the shards that a slab covers, of `chunks` chunks together.
pub(super) fn put(put: &ChunkWrite<'_>, chunks: usize) -> Result<()> {
    let engine = put.engine;
    let Some(shards) = &engine.shards else { return Ok(()) };
    let mut list: Vec<WholeShard> = Vec::new();
    let mut part = ChunkPart::default();
    // Chunks of a shard are adjacent.
    for number in 0..put.projection.total {
        put.projection.part(number, &mut part);
        if !put.is_whole(&part) {
            continue;
        }
        let shard = shards.shard(&part.index);
        match list.last_mut() {
            Some(last) if last.index == shard => last.end = number + 1,
            _ => list.push(WholeShard { index: shard, start: number, end: number + 1 }),
        }
    }
    let all = threads::worth(&engine.options, chunks, chunks.saturating_mul(engine.form.bytes()));
    let several = all.min(list.len());
    let job = ShardWriteJob {
        put,
        shards,
        each: all.checked_div(several).unwrap_or(1),
        threads: several,
        list,
        next: AtomicUsize::new(0),
        stored: AtomicUsize::new(0),
        flying: Mutex::new(Vec::new()),
    };
    engine.store.map().write_batch(&job);
    put.outcome.failure()?;
    match job.list.len() - job.stored.load(Ordering::Acquire) {
        0 => Ok(()),
        lost => Err(ErrorKind::Internal
            .context(format!("{}: the map did not return {lost} of its tickets", engine.name))),
    }
}

/// A shard, and the numbers of its chunks in the projection.
struct WholeShard {
    index: ChunkIndex,
    start: usize,
    end: usize,
}

struct ShardWriteJob<'a> {
    put: &'a ChunkWrite<'a>,
    shards: &'a Shards,
    /// The threads per shard.
    each: usize,
    threads: usize,
    list: Vec<WholeShard>,
    next: AtomicUsize,
    stored: AtomicUsize,
    flying: Mutex<Vec<(usize, ChunkClaim<'a>)>>,
}

impl ShardWriteJob<'_> {
    /// Returns the chunks of a shard.
    fn chunks(&self, index: usize) -> Result<WholeShardChunks<'_>> {
        let Some(shard) = self.list.get(index) else {
            return Err(ErrorKind::Internal.context("the map used a ticket that was not issued"));
        };
        let numbers = |number: usize| self.shards.split(&self.put.projection.get(number).index).1;
        let mut chunks: Vec<_> = (shard.start..shard.end).map(|number| (numbers(number), number)).collect();
        chunks.sort_unstable();
        Ok(WholeShardChunks { put: self.put, chunks })
    }

    fn shard_of<'r>(&'r self, chunks: &'r WholeShardChunks<'_>) -> ShardRewrite<'r> {
        ShardRewrite { levels: &self.shards.levels, edits: chunks, threads: self.each }
    }
}

impl WriteJob for ShardWriteJob<'_> {
    fn threads(&self) -> usize {
        self.threads
    }

    fn next(&self, key: &mut Key) -> Option<WriteTicket> {
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        let shard = self.list.get(at).filter(|_| !self.put.outcome.is_stopped())?;
        let claim = self.put.engine.claims.take(&shard.index);
        self.flying.lock().unwrap_or_else(PoisonError::into_inner).push((at, claim));
        self.put.engine.store.locate(&shard.index, key);
        Some(WriteTicket { index: at, precondition: Precondition::Any })
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
        let (put, engine) = (self.put, self.put.engine);
        let claim = {
            let mut flying = self.flying.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(at) = flying.iter().position(|(number, _)| *number == ticket.index) else { return };
            flying.swap_remove(at).1
        };
        let Some(shard) = self.list.get(ticket.index) else { return };
        let blame = |error: nczarr_model::Error| {
            let mut key = Key::root();
            engine.store.locate(&shard.index, &mut key);
            engine.at_shard(error, &key)
        };
        match outcome {
            Ok(WriteOutcome::Done(_)) => {
                let mut part = ChunkPart::default();
                for number in shard.start..shard.end {
                    put.projection.part(number, &mut part);
                    engine.cache.mark_stale(&part.index);
                    engine.cache.remove(&part.index);
                    put.outcome.advance(part.elems * put.mem_item);
                }
                self.stored.fetch_add(1, Ordering::AcqRel);
            }
            Ok(WriteOutcome::Conflict) => {
                put.outcome.fail(blame(
                    ErrorKind::Internal.context("the map reported a conflict without a precondition"),
                ));
            }
            Err(error) => put.outcome.fail(blame(error)),
        }
        drop(claim);
    }
}

/// The chunks of one shard.
struct WholeShardChunks<'a> {
    put: &'a ChunkWrite<'a>,
    chunks: Vec<(DimVec<usize>, usize)>,
}

impl ChunkEdits for WholeShardChunks<'_> {
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
