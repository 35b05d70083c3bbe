//! [`Projection`]: the chunks that a slab touches. [`ChunkPart`]: the selected elements of one chunk, and
//! their positions in memory.
//!
//! Chunks with a selected element are numbered in C order of the grid. A [`ChunkPart`] is computed from its
//! number alone, so threads share only a counter. Steps are in elements.
//!
//! Source: netCDF User's Guide, "Specify a Hyperslab". Memory is dense, in C order of the slab.

use std::ops::Range;

use nczarr_model::{CheckedSlab, ErrorKind, Result, Slab};
use nczarr_runtime::DimVec;

use crate::grid::{ChunkGrid, ChunkIndex};

/// A run of `n` elements, `chunk` apart in the chunk and `mem` apart in memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StridedRun {
    pub(crate) n: usize,
    pub(crate) chunk: usize,
    pub(crate) mem: usize,
}

/// The share of a chunk that a part covers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Coverage {
    /// Some elements inside the shape.
    #[default]
    Some,
    /// Every element inside the shape; others are outside.
    Inside,
    /// Every element.
    All,
}

/// The elements of one chunk that a slab selects, and their positions in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ChunkPart {
    /// The chunk.
    pub(crate) index: ChunkIndex,
    /// Nested runs, innermost first; adjacent ones are joined. Never empty.
    pub(crate) dims: DimVec<StridedRun>,
    /// The position of the first element in the chunk.
    pub(crate) chunk_start: usize,
    /// The position of the first element in memory.
    pub(crate) mem_start: usize,
    /// The number of elements.
    pub(crate) elems: usize,
    /// The share of the chunk.
    pub(crate) cover: Coverage,
}

/// Some iterations of one run of a part.
#[derive(Clone, Debug)]
pub(crate) struct RunSlice {
    pub(crate) run: usize,
    pub(crate) some: Range<usize>,
}

impl ChunkPart {
    /// Whether the elements are adjacent on both sides.
    pub(crate) fn is_contiguous(&self) -> bool {
        matches!(*self.dims, [dim] if dim.n == 1 || (dim.chunk == 1 && dim.mem == 1))
    }

    /// Returns the part for some iterations of one run.
    pub(crate) fn slice_run(&self, run: usize, some: Range<usize>) -> Self {
        let mut part = self.clone();
        let dim = &mut part.dims[run];
        assert!(some.start < some.end && some.end <= dim.n, "iterations {some:?} of {}", dim.n);
        part.elems = part.elems / dim.n * some.len();
        part.chunk_start += some.start * dim.chunk;
        part.mem_start += some.start * dim.mem;
        dim.n = some.len();
        part
    }

    /// Returns the part of a whole chunk of `elems` elements, adjacent on both sides.
    pub(crate) fn whole(elems: usize) -> Self {
        let mut part = Self { elems, cover: Coverage::All, ..Self::default() };
        part.dims.push(StridedRun { n: elems, chunk: 1, mem: 1 });
        part
    }

    /// Adds an outer run.
    pub(crate) fn nest(&mut self, dim: StridedRun) {
        self.elems *= dim.n;
        if dim.n == 1 {
            return;
        }
        if let Some(inner) = self.dims.last_mut()
            && inner.n * inner.chunk == dim.chunk
            && inner.n * inner.mem == dim.mem
        {
            inner.n *= dim.n;
            return;
        }
        self.dims.push(dim);
    }

    /// Ends the nesting: a single element becomes a run of one.
    pub(crate) fn finish(&mut self) {
        if self.dims.is_empty() {
            self.dims.push(StridedRun { n: 1, chunk: 1, mem: 1 });
        }
    }

