//! The handle of a dimension.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::calls;
use crate::file::SharedFile;

/// A dimension of an open dataset.
#[pyclass(frozen)]
pub struct Dimension {
    /// The dataset lives as long as a handle.
    file: Arc<SharedFile>,
    dimension: nczarr::Dimension,
}

impl Dimension {
    pub fn new(file: Arc<SharedFile>, dimension: nczarr::Dimension) -> Self {
        Self { file, dimension }
    }
}

#[pymethods]
impl Dimension {
    /// The name, the length, and whether it is unlimited.
    fn describe(&self, py: Python<'_>) -> (String, u64, bool) {
        self.file.look(py, || (self.dimension.name(), self.dimension.len(), self.dimension.is_unlimited()))
    }

    /// Grows an unlimited dimension by `count` and returns the first new index. No other writer gets it.
    fn reserve(&self, py: Python<'_>, count: u64) -> PyResult<u64> {
        calls::run(py, || self.dimension.reserve(count))
    }

    fn rename(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        calls::run(py, || self.dimension.rename(name))
    }
}
