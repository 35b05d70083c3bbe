//! [`ChunkGrid`]: shape, chunk shape and the order of elements in a chunk. All sizes are checked once.
//!
//! It knows no slab (see [`crate::project`]), and of bytes only the size of an element.

use std::sync::atomic::Ordering;

use nczarr_dispatch::Limits;
use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::DimVec;

use crate::{ArrayDim, DimOrder};

/// The coordinates of a chunk in the grid, slowest dimension first.
pub(crate) type ChunkIndex = DimVec<u64>;

/// A divisor, with its precomputed reciprocal.
#[derive(Debug, Clone, Copy)]
struct Divisor {
    divisor: u64,
    /// The least integer not below 2⁶⁴ / `divisor`; 0 if it is not used.
    reciprocal: u64,
}

impl Divisor {
    /// `divisor` is not 0.
    fn new(divisor: u64) -> Self {
        let short = divisor > 1 && divisor <= u64::from(u32::MAX);
        Self { divisor, reciprocal: if short { u64::MAX / divisor + 1 } else { 0 } }
    }

    fn divide(self, number: u64) -> u64 {
        if self.reciprocal != 0 && number <= u64::from(u32::MAX) {
            // With 2⁶⁴ = divisor · reciprocal - rest and rest < divisor, the error is number · rest /
            // (divisor · 2⁶⁴). For 32-bit numbers this is less than 1 / divisor, so the integer part is
            // exact.
            return ((u128::from(number) * u128::from(self.reciprocal)) >> 64) as u64;
        }
        if self.divisor == 1 { number } else { number / self.divisor }
    }
}

#[derive(Debug, Clone, Copy)]
struct GridStep {
    by: Divisor,
    stride: usize,
}

/// The chunk grid of an array.
#[derive(Debug)]
pub(crate) struct ChunkGrid {
    /// The dimensions, slowest first.
    pub(crate) dims: Vec<ArrayDim>,
    /// The chunk length along each dimension, in elements.
    pub(crate) chunk: Vec<u64>,
    /// The distance between indices along each dimension of a chunk, in elements.
    pub(crate) strides: Vec<usize>,
    /// The precomputed values for locating an element.
    steps: Box<[GridStep]>,
    /// The number of elements in a chunk.
    pub(crate) elems: usize,
    /// The chunk length along its fastest dimension.
    pub(crate) row: usize,
}

impl ChunkGrid {
    /// Checks the arguments and derives all values. `item`: bytes of an element in memory, at least 1.
    pub(crate) fn new(
        dims: Vec<ArrayDim>,
        chunk: Vec<u64>,
        order: &DimOrder,
        item: usize,
        limits: &Limits,
    ) -> Result<Self> {
        let rank = dims.len();
        if chunk.len() != rank {
            return Err(ErrorKind::Inval
                .context(format!("wrong number of chunk lengths (expected {rank}, found {})", chunk.len())));
        }
        if rank > limits.rank {
            return Err(ErrorKind::MaxDims
                .context(format!("too many dimensions (expected at most {}, found {rank})", limits.rank)));
        }
        if let Some(dim) = chunk.iter().position(|&len| len == 0) {
            return Err(ErrorKind::BadChunk.context(format!("dimension {dim}: chunk length 0")));
        }
        let too_large = || {
            ErrorKind::BadChunk.context(format!(
                "chunks of {chunk:?} elements of {item} bytes exceed {} bytes",
                limits.chunk
            ))
        };
        let elems = chunk.iter().try_fold(1u64, |n, &len| n.checked_mul(len)).ok_or_else(too_large)?;
        let bytes = elems.checked_mul(item as u64).filter(|&n| n <= limits.chunk).ok_or_else(too_large)?;
        let elems = usize::try_from(bytes).map_err(|_| too_large())? / item;

        if let DimOrder::Permuted(axes) = order
            && (axes.len() != rank || DimOrder::of(axes).is_none())
        {
            return Err(ErrorKind::Inval.context(format!("invalid order of {rank} dimensions: {axes:?}")));
        }
        let mut strides = vec![1; rank];
        let mut step = 1;
        for dim in (0..rank).rev().map(|place| order.axis(place, rank)) {
            strides[dim] = step;
            // The product of all lengths fits, so partial products do.
            step *= chunk[dim] as usize;
        }
        let row = rank.checked_sub(1).map_or(1, |last| chunk[order.axis(last, rank)] as usize);
        let step = |(&len, &stride): (&u64, &usize)| GridStep { by: Divisor::new(len), stride };
        let steps = chunk.iter().zip(&strides).map(step).collect();
        Ok(Self { dims, chunk, strides, steps, elems, row })
    }

