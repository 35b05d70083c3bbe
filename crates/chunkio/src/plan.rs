//! [`FilterPlan`]: the compiled filters of an array.
//!
//! Leading filters that only move bytes ([`Stage`]) become part of the [`ChunkLayout`], which kernels process
//! in one pass. The plan calls the other filters, with two buffers per thread. The plan knows stages, but no
//! filter names.

use std::ops::Range;

use nczarr_codec::{ChunkInfo, Filter, ItemType, Stage};
use nczarr_model::convert::Half;
use nczarr_model::{Error, ErrorKind, Result};
use nczarr_runtime::{DimVec, OutBuf};

use crate::kernel::ChunkLayout;
use crate::memory::{ScratchBuffer, ScratchPair, fill_vec};

/// The allowed excess of a stored chunk over the bound of our encoders: other encoders may need more.
const SLACK: usize = 1 << 20;

/// The number of times that an output of unknown size is doubled before the filter's error counts.
const DOUBLINGS: u32 = 10;

/// Encodes and decodes the elements of a chunk.
#[derive(Debug)]
pub(crate) struct FilterPlan {
    /// The layout of the bytes that the first called filter receives.
    pub(crate) layout: ChunkLayout,
    /// The number of these bytes; `None` if elements have no fixed size.
    pub(crate) bytes: Option<usize>,
    /// The kind of half float, if elements are stored as such.
    pub(crate) half: Option<Half>,
    /// The maximum size of a stored chunk.
    pub(crate) limit: usize,
    /// The called filters in the order of encoding, each with the maximum size of its decoded bytes.
    filters: Vec<(Box<dyn Filter>, usize)>,
    /// The filters before them, which the layout replaces.
    folded: Vec<Box<dyn Filter>>,
    /// Whether the first called filter is the conversion between stored elements and memory.
    has_stage: bool,
}

/// The input of [`FilterPlan::new`].
#[derive(Debug)]
pub(crate) struct PlanSource {
    /// The size of an element in memory; 1 if it is not fixed.
    pub(crate) held: usize,
    /// The size of an element as stored; 1 if it is not fixed.
    pub(crate) item: usize,
    /// The conversion between stored elements and memory, if more than the byte order differs.
    pub(crate) stage: Option<Box<dyn Filter>>,
    /// The kind of half float, if elements are stored as such.
    pub(crate) half: Option<Half>,
    /// Whether kernels support the elements, so that stages can be merged.
    pub(crate) number: bool,
    pub(crate) big_endian: bool,
    /// The elements, as described to filters.
    pub(crate) elements: ItemType,
    /// The size of a chunk in memory; `None` if it is not fixed.
    pub(crate) bytes: Option<usize>,
    /// The shape of a chunk in the order of its elements, slowest dimension first.
    pub(crate) shape: DimVec<u64>,
    /// The number of elements in a chunk.
    pub(crate) count: usize,
    /// The elements along the fastest dimension.
    pub(crate) row: usize,
    /// The elements along the last dimension of the array, for numbers if it is fixed.
    pub(crate) line: Option<usize>,
    /// The maximum size of a chunk.
    pub(crate) most: usize,
}

/// The location of the bytes between two filters.
#[derive(Clone, Copy)]
enum BufferSlot {
    Given,
    One,
    Two,
}

impl FilterPlan {
    /// Binds the filters and merges stages.
    ///
    /// # Errors
    /// The error of a filter about these chunks.
    pub(crate) fn new(source: &PlanSource, filters: Vec<Box<dyn Filter>>) -> Result<Self> {
        let mut layout = ChunkLayout {
            item: source.held,
            planes: false,
            swap: source.big_endian != cfg!(target_endian = "big"),
        };
        let mut called: Vec<(Box<dyn Filter>, usize)> = Vec::new();
        let mut folded = Vec::new();
        let mut bound = source.bytes;
        if let Some(stage) = &source.stage {
            layout.swap = false;
            called.push((stage.clone(), bound.unwrap_or(0)));
            bound = bound.and_then(|bytes| stage.encode_bound(bytes));
        }
        let mut entering = source.elements;
        let (mut shape, mut count, mut row) = (source.shape.clone(), source.count, source.row);
        for mut filter in filters {
            let info = ChunkInfo::new(entering, count)
                .item_size(source.item)
                .chunk_bytes(bound.unwrap_or(0))
                .shape(&shape)
                .row(row)
                .array_row(source.line)
                .big_endian(source.big_endian);
            let name = filter.info().name;
            filter.bind(&info).map_err(|error| error.at(format_args!("filter {name}")))?;
            entering = filter.encoded_item();
            if let Some(reshaped) = filter.encoded_shape() {
                count = elements_of(&reshaped);
                row = reshaped.last().map_or(1, |&row| usize::try_from(row).unwrap_or(usize::MAX));
                shape = reshaped.into_iter().collect();
            }
            if source.number && called.is_empty() && fold(&mut layout, filter.stage()) {
                folded.push(filter);
                continue;
            }
            let room = match (bound, called.is_empty()) {
                // The first called filter decodes to exactly one chunk.
                (Some(bytes), true) => bytes,
                (Some(bytes), false) => bytes.saturating_mul(2).saturating_add(SLACK),
                (None, _) => source.most,
            };
            bound = bound.and_then(|bytes| filter.encode_bound(bytes));
            called.push((filter, room));
        }
        let limit = bound.map_or(source.most, |bytes| bytes.saturating_mul(2)).saturating_add(SLACK);
        let has_stage = source.stage.is_some();
        Ok(Self { layout, bytes: source.bytes, half: source.half, limit, filters: called, folded, has_stage })
    }

