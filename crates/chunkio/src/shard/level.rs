//! [`ShardLevel`]: the numbering of a shard's chunks and the position of its index. All sizes are checked
//! once.

use nczarr_codec::Filter;
use nczarr_model::{Error, ErrorKind, Result};
use nczarr_runtime::OutBuf;

use super::index::{ENTRY, ShardEntry, ShardIndex};
use crate::memory::fill_vec;
use crate::{DimOrder, ShardSpec};

/// The allowed excess of an encoded shard over its parts: other writers may leave gaps.
const SLACK: u64 = 1 << 20;

/// One level of shards: its chunks and its index.
#[derive(Debug)]
pub(crate) struct ShardLevel {
    /// The chunks of a shard along each dimension.
    pub(crate) counts: Vec<u64>,
    /// The distance between chunk numbers along each dimension.
    steps: Vec<u64>,
    /// The number of chunks in a shard.
    pub(crate) total: usize,
    pub(crate) at_start: bool,
    big_endian: bool,
    /// The stored position of each entry of the index, if they are not in C order.
    places: Option<Box<[usize]>>,
    filters: Vec<Box<dyn Filter>>,
    /// The size of the encoded index in bytes.
    pub(crate) index_bytes: usize,
    /// The filters around a shard, in the order of encoding.
    around: Vec<Box<dyn Filter>>,
    /// The maximum sizes of a decoded and of a stored shard.
    room: usize,
    pub(crate) limit: usize,
}

impl ShardLevel {
    /// Checks the arguments and derives all values. `part`: the maximum stored size of a chunk; `most`: that
    /// of an index.
    pub(crate) fn new(spec: ShardSpec, part: usize, most: u64) -> Result<Self> {
        let ShardSpec { counts, order, index, filters } = spec;
        let rank = counts.len();
        let wrong = |what: String| ErrorKind::BadChunk.context(what);
        let total =
            counts.iter().try_fold(1u64, |total, &count| total.checked_mul(count)).filter(|&total| total > 0);
        let bytes = total.and_then(|total| total.checked_mul(ENTRY as u64));
        let bytes = bytes.and_then(|bytes| bytes.checked_add(index.extra)).filter(|&bytes| bytes <= most);
        let index_bytes = bytes
            .and_then(|bytes| usize::try_from(bytes).ok())
            .ok_or_else(|| wrong(format!("shards of {counts:?} chunks: the index exceeds {most} bytes")))?;
        let axes = order.axes(rank);
        let mut steps = vec![1; rank];
        let mut step = 1;
        for &axis in axes.iter().rev() {
            let (place, count) = (steps.get_mut(axis), counts.get(axis));
            let (Some(place), Some(count)) = (place, count) else {
                return Err(wrong(format!("invalid order of {rank} dimensions: {axes:?}")));
            };
            *place = step;
            step *= count;
        }
        let total = (index_bytes - index.extra as usize) / ENTRY;
        let shape: Vec<usize> = axes.iter().map(|&axis| counts[axis] as usize).chain([2]).collect();
        let places = places(&shape, &index.order)?;
        let limit = (total as u64)
            .saturating_mul(part as u64)
            .saturating_add(index_bytes as u64)
            .saturating_add(SLACK)
            .min(isize::MAX as u64 / 4);
        let room = usize::try_from(limit).unwrap_or(usize::MAX);
        let limit = if filters.is_empty() { room } else { room.saturating_mul(2) };
        let room =
            if filters.is_empty() { room } else { room.min(usize::try_from(most).unwrap_or(usize::MAX)) };
        let (at_start, big_endian) = (index.at_start, index.big_endian);
        Ok(Self {
            counts,
            steps,
            total,
            at_start,
            big_endian,
            places,
            filters: index.filters,
            index_bytes,
            around: filters,
            room,
            limit,
        })
    }

    /// Returns the number of a chunk in its shard, and replaces `index` by the coordinates of the shard.
    pub(crate) fn split(&self, index: &mut [u64]) -> usize {
        let mut number = 0;
        for ((at, count), step) in index.iter_mut().zip(&self.counts).zip(&self.steps) {
            number += *at % count * step;
            *at /= count;
        }
        // Less than `total`.
        number as usize
    }

    /// Whether a shard can only be read as a whole.
    pub(crate) fn is_wrapped(&self) -> bool {
        !self.around.is_empty()
    }

    /// Decodes an index.
    pub(crate) fn parse(&self, stored: &[u8]) -> Result<ShardIndex> {
        let mut bytes = Vec::new();
        let wrong = |found: usize, expected: usize| {
            ErrorKind::Trunc
                .context(format!("the shard's index: wrong size (expected {expected} bytes, found {found})"))
        };
        if stored.len() != self.index_bytes {
            return Err(wrong(stored.len(), self.index_bytes));
        }
        let mut stored = stored;
        let mut next = Vec::new();
        for filter in self.filters.iter().rev() {
            let room = stored.len();
            fill_vec(&mut next, room, |out| filter.decode(stored, out))
                .map_err(|error| self.index_error(error))?;
            std::mem::swap(&mut bytes, &mut next);
            stored = &bytes;
        }
        let (words, rest) = stored.as_chunks::<8>();
        if words.len() != self.total * 2 || !rest.is_empty() {
            return Err(wrong(stored.len(), self.total * ENTRY));
        }
        let number = |word| if self.big_endian { u64::from_be_bytes(word) } else { u64::from_le_bytes(word) };
        let entry = |[offset, len]: [_; 2]| ShardEntry { offset: number(offset), len: number(len) };
        let entries = match &self.places {
            None => words.as_chunks().0.iter().map(|&pair| entry(pair)).collect(),
            Some(places) => {
                places.as_chunks().0.iter().map(|pair: &[usize; 2]| entry(pair.map(|at| words[at]))).collect()
            }
        };
        Ok(ShardIndex::new(entries))
    }

