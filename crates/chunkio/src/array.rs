//! [`ChunkedArray`]: one array, ready to be read and written.

use dispatch::{CacheConfig, MemMut, MemRef, VarData};
use model::{ErrorKind, Result, Slab};

use crate::ArraySpec;

/// One array, ready to be read and written by any number of threads.
#[derive(Debug)]
pub struct ChunkedArray {
    spec: ArraySpec,
}

impl ChunkedArray {
    /// Binds the filters and checks sizes.
    ///
    /// # Errors
    /// `NC_EINVAL`, `NC_EBADCHUNK` for a shape that makes no sense or exceeds the limits; what a filter says of its parameters.
    pub fn new(spec: ArraySpec) -> Result<Self> {
        Ok(Self { spec })
    }

    /// Writes every changed chunk.
    ///
    /// # Errors
    /// What storage and filters say; what could not be written stays in the cache.
    pub fn flush(&self) -> Result<()> {
        Ok(())
    }

    /// Writes every changed chunk, then forgets the unchanged ones, so that what others wrote is seen.
    ///
    /// # Errors
    /// As [`ChunkedArray::flush`].
    pub fn sync(&self) -> Result<()> {
        self.flush()
    }

    /// Whether anything was written through this array since it was made.
    pub fn written(&self) -> bool {
        false
    }
}

impl VarData for ChunkedArray {
    fn get(&self, _slab: &Slab<'_>, _out: MemMut<'_, '_>) -> Result<()> {
        Err(ErrorKind::Internal.context("under construction"))
    }

    fn put(&self, _slab: &Slab<'_>, _data: MemRef<'_>) -> Result<()> {
        Err(ErrorKind::Internal.context("under construction"))
    }

    fn tune(&self, _cache: CacheConfig) -> Result<()> {
        Ok(())
    }

    fn chunk_shape(&self) -> Option<Vec<u64>> {
        Some(self.spec.chunk_shape.clone())
    }
}
