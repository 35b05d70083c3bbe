//! The part of a variable that a call transfers.

use nczarr::{Extent, Slab};
use pyo3::prelude::*;

/// `(start, count, stride)`: one number for each dimension. A stride of `None` is 1 everywhere.
#[derive(FromPyObject)]
pub struct Part(Vec<u64>, Vec<u64>, Option<Vec<u64>>);

impl Part {
    /// The part as the library takes it.
    pub fn slab(&self) -> Slab<'_> {
        let mut slab = Slab::new(&self.0, &self.1);
        slab.stride = self.2.as_deref();
        slab
    }

    /// The part as one extent for each dimension.
    pub fn extents(&self) -> Vec<Extent> {
        let slab = self.slab();
        let extent = |dim: usize| Extent::Strided {
            start: slab.start[dim],
            count: slab.count.get(dim).copied(),
            stride: slab.step(dim),
        };
        (0..slab.rank()).map(extent).collect()
    }
}
