//! Reading numbers: chunks to the caller's memory.
//!
//! Hits in the cache are copied on the calling thread; the rest is one batch that the map drives. Each chunk
//! takes the shortest way there is: read or decoded straight into the result; or decoded into scratch and
//! scattered by one kernel; only a chunk used in part, and likely to be used again, is kept.

mod course;
mod front;
mod pour;
mod straight;
mod units;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use nczarr_dispatch::{
    Key, MapCaps, MissingChunks, ObjectSink, OutBuf, Ranges, ReadJob, ReadOutcome, ReadTicket, Version,
};
use nczarr_model::{Error, ErrorKind, NcType, Result, Slab};

use crate::cache::Cache;
use crate::grid::ChunkIndex;
use crate::keeper::{Form, Keeper};
use crate::kernel::{self, Convert};
use crate::memory::{Block, with_scratch};
use crate::numbers::Numbers;
use crate::outcome::Outcome;
use crate::project::{Cover, Part, Projection};
use crate::ranges::{self, Pieces};
use crate::scatter::{Board, Slot, scatter};
use crate::threads;
use front::Front;
use pour::Pour;
use straight::Straight;

pub(crate) use straight::pick;

/// Results smaller than this are stored through the caches: whoever asked will read them next.
const STREAM: usize = 16 << 20;

/// Dimensions of an array of which elements are looked for the shortest way.
const PEEKED: usize = 8;

/// One read.
struct Get<'a> {
    keeper: &'a Keeper<Numbers>,
    projection: &'a Projection,
    board: &'a Board<'a>,
    convert: Option<Convert>,
    /// An unwritten element of the memory type, if that is another, and whether it is out of its range.
    fill: [u8; 8],
    fill_out_of_range: bool,
    mem_item: usize,
    /// Bytes of the result.
    total: usize,
    caps: MapCaps,
    /// Whether chunks used in part are kept.
    keep: bool,
    /// Whether it was asked already, and the one chunk is to be kept.
    wanted: bool,
    /// When the read began.
    since: u64,
    /// Something came.
    came: &'a AtomicBool,
    /// The result's pages, where several threads would ask for the same ones.
    front: Option<&'a Front>,
    outcome: Outcome<'a>,
}

/// Copies a slab that lies in one chunk the cache holds, without conversion: the shortest way for the most frequent
/// access. `false`: it is not such a slab, and nothing happened.
pub(crate) fn hit(keeper: &Keeper<Numbers>, slab: &Slab<'_>, ty: NcType, out: &mut OutBuf<'_>) -> bool {
    let form = &keeper.form;
    if keeper.cache.is_empty()
        || ty != form.ty
        || slab.rank() != keeper.grid.rank()
        || keeper.options.progress.is_some()
    {
        return false;
    }
    let mut part = Part::default();
    if !part.single(&keeper.grid, slab) || part.elems * form.item() != out.capacity() {
        return false;
    }
    let copied = keeper.cache.look(&part.index, |entry| {
        let known = entry.knows(&part);
        if known {
            kernel::load_part(&entry.data, &form.kept(), &part, out);
        }
        known
    });
    copied == Some(true)
}

/// Copies one element that lies in a chunk the cache holds, without conversion. `false`: it is not such an element, or
/// too much would have to be asked to know, and nothing happened.
pub(crate) fn peek(keeper: &Keeper<Numbers>, at: &[u64], ty: NcType, out: &mut [u8]) -> bool {
    let item = keeper.form.item();
    let cache = &keeper.cache;
    if cache.is_empty() || ty != keeper.form.ty || out.len() != item || keeper.options.progress.is_some() {
        return false;
    }
    let mut index = [0; PEEKED];
    let Some(place) = keeper.grid.element(at, &mut index) else { return false };
    // Inside a chunk, whose bytes can be counted.
    cache.copy(&index[..at.len()], place * item, out)
}

/// Reads a slab that was checked and is not empty.
pub(crate) fn get(keeper: &Keeper<Numbers>, slab: &Slab<'_>, ty: NcType, out: &mut OutBuf<'_>) -> Result<()> {
    let convert = Convert::reading(keeper.form.ty, ty)?;
    let wanted = match convert.is_none().then(|| straight::read(keeper, slab, out)) {
        Some(Straight::Done(result)) => return result,
        Some(Straight::Other { keep }) => keep,
        None => false,
    };
    run(keeper, slab, convert, wanted, out)
}

/// As [`get`], with elements converted in a way of the caller's.
pub(crate) fn get_with(
    keeper: &Keeper<Numbers>,
    slab: &Slab<'_>,
    convert: Option<Convert>,
    out: &mut OutBuf<'_>,
) -> Result<()> {
    run(keeper, slab, convert, false, out)
}

