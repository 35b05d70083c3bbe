//! [`SelectionCopy`]: copies elements of a source into a chunk of a virtual dataset, in few reads.
//!
//! If both selections are grids with equal lengths, except for dimensions of length 1, whole slabs are
//! copied. Otherwise elements are copied run by run.

use nczarr_model::{Error, ErrorKind, Result};

use super::chunks::VirtualSource;
use super::element_run::ElementRun;
use super::selected::{AxisSpan, SelectedElements};

/// A chunk of a virtual dataset. It has `side` elements along each dimension and covers the box from `low` to
/// `high` (excluded).
pub(super) struct ChunkBuffer<'a> {
    pub(super) low: &'a [u64],
    pub(super) high: &'a [u64],
    pub(super) side: &'a [u64],
    pub(super) bytes: &'a mut Vec<u8>,
    /// Size of an element in bytes.
    pub(super) item: usize,
}

impl ChunkBuffer<'_> {
    /// Returns the distance of neighbours along each dimension, in elements.
    fn strides(&self) -> Vec<u64> {
        let mut strides = vec![1; self.side.len()];
        for dim in (1..self.side.len()).rev() {
            strides[dim - 1] = strides[dim] * self.side[dim];
        }
        strides
    }

    /// Writes elements from position `at` on, `step` elements apart.
    fn put(&mut self, at: u64, step: u64, elements: &[u8]) {
        let item = self.item;
        let from = at as usize * item;
        if step == 1 {
            self.bytes[from..from + elements.len()].copy_from_slice(elements);
            return;
        }
        for (number, element) in elements.chunks_exact(item).enumerate() {
            let from = from + number * step as usize * item;
            self.bytes[from..from + item].copy_from_slice(element);
        }
    }
}

/// One copy: source and both selections.
pub(super) struct SelectionCopy<'a> {
    pub(super) source: &'a VirtualSource,
    pub(super) from: &'a SelectedElements,
    pub(super) to: &'a SelectedElements,
}

/// A range of indices along a dimension. For source and target: the first index and the step.
#[derive(Debug, Clone, Copy)]
struct IndexRange {
    count: u64,
    source: (u64, u64),
    target: (u64, u64),
}

/// A dimension of the target and the matching one of the source.
struct DimensionPair {
    to: usize,
    from: usize,
    parts: Vec<IndexRange>,
}

