//! [`Plan`]: the filters of an array, compiled once.
//!
//! Filters at the array's end that only move bytes ([`Stage`]) become part of the [`Layout`], which the kernels
//! read and write in one pass; the others are called, between two buffers that each thread keeps. The plan knows
//! stages, never a filter's name.

use std::ops::Range;

use nczarr_dispatch::{ChunkInfo, Filter, ItemType, OutBuf, Stage};
use nczarr_model::convert::Half;
use nczarr_model::{Error, ErrorKind, Result};

use crate::elements::Elements;
use crate::kernel::Layout;
use crate::memory::{Pair, Scratch, fill_vec};

/// What a stored chunk may hold beyond the bound that our own encoders keep to: foreign ones may be less careful.
const SLACK: usize = 1 << 20;

/// How often an output of unknown size is doubled before the filter's refusal counts.
const DOUBLINGS: u32 = 10;

/// What makes stored bytes of a chunk's elements, and back.
#[derive(Debug)]
pub(crate) struct Plan {
    /// How elements lie in the bytes that the first called filter takes.
    pub(crate) layout: Layout,
    /// Those bytes; `None` if elements have no fixed size.
    pub(crate) bytes: Option<usize>,
    /// Whether the elements are stored as half floats, so that what is written must be one.
    pub(crate) half: Option<Half>,
    /// More stored bytes than this are not a chunk.
    pub(crate) limit: usize,
    /// The called filters in the order of encoding, each with the most bytes it may decode to.
    filters: Vec<(Box<dyn Filter>, usize)>,
}

/// What the plan is compiled from.
#[derive(Debug)]
pub(crate) struct Source {
    /// Bytes of an element in memory; 1 if that is not fixed.
    pub(crate) held: usize,
    /// Bytes of an element as stored; 1 if that is not fixed.
    pub(crate) item: usize,
    /// What makes stored elements of those in memory and back, where more than the order of their bytes differs.
    pub(crate) stage: Option<Elements>,
    /// Whether the kernels know such elements, so that stages may be folded.
    pub(crate) number: bool,
    pub(crate) big_endian: bool,
    /// The elements, as filters are told of them.
    pub(crate) elements: ItemType,
    /// Bytes of a chunk in memory; `None` if that is not fixed.
    pub(crate) bytes: Option<usize>,
    /// Elements of a chunk.
    pub(crate) count: usize,
    /// Elements along the fastest dimension.
    pub(crate) row: usize,
    /// Elements of numbers along the last dimension of the array, if that is fixed.
    pub(crate) line: Option<usize>,
    /// The most bytes a chunk may have.
    pub(crate) most: usize,
}

/// Where the bytes between two filters are.
#[derive(Clone, Copy)]
enum At {
    Given,
    One,
    Two,
}

impl Plan {
    /// Binds the filters and folds those that can be.
    ///
    /// # Errors
    /// What a filter says of the chunks it would work on.
    pub(crate) fn new(source: &Source, filters: Vec<Box<dyn Filter>>) -> Result<Self> {
        let mut layout =
            Layout { item: source.held, planes: false, swap: source.big_endian != cfg!(target_endian = "big") };
        let mut called: Vec<(Box<dyn Filter>, usize)> = Vec::new();
        let mut bound = source.bytes;
        if let Some(stage) = &source.stage {
            layout.swap = false;
            called.push((Box::new(stage.clone()), bound.unwrap_or(0)));
            bound = bound.and_then(|bytes| stage.encode_bound(bytes));
        }
        let mut entering = source.elements;
        for mut filter in filters {
            let info = ChunkInfo {
                item_size: source.item,
                chunk_bytes: bound.unwrap_or(0),
                elements: source.count,
                row: source.row,
                array_row: source.line,
                big_endian: source.big_endian,
                item: entering,
            };
            let name = filter.info().name;
            filter.bind(&info).map_err(|error| error.at(format_args!("filter {name}")))?;
            entering = filter.encoded_item();
            if source.number && called.is_empty() && fold(&mut layout, filter.stage()) {
                continue;
            }
            let room = match (bound, called.is_empty()) {
                // The first called filter decodes to exactly the chunk.
                (Some(bytes), true) => bytes,
                (Some(bytes), false) => bytes.saturating_mul(2).saturating_add(SLACK),
                (None, _) => source.most,
            };
            bound = bound.and_then(|bytes| filter.encode_bound(bytes));
            called.push((filter, room));
        }
        let limit = bound.map_or(source.most, |bytes| bytes.saturating_mul(2)).saturating_add(SLACK);
        let half = source.stage.as_ref().and_then(Elements::half);
        Ok(Self { layout, bytes: source.bytes, half, limit, filters: called })
    }

    /// Whether stored bytes are the elements as they are in memory.
    pub(crate) fn is_plain(&self) -> bool {
        self.filters.is_empty() && self.layout.is_native()
    }

    /// Whether a range of stored bytes is a range of elements.
    pub(crate) fn has_ranges(&self) -> bool {
        self.filters.is_empty() && (!self.layout.planes || self.layout.item == 1)
    }

    /// Whether there are called filters.
    pub(crate) fn has_filters(&self) -> bool {
        !self.filters.is_empty()
    }