/// `wanted`: it was asked already, and the chunk is to be kept.
fn run(
    keeper: &Keeper<Numbers>,
    slab: &Slab<'_>,
    convert: Option<Convert>,
    wanted: bool,
    out: &mut OutBuf<'_>,
) -> Result<()> {
    let form = &keeper.form;
    let mem_item = convert.as_ref().map_or(form.item(), |convert| convert.mem_item);
    let projection = keeper.project(slab, &keeper.grid.shape())?;
    let stream = out.capacity() >= STREAM;
    let (fill, fill_out_of_range) = convert_fill(form, convert.as_ref());
    let total = out.capacity();
    let map = keeper.map();
    let came = &AtomicBool::new(false);
    let ahead = stream && map.caps().remote;
    let front = match map.caps().remote {
        true => ahead.then(|| Front::of_any(out)),
        false => Front::of(out),
    };
    let work = |board: &Board<'_>| {
        let get = Get {
            keeper,
            projection: &projection,
            board,
            convert,
            fill,
            fill_out_of_range,
            mem_item,
            total,
            caps: map.caps(),
            keep: false,
            wanted,
            since: keeper.cache.now(),
            came,
            front: front.as_ref(),
            outcome: Outcome::new(&keeper.options, total),
        };
        get.run()
    };
    let run = || scatter(out, &projection, mem_item, stream, work);
    let outcome = match front.as_ref().filter(|_| ahead) {
        None => run(),
        Some(front) => front.ahead(threads::most(&keeper.options), came, run),
    };
    outcome.and_then(|outcome| outcome)
}

/// An unwritten element of the memory type, if that is another, and whether it is out of its range.
fn convert_fill(form: &Numbers, convert: Option<&Convert>) -> ([u8; 8], bool) {
    if let Some(convert) = convert {
        return convert.element(&form.fill);
    }
    ([0; 8], false)
}