    /// Appends the encoded index to `out`.
    pub(crate) fn render(&self, index: &ShardIndex, out: &mut Vec<u8>) -> Result<()> {
        let mut bytes = vec![0; self.total * ENTRY];
        let words = bytes.as_chunks_mut::<8>().0;
        let numbers = index.entries().iter().flat_map(|entry| [entry.offset, entry.len]);
        for (number, value) in numbers.enumerate() {
            let place = self.places.as_ref().map_or(number, |places| places[number]);
            if let Some(word) = words.get_mut(place) {
                *word = if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
            }
        }
        let mut next = Vec::new();
        for filter in &self.filters {
            let room = self.index_bytes;
            fill_vec(&mut next, room, |out| filter.encode(&bytes, out))
                .map_err(|error| self.index_error(error))?;
            std::mem::swap(&mut bytes, &mut next);
        }
        if bytes.len() != self.index_bytes {
            return Err(ErrorKind::Filter.context(format!(
                "the shard's index: wrong encoded size (expected {} bytes, found {})",
                self.index_bytes,
                bytes.len()
            )));
        }
        out.extend_from_slice(&bytes);
        Ok(())
    }

    fn index_error(&self, error: Error) -> Error {
        error.at("the shard's index")
    }

    /// Reads the index of a whole shard.
    pub(crate) fn index_of(&self, shard: &[u8]) -> Result<ShardIndex> {
        let start = if self.at_start { Some(0) } else { shard.len().checked_sub(self.index_bytes) };
        let stored = start.and_then(|start| shard.get(start..start + self.index_bytes));
        match stored {
            Some(stored) => self.parse(stored),
            None => Err(ErrorKind::Trunc.context(format!(
                "a shard of {} bytes is too short for its index of {} bytes",
                shard.len(),
                self.index_bytes
            ))),
        }
    }

    /// Decodes the filters around a shard and passes the result to `work`.
    pub(crate) fn unwrap<R>(&self, stored: &[u8], work: impl FnOnce(&[u8]) -> Result<R>) -> Result<R> {
        let Some((last, others)) = self.around.split_last() else { return work(stored) };
        let decode = |filter: &dyn Filter, from: &[u8], to: &mut Vec<u8>| {
            let mut room = from.len().saturating_mul(4).clamp(1 << 16, self.room.max(1 << 16));
            loop {
                match fill_vec(to, room, |out: &mut OutBuf<'_>| filter.decode(from, out)) {
                    Err(error) if error.kind() == ErrorKind::Filter && room < self.room => {
                        room = room.saturating_mul(2).min(self.room);
                        let _ = error;
                    }
                    result => return result.map_err(|error| error.at("the filters around the shard")),
                }
            }
        };
        let (mut bytes, mut next) = (Vec::new(), Vec::new());
        decode(&**last, stored, &mut bytes)?;
        for filter in others.iter().rev() {
            decode(&**filter, &bytes, &mut next)?;
            std::mem::swap(&mut bytes, &mut next);
        }
        work(&bytes)
    }

    /// Encodes a shard with the filters around it.
    pub(crate) fn wrap(&self, shard: &mut Vec<u8>) -> Result<()> {
        let mut next = Vec::new();
        for filter in &self.around {
            crate::plan::encode_one(&**filter, shard, &mut next)
                .map_err(|error| error.at("the filters around the shard"))?;
            std::mem::swap(shard, &mut next);
        }
        Ok(())
    }
}

/// Returns the stored position of each entry of an index of shape `shape`, whose dimensions are stored in
/// `order`. `None`: C order.
fn places(shape: &[usize], order: &DimOrder) -> Result<Option<Box<[usize]>>> {
    if *order == DimOrder::C {
        return Ok(None);
    }
    let axes = order.axes(shape.len());
    let mut steps = vec![0; shape.len()];
    let mut step = 1;
    for &axis in axes.iter().rev() {
        let (Some(place), Some(&len)) = (steps.get_mut(axis), shape.get(axis)) else {
            return Err(ErrorKind::BadChunk
                .context(format!("invalid order of an index of shape {shape:?}: {axes:?}")));
        };
        *place = step;
        step *= len;
    }
    let place = |number: usize| {
        let (mut rest, mut place) = (number, 0);
        for (len, step) in shape.iter().zip(&steps).rev() {
            place += rest % len * step;
            rest /= len;
        }
        place
    };
    Ok(Some((0..step).map(place).collect()))
}