    /// Whether the stored bytes equal the bytes in memory.
    pub(crate) fn is_plain(&self) -> bool {
        self.filters.is_empty() && self.layout.is_native()
    }

    /// Whether a range of stored bytes is a range of elements.
    pub(crate) fn has_ranges(&self) -> bool {
        self.filters.is_empty() && (!self.layout.planes || self.layout.item == 1)
    }

    /// Whether filters are called.
    pub(crate) fn has_filters(&self) -> bool {
        !self.filters.is_empty()
    }

    /// Returns all filters of the array in the order of encoding.
    pub(crate) fn all_filters(&self) -> impl Iterator<Item = &dyn Filter> {
        let called = self.filters.iter().skip(usize::from(self.has_stage)).map(|(filter, _)| &**filter);
        self.folded.iter().map(|filter| &**filter).chain(called)
    }

    /// Returns the filter that decodes ranges: the only called one, if ranges of bytes are ranges of
    /// elements.
    pub(crate) fn range_filter(&self) -> Option<&dyn Filter> {
        match &*self.filters {
            [(filter, _)] if !self.layout.planes || self.layout.item == 1 => Some(&**filter),
            _ => None,
        }
    }

    /// Decodes a range of the `decoded` bytes with the only filter, which supports units.
    pub(crate) fn decode_range(
        &self,
        stored: &[u8],
        decoded: usize,
        wanted: Range<usize>,
        out: &mut OutBuf<'_>,
    ) -> Result<()> {
        let Some(filter) = self.range_filter() else {
            return Err(ErrorKind::Internal.context("no filter to ask for a range"));
        };
        call(filter, "decoding", |filter| {
            let decoding = filter.decode_ranges(stored, decoded, std::slice::from_ref(&wanted), out);
            decoding.unwrap_or_else(|| {
                Err(ErrorKind::Filter.context("the filter has units but cannot decode them"))
            })
        })
    }

    /// Decodes with the called filters. The result is in `pair`, or `stored` itself without filters.
    pub(crate) fn decode<'p>(&self, stored: &'p [u8], pair: &'p mut ScratchPair) -> Result<&'p [u8]> {
        let at = self.undo(stored, pair, 0)?;
        let bytes = match at {
            BufferSlot::Given => stored,
            BufferSlot::One => pair.one.written(),
            BufferSlot::Two => pair.two.written(),
        };
        self.check(bytes.len())?;
        Ok(bytes)
    }

    /// As [`FilterPlan::decode`], into `out`, whose capacity is that of a chunk.
    pub(crate) fn decode_into(
        &self,
        stored: &[u8],
        pair: &mut ScratchPair,
        out: &mut OutBuf<'_>,
    ) -> Result<()> {
        let Some((first, _)) = self.filters.first() else {
            self.check(stored.len())?;
            return out.put(stored);
        };
        let at = self.undo(stored, pair, 1)?;
        let (bytes, _, _) = between(stored, pair, at);
        call(&**first, "decoding", |filter| filter.decode(bytes, out))?;
        self.check(out.filled().len())
    }

    /// Decodes with the filters from the last to number `down_to`.
    fn undo(&self, stored: &[u8], pair: &mut ScratchPair, down_to: usize) -> Result<BufferSlot> {
        let mut at = BufferSlot::Given;
        for (filter, room) in self.filters.iter().skip(down_to).rev() {
            let (bytes, next, to) = between(stored, pair, at);
            call(&**filter, "decoding", |filter| match self.bytes {
                Some(_) => next.fill(*room, |out| filter.decode(bytes, out)).map(drop),
                None => {
                    let first = bytes.len().saturating_mul(4).max(1 << 16).min(*room);
                    grow(first, *room, |limit| next.fill(limit, |out| filter.decode(bytes, out)).map(drop))
                }
            })?;
            at = to;
        }
        Ok(at)
    }

    fn check(&self, found: usize) -> Result<()> {
        match self.bytes {
            Some(expected) if found != expected => Err(self.wrong_size(found)),
            _ => Ok(()),
        }
    }