    /// Returns the dimensions, the innermost one in a chunk first.
    pub(crate) fn innermost_first(&self) -> Vec<usize> {
        let mut dims: Vec<usize> = (0..self.rank()).collect();
        dims.sort_by_key(|&dim| self.strides[dim]);
        dims
    }

    /// Returns the offset of an element in its chunk, and puts the chunk's coordinates into `index`. `None`
    /// if the element is outside the current shape, if the rank differs, or if `index` is too short.
    pub(crate) fn element(&self, at: &[u64], index: &mut [u64]) -> Option<usize> {
        let mut place = 0;
        let mut coordinates = index.iter_mut();
        if at.len() != self.dims.len() {
            return None;
        }
        for ((&at, dim), step) in at.iter().zip(&self.dims).zip(&*self.steps) {
            if at >= dim.len.load(Ordering::Acquire) {
                return None;
            }
            let chunk = step.by.divide(at);
            *coordinates.next()? = chunk;
            // Less than the chunk length; its product with the stride is less than the number of elements.
            place += (at - chunk * step.by.divisor) as usize * step.stride;
        }
        Some(place)
    }

    /// Returns the number of dimensions.
    pub(crate) fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Returns the current length of a dimension.
    pub(crate) fn len(&self, dim: usize) -> u64 {
        self.dims[dim].len.load(Ordering::Acquire)
    }

    /// Returns the current shape.
    pub(crate) fn shape(&self) -> DimVec<u64> {
        let mut shape = DimVec::with_len(self.rank());
        for (dim, len) in shape.iter_mut().enumerate() {
            *len = self.len(dim);
        }
        shape
    }

    /// Returns the elements of all chunks together; saturates.
    pub(crate) fn all_elems(&self) -> usize {
        let chunks =
            |dim: usize| usize::try_from(self.len(dim).div_ceil(self.chunk[dim])).unwrap_or(usize::MAX);
        (0..self.rank()).fold(self.elems, |all, dim| all.saturating_mul(chunks(dim)))
    }

    /// Returns the number of indices of chunk `at` along `dim` that are below `len`.
    pub(crate) fn inside(&self, dim: usize, at: u64, len: u64) -> u64 {
        let chunk = self.chunk[dim];
        at.checked_mul(chunk).map_or(0, |base| len.saturating_sub(base).min(chunk))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    use proptest::prelude::*;

    use super::*;

    fn dims(shape: &[u64]) -> Vec<ArrayDim> {
        shape.iter().map(|&len| ArrayDim { len: Arc::new(AtomicU64::new(len)), unlimited: false }).collect()
    }

    #[test]
    fn strides_follow_the_order() {
        let limits = Limits::default();
        let c = ChunkGrid::new(dims(&[10, 10, 10]), vec![2, 3, 4], &DimOrder::C, 8, &limits).unwrap();
        assert_eq!((c.strides, c.elems, c.row), (vec![12, 4, 1], 24, 4));
        let f = ChunkGrid::new(dims(&[10, 10, 10]), vec![2, 3, 4], &DimOrder::F, 8, &limits).unwrap();
        assert_eq!((f.strides, f.elems, f.row), (vec![1, 2, 6], 24, 2));
        let mixed = DimOrder::of(&[1, 2, 0]).unwrap();
        let mixed = ChunkGrid::new(dims(&[10, 10, 10]), vec![2, 3, 4], &mixed, 8, &limits).unwrap();
        assert_eq!((mixed.strides, mixed.elems, mixed.row), (vec![1, 8, 2], 24, 2));
        let wrong = DimOrder::Permuted([0, 0, 1].into());
        let error = ChunkGrid::new(dims(&[10, 10, 10]), vec![2, 3, 4], &wrong, 8, &limits).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Inval);
        let scalar = ChunkGrid::new(vec![], vec![], &DimOrder::C, 8, &limits).unwrap();
        assert_eq!((scalar.elems, scalar.row), (1, 1));
    }

