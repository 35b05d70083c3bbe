//! Reads numbers from chunks into the caller's memory.
//!
//! Cached chunks are copied on the calling thread; the others form one batch for the map. Each chunk takes
//! the shortest path: read or decoded into the result, or decoded into a scratch buffer and scattered by one
//! kernel. A chunk is cached only if it is used in part and probably read again.

pub(crate) mod chunk_read;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use nczarr_model::{CheckedSlab, Error, NcType, Result};
use nczarr_runtime::{OutBuf, run_with_caller};
use nczarr_storage::batch::{ObjectSink, Ranges, ReadJob, ReadOutcome, ReadTicket};
use nczarr_storage::{Key, Version};

use crate::cache::ChunkCache;
use crate::engine::{ArrayEngine, ElementKind};
use crate::fast::prefault::Prefault;
use crate::fast::single_range::{self, SingleRangeRead};
use crate::fast::streaming::{self, StreamingRead};
use crate::fixed_size::FixedSize;
use crate::kernel::Convert;
use crate::memory::{ChunkBuffer, with_scratch};
use crate::outcome::TransferOutcome;
use crate::output::{DisjointOutput, OutputPart, scatter};
use crate::project::{ChunkPart, Coverage};
use crate::ranges;
use crate::threads;

use self::chunk_read::ChunkRead;

/// Smaller results are stored through the caches: the caller reads them next.
const STREAM: usize = 16 << 20;

/// Reads a non-empty slab.
pub(crate) fn get(
    engine: &ArrayEngine<FixedSize>,
    slab: &CheckedSlab<'_>,
    ty: NcType,
    out: &mut OutBuf<'_>,
) -> Result<()> {
    let convert = Convert::reading(engine.form.ty, ty)?;
    let wanted = match convert.is_none().then(|| single_range::read(engine, slab, out)) {
        Some(SingleRangeRead::Done(result)) => return result,
        Some(SingleRangeRead::Other { keep }) => keep,
        None => false,
    };
    run(engine, slab, convert, wanted, out)
}

/// As [`get`], with the caller's conversion.
pub(crate) fn get_with(
    engine: &ArrayEngine<FixedSize>,
    slab: &CheckedSlab<'_>,
    convert: Option<Convert>,
    out: &mut OutBuf<'_>,
) -> Result<()> {
    run(engine, slab, convert, false, out)
}

/// `wanted`: the chunk was found to be worth caching.
fn run(
    engine: &ArrayEngine<FixedSize>,
    slab: &CheckedSlab<'_>,
    convert: Option<Convert>,
    wanted: bool,
    out: &mut OutBuf<'_>,
) -> Result<()> {
    let form = &engine.form;
    let mem_item = convert.as_ref().map_or(form.item(), |convert| convert.mem_item);
    let projection = engine.project(slab, &engine.grid.shape())?;
    let stream = out.capacity() >= STREAM;
    let (fill, fill_out_of_range) = convert_fill(form, convert.as_ref());
    let total = out.capacity();
    let caps = engine.map().caps();
    let came = &AtomicBool::new(false);
    let ahead = stream && caps.remote;
    let front = if caps.remote { ahead.then(|| Prefault::of_any(out)) } else { Prefault::of(out) };
    let work = |board: &DisjointOutput<'_>| {
        let get = ChunkRead {
            engine,
            projection: &projection,
            output: board,
            convert,
            fill,
            fill_out_of_range,
            mem_item,
            total,
            caps,
            keep: false,
            wanted,
            since: engine.cache.now(),
            came,
            front: front.as_ref(),
            outcome: TransferOutcome::new(&engine.options, total),
        };
        get.run()
    };
    let run = || scatter(out, &projection, mem_item, stream, work);
    let outcome = match front.as_ref().filter(|_| ahead) {
        None => run(),
        Some(front) => front.ahead(threads::most(&engine.options), came, run),
    };
    outcome.and_then(|outcome| outcome)
}

