//! [`Copy`]: elements of a source into a box of a virtual dataset, in as few reads as their order allows.
//!
//! Where both selections are grids that have the same lengths, but for dimensions of length 1, whole slabs are copied: what is
//! one after another in one is so in the other. Everything else is copied run by run.

use nczarr_model::{Error, ErrorKind, Result};

use super::assembled::Source;
use super::picked::{Picked, Run, Span};

/// A box of a virtual dataset: from `low` to before `high`, in a chunk of `side` elements along each dimension.
pub(super) struct Target<'a> {
    pub(super) low: &'a [u64],
    pub(super) high: &'a [u64],
    pub(super) side: &'a [u64],
    pub(super) bytes: &'a mut Vec<u8>,
    /// Bytes of an element.
    pub(super) item: usize,
}

impl Target<'_> {
    /// Elements from one index of a dimension to the next.
    fn strides(&self) -> Vec<u64> {
        let mut strides = vec![1; self.side.len()];
        for dim in (1..self.side.len()).rev() {
            strides[dim - 1] = strides[dim] * self.side[dim];
        }
        strides
    }

    /// Puts elements from `at` on, one each `step`.
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

/// What is copied.
pub(super) struct Copy<'a> {
    pub(super) source: &'a Source,
    pub(super) from: &'a Picked,
    pub(super) to: &'a Picked,
}

/// Indices along a dimension of both: how many, and where in each they begin and how far apart they are.
#[derive(Debug, Clone, Copy)]
struct Part {
    count: u64,
    source: (u64, u64),
    target: (u64, u64),
}

/// A dimension of the target and the one of the source that it is.
struct Pair {
    to: usize,
    from: usize,
    parts: Vec<Part>,
}

impl Copy<'_> {
    pub(super) fn run(&self, target: &mut Target<'_>) -> Result<()> {
        if let (Picked::Grid(from), Picked::Grid(to)) = (self.from, self.to) {
            let long = |spans: &[Span]| -> Vec<usize> { (0..spans.len()).filter(|&dim| spans[dim].len != 1).collect() };
            let (source, wanted) = (long(from), long(to));
            let same = source.iter().map(|&dim| from[dim].len).eq(wanted.iter().map(|&dim| to[dim].len));
            if same {
                let pairs = wanted.into_iter().zip(source);
                let pair = |(at, dim): (usize, usize)| Pair {
                    to: at,
                    from: dim,
                    parts: parts(&from[dim], &to[at], target.low[at], target.high[at]),
                };
                return self.slabs(&pairs.map(pair).collect::<Vec<_>>(), (from, to), target);
            }
        }
        self.runs(target)
    }

    /// Slab by slab: all that parts of the dimensions make together.
    fn slabs(&self, pairs: &[Pair], (from, to): (&[Span], &[Span]), target: &mut Target<'_>) -> Result<()> {
        if pairs.iter().any(|pair| pair.parts.is_empty()) {
            return Ok(());
        }
        let strides = target.strides();
        // The one index of the dimensions that are none of the pairs.
        let fixed = |spans: &[Span]| spans.iter().map(|span| span.at(0)).collect::<Vec<_>>();
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

    /// Run by run: as far as both go on along their last dimensions.
    fn runs(&self, target: &mut Target<'_>) -> Result<()> {
        let strides = target.strides();
        let low = target.low.to_vec();
        let (picked, high) = (self.to, target.high.to_vec());
        let rank = self.source.shape.len();
        let (mut start, mut count, mut stride) = (vec![0; rank], vec![1; rank], vec![1; rank]);
        picked.inside(&low, &high, &mut |number, place, run| {
            let at: u64 = place.iter().zip(&low).zip(&strides).map(|((at, low), stride)| (at - low) * stride).sum();
            let mut done = 0;
            while done < run.count {
                let there: Run = self.from.find(number + done, &mut start);
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

/// The indices of a dimension that lie between two of the target, in parts that are equally far apart in both.
fn parts(from: &Span, to: &Span, low: u64, high: u64) -> Vec<Part> {
    let (mut slice, end) = (to.below(low), to.below(high));
    let mut parts = Vec::new();
    while slice < end {
        let (source, target) = (from.run(slice), to.run(slice));
        let count = source.count.min(target.count).min(end - slice).max(1);
        parts.push(Part { count, source: (from.at(slice), source.step.max(1)), target: (to.at(slice), target.step) });
        slice += count;
    }
    parts
}

/// What is said of elements that are no part of the box that is filled.
fn outside(dim: usize, index: u64, target: &Target<'_>) -> Error {
    let (low, high) = (target.low[dim], target.high[dim]);
    ErrorKind::Internal
        .context(format!("index {index} along dimension {dim} is copied into a box from {low} to {high}"))
}

/// Goes on to the next choice, the last fastest; `false`: that was the last.
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

/// Puts the elements of a slab where they belong: along each dimension so many, so far apart.
fn scatter(elements: &[u8], at: u64, steps: &[(u64, u64)], target: &mut Target<'_>) {
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
