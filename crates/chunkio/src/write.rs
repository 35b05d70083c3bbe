//! Writes numbers from the caller's memory to chunks.
//!
//! Partial chunks go to the cache on the calling thread. Whole chunks bypass it in one batch: the map's
//! threads gather and encode them, without a copy if nothing changes. [`single_chunk`] is the fast path for
//! one chunk. Whole chunks of a few appended records wait in the cache for more
//! ([`crate::fast::pending_batch`]).

pub(crate) mod chunk_write;
mod shards;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use nczarr_model::{CheckedSlab, ErrorKind, NcType, Result};
use nczarr_runtime::{DimVec, OutBuf};
use nczarr_storage::batch::{Payload, PutPart, WriteJob, WriteTicket};
use nczarr_storage::{Key, Precondition, WriteOutcome};

use crate::claims::ChunkClaim;
use crate::engine::ArrayEngine;
use crate::fast::store_together::gathers;
use crate::fast::{gather_parts, single_chunk};
use crate::fixed_size::FixedSize;
use crate::kernel::{self, Convert};
use crate::memory::with_scratch;
use crate::outcome::TransferOutcome;
use crate::plan::EncodeInput;
use crate::project::{ChunkPart, Coverage};
use crate::threads;

use self::chunk_write::ChunkWrite;

/// Returns the shape for a write. Along an unlimited dimension nothing is outside, since another thread or
/// process may append there meanwhile.
pub(crate) fn writable_shape<F: crate::engine::ElementKind>(engine: &ArrayEngine<F>) -> DimVec<u64> {
    let mut shape = engine.grid.shape();
    for (len, dim) in shape.iter_mut().zip(&engine.grid.dims) {
        if dim.unlimited {
            *len = u64::MAX;
        }
    }
    shape
}

/// Writes a non-empty slab.
pub(crate) fn put(
    engine: &ArrayEngine<FixedSize>,
    slab: &CheckedSlab<'_>,
    ty: NcType,
    bytes: &[u8],
) -> Result<()> {
    if let Some(stored) = single_chunk::put(engine, slab, ty, bytes) {
        return stored;
    }
    let form = &engine.form;
    let convert = match form.plan.half {
        Some(half) => Some(Convert::halving(ty, half)?),
        None => Convert::writing(ty, form.ty)?,
    };
    let mem_item = convert.as_ref().map_or(form.item(), |convert| convert.mem_item);
    let shape = writable_shape(engine);
    let projection = engine.project(slab, &shape)?;
    let outcome = TransferOutcome::new(&engine.options, bytes.len());
    let lot = engine.batch_size(form.bytes());
    let few = projection.total < lot && gathers(engine, slab);
    let put =
        ChunkWrite { engine, slab, projection: &projection, bytes, convert, mem_item, lot, few, outcome };
    let whole = put.partial()?;
    if whole > 0 {
        put.whole(whole)?;
    }
    put.outcome.finish(&engine.name)
}