/// An unwritten element in the memory type, if that differs from the stored type, and whether it is out of
/// range.
fn convert_fill(form: &FixedSize, convert: Option<&Convert>) -> ([u8; 8], bool) {
    if let Some(convert) = convert {
        return convert.element(&form.fill);
    }
    ([0; 8], false)
}

impl ChunkRead<'_> {
    /// The inner result is that of a complete transfer: a range error leaves the memory filled.
    fn run(mut self) -> Result<Result<()>> {
        let misses = self.copy_hits()?;
        let (chunks, bytes) = match &misses {
            None => (self.projection.total, self.total),
            Some((list, elems)) => (list.len(), elems * self.mem_item),
        };
        if chunks > 0 {
            let engine = self.engine;
            let decoded = chunks.saturating_mul(engine.form.bytes());
            self.keep = engine.may_keep(chunks);
            let list = misses.as_ref().map(|(list, _)| &**list);
            // The bytes to decode or copy.
            let work = if engine.form.plan.is_plain() { bytes } else { decoded };
            let threads = threads::worth(&engine.options, chunks, work);
            let only = (chunks == 1).then(|| {
                let number = list.map_or(0, |list| list[0]);
                (number, self.projection.get(number))
            });
            let with_caller = self.is_short_copy();
            let job = ChunkReadJob {
                get: &self,
                list,
                only,
                chunks,
                threads: if with_caller { 1 } else { threads },
                next: AtomicUsize::new(0),
            };
            if with_caller {
                run_with_caller(threads, &|| engine.map().read_batch(&job));
            } else {
                engine.map().read_batch(&job);
            }
            self.outcome.failure()?;
        }
        Ok(self.outcome.finish(&self.engine.name))
    }

    /// Whether the read is a short copy of stored bytes. Then the calling thread reads too, because waking
    /// another thread takes a large part of the time. Boxes of unfiltered chunks gain a third.
    fn is_short_copy(&self) -> bool {
        let engine = self.engine;
        self.total < STREAM && engine.form.plan.is_plain() && engine.shards.is_none() && !self.caps.remote
    }

    /// Copies cached chunks. Returns the numbers of the other chunks, and their elements; `None`: all chunks.
    fn copy_hits(&self) -> Result<Option<(Vec<usize>, usize)>> {
        let cache: &ChunkCache<ChunkBuffer> = &self.engine.cache;
        if cache.is_empty() {
            return Ok(None);
        }
        let (mut misses, mut elems) = (Vec::new(), 0);
        let mut part = ChunkPart::default();
        for number in 0..self.projection.total {
            self.projection.part(number, &mut part);
            if !self.hit(number, &part)? {
                misses.push(number);
                elems += part.elems;
            }
            if self.outcome.is_stopped() {
                self.outcome.failure()?;
            }
        }
        Ok(Some((misses, elems)))
    }

    fn hit(&self, number: usize, part: &ChunkPart) -> Result<bool> {
        let engine = self.engine;
        loop {
            let found: Option<Result<Option<bool>>> = engine.cache.with_chunk(&part.index, |entry| {
                let slot = if entry.has_part(part) { Some(self.output.claim_part(number)?) } else { None };
                Ok(slot.map(|slot| self.load(slot, &entry.data, part)))
            });
            match found.transpose()? {
                None => return Ok(false),
                Some(Some(out_of_range)) => {
                    // Only after the chunk is unlocked: the observer runs arbitrary code.
                    self.moved(part, out_of_range);
                    return Ok(true);
                }
                Some(None) => engine.fill_holes(&part.index)?,
            }
        }
    }

    /// Whether the part's stored bytes equal its adjacent bytes in memory.
    fn is_direct(&self, part: &ChunkPart) -> bool {
        self.convert.is_none() && part.is_contiguous() && self.engine.form.plan.is_plain()
    }

    /// Returns the largest gap between two ranges that one request reads.
    fn gap(&self) -> usize {
        ranges::worth_reading(self.caps.remote, self.engine.shards.is_some())
    }

    /// Returns the ranges to read instead of a whole chunk that is not cached. Returns also their total
    /// length, and whether they equal the bytes of the result.
    fn requests(&self, part: &ChunkPart) -> Option<(Ranges, usize, bool)> {
        let form = &self.engine.form;
        if part.cover != Coverage::Some || !form.plan.has_ranges() || !self.caps.range_read {
            return None;
        }
        let requests = match ranges::single_range(part, form.item(), form.elems) {
            Some((range, bytes)) => (Ranges::One(range), bytes, self.is_direct(part)),
            None => {
                let pieces = self.pieces(part, self.gap())?;
                let direct = matches!(pieces.ranges, Ranges::One(_)) && self.is_direct(&pieces.part);
                (pieces.ranges, pieces.bytes, direct)
            }
        };
        (!self.keep || !(self.wanted || self.engine.wants(part))).then_some(requests)
    }

    fn ticket(&self, number: usize, part: &ChunkPart) -> ReadTicket<'_> {
        let plan = &self.engine.form.plan;
        let bytes = self.engine.form.bytes();
        if let Some((ranges, bytes, direct)) = self.requests(part) {
            let into = if direct { self.output.lend(number, part) } else { None };
            return ReadTicket::new(number, ranges, bytes).hint(bytes).into(into);
        }
        let direct = part.cover == Coverage::All && self.is_direct(part);
        let into = if direct { self.output.lend(number, part) } else { None };
        let hint = if plan.has_filters() { bytes / 2 } else { bytes };
        ReadTicket::new(number, Ranges::All, plan.limit).hint(hint).into(into)
    }

    /// Places one chunk from the map in the result.
    fn take(
        &self,
        mut ticket: ReadTicket<'_>,
        part: &ChunkPart,
        found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>,
    ) -> Result<()> {
        let number = ticket.index;
        let found = found?;
        if ticket.into.is_none()
            && matches!(found, Some((ReadOutcome::InPlace, _)))
            && self.streams(&ticket, part)
        {
            // The chunk was streamed; a missing rest is detected at the end.
            return Ok(());
        }
        let (slot, lent) = match ticket.into.take() {
            None => (self.output.claim_part(number)?, None),
            Some(lent) => {
                let filled = lent.filled().len();
                (self.output.take_back(number, part, lent)?, Some(filled))
            }
        };
        let wrong = |found| Err(self.engine.form.plan.wrong_size(found));
        match (found, lent) {
            (None, _) => self.missing(slot, part),
            (Some((ReadOutcome::InPlace, _)), Some(filled)) if filled == part.elems * self.mem_item => {
                slot.complete();
                self.moved(part, false);
                Ok(())
            }
            (Some((ReadOutcome::InPlace, _)), filled) => wrong(filled.unwrap_or(0)),
            (Some((ReadOutcome::Bytes(stored), _)), _) => match ticket.ranges {
                Ranges::All => self.place(slot, stored, part),
                _ => self.place_pieces(slot, stored, part),
            },
        }
    }

    /// Whether a chunk is streamed: a large, unfiltered one that is not cached.
    fn streams(&self, ticket: &ReadTicket<'_>, part: &ChunkPart) -> bool {
        let form = &self.engine.form;
        let kept = self.keep && part.cover == Coverage::Some;
        let all = matches!(ticket.ranges, Ranges::All) && ticket.into.is_none();
        all && !kept && form.plan.has_ranges() && form.bytes() >= streaming::LARGE
    }

    fn missing(&self, slot: OutputPart<'_>, part: &ChunkPart) -> Result<()> {
        let engine = self.engine;
        engine.missing(&part.index)?;
        let own = &engine.form.fill;
        slot.fill(if self.convert.is_some() { &self.fill[..self.mem_item] } else { own }, part);
        self.moved(part, self.fill_out_of_range);
        Ok(())
    }

    fn place_pieces(&self, slot: OutputPart<'_>, stored: &[u8], part: &ChunkPart) -> Result<()> {
        let form = &self.engine.form;
        let pieces = self.pieces(part, self.gap());
        let Some(pieces) = pieces.filter(|pieces| pieces.bytes == stored.len()) else {
            return Err(form.plan.wrong_size(stored.len()).at("a range of the chunk"));
        };
        let range = slot.load(stored, &form.plan.layout, &pieces.part, self.convert.as_ref());
        self.moved(part, range);
        Ok(())
    }

    fn place(&self, slot: OutputPart<'_>, stored: &[u8], part: &ChunkPart) -> Result<()> {
        let (form, convert) = (&self.engine.form, self.convert.as_ref());
        let plan = &form.plan;
        if self.keep && part.cover == Coverage::Some {
            let data = Arc::new(form.decode(stored)?);
            let range = self.load(slot, &data, part);
            let cost = form.cost(&data);
            self.engine.cache.insert_read(&part.index, data, cost, self.since);
            self.moved(part, range);
            return Ok(());
        }
        let slot = match self.place_ranges(slot, stored, part)? {
            Some(slot) => slot,
            None => return Ok(()),
        };
        let range = if part.cover == Coverage::All
            && part.is_contiguous()
            && convert.is_none()
            && plan.layout.is_native()
        {
            let filled = with_scratch(|pair| slot.direct(part, |out| plan.decode_into(stored, pair, out)))?;
            if filled != form.bytes() {
                return Err(plan.wrong_size(filled));
            }
            false
        } else {
            let Some(slot) = self.place_units(slot, stored, part)? else { return Ok(()) };
            with_scratch(|pair| {
                Ok::<_, Error>(slot.load(plan.decode(stored, pair)?, &plan.layout, part, convert))
            })?
        };
        self.moved(part, range);
        Ok(())
    }
}