    /// Sets the part to a whole slab to read, if that is inside one chunk. A fast path, which does not
    /// determine [`ChunkPart::cover`].
    pub(crate) fn single(&mut self, grid: &ChunkGrid, slab: &CheckedSlab<'_>) -> bool {
        let rank = grid.rank();
        self.dims.clear();
        self.index.reset(rank);
        (self.chunk_start, self.mem_start, self.elems, self.cover) = (0, 0, 1, Coverage::Some);
        for dim in (0..rank).rev() {
            let (start, count, chunk) = (slab.start[dim], slab.count[dim], grid.chunk[dim]);
            let step = if count == 1 { 1 } else { slab.step(dim) };
            if count == 0 {
                return false;
            }
            let last = slab.end(dim) - 1;
            let at = start / chunk;
            if last - at * chunk >= chunk {
                return false;
            }
            self.index[dim] = at;
            // Inside one chunk all values fit.
            let stride = grid.strides[dim];
            self.chunk_start += (start - at * chunk) as usize * stride;
            let mem = self.elems;
            let n = count as usize;
            self.nest(if n == 1 {
                StridedRun { n, chunk: 1, mem: 1 }
            } else {
                StridedRun { n, chunk: step as usize * stride, mem }
            });
        }
        self.finish();
        true
    }