    /// Returns the error for a chunk of a wrong decoded size.
    pub(crate) fn wrong_size(&self, found: usize) -> Error {
        let expected = self.bytes.unwrap_or(0);
        let kind = match (self.filters.is_empty(), found < expected) {
            (true, true) => ErrorKind::Trunc,
            (true, false) => ErrorKind::Io,
            (false, _) => ErrorKind::Filter,
        };
        kind.context(format!("wrong size (expected {expected} bytes, found {found})"))
    }

    /// Encodes `given` with the called filters, into `out`.
    ///
    /// An [`EncodeInput::Gather`] writes into memory for one chunk.
    pub(crate) fn encode(
        &self,
        given: EncodeInput<'_, impl FnOnce(&mut OutBuf<'_>) -> Result<()>>,
        pair: &mut ScratchPair,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let Some((last, first)) = self.filters.split_last() else {
            return match given {
                EncodeInput::Bytes(bytes) => fill_vec(out, bytes.len(), |out| out.put(bytes)),
                EncodeInput::Gather(bytes, gather) => fill_vec(out, bytes, gather),
            };
        };
        let (given, mut at) = match given {
            EncodeInput::Bytes(bytes) => (bytes, BufferSlot::Given),
            EncodeInput::Gather(bytes, gather) => {
                pair.one.fill(bytes, gather)?;
                (&[][..], BufferSlot::One)
            }
        };
        for (filter, _) in first {
            let (bytes, next, to) = between(given, pair, at);
            call(&**filter, "encoding", |filter| {
                bounded(filter, bytes, |limit| next.fill(limit, |out| filter.encode(bytes, out)).map(drop))
            })?;
            at = to;
        }
        let (bytes, _, _) = between(given, pair, at);
        call(&*last.0, "encoding", |filter| {
            bounded(filter, bytes, |limit| fill_vec(out, limit, |out| filter.encode(bytes, out)))
        })
    }
}

/// The input of [`FilterPlan::encode`].
pub(crate) enum EncodeInput<'a, G> {
    /// These bytes.
    Bytes(&'a [u8]),
    /// A number of bytes that the closure writes.
    Gather(usize, G),
}

/// Returns the bytes at `at`, the other buffer, and its location.
fn between<'p>(
    given: &'p [u8],
    pair: &'p mut ScratchPair,
    at: BufferSlot,
) -> (&'p [u8], &'p mut ScratchBuffer, BufferSlot) {
    match at {
        BufferSlot::Given => (given, &mut pair.one, BufferSlot::One),
        BufferSlot::One => (pair.one.written(), &mut pair.two, BufferSlot::Two),
        BufferSlot::Two => (pair.two.written(), &mut pair.one, BufferSlot::One),
    }
}

/// Returns the number of elements of an array; saturates.
fn elements_of(shape: &[u64]) -> usize {
    let elements = shape.iter().fold(1_u64, |count, &len| count.saturating_mul(len));
    usize::try_from(elements).unwrap_or(usize::MAX)
}

fn fold(layout: &mut ChunkLayout, stage: Stage) -> bool {
    match stage {
        Stage::Transpose { item: 1 } | Stage::Swap { item: 1 } => true,
        Stage::Transpose { item } if item == layout.item && !layout.planes => {
            layout.planes = true;
            true
        }
        Stage::Swap { item } if item == layout.item && !layout.planes => {
            layout.swap = !layout.swap;
            true
        }
        _ => false,
    }
}

fn call<'f, R>(
    filter: &'f dyn Filter,
    what: &str,
    work: impl FnOnce(&'f dyn Filter) -> Result<R>,
) -> Result<R> {
    work(filter).map_err(|error| error.at(format_args!("{what} with filter {}", filter.info().name)))
}

/// Encodes bytes outside an array with one filter, into `out`.
pub(crate) fn encode_one(filter: &dyn Filter, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    call(filter, "encoding", |filter| {
        bounded(filter, bytes, |limit| fill_vec(out, limit, |out| filter.encode(bytes, out)))
    })
}

/// Encodes with the bound of the filter, or with growing buffers if it has none.
fn bounded(filter: &dyn Filter, bytes: &[u8], mut encode: impl FnMut(usize) -> Result<()>) -> Result<()> {
    match filter.encode_bound(bytes.len()) {
        Some(limit) => encode(limit),
        None => {
            let first = bytes.len().saturating_add(bytes.len() / 4).saturating_add(1 << 10);
            grow(first, first.saturating_mul(1 << DOUBLINGS), encode)
        }
    }
}

/// Tries with `room` bytes, and with twice as many after each failure, up to `most`.
fn grow(mut room: usize, most: usize, mut attempt: impl FnMut(usize) -> Result<()>) -> Result<()> {
    loop {
        match attempt(room) {
            Err(error) if error.kind() == ErrorKind::Filter && room < most => {
                room = room.saturating_mul(2).min(most)
            }
            result => return result,
        }
    }
}
