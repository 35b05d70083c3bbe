//! Writing numbers: the caller's memory to chunks.
//!
//! Chunks written in part go to the cache, on the calling thread. Whole ones bypass it: one batch, gathered and
//! encoded by as many threads as the map drives, straight from the caller's memory where nothing has to change (`sole`: a
//! single one, in the shortest way). Those of a few records that are appended go to the cache too, where they wait for
//! more ([`crate::lot`]).

mod parts;
mod shards;
mod sole;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use nczarr_dispatch::{DimVec, Key, OutBuf, Payload, PutPart, WriteJob, WriteOutcome, WriteTicket};
use nczarr_model::{ErrorKind, NcType, Result, Slab};

use crate::claims::Claim;
use crate::keeper::Keeper;
use crate::kernel::{self, Convert};
use crate::memory::with_scratch;
use crate::numbers::Numbers;
use crate::outcome::Outcome;
use crate::plan::Given;
use crate::project::{Cover, Part, Projection};
use crate::threads;

/// One write.
pub(crate) struct Put<'a> {
    pub(crate) keeper: &'a Keeper<Numbers>,
    slab: &'a Slab<'a>,
    pub(crate) projection: &'a Projection,
    bytes: &'a [u8],
    convert: Option<Convert>,
    pub(crate) mem_item: usize,
    /// How many complete chunks of the cache are stored together.
    lot: usize,
    /// Whether whole chunks go to the cache: fewer of them than that, behind the end of the array.
    few: bool,
    pub(crate) outcome: Outcome<'a>,
}

/// What of a chunk is outside, for a writer: nothing beyond an unlimited dimension, where another process may
/// have written, unless there is none.
pub(crate) fn writable_shape<F: crate::keeper::Form>(keeper: &Keeper<F>, slab: &Slab<'_>) -> DimVec<u64> {
    let mut shape = keeper.grid.shape();
    for (dim, len) in shape.iter_mut().enumerate().filter(|(dim, _)| keeper.grid.dims[*dim].unlimited) {
        *len = if keeper.options.exclusive { (*len).max(slab.end(dim).unwrap_or(u64::MAX)) } else { u64::MAX };
    }
    shape
}

/// Whether chunks of a slab may wait in the cache for others: if there is something to do for several threads, and nobody
/// reads them elsewhere before the new length is stored, by a flush.
fn gathers(keeper: &Keeper<Numbers>, slab: &Slab<'_>) -> bool {
    // What needs no encoding is stored in the time it takes to hand it over, unless that is the system's.
    (keeper.form.plan.has_filters() || keeper.map().parallel_writes()) && grows(keeper, slab)
}

/// Whether a slab reaches beyond the end of an unlimited dimension.
fn grows(keeper: &Keeper<Numbers>, slab: &Slab<'_>) -> bool {
    let dims = keeper.grid.dims.iter().enumerate();
    dims.filter(|(_, limits)| limits.unlimited)
        .any(|(dim, _)| slab.end(dim).is_some_and(|end| end > keeper.grid.len(dim)))
}

/// Writes a slab that was checked and is not empty.
pub(crate) fn put(keeper: &Keeper<Numbers>, slab: &Slab<'_>, ty: NcType, bytes: &[u8]) -> Result<()> {
    if let Some(stored) = sole::put(keeper, slab, ty, bytes) {
        return stored;
    }
    let form = &keeper.form;
    let convert = match form.plan.half {
        Some(half) => Some(Convert::halving(ty, half)?),
        None => Convert::writing(ty, form.ty)?,
    };
    let mem_item = convert.as_ref().map_or(form.item(), |convert| convert.mem_item);
    let shape = writable_shape(keeper, slab);
    let projection = keeper.project(slab, &shape)?;
    let outcome = Outcome::new(&keeper.options, bytes.len());
    let lot = keeper.lot(form.bytes());
    let few = projection.total < lot && gathers(keeper, slab);
    let put = Put { keeper, slab, projection: &projection, bytes, convert, mem_item, lot, few, outcome };
    let whole = put.partial()?;
    if whole > 0 {
        put.whole(whole)?;
    }
    put.outcome.finish(&keeper.name)
}

