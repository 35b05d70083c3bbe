//! The part of a variable that a call names, and the rules for its null pointers.

use nczarr::{DimVec, ErrorKind, Result, Slab};

use super::mapped::Distances;
use crate::boundary::pointer::InPtr;

/// The arguments of a call that name a part of a variable.
pub enum Region {
    /// The whole variable with its present lengths.
    Whole,
    /// One element.
    Element(InPtr<usize>),
    /// Start and count.
    Block(InPtr<usize>, InPtr<usize>),
    /// Start, count and stride.
    Strided(InPtr<usize>, InPtr<usize>, InPtr<isize>),
    /// Start, count, stride, and the distances between elements in memory.
    Mapped(InPtr<usize>, InPtr<usize>, InPtr<isize>, InPtr<isize>),
}

/// A region with all its numbers.
pub struct Selection {
    start: DimVec<u64>,
    pub count: DimVec<u64>,
    stride: Option<DimVec<u64>>,
    /// The distances between elements in memory, if they are not adjacent.
    pub imap: Option<Distances>,
}

impl Selection {
    /// Returns the hyperslab.
    pub fn slab(&self) -> Slab<'_> {
        Slab { start: &self.start, count: &self.count, stride: self.stride.as_deref() }
    }
}

impl Region {
    /// Returns the numbers of the region in a variable of this shape.
    ///
    /// A null start is `NC_EINVALCOORDS`, but valid for a scalar. A null count means all elements from the
    /// start on, and a null stride means 1.
    pub fn select(&self, shape: &[u64]) -> Result<Selection> {
        let rank = shape.len();
        let start_of = |start: &InPtr<usize>| {
            start.sizes(rank).ok_or_else(|| ErrorKind::InvalCoords.context("the start is null"))
        };
        let block = |start: &InPtr<usize>, count: &InPtr<usize>, stride: Option<&InPtr<isize>>| {
            let start = start_of(start)?;
            let stride = stride.filter(|stride| !stride.is_null()).and_then(|stride| stride.distances(rank));
            let stride = stride.map(|stride| steps(&stride)).transpose()?;
            let count = count.sizes(rank).unwrap_or_else(|| rest(shape, &start, stride.as_deref()));
            Ok(Selection { start, count, stride, imap: None })
        };
        match self {
            Self::Whole => {
                let start = std::iter::repeat_n(0, rank).collect();
                Ok(Selection { start, count: shape.iter().copied().collect(), stride: None, imap: None })
            }
            Self::Element(index) => {
                let (start, count) = (start_of(index)?, std::iter::repeat_n(1, rank).collect());
                Ok(Selection { start, count, stride: None, imap: None })
            }
            Self::Block(start, count) => block(start, count, None),
            Self::Strided(start, count, stride) => block(start, count, Some(stride)),
            Self::Mapped(start, count, stride, imap) => {
                let imap = imap.distances(rank).filter(|_| !imap.is_null()).map(Distances::new);
                Ok(Selection { imap, ..block(start, count, Some(stride))? })
            }
        }
    }

    /// Whether no stride and no distances are given.
    pub fn is_block(&self) -> bool {
        match self {
            Self::Whole | Self::Element(_) | Self::Block(..) => true,
            Self::Strided(..) => false,
            Self::Mapped(_, _, stride, imap) => stride.is_null() && imap.is_null(),
        }
    }

    /// Whether the elements may be apart in memory.
    pub fn is_mapped(&self) -> bool {
        matches!(self, Self::Mapped(..))
    }
}

fn steps(stride: &[i64]) -> Result<DimVec<u64>> {
    let positive = |&step: &i64| u64::try_from(step).ok().filter(|&step| step > 0);
    let steps = stride.iter().map(positive).collect::<Option<DimVec<u64>>>();
    steps.ok_or_else(|| ErrorKind::Stride.context(format!("stride {stride:?} (expected positive numbers)")))
}

/// Returns the numbers of elements from the start on.
fn rest(shape: &[u64], start: &[u64], stride: Option<&[u64]>) -> DimVec<u64> {
    let step = |dim: usize| stride.map_or(1, |stride| stride[dim]);
    let rest = shape.iter().zip(start).map(|(&len, &start)| len.saturating_sub(start));
    rest.enumerate().map(|(dim, rest)| rest.div_ceil(step(dim))).collect()
}

/// Returns the number of elements and of bytes of a selection.
pub fn byte_count(selection: &Selection, element: usize) -> Result<usize> {
    nczarr::dispatch::byte_len(selection.slab().len(), element)
}