/// The chunks of one read that are not cached.
struct ChunkReadJob<'a> {
    get: &'a ChunkRead<'a>,
    list: Option<&'a [usize]>,
    /// Number and part of the chunk, if it is the only one.
    only: Option<(usize, ChunkPart)>,
    chunks: usize,
    threads: usize,
    next: AtomicUsize,
}

impl ChunkReadJob<'_> {
    /// Runs `work` with the part of a chunk.
    fn with_part<R>(&self, number: usize, work: impl FnOnce(&ChunkPart) -> R) -> R {
        match &self.only {
            Some((only, part)) if *only == number => work(part),
            _ => work(&self.get.projection.get(number)),
        }
    }

    /// Populates the pages that a part writes to.
    fn reach(&self, part: &ChunkPart) {
        if let Some(front) = self.get.front.filter(|_| self.threads > 1) {
            front.reach(part.extent().1.saturating_mul(self.get.mem_item), self.threads);
        }
    }
}

impl ReadJob for ChunkReadJob<'_> {
    fn threads(&self) -> usize {
        self.threads
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        if at >= self.chunks || self.get.outcome.is_stopped() {
            return None;
        }
        let number = self.list.map_or(at, |list| list[at]);
        self.with_part(number, |part| {
            // Remote chunks are requested first.
            if !self.get.caps.remote {
                self.reach(part);
            }
            self.get.engine.locate(&part.index, key);
            Some(self.get.ticket(number, part))
        })
    }

    fn remaining(&self) -> Option<usize> {
        Some(self.chunks.saturating_sub(self.next.load(Ordering::Relaxed)))
    }

    fn sink<'j>(&'j self, ticket: &ReadTicket<'_>) -> Option<Box<dyn ObjectSink + 'j>> {
        let get = self.get;
        if ticket.index >= get.projection.total {
            return None;
        }
        self.with_part(ticket.index, |part| {
            let pour =
                get.streams(ticket, part).then(|| StreamingRead::new(get, ticket.index, part)).flatten()?;
            Some(Box::new(pour) as Box<dyn ObjectSink + 'j>)
        })
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        let get = self.get;
        get.came.store(true, Ordering::Relaxed);
        if ticket.index >= get.projection.total {
            return;
        }
        self.with_part(ticket.index, |part| {
            if self.get.caps.remote {
                self.reach(part);
            }
            if let Err(error) = get.take(ticket, part, found) {
                get.outcome.fail(get.engine.at_chunk(error, &part.index));
            }
        });
    }
}