impl Put<'_> {
    /// Writes the chunks that are written in part. How many are whole.
    fn partial(&self) -> Result<usize> {
        let keeper = self.keeper;
        let (form, kept) = (&keeper.form, keeper.form.kept());
        let (mut part, mut whole) = (Part::default(), 0);
        let mut checked = false;
        for number in 0..self.projection.total {
            self.projection.part(number, &mut part);
            let waits = self.waits(&part);
            if self.is_whole(&part) {
                whole += 1;
                continue;
            }
            if !checked && !waits {
                keeper.check_partial(&part.index)?;
                checked = true;
            }
            keeper.set_written();
            let complete = keeper.put_part(&part, |data| {
                self.outcome.range(kernel::save_in(self.bytes, &part, self.convert.as_ref(), &kept, data));
            })?;
            let sole = complete && !form.plan.has_filters() && keeper.shards.is_none();
            if waits || (sole && self.lot > 1) {
                keeper.store_with_others(&part.index, self.lot)?;
            } else if sole {
                // Nothing to gain from more threads later: it is stored while the processor's caches still hold it.
                keeper.write_back(&part.index)?;
                keeper.cache.remove_clean(&part.index);
            }
            self.outcome.advance(part.elems * self.mem_item);
            self.outcome.failure()?;
            keeper.relieve()?;
        }
        Ok(whole)
    }

    /// Whether a part is a whole chunk that waits in the cache for others.
    fn waits(&self, part: &Part) -> bool {
        self.few && part.cover == Cover::All
    }

    /// Whether a part is stored at once: all of its object is written.
    pub(crate) fn is_whole(&self, part: &Part) -> bool {
        let shards = || self.keeper.shards.as_ref().is_none_or(|shards| self.covers(&shards.shard(&part.index)));
        part.cover != Cover::Some && !self.waits(part) && shards()
    }

    /// Whether all of a shard is written that lies inside the shape.
    fn covers(&self, shard: &[u64]) -> bool {
        let Some(shards) = &self.keeper.shards else { return true };
        shard.iter().enumerate().all(|(dim, at)| {
            let (count, chunk, slab) = (shards.counts[dim], self.keeper.grid.chunk[dim], self.slab);
            let edge = |at: u64| at.saturating_mul(count).saturating_mul(chunk).min(self.keeper.fixed_len(dim));
            let end = slab.start[dim].saturating_add(slab.count[dim]);
            (slab.step(dim) == 1 || slab.count[dim] == 1)
                && slab.start[dim] <= edge(*at)
                && edge(at.saturating_add(1)) <= end
        })
    }

    fn whole(&self, chunks: usize) -> Result<()> {
        let keeper = self.keeper;
        keeper.set_written();
        if keeper.shards.is_some() {
            return shards::put(self, chunks);
        }
        let work = chunks.saturating_mul(keeper.form.bytes());
        let job = Batch {
            put: self,
            threads: threads::worth(&keeper.options, chunks, work),
            next: AtomicUsize::new(0),
            stored: AtomicUsize::new(0),
            flying: Mutex::new(Vec::new()),
        };
        keeper.map().write_batch(&job);
        self.outcome.failure()?;
        match job.stored.load(Ordering::Acquire) {
            stored if stored == chunks => Ok(()),
            stored => Err(ErrorKind::Internal.context(format!(
                "{}: the map did not return {} of its tickets",
                keeper.name,
                chunks - stored
            ))),
        }
    }

    /// A chunk's bytes, as its filters take them, where the caller has them so.
    fn as_stored(&self, part: &Part) -> Option<&[u8]> {
        let form = &self.keeper.form;
        let layout = &form.plan.layout;
        let direct = self.convert.is_none() && layout.is_native() && part.cover == Cover::All && part.is_contiguous();
        let start = part.mem_start * self.mem_item;
        direct.then(|| &self.bytes[start..start + form.bytes()])
    }

    /// A chunk's stored bytes.
    pub(crate) fn encode<'s>(&'s self, part: &Part, scratch: &mut Vec<u8>) -> Result<Payload<'s>> {
        let form = &self.keeper.form;
        let layout = &form.plan.layout;
        if let Some(bytes) = self.as_stored(part) {
            if !form.plan.has_filters() {
                return Ok(Payload::Borrowed(bytes));
            }
            with_scratch(|pair| {
                form.plan.encode(Given::Bytes::<fn(&mut OutBuf<'_>) -> Result<()>>(bytes), pair, scratch)
            })?;
            return Ok(Payload::Scratch);
        }
        let gather = |out: &mut OutBuf<'_>| {
            let range =
                kernel::save_out(self.bytes, part, self.convert.as_ref(), layout, &form.fill, form.bytes(), out)?;
            self.outcome.range(range);
            Ok(())
        };
        with_scratch(|pair| form.plan.encode(Given::Gather(form.bytes(), gather), pair, scratch))?;
        Ok(Payload::Scratch)
    }
}

