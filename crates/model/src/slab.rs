//! [`Slab`]: start, count and stride of a hyperslab. [`CheckedSlab`]: a hyperslab inside its variable.

use std::ops::Deref;

use crate::{ErrorKind, Result};

/// A hyperslab in index space: per dimension `start`, `count` elements, every `stride`-th.
///
/// All slices have the variable's rank; the slices of a scalar are empty. Callers of the drivers resolve
/// mapped access (`imap`), so no driver sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slab<'a> {
    /// First index per dimension.
    pub start: &'a [u64],
    /// Elements per dimension.
    pub count: &'a [u64],
    /// Step per dimension; `None` means 1 everywhere.
    pub stride: Option<&'a [u64]>,
}

impl<'a> Slab<'a> {
    /// A slab without stride.
    pub const fn new(start: &'a [u64], count: &'a [u64]) -> Self {
        Self { start, count, stride: None }
    }

    /// Returns the rank.
    pub fn rank(&self) -> usize {
        self.start.len()
    }

    /// Returns the step along dimension `dim`.
    pub fn step(&self, dim: usize) -> u64 {
        self.stride.map_or(1, |stride| stride[dim])
    }

    /// Whether every step along a dimension with more than one element is 1.
    pub fn is_dense(&self) -> bool {
        (0..self.rank()).all(|dim| self.step(dim) == 1 || self.count[dim] <= 1)
    }

    /// Returns the number of elements; saturates.
    pub fn len(&self) -> u64 {
        self.count.iter().fold(1, |product: u64, &count| product.saturating_mul(count))
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.count.contains(&0)
    }

    /// Returns the index after the last one along `dim`; `start` if the count is 0. `None` if it exceeds 64
    /// bits.
    pub fn end(&self, dim: usize) -> Option<u64> {
        match self.count[dim] {
            0 => Some(self.start[dim]),
            count => (count - 1).checked_mul(self.step(dim))?.checked_add(self.start[dim])?.checked_add(1),
        }
    }

    /// Whether a non-empty slab without strides is inside a shape. `false` may be too strict;
    /// [`Slab::find_fault`] then decides.
    fn is_plain(&self, shape: &[u64], may_grow: impl Fn(usize) -> bool) -> bool {
        let rank = shape.len();
        self.stride.is_none()
            && self.start.len() == rank
            && self.count.len() == rank
            && shape.iter().zip(self.start).zip(self.count).enumerate().all(
                |(dim, ((&len, &start), &count))| {
                    count > 0 && start.checked_add(count).is_some_and(|end| end <= len || may_grow(dim))
                },
            )
    }

    /// Checks the slab against a shape.
    ///
    /// `may_grow(d)` removes the upper limit of dimension `d`, for a write along an unlimited dimension.
    ///
    /// # Errors
    /// [`ErrorKind::Inval`] if a rank differs; [`ErrorKind::Stride`] if a stride is 0;
    /// [`ErrorKind::InvalCoords`] if `start > length` (or `start == length` with elements);
    /// [`ErrorKind::Edge`] if the last element lies beyond the length.
    ///
    /// Source: netCDF-C, `NC_check_nulls` and `NCDEFAULT_get_vars`.
    pub fn check(&self, shape: &[u64], may_grow: impl Fn(usize) -> bool) -> Result<CheckedSlab<'a>> {
        if !self.is_plain(shape, &may_grow) {
            self.find_fault(shape, may_grow)?;
        }
        Ok(CheckedSlab(*self))
    }

    /// Returns the first violation of a shape as an error.
    fn find_fault(&self, shape: &[u64], may_grow: impl Fn(usize) -> bool) -> Result<()> {
        let rank = shape.len();
        for (what, len) in [
            ("start", self.start.len()),
            ("count", self.count.len()),
            ("stride", self.stride.map_or(rank, <[u64]>::len)),
        ] {
            if len != rank {
                return Err(ErrorKind::Inval
                    .context(format!("{what} has {len} entries, the variable's rank is {rank}")));
            }
        }
        for (dim, &len) in shape.iter().enumerate() {
            let (start, count, step) = (self.start[dim], self.count[dim], self.step(dim));
            if step == 0 {
                return Err(ErrorKind::Stride.context(format!("stride 0 along dimension {dim}")));
            }
            let end = self.end(dim);
            if may_grow(dim) && end.is_some() {
                continue;
            }
            if start > len || (start == len && count > 0) {
                return Err(
                    ErrorKind::InvalCoords.context(format!("dimension {dim}: start {start}, length {len}"))
                );
            }
            if end.is_none_or(|end| end > len) {
                return Err(ErrorKind::Edge.context(format!(
                    "dimension {dim}: start {start} + count {count} (stride {step}) > length {len}"
                )));
            }
        }
        Ok(())
    }
}

/// A [`Slab`] that was checked against the shape of its variable. [`Slab::check`] makes it.
///
/// Its rank is that of the variable, no stride is 0, and the last index of each dimension fits 64 bits. All
/// elements exist, except that a write may extend unlimited dimensions. A length never shrinks, so the slab
/// stays valid while other threads write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckedSlab<'a>(Slab<'a>);

impl CheckedSlab<'_> {
    /// Returns the index after the last one along `dim`; `start` if the count is 0.
    pub fn end(&self, dim: usize) -> u64 {
        // The check found that it fits.
        self.0.end(dim).unwrap_or(u64::MAX)
    }
}

impl<'a> Deref for CheckedSlab<'a> {
    type Target = Slab<'a>;

    fn deref(&self) -> &Slab<'a> {
        &self.0
    }
}