impl Get<'_> {
    /// The inner result is that of a transfer that went through: a range error leaves the memory filled.
    fn run(mut self) -> Result<Result<()>> {
        let misses = self.copy_hits()?;
        let (chunks, bytes) = match &misses {
            None => (self.projection.total, self.total),
            Some((list, elems)) => (list.len(), elems * self.mem_item),
        };
        if chunks > 0 {
            let keeper = self.keeper;
            let decoded = chunks.saturating_mul(keeper.form.bytes());
            self.keep = keeper.may_keep(chunks);
            let list = misses.as_ref().map(|(list, _)| &**list);
            // What must be decoded, or at least copied.
            let work = if keeper.form.plan.is_plain() { bytes } else { decoded };
            let threads = threads::worth(&keeper.options, chunks, work);
            let only = (chunks == 1).then(|| {
                let number = list.map_or(0, |list| list[0]);
                (number, self.projection.get(number))
            });
            let job = Batch { get: &self, list, only, chunks, threads, next: AtomicUsize::new(0) };
            keeper.map().read_batch(&job);
            self.outcome.failure()?;
        }
        Ok(self.outcome.finish(&self.keeper.name))
    }

    /// Copies what is in the cache. The numbers of the other chunks and how many elements they have; `None`: all of them.
    fn copy_hits(&self) -> Result<Option<(Vec<usize>, usize)>> {
        let cache: &Cache<Block> = &self.keeper.cache;
        if cache.is_empty() {
            return Ok(None);
        }
        let (mut misses, mut elems) = (Vec::new(), 0);
        let mut part = Part::default();
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

    fn hit(&self, number: usize, part: &Part) -> Result<bool> {
        let keeper = self.keeper;
        loop {
            let found: Option<Result<Option<bool>>> = keeper.cache.look(&part.index, |entry| {
                let slot = if entry.knows(part) { Some(self.board.slot(number)?) } else { None };
                Ok(slot.map(|slot| self.load(slot, &entry.data, part)))
            });
            match found.transpose()? {
                None => return Ok(false),
                Some(Some(out_of_range)) => {
                    // Not before the entry is free again: an observer may do what it likes.
                    self.moved(part, out_of_range);
                    return Ok(true);
                }
                Some(None) => keeper.fill_holes(&part.index)?,
            }
        }
    }

    fn load(&self, slot: Slot<'_>, data: &Block, part: &Part) -> bool {
        slot.load(data, &self.keeper.form.kept(), part, self.convert.as_ref())
    }

    fn moved(&self, part: &Part, out_of_range: bool) {
        self.outcome.range(out_of_range);
        self.outcome.advance(part.elems * self.mem_item);
    }

    /// Whether the part's bytes in storage are its bytes in memory, one after another.
    fn is_direct(&self, part: &Part) -> bool {
        self.convert.is_none() && part.is_contiguous() && self.keeper.form.plan.is_plain()
    }

    /// The bytes a part needs, if that is less than the chunk.
    fn pieces(&self, part: &Part, gap: usize) -> Option<Pieces> {
        let form = &self.keeper.form;
        ranges::pieces(part, form.item(), form.elems, gap)
    }

    /// Bytes between two pieces that are rather read than asked for twice.
    fn gap(&self) -> usize {
        ranges::worth_reading(self.caps.remote, self.keeper.shards.is_some())
    }

    /// The pieces to ask storage for in place of a chunk that need not be kept: which, how many bytes, and whether these
    /// are those of the result.
    fn requests(&self, part: &Part) -> Option<(Ranges, usize, bool)> {
        let form = &self.keeper.form;
        if part.cover != Cover::Some || !form.plan.has_ranges() || !self.caps.range_read {
            return None;
        }
        let requests = match ranges::straight(part, form.item(), form.elems) {
            Some((range, bytes)) => (Ranges::One(range), bytes, self.is_direct(part)),
            None => {
                let pieces = self.pieces(part, self.gap())?;
                let direct = matches!(pieces.ranges, Ranges::One(_)) && self.is_direct(&pieces.part);
                (pieces.ranges, pieces.bytes, direct)
            }
        };
        (!self.keep || !(self.wanted || self.keeper.wants(part))).then_some(requests)
    }

    fn ticket(&self, number: usize, part: &Part) -> ReadTicket<'_> {
        let plan = &self.keeper.form.plan;
        let bytes = self.keeper.form.bytes();
        let ticket =
            |ranges, hint, limit, into| ReadTicket { index: number, ranges, hint, limit, versioned: false, into };
        if let Some((ranges, bytes, direct)) = self.requests(part) {
            let into = if direct { self.board.lend(number, part) } else { None };
            return ticket(ranges, bytes, bytes, into);
        }
        let direct = part.cover == Cover::All && self.is_direct(part);
        let into = if direct { self.board.lend(number, part) } else { None };
        let hint = if plan.has_filters() { bytes / 2 } else { bytes };
        ticket(Ranges::All, hint, plan.limit, into)
    }

    /// Takes one chunk from the map to its place.
    fn take(
        &self,
        mut ticket: ReadTicket<'_>,
        part: &Part,
        found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>,
    ) -> Result<()> {
        let number = ticket.index;
        let found = found?;
        if ticket.into.is_none() && matches!(found, Some((ReadOutcome::InPlace, _))) && self.pours(&ticket, part) {
            // It came piece by piece; what did not come is missed in the end.
            return Ok(());
        }
        let (slot, lent) = match ticket.into.take() {
            None => (self.board.slot(number)?, None),
            Some(lent) => {
                let filled = lent.filled().len();
                (self.board.take_back(number, part, lent)?, Some(filled))
            }
        };
        let wrong = |found| Err(self.keeper.form.plan.wrong_size(found));
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

    /// Whether a chunk is taken piece by piece: a large one that nothing has to be undone of, and that is not kept.
    fn pours(&self, ticket: &ReadTicket<'_>, part: &Part) -> bool {
        let form = &self.keeper.form;
        let kept = self.keep && part.cover == Cover::Some;
        let all = matches!(ticket.ranges, Ranges::All) && ticket.into.is_none();
        all && !kept && form.plan.has_ranges() && form.bytes() >= pour::LARGE
    }

    fn missing(&self, slot: Slot<'_>, part: &Part) -> Result<()> {
        let keeper = self.keeper;
        keeper.missing(&part.index)?;
        let own = &keeper.form.fill;
        slot.fill(if self.convert.is_some() { &self.fill[..self.mem_item] } else { own }, part);
        self.moved(part, self.fill_out_of_range);
        Ok(())
    }

    fn place_pieces(&self, slot: Slot<'_>, stored: &[u8], part: &Part) -> Result<()> {
        let form = &self.keeper.form;
        let pieces = self.pieces(part, self.gap());
        let Some(pieces) = pieces.filter(|pieces| pieces.bytes == stored.len()) else {
            return Err(form.plan.wrong_size(stored.len()).at("a range of the chunk"));
        };
        let range = slot.load(stored, &form.plan.layout, &pieces.part, self.convert.as_ref());
        self.moved(part, range);
        Ok(())
    }

    /// Decodes no more than the part needs, where the filter can do that. The slot comes back if it cannot.
    fn place_decoded<'s>(&self, slot: Slot<'s>, stored: &[u8], part: &Part) -> Result<Option<Slot<'s>>> {
        let form = &self.keeper.form;
        let Some(filter) = form.plan.range_filter().filter(|_| part.cover == Cover::Some) else {
            return Ok(Some(slot));
        };
        let Some(pieces) = self.pieces(part, ranges::worth_decoding()) else { return Ok(Some(slot)) };
        let wanted = pieces.wanted();
        with_scratch(|pair| {
            let mut able = true;
            let decode = |out: &mut OutBuf<'_>| {
                filter.decode_ranges(stored, form.bytes(), &wanted, out).unwrap_or_else(|| {
                    able = false;
                    Ok(())
                })
            };
            let bytes = pair.one.fill(pieces.bytes, decode)?;
            if !able {
                return Ok(Some(slot));
            }
            if bytes.len() != pieces.bytes {
                let (expected, found) = (pieces.bytes, bytes.len());
                return Err(ErrorKind::Filter.context(format!("{expected} bytes of ranges expected, {found} found")));
            }
            let range = slot.load(bytes, &form.plan.layout, &pieces.part, self.convert.as_ref());
            self.moved(part, range);
            Ok(None)
        })
    }

    fn place(&self, slot: Slot<'_>, stored: &[u8], part: &Part) -> Result<()> {
        let (form, convert) = (&self.keeper.form, self.convert.as_ref());
        let plan = &form.plan;
        if self.keep && part.cover == Cover::Some {
            let data = Arc::new(form.decode(stored)?);
            let range = self.load(slot, &data, part);
            let cost = form.cost(&data);
            self.keeper.cache.insert_read(&part.index, data, cost, self.since);
            self.moved(part, range);
            return Ok(());
        }
        let slot = match self.place_decoded(slot, stored, part)? {
            Some(slot) => slot,
            None => return Ok(()),
        };
        let range = if part.cover == Cover::All && part.is_contiguous() && convert.is_none() && plan.layout.is_native()
        {
            let filled = with_scratch(|pair| slot.direct(part, |out| plan.decode_into(stored, pair, out)))?;
            if filled != form.bytes() {
                return Err(plan.wrong_size(filled));
            }
            false
        } else {
            let Some(slot) = self.place_units(slot, stored, part)? else { return Ok(()) };
            with_scratch(|pair| Ok::<_, Error>(slot.load(plan.decode(stored, pair)?, &plan.layout, part, convert)))?
        };
        self.moved(part, range);
        Ok(())
    }
}