    /// The filter to ask for pieces of a chunk: if it is the only one called, and pieces of bytes are pieces of elements.
    pub(crate) fn range_filter(&self) -> Option<&dyn Filter> {
        match &*self.filters {
            [(filter, _)] if !self.layout.planes || self.layout.item == 1 => Some(&**filter),
            _ => None,
        }
    }

    /// Asks the only filter for a range of the `decoded` bytes of a chunk that it said to decode in units.
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
            decoding.unwrap_or_else(|| Err(ErrorKind::Filter.context("it has units and does not decode them")))
        })
    }

    /// Undoes the called filters. The result lies in `pair`, or is `stored` itself if there are none.
    pub(crate) fn decode<'p>(&self, stored: &'p [u8], pair: &'p mut Pair) -> Result<&'p [u8]> {
        let at = self.undo(stored, pair, 0)?;
        let bytes = match at {
            At::Given => stored,
            At::One => pair.one.written(),
            At::Two => pair.two.written(),
        };
        self.check(bytes.len())?;
        Ok(bytes)
    }

    /// As [`Plan::decode`], with the result in `out`, whose capacity is that of a chunk.
    pub(crate) fn decode_into(&self, stored: &[u8], pair: &mut Pair, out: &mut OutBuf<'_>) -> Result<()> {
        let Some((first, _)) = self.filters.first() else {
            self.check(stored.len())?;
            return out.put(stored);
        };
        let at = self.undo(stored, pair, 1)?;
        let (bytes, _, _) = between(stored, pair, at);
        call(&**first, "decoding", |filter| filter.decode(bytes, out))?;
        self.check(out.filled().len())
    }

    /// Undoes the filters from the last down to number `down_to`.
    fn undo(&self, stored: &[u8], pair: &mut Pair, down_to: usize) -> Result<At> {
        let mut at = At::Given;
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

    /// The error of a chunk that decodes to another size than declared.
    pub(crate) fn wrong_size(&self, found: usize) -> Error {
        let expected = self.bytes.unwrap_or(0);
        let kind = match (self.filters.is_empty(), found < expected) {
            (true, true) => ErrorKind::Trunc,
            (true, false) => ErrorKind::Io,
            (false, _) => ErrorKind::Filter,
        };
        kind.context(format!("{expected} bytes expected, {found} found"))
    }

    /// Applies the called filters to what `gather` writes (or to `given`, if it needs no gathering), with the
    /// result in `out`.
    ///
    /// `gather` gets room for one chunk's bytes.
    pub(crate) fn encode(
        &self,
        given: Given<'_, impl FnOnce(&mut OutBuf<'_>) -> Result<()>>,
        pair: &mut Pair,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let Some((last, first)) = self.filters.split_last() else {
            return match given {
                Given::Bytes(bytes) => fill_vec(out, bytes.len(), |out| out.put(bytes)),
                Given::Gather(bytes, gather) => fill_vec(out, bytes, gather),
            };
        };
        let (given, mut at) = match given {
            Given::Bytes(bytes) => (bytes, At::Given),
            Given::Gather(bytes, gather) => {
                pair.one.fill(bytes, gather)?;
                (&[][..], At::One)
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

/// What [`Plan::encode`] starts from.
pub(crate) enum Given<'a, G> {
    /// These bytes.
    Bytes(&'a [u8]),
    /// So many bytes, which this writes.
    Gather(usize, G),
}

/// The bytes at `at`, the buffer they are not in, and its place.
fn between<'p>(given: &'p [u8], pair: &'p mut Pair, at: At) -> (&'p [u8], &'p mut Scratch, At) {
    match at {
        At::Given => (given, &mut pair.one, At::One),
        At::One => (pair.one.written(), &mut pair.two, At::Two),
        At::Two => (pair.two.written(), &mut pair.one, At::One),
    }
}

fn fold(layout: &mut Layout, stage: Stage) -> bool {
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

fn call<'f, R>(filter: &'f dyn Filter, what: &str, work: impl FnOnce(&'f dyn Filter) -> Result<R>) -> Result<R> {
    work(filter).map_err(|error| error.at(format_args!("{what} with filter {}", filter.info().name)))
}

/// Applies one filter to bytes that are no array's, with the result in `out`.
pub(crate) fn encode_one(filter: &dyn Filter, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    call(filter, "encoding", |filter| {
        bounded(filter, bytes, |limit| fill_vec(out, limit, |out| filter.encode(bytes, out)))
    })
}

/// Encodes with the room the filter asks for, or with more and more if it does not know.
fn bounded(filter: &dyn Filter, bytes: &[u8], mut encode: impl FnMut(usize) -> Result<()>) -> Result<()> {
    match filter.encode_bound(bytes.len()) {
        Some(limit) => encode(limit),
        None => {
            let first = bytes.len().saturating_add(bytes.len() / 4).saturating_add(1 << 10);
            grow(first, first.saturating_mul(1 << DOUBLINGS), encode)
        }
    }
}

/// Tries with `room`, and with twice as much after each refusal, up to `most`.
fn grow(mut room: usize, most: usize, mut attempt: impl FnMut(usize) -> Result<()>) -> Result<()> {
    loop {
        match attempt(room) {
            Err(error) if error.kind() == ErrorKind::Filter && room < most => room = room.saturating_mul(2).min(most),
            result => return result,
        }
    }
}