/// The whole chunks of one write.
struct Batch<'a> {
    put: &'a Put<'a>,
    threads: usize,
    next: AtomicUsize,
    stored: AtomicUsize,
    /// The tickets that are out; few, as many as there are threads or requests.
    flying: Mutex<Vec<(usize, Claim<'a>)>>,
}

impl WriteJob for Batch<'_> {
    fn threads(&self) -> usize {
        self.threads
    }

    fn next(&self, key: &mut Key) -> Option<WriteTicket> {
        let put = self.put;
        let mut part = Part::default();
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= put.projection.total || put.outcome.is_stopped() {
                return None;
            }
            put.projection.part(number, &mut part);
            if !put.is_whole(&part) {
                continue;
            }
            let claim = put.keeper.claims.take(&part.index);
            self.flying.lock().unwrap_or_else(PoisonError::into_inner).push((number, claim));
            put.keeper.locate(&part.index, key);
            return Some(WriteTicket { index: number, precondition: None });
        }
    }

    fn value(&self, index: usize, scratch: &mut Vec<u8>) -> Result<Payload<'_>> {
        if index >= self.put.projection.total {
            return Err(ErrorKind::Internal.context("the map asks for a ticket that is not its own"));
        }
        self.put.encode(&self.put.projection.get(index), scratch)
    }

    fn has_parts(&self) -> bool {
        parts::has_parts(self.put)
    }

    fn parts(&self, index: usize, put: &mut PutPart<'_>) -> Result<()> {
        if index >= self.put.projection.total {
            return Err(ErrorKind::Internal.context("the map asks for a ticket that is not its own"));
        }
        parts::put_parts(self.put, &self.put.projection.get(index), put)
    }

    fn done(&self, ticket: WriteTicket, outcome: Result<WriteOutcome>) {
        let (put, keeper) = (self.put, self.put.keeper);
        let claim = {
            let mut flying = self.flying.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(at) = flying.iter().position(|(number, _)| *number == ticket.index) else { return };
            flying.swap_remove(at).1
        };
        match outcome {
            Ok(WriteOutcome::Done(_)) => {
                keeper.cache.stale(&claim.index);
                keeper.cache.remove(&claim.index);
                self.stored.fetch_add(1, Ordering::AcqRel);
                put.outcome.advance(keeper.form.elems * put.mem_item);
            }
            Ok(WriteOutcome::Conflict) => {
                let error = ErrorKind::Internal.context("the map compared what it was not asked to");
                put.outcome.fail(keeper.blame(error, &claim.index));
            }
            Err(error) => put.outcome.fail(keeper.blame(error, &claim.index)),
        }
    }
}