impl ChunkWrite<'_> {
    /// Writes partial chunks to the cache. Returns the number of whole chunks.
    fn partial(&self) -> Result<usize> {
        let engine = self.engine;
        let (form, kept) = (&engine.form, engine.form.memory_layout());
        let (mut part, mut whole) = (ChunkPart::default(), 0);
        let mut checked = false;
        for number in 0..self.projection.total {
            self.projection.part(number, &mut part);
            let waits = self.waits(&part);
            if self.is_whole(&part) {
                whole += 1;
                continue;
            }
            if !checked && !waits {
                engine.check_partial(&part.index)?;
                checked = true;
            }
            engine.set_written();
            let complete = engine.put_part(&part, |data| {
                self.outcome.range(kernel::save_in(self.bytes, &part, self.convert.as_ref(), &kept, data));
            })?;
            let sole = complete && !form.plan.has_filters() && engine.shards.is_none();
            if waits || (sole && self.lot > 1) {
                engine.store_with_others(&part.index, self.lot)?;
            } else if sole {
                // Stored at once, while it is in the processor's caches: waiting for other chunks gains
                // nothing.
                engine.write_back(&part.index)?;
                engine.cache.remove_clean(&part.index);
            }
            self.outcome.advance(part.elems * self.mem_item);
            self.outcome.failure()?;
            engine.relieve()?;
        }
        Ok(whole)
    }

    /// Whether a part is a whole chunk that waits in the cache.
    fn waits(&self, part: &ChunkPart) -> bool {
        self.few && part.cover == Coverage::All
    }

    /// Whether a part is stored at once: its whole object is written.
    pub(crate) fn is_whole(&self, part: &ChunkPart) -> bool {
        let shards =
            || self.engine.shards.as_ref().is_none_or(|shards| self.covers(&shards.shard(&part.index)));
        part.cover != Coverage::Some && !self.waits(part) && shards()
    }

    /// Whether the write covers a shard inside the shape.
    fn covers(&self, shard: &[u64]) -> bool {
        let Some(shards) = &self.engine.shards else { return true };
        shard.iter().enumerate().all(|(dim, at)| {
            let (count, chunk, slab) = (shards.counts[dim], self.engine.grid.chunk[dim], self.slab);
            let edge =
                |at: u64| at.saturating_mul(count).saturating_mul(chunk).min(self.engine.fixed_len(dim));
            let end = slab.start[dim].saturating_add(slab.count[dim]);
            (slab.step(dim) == 1 || slab.count[dim] == 1)
                && slab.start[dim] <= edge(*at)
                && edge(at.saturating_add(1)) <= end
        })
    }

    fn whole(&self, chunks: usize) -> Result<()> {
        let engine = self.engine;
        engine.set_written();
        if engine.shards.is_some() {
            return shards::put(self, chunks);
        }
        let work = chunks.saturating_mul(engine.form.bytes());
        let job = ChunkWriteJob {
            put: self,
            threads: threads::worth(&engine.options, chunks, work),
            next: AtomicUsize::new(0),
            stored: AtomicUsize::new(0),
            flying: Mutex::new(Vec::new()),
        };
        engine.map().write_batch(&job);
        self.outcome.failure()?;
        match job.stored.load(Ordering::Acquire) {
            stored if stored == chunks => Ok(()),
            stored => Err(ErrorKind::Internal.context(format!(
                "{}: the map did not return {} of its tickets",
                engine.name,
                chunks - stored
            ))),
        }
    }

    /// Encodes a chunk.
    pub(crate) fn encode<'s>(&'s self, part: &ChunkPart, scratch: &mut Vec<u8>) -> Result<Payload<'s>> {
        let form = &self.engine.form;
        let layout = &form.plan.layout;
        if let Some(bytes) = self.as_stored(part) {
            if !form.plan.has_filters() {
                return Ok(Payload::Borrowed(bytes));
            }
            with_scratch(|pair| {
                form.plan.encode(
                    EncodeInput::Bytes::<fn(&mut OutBuf<'_>) -> Result<()>>(bytes),
                    pair,
                    scratch,
                )
            })?;
            return Ok(Payload::Scratch);
        }
        let gather = |out: &mut OutBuf<'_>| {
            let range = kernel::save_out(
                self.bytes,
                part,
                self.convert.as_ref(),
                layout,
                &form.fill,
                form.bytes(),
                out,
            )?;
            self.outcome.range(range);
            Ok(())
        };
        with_scratch(|pair| form.plan.encode(EncodeInput::Gather(form.bytes(), gather), pair, scratch))?;
        Ok(Payload::Scratch)
    }
}

/// The whole chunks of one write.
struct ChunkWriteJob<'a> {
    put: &'a ChunkWrite<'a>,
    threads: usize,
    next: AtomicUsize,
    stored: AtomicUsize,
    /// The open tickets: at most as many as threads or requests.
    flying: Mutex<Vec<(usize, ChunkClaim<'a>)>>,
}

impl WriteJob for ChunkWriteJob<'_> {
    fn threads(&self) -> usize {
        self.threads
    }

    fn next(&self, key: &mut Key) -> Option<WriteTicket> {
        let put = self.put;
        let mut part = ChunkPart::default();
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= put.projection.total || put.outcome.is_stopped() {
                return None;
            }
            put.projection.part(number, &mut part);
            if !put.is_whole(&part) {
                continue;
            }
            let claim = put.engine.claims.take(&part.index);
            self.flying.lock().unwrap_or_else(PoisonError::into_inner).push((number, claim));
            put.engine.locate(&part.index, key);
            return Some(WriteTicket { index: number, precondition: Precondition::Any });
        }
    }

    fn value(&self, index: usize, scratch: &mut Vec<u8>) -> Result<Payload<'_>> {
        if index >= self.put.projection.total {
            return Err(ErrorKind::Internal.context("the map used a ticket that was not issued"));
        }
        self.put.encode(&self.put.projection.get(index), scratch)
    }

    fn has_parts(&self) -> bool {
        gather_parts::has_parts(self.put)
    }

    fn parts(&self, index: usize, put: &mut PutPart<'_>) -> Result<()> {
        if index >= self.put.projection.total {
            return Err(ErrorKind::Internal.context("the map used a ticket that was not issued"));
        }
        gather_parts::put_parts(self.put, &self.put.projection.get(index), put)
    }

    fn done(&self, ticket: WriteTicket, outcome: Result<WriteOutcome>) {
        let (put, engine) = (self.put, self.put.engine);
        let claim = {
            let mut flying = self.flying.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(at) = flying.iter().position(|(number, _)| *number == ticket.index) else { return };
            flying.swap_remove(at).1
        };
        match outcome {
            Ok(WriteOutcome::Done(_)) => {
                engine.cache.mark_stale(&claim.index);
                engine.cache.remove(&claim.index);
                self.stored.fetch_add(1, Ordering::AcqRel);
                put.outcome.advance(engine.form.elems * put.mem_item);
            }
            Ok(WriteOutcome::Conflict) => {
                let error = ErrorKind::Internal.context("the map reported a conflict without a precondition");
                put.outcome.fail(engine.at_chunk(error, &claim.index));
            }
            Err(error) => put.outcome.fail(engine.at_chunk(error, &claim.index)),
        }
    }
}