impl Keeper<Numbers> {
    /// Whether so many chunks, if they are used in part, may be kept.
    fn may_keep(&self, chunks: usize) -> bool {
        chunks.saturating_mul(self.form.bytes()) <= self.cache.budget() / 2
    }

    /// Whether all of the part's chunk should be read, and kept.
    fn wants(&self, part: &Part) -> bool {
        self.cache.wants(&part.index, self.grid.all_elems().saturating_mul(self.form.item()))
    }
}

impl<F: Form> Keeper<F> {
    /// What an absent chunk means: fill values, if there is no error.
    pub(crate) fn missing(&self, index: &ChunkIndex) -> Result<()> {
        match self.options.missing_chunks {
            MissingChunks::Fill => {}
            MissingChunks::Warn => {
                let key = self.key(index);
                tracing::warn!(variable = %self.name, %key, "chunk is missing, fill values are used");
            }
            MissingChunks::Error => {
                return Err(ErrorKind::NoObject.context("the chunk is missing"));
            }
        }
        Ok(())
    }
}

/// The chunks of one read that are not in the cache.
struct Batch<'a> {
    get: &'a Get<'a>,
    list: Option<&'a [usize]>,
    /// The number and the part of a chunk that is the only one.
    only: Option<(usize, Part)>,
    chunks: usize,
    threads: usize,
    next: AtomicUsize,
}

impl Batch<'_> {
    /// Does something with the part of a chunk.
    fn with_part<R>(&self, number: usize, work: impl FnOnce(&Part) -> R) -> R {
        match &self.only {
            Some((only, part)) if *only == number => work(part),
            _ => work(&self.get.projection.get(number)),
        }
    }

    /// Sees that the pages are there which a part is about to be written to.
    fn reach(&self, part: &Part) {
        if let Some(front) = self.get.front.filter(|_| self.threads > 1) {
            front.reach(part.extent().1.saturating_mul(self.get.mem_item), self.threads);
        }
    }
}

impl ReadJob for Batch<'_> {
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
            // What is far away is asked for first.
            if !self.get.caps.remote {
                self.reach(part);
            }
            self.get.keeper.locate(&part.index, key);
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
            let pour = get.pours(ticket, part).then(|| Pour::new(get, ticket.index, part)).flatten()?;
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
                get.outcome.fail(get.keeper.blame(error, &part.index));
            }
        });
    }
}