impl SelectionCopy<'_> {
    pub(super) fn run(&self, target: &mut ChunkBuffer<'_>) -> Result<()> {
        if let (SelectedElements::Grid(from), SelectedElements::Grid(to)) = (self.from, self.to) {
            let long = |spans: &[AxisSpan]| -> Vec<usize> {
                (0..spans.len()).filter(|&dim| spans[dim].len != 1).collect()
            };
            let (source, wanted) = (long(from), long(to));
            let same = source.iter().map(|&dim| from[dim].len).eq(wanted.iter().map(|&dim| to[dim].len));
            if same {
                let pairs = wanted.into_iter().zip(source);
                let pair = |(at, dim): (usize, usize)| DimensionPair {
                    to: at,
                    from: dim,
                    parts: parts(&from[dim], &to[at], target.low[at], target.high[at]),
                };
                return self.slabs(&pairs.map(pair).collect::<Vec<_>>(), from, to, target);
            }
        }
        self.runs(target)
    }

    /// Copies slab by slab: each combination of ranges of the dimensions.
    fn slabs(
        &self,
        pairs: &[DimensionPair],
        from: &[AxisSpan],
        to: &[AxisSpan],
        target: &mut ChunkBuffer<'_>,
    ) -> Result<()> {
        if pairs.iter().any(|pair| pair.parts.is_empty()) {
            return Ok(());
        }
        let strides = target.strides();
        // Dimensions without a pair have one index.
        let fixed = |spans: &[AxisSpan]| spans.iter().map(|span| span.at(0)).collect::<Vec<_>>();
        let (mut start, base) = (fixed(from), fixed(to));
        let (mut count, mut stride) = (vec![1; from.len()], vec![1; from.len()]);
        let others = (0..to.len()).filter(|dim| pairs.iter().all(|pair| pair.to != *dim));
        let offset = |dim: usize| {
            let inside = base[dim] < target.high[dim];
            let offset = base[dim].checked_sub(target.low[dim]).filter(|_| inside);
            offset.map(|offset| offset * strides[dim]).ok_or_else(|| outside(dim, base[dim], target))
        };
        let base = others.map(offset).sum::<Result<u64>>()?;
        let mut chosen = vec![0; pairs.len()];
        loop {
            let (mut at, mut steps) = (base, Vec::with_capacity(pairs.len()));
            for (pair, &chosen) in pairs.iter().zip(&chosen) {
                let part = &pair.parts[chosen];
                (start[pair.from], stride[pair.from]) = part.source;
                count[pair.from] = part.count;
                at += (part.target.0 - target.low[pair.to]) * strides[pair.to];
                steps.push((part.count, part.target.1 * strides[pair.to]));
            }
            let elements = self.source.read(&start, &count, &stride)?;
            scatter(&elements, at, &steps, target);
            if !next(&mut chosen, |dim| pairs[dim].parts.len()) {
                return Ok(());
            }
        }
    }

    /// Copies run by run.
    fn runs(&self, target: &mut ChunkBuffer<'_>) -> Result<()> {
        let strides = target.strides();
        let low = target.low.to_vec();
        let (picked, high) = (self.to, target.high.to_vec());
        let rank = self.source.shape.len();
        let (mut start, mut count, mut stride) = (vec![0; rank], vec![1; rank], vec![1; rank]);
        picked.inside(&low, &high, &mut |number, place, run| {
            let at: u64 =
                place.iter().zip(&low).zip(&strides).map(|((at, low), stride)| (at - low) * stride).sum();
            let mut done = 0;
            while done < run.count {
                let there: ElementRun = self.from.find(number + done, &mut start);
                let some = there.count.clamp(1, run.count - done);
                if let (Some(count), Some(stride)) = (count.last_mut(), stride.last_mut()) {
                    (*count, *stride) = (some, there.step.max(1));
                }
                let elements = self.source.read(&start, &count, &stride)?;
                target.put(at + done * run.step, run.step, &elements);
                done += some;
            }
            Ok(())
        })
    }
}

/// Splits the indices of a dimension between `low` and `high` of the target into ranges with constant steps
/// in source and target.
fn parts(from: &AxisSpan, to: &AxisSpan, low: u64, high: u64) -> Vec<IndexRange> {
    let (mut slice, end) = (to.below(low), to.below(high));
    let mut parts = Vec::new();
    while slice < end {
        let (source, target) = (from.run(slice), to.run(slice));
        let count = source.count.min(target.count).min(end - slice).max(1);
        parts.push(IndexRange {
            count,
            source: (from.at(slice), source.step.max(1)),
            target: (to.at(slice), target.step),
        });
        slice += count;
    }
    parts
}

/// Makes the error for elements outside the chunk.
fn outside(dim: usize, index: u64, target: &ChunkBuffer<'_>) -> Error {
    let (low, high) = (target.low[dim], target.high[dim]);
    ErrorKind::Internal.context(format!(
        "internal: index {index} of dimension {dim} is outside the chunk from {low} to {high}"
    ))
}

/// Advances to the next combination, the last dimension fastest. Returns `false` at the end.
fn next(chosen: &mut [usize], count: impl Fn(usize) -> usize) -> bool {
    for dim in (0..chosen.len()).rev() {
        chosen[dim] += 1;
        if chosen[dim] < count(dim) {
            return true;
        }
        chosen[dim] = 0;
    }
    false
}

/// Writes the elements of a slab to their positions. `steps`: count and distance along each dimension.
fn scatter(elements: &[u8], at: u64, steps: &[(u64, u64)], target: &mut ChunkBuffer<'_>) {
    let Some((&(count, step), outer)) = steps.split_last() else {
        target.put(at, 1, elements);
        return;
    };
    let row = count as usize * target.item;
    let mut index = vec![0u64; outer.len()];
    for row in elements.chunks_exact(row.max(1)) {
        let at = at + index.iter().zip(outer).map(|(index, (_, step))| index * step).sum::<u64>();
        target.put(at, step, row);
        for (index, (count, _)) in index.iter_mut().zip(outer).rev() {
            *index += 1;
            if *index < *count {
                break;
            }
            *index = 0;
        }
    }
}