    /// Returns the positions after the last element, in the chunk and in memory.
    pub(crate) fn extent(&self) -> (usize, usize) {
        let (mut chunk, mut mem) = (self.chunk_start, self.mem_start);
        for dim in self.dims.iter() {
            chunk += (dim.n - 1) * dim.chunk;
            mem += (dim.n - 1) * dim.mem;
        }
        (chunk + 1, mem + 1)
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct ProjectedAxis {
    start: u64,
    step: u64,
    count: u64,
    chunk: u64,
    /// The first touched chunk, and the number of touched chunks.
    first: u64,
    touched: u64,
    /// The chunks of a shard.
    shard: u64,
    /// The length: indices from here on are outside.
    len: u64,
    chunk_stride: usize,
    mem_stride: usize,
}

/// The indices of one axis in one chunk.
struct AxisRun {
    chunk: u64,
    offset: u64,
    n: u64,
    mem: u64,
}

impl ProjectedAxis {
    /// Returns the index of touched chunk number `k`.
    fn chunk(&self, k: u64) -> u64 {
        if self.step >= self.chunk { (self.start + k * self.step) / self.chunk } else { self.first + k }
    }

    /// Returns the numbers of the touched chunks in the shard of number `k`.
    fn shard_of(&self, k: u64) -> std::ops::Range<u64> {
        let shard = self.chunk(k) / self.shard;
        // At most the chunk of number `k`.
        let first = shard * self.shard;
        let end = first.saturating_add(self.shard);
        let number = |chunk: u64| {
            if self.step >= self.chunk {
                chunk.saturating_mul(self.chunk).saturating_sub(self.start).div_ceil(self.step)
            } else {
                chunk.saturating_sub(self.first)
            }
        };
        number(first)..number(end).min(self.touched)
    }

    fn run(&self, k: u64) -> AxisRun {
        // No sum overflows: the last selected index fits 64 bits, and each value is at most that or one chunk
        // more.
        if self.step >= self.chunk {
            let at = self.start + k * self.step;
            return AxisRun { chunk: at / self.chunk, offset: at % self.chunk, n: 1, mem: k };
        }
        let chunk = self.first + k;
        let base = chunk * self.chunk;
        let mem = if base > self.start { (base - self.start).div_ceil(self.step) } else { 0 };
        let offset = self.start + mem * self.step - base;
        let n = (self.chunk - offset).div_ceil(self.step).min(self.count - mem);
        AxisRun { chunk, offset, n, mem }
    }
}

/// The chunks that a slab touches.
#[derive(Debug)]
pub(crate) struct Projection {
    axes: DimVec<ProjectedAxis>,
    /// Whether chunks are numbered shard by shard.
    sharded: bool,
    /// The number of chunks with a selected element.
    pub(crate) total: usize,
}

impl Projection {
    /// Projects a non-empty slab of the grid's rank without a stride of 0.
    ///
    /// `shards`: the chunks of a shard along each dimension. Chunks are then numbered shard by shard: shards
    /// in C order, and in C order within each.
    ///
    /// `shape` determines the outside of a chunk. The slab may exceed it where a write may extend the array.
    ///
    /// # Errors
    /// `NC_EEDGE` if an index exceeds 64 bits; `NC_ENOMEM` if the number of elements overflows.
    pub(crate) fn new(
        grid: &ChunkGrid,
        slab: &Slab<'_>,
        shape: &[u64],
        shards: Option<&[u64]>,
    ) -> Result<Self> {
        let mut axes = DimVec::<ProjectedAxis>::with_len(grid.rank());
        let too_many = || ErrorKind::NoMem.context(format!("a slab of {:?} elements", slab.count));
        let (mut total, mut mem_stride) = (1usize, 1usize);
        for (dim, axis) in axes.iter_mut().enumerate().rev() {
            let (start, count, chunk) = (slab.start[dim], slab.count[dim], grid.chunk[dim]);
            // An unused step counts as 1, so that the element can join a longer run.
            let step = if count == 1 { 1 } else { slab.step(dim) };
            let last = slab.end(dim).and_then(|end| end.checked_sub(1));
            let Some(last) = last.filter(|last| last.checked_add(chunk).is_some()) else {
                return Err(ErrorKind::Edge.context(format!(
                    "dimension {dim}: start {start}, count {count}, stride {step} do not fit 64 bits"
                )));
            };
            let first = start / chunk;
            let touched = if step >= chunk { count } else { last / chunk - first + 1 };
            *axis = ProjectedAxis {
                start,
                step,
                count,
                chunk,
                first,
                touched,
                shard: shards.and_then(|counts| counts.get(dim)).copied().unwrap_or(1),
                len: shape[dim],
                chunk_stride: grid.strides[dim],
                mem_stride,
            };
            let of = |n: u64| usize::try_from(n).map_err(|_| too_many());
            mem_stride = mem_stride.checked_mul(of(count)?).ok_or_else(too_many)?;
            total = total.checked_mul(of(touched)?).ok_or_else(too_many)?;
        }
        Ok(Self { axes, sharded: shards.is_some(), total })
    }

    /// Sets `part` to the part of chunk `number`, which is less than [`Projection::total`].
    pub(crate) fn part(&self, number: usize, part: &mut ChunkPart) {
        debug_assert!(number < self.total);
        let mut rest = number as u64;
        let shard = self.sharded.then(|| self.shard(&mut rest));
        part.dims.clear();
        part.index.reset(self.axes.len());
        (part.chunk_start, part.mem_start, part.elems, part.cover) = (0, 0, 1, Coverage::All);
        for (dim, axis) in self.axes.iter().enumerate().rev() {
            let k;
            (rest, k) = match &shard {
                Some(shard) => {
                    let (start, len) = shard[dim];
                    (rest / len, start + rest % len)
                }
                None if axis.touched == 1 => (rest, 0),
                None => (rest / axis.touched, rest % axis.touched),
            };
            let run = axis.run(k);
            part.index[dim] = run.chunk;
            // `offset` and `n` are at most a chunk's length, `mem` is less than the slab's count: all fit.
            part.chunk_start += run.offset as usize * axis.chunk_stride;
            part.mem_start += run.mem as usize * axis.mem_stride;
            let n = run.n as usize;
            part.nest(if n == 1 {
                StridedRun { n, chunk: 1, mem: 1 }
            } else {
                StridedRun { n, chunk: axis.step as usize * axis.chunk_stride, mem: axis.mem_stride }
            });
            if run.n != axis.chunk {
                let inside = axis.len.saturating_sub(run.chunk * axis.chunk).min(axis.chunk);
                // Selected elements are inside, so an equal count means all.
                let all = run.n == inside && part.cover != Coverage::Some;
                part.cover = if all { Coverage::Inside } else { Coverage::Some };
            }
        }
        part.finish();
    }

    /// Returns the shard of chunk number `rest`, as the first number and the count of its chunks along each
    /// dimension. `rest` becomes the chunk's number among these.
    fn shard(&self, rest: &mut u64) -> DimVec<(u64, u64)> {
        // The product of the numbers of touched chunks is the total, so nothing overflows.
        let mut behind = self.total as u64;
        let mut before = 1;
        let mut shard = DimVec::with_len(self.axes.len());
        for (axis, place) in self.axes.iter().zip(shard.iter_mut()) {
            behind /= axis.touched;
            let each = before * behind;
            let range = axis.shard_of(*rest / each);
            *rest -= range.start * each;
            *place = (range.start, range.end - range.start);
            before *= place.1;
        }
        shard
    }

    /// Returns the part of chunk `number`.
    pub(crate) fn get(&self, number: usize) -> ChunkPart {
        let mut part = ChunkPart::default();
        self.part(number, &mut part);
        part
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    use nczarr_dispatch::Limits;
    use proptest::prelude::*;

    use super::*;
    use crate::odometer::Odometer;
    use crate::{ArrayDim, DimOrder};

    fn grid(shape: &[u64], chunk: &[u64], order: DimOrder) -> ChunkGrid {
        let dims = shape
            .iter()
            .map(|&len| ArrayDim { len: Arc::new(AtomicU64::new(len)), unlimited: false })
            .collect();
        ChunkGrid::new(dims, chunk.to_vec(), &order, 1, &Limits::default()).unwrap()
    }

    /// Computes each element's memory position, chunk and position in the chunk, one element at a time.
    fn slow(grid: &ChunkGrid, slab: &Slab<'_>) -> Vec<(Vec<u64>, usize)> {
        let mut places = Vec::new();
        let mut at = vec![0; slab.rank()];
        'all: loop {
            let (mut index, mut place) = (Vec::new(), 0);
            for (d, at) in at.iter().enumerate() {
                let i = slab.start[d] + at * slab.step(d);
                index.push(i / grid.chunk[d]);
                place += (i % grid.chunk[d]) as usize * grid.strides[d];
            }
            places.push((index, place));
            for d in (0..slab.rank()).rev() {
                at[d] += 1;
                if at[d] < slab.count[d] {
                    continue 'all;
                }
                at[d] = 0;
            }
            return places;
        }
    }

    fn fast(grid: &ChunkGrid, slab: &Slab<'_>) -> Vec<(Vec<u64>, usize)> {
        let projection = Projection::new(grid, slab, &grid.shape(), None).unwrap();
        let mut single = ChunkPart::default();
        let checked = slab.check(&grid.shape(), |_| false).unwrap();
        assert_eq!(single.single(grid, &checked), projection.total == 1);
        if projection.total == 1 {
            single.cover = projection.get(0).cover;
            assert_eq!(single, projection.get(0));
        }
        let mut places = vec![(Vec::new(), usize::MAX); slab.len() as usize];
        let mut last: Option<ChunkIndex> = None;
        for number in 0..projection.total {
            let part = projection.get(number);
            assert!(last.is_none_or(|last| last < part.index), "chunks come in order");
            last = Some(part.index.clone());
            let (chunk_end, mem_end) = part.extent();
            let mut elems = 0;
            Odometer::each(&part.dims, part.chunk_start, part.mem_start, |chunk, mem| {
                assert!(chunk < chunk_end && mem < mem_end);
                assert_eq!(places[mem].1, usize::MAX, "every place once");
                places[mem] = (part.index.to_vec(), chunk);
                elems += 1;
            });
            assert!(elems == part.elems && elems > 0);
            let shape = grid.shape();
            let inside: u64 = (0..grid.rank()).map(|d| grid.inside(d, part.index[d], shape[d])).product();
            let cover = match part.elems {
                n if n == grid.elems => Coverage::All,
                n if n as u64 == inside => Coverage::Inside,
                _ => Coverage::Some,
            };
            assert_eq!(part.cover, cover);
        }
        places
    }

    fn cases() -> impl Strategy<Value = (Vec<[u64; 5]>, DimOrder)> {
        let dim = (1..12u64, 1..8u64, 1..6u64)
            .prop_flat_map(|(len, chunk, step)| (Just((len, chunk, step)), 0..len))
            .prop_flat_map(|((len, chunk, step), start)| {
                (Just((len, chunk, step, start)), 1..=(len - start).div_ceil(step))
            })
            .prop_map(|((len, chunk, step, start), count)| [len, chunk, step, start, count]);
        prop::collection::vec(dim, 0..5).prop_flat_map(|dims| {
            let axes: Vec<usize> = (0..dims.len()).collect();
            (Just(dims), Just(axes).prop_shuffle().prop_map(|axes| DimOrder::of(&axes).unwrap()))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn every_element_has_one_place((dims, order) in cases()) {
            let column = |i: usize| dims.iter().map(|d| d[i]).collect::<Vec<_>>();
            let grid = grid(&column(0), &column(1), order);
            let (start, count, stride) = (column(3), column(4), column(2));
            let slab = Slab { start: &start, count: &count, stride: Some(&stride) };
            prop_assert_eq!(fast(&grid, &slab), slow(&grid, &slab));
        }
    }

    proptest! {
        #[test]
        fn chunks_of_a_shard_follow_one_another((dims, order) in cases(), counts in prop::collection::vec(1..5u64, 5)) {
            let column = |i: usize| dims.iter().map(|d| d[i]).collect::<Vec<_>>();
            let grid = grid(&column(0), &column(1), order);
            let (start, count, stride) = (column(3), column(4), column(2));
            let slab = Slab { start: &start, count: &count, stride: Some(&stride) };
            let counts = &counts[..dims.len()];
            let plain = Projection::new(&grid, &slab, &grid.shape(), None).unwrap();
            let sharded = Projection::new(&grid, &slab, &grid.shape(), Some(counts)).unwrap();
            let mut expected: Vec<ChunkPart> = (0..plain.total).map(|number| plain.get(number)).collect();
            let shard = |part: &ChunkPart| part.index.iter().zip(counts).map(|(at, count)| at / count).collect::<Vec<_>>();
            // The order is by shard, and C order within each shard. The sort is stable.
            expected.sort_by_key(shard);
            let found: Vec<ChunkPart> = (0..sharded.total).map(|number| sharded.get(number)).collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn adjacent_runs_are_joined() {
        let grid = grid(&[8, 8, 8], &[4, 8, 8], DimOrder::C);
        let whole = Slab::new(&[0, 0, 0], &[8, 8, 8]);
        let part = Projection::new(&grid, &whole, &grid.shape(), None).unwrap().get(1);
        assert_eq!(*part.dims, [StridedRun { n: 256, chunk: 1, mem: 1 }]);
        assert!(part.is_contiguous() && part.cover == Coverage::All && part.mem_start == 256);
        let column = Slab::new(&[0, 0, 3], &[8, 8, 1]);
        let part = Projection::new(&grid, &column, &grid.shape(), None).unwrap().get(0);
        assert_eq!(*part.dims, [StridedRun { n: 32, chunk: 8, mem: 1 }]);
    }

    #[test]
    fn huge_shapes_cost_nothing_and_fail_cleanly() {
        let grid = grid(&[1 << 62, 1 << 62], &[7, 9], DimOrder::C);
        let slab = Slab { start: &[5, (1 << 62) - 20], count: &[2, 1], stride: Some(&[1 << 61, u64::MAX]) };
        assert_eq!(fast(&grid, &slab), slow(&grid, &slab));
        let shape = grid.shape();
        let all = Slab::new(&[0, 0], &[1 << 62, 1 << 62]);
        assert_eq!(Projection::new(&grid, &all, &shape, None).unwrap_err().kind(), ErrorKind::NoMem);
        let beyond = Slab::new(&[0, i64::MAX as u64 - 1], &[1, 3]);
        assert!(Projection::new(&grid, &beyond, &shape, None).is_ok());
        let beyond = Slab::new(&[0, u64::MAX - 3], &[1, 3]);
        assert_eq!(Projection::new(&grid, &beyond, &shape, None).unwrap_err().kind(), ErrorKind::Edge);
    }
}
