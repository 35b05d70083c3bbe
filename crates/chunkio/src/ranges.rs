//! Determines the byte ranges of a part in an unfiltered chunk, for partial reads.
//!
//! Near ranges are joined, since a request costs more than a few extra bytes.

use std::ops::Range;
use std::sync::Arc;

use nczarr_runtime::DimVec;
use nczarr_storage::ByteRange;
use nczarr_storage::batch::Ranges;

use crate::odometer::Odometer;
use crate::project::{ChunkPart, StridedRun};

/// The maximum number of ranges per chunk that justify a partial read.
const MOST: usize = 1024;

/// Returns the largest gap between two ranges, in bytes, that one request reads. A chunk in a shard with
/// several ranges is read whole, so joining them avoids a copy.
pub(crate) const fn worth_reading(remote: bool, in_shards: bool) -> usize {
    match (remote, in_shards) {
        (true, _) => 512 << 10,
        (false, true) => 64 << 10,
        (false, false) => 4 << 10,
    }
}

/// Returns the largest gap between two ranges, in decoded bytes, that is decoded rather than skipped.
pub(crate) const fn worth_decoding() -> usize {
    1 << 10
}

/// The ranges of a chunk that contain a part.
pub(crate) struct PartRanges {
    pub(crate) ranges: Ranges,
    /// Their total length.
    pub(crate) bytes: usize,
    /// The part, relative to the concatenated ranges.
    pub(crate) part: ChunkPart,
}

impl PartRanges {
    /// Returns the ranges one by one.
    pub(crate) fn wanted(&self) -> Vec<Range<usize>> {
        // Every range is inside a chunk, so its numbers fit.
        let range = |start: u64, len: Option<u64>| start as usize..start as usize + len.unwrap_or(0) as usize;
        match &self.ranges {
            Ranges::One(one) => vec![range(one.offset, one.len)],
            Ranges::Strided { first, step, count } => {
                (0..u64::from(*count)).map(|i| range(first.offset + i * step, first.len)).collect()
            }
            Ranges::List(list) => list.iter().map(|one| range(one.offset, one.len)).collect(),
            _ => Vec::new(),
        }
    }
}

/// Returns the range of a part that is contiguous in chunk and memory: a fast path of [`part_ranges`].
pub(crate) fn single_range(part: &ChunkPart, item: usize, elems: usize) -> Option<(ByteRange, usize)> {
    let bytes = part.elems * item;
    let range = ByteRange::new((part.chunk_start * item) as u64, bytes as u64);
    (part.is_contiguous() && bytes <= elems * item / 2).then_some((range, bytes))
}

/// Returns the ranges of a part in a chunk of `elems` elements of `item` bytes; `None` if reading the whole
/// chunk is better.
pub(crate) fn part_ranges(part: &ChunkPart, item: usize, elems: usize, gap: usize) -> Option<PartRanges> {
    // Innermost in the chunk first; this is the reverse order in a chunk of F order.
    let mut order: DimVec<usize> = (0..part.dims.len()).collect();
    order.sort_by_key(|&dim| part.dims[dim].chunk);

    let mut compact = part.clone();
    compact.chunk_start = 0;
    let (mut span, mut count) = (1, 1);
    let mut apart: Vec<StridedRun> = Vec::new();
    for &at in order.iter() {
        let dim = part.dims[at];
        if apart.is_empty() && (dim.chunk.saturating_sub(span)).checked_mul(item)? < gap {
            span += (dim.n - 1) * dim.chunk;
        } else {
            compact.dims[at].chunk = span * count;
            count *= dim.n;
            apart.push(dim);
        }
    }
    let bytes = span * count * item;
    if bytes > elems * item / 2 || count > MOST {
        return None;
    }
    let range = |start: usize| ByteRange::new((start * item) as u64, (span * item) as u64);
    let first = range(part.chunk_start);
    let ranges = match &*apart {
        [] => Ranges::One(first),
        [dim] => {
            Ranges::Strided { first, step: (dim.chunk * item) as u64, count: u32::try_from(dim.n).ok()? }
        }
        dims => Ranges::List(
            Odometer::new(dims, part.chunk_start, 0).map(|(start, _)| range(start)).collect::<Arc<_>>(),
        ),
    };
    Some(PartRanges { ranges, bytes, part: compact })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn part(start: usize, dims: &[(usize, usize)]) -> ChunkPart {
        let mut part = ChunkPart { chunk_start: start, elems: 1, ..ChunkPart::default() };
        for &(n, chunk) in dims {
            let mem = part.elems;
            part.elems *= n;
            part.dims.push(StridedRun { n, chunk, mem });
        }
        part
    }

    proptest! {
        #[test]
        fn the_pieces_hold_the_part(
            dims in prop::collection::vec((1..5usize, 1..4usize, 1..40usize), 1..5),
            start in 0..30usize, gap in 1..300usize, reverse in any::<bool>(),
        ) {
            let mut step = 1;
            let mut list: Vec<_> = dims.iter().map(|&(n, factor, extra)| {
                let dim = (n, step * factor + extra / 20);
                step = dim.0 * dim.1;
                dim
            }).collect();
            if reverse {
                list.reverse();
            }
            let part = part(start, &list);
            let elems = part.extent().0 * 3;
            let joined = ChunkPart::whole(part.elems);
            for part in [&part, &joined, &ChunkPart { chunk_start: start, elems: 1, ..ChunkPart::whole(1) }] {
                for elems in [elems, part.elems * 2, part.elems] {
                    if let Some((range, bytes)) = single_range(part, 2, elems) {
                        let found = part_ranges(part, 2, elems, gap).unwrap();
                        let start = range.offset as usize;
                        prop_assert_eq!(found.wanted(), vec![start..start + bytes]);
                        prop_assert_eq!((found.bytes, found.part.is_contiguous()), (bytes, true));
                    }
                }
            }
            prop_assert!(single_range(&joined, 2, elems).is_some());
            let object: Vec<u8> = (0..elems * 2).map(|i| (i * 31 % 251) as u8).collect();
            let Some(pieces) = part_ranges(&part, 2, elems, gap) else { return Ok(()) };
            let bytes: Vec<u8> = pieces.wanted().into_iter().flat_map(|range| object[range].to_vec()).collect();
            prop_assert_eq!(bytes.len(), pieces.bytes);
            let fetch = |from: &[u8], part: &ChunkPart| {
                let mut out = vec![[0; 2]; part.elems];
                Odometer::each(&part.dims, part.chunk_start, 0, |at, mem| {
                    out[mem].copy_from_slice(&from[at * 2..at * 2 + 2]);
                });
                out
            };
            prop_assert_eq!(fetch(&bytes, &pieces.part), fetch(&object, &part));
        }
    }

    #[test]
    fn near_rows_are_one_piece_and_far_ones_are_many() {
        // The part is 32³ elements of a 64³ chunk of 4-byte elements. Rows are 256 bytes apart, planes 16
        // KiB.
        let part = part(0, &[(32, 1), (32, 64), (32, 4096)]);
        let found = part_ranges(&part, 4, 64 * 64 * 64, worth_reading(false, false)).unwrap();
        assert!(matches!(found.ranges, Ranges::Strided { step: 16384, count: 32, .. }));
        assert_eq!(found.bytes, 32 * (31 * 256 + 128));
        assert!(part_ranges(&part, 4, 64 * 64 * 64, worth_reading(true, false)).is_some());
        assert!(part_ranges(&part, 4, 64 * 64 * 33, worth_reading(true, false)).is_none(), "more than half");
    }
}