    #[test]
    fn an_order_names_each_dimension_once() {
        assert_eq!(DimOrder::of(&[]), Some(DimOrder::C));
        assert_eq!(DimOrder::of(&[0, 1, 2]), Some(DimOrder::C));
        assert_eq!(DimOrder::of(&[2, 1, 0]), Some(DimOrder::F));
        assert_eq!(DimOrder::of(&[0, 2, 1]).map(|order| order.axes(3)), Some(vec![0, 2, 1]));
        for wrong in [&[0, 0][..], &[1], &[0, 2], &[usize::MAX]] {
            assert_eq!(DimOrder::of(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn sizes_are_checked_before_anything_else() {
        let limits = Limits::default();
        let kind = |shape: &[u64], chunk: &[u64], item| {
            ChunkGrid::new(dims(shape), chunk.to_vec(), &DimOrder::C, item, &limits).unwrap_err().kind()
        };
        assert_eq!(kind(&[4], &[0], 1), ErrorKind::BadChunk);
        assert_eq!(kind(&[4], &[], 1), ErrorKind::Inval);
        assert_eq!(kind(&[4, 4], &[u64::MAX, 2], 1), ErrorKind::BadChunk);
        assert_eq!(kind(&[4, 4], &[1 << 32, 1 << 31], 2), ErrorKind::BadChunk);
        assert_eq!(kind(&[4], &[(1 << 28) + 1], 8), ErrorKind::BadChunk);
        assert_eq!(kind(&[1; 1025], &[1; 1025], 1), ErrorKind::MaxDims);
        assert!(ChunkGrid::new(dims(&[1 << 63]), vec![1 << 28], &DimOrder::C, 8, &limits).is_ok());
    }

    proptest! {
        #[test]
        fn division_is_exact(divisor in 1..=u64::MAX, number: u64, shifts in (0..64u32, 0..64u32)) {
            let (divisor, number) = ((divisor >> shifts.0).max(1), number >> shifts.1);
            // A reciprocal is most likely to fail at multiples and their neighbours.
            let multiple = number / divisor * divisor;
            for number in [number, multiple, multiple.saturating_sub(1), u64::from(u32::MAX), u64::MAX] {
                prop_assert_eq!(Divisor::new(divisor).divide(number), number / divisor);
            }
        }
    }

    #[test]
    fn an_element_has_one_place_inside_the_shape() {
        let grid = ChunkGrid::new(dims(&[10, 7]), vec![4, 3], &DimOrder::F, 8, &Limits::default()).unwrap();
        for (row, column) in (0..12).flat_map(|row| (0..9).map(move |column| (row, column))) {
            let mut index = [9; 3];
            let place = grid.element(&[row, column], &mut index);
            if row < 10 && column < 7 {
                assert_eq!(place, Some((row % 4 + column % 3 * 4) as usize));
                assert_eq!(index, [row / 4, column / 3, 9]);
            } else {
                assert_eq!(place, None);
            }
        }
        assert_eq!(grid.element(&[1], &mut [0; 2]), None);
        assert_eq!(grid.element(&[1, 1, 1], &mut [0; 3]), None);
        assert_eq!(grid.element(&[1, 1], &mut [0; 1]), None);
        let scalar = ChunkGrid::new(vec![], vec![], &DimOrder::C, 8, &Limits::default()).unwrap();
        assert_eq!(scalar.element(&[], &mut []), Some(0));
    }

    #[test]
    fn edge_chunks_lie_partly_outside() {
        let grid = ChunkGrid::new(dims(&[10]), vec![4], &DimOrder::C, 1, &Limits::default()).unwrap();
        assert_eq!(grid.all_elems(), 12);
        let inside: Vec<_> = [0, 1, 2, 3, u64::MAX].map(|at| grid.inside(0, at, 10)).into();
        assert_eq!(inside, [4, 4, 2, 0, 0]);
    }
}
