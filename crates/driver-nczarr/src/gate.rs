//! [`Gate`]: the engine's array of a variable, as callers keep it.
//!
//! A layout may change as long as there are no data, and a dataset is closed: who may still write then is the business of
//! [`WriteFence`]. A rename moves chunks: who is at them is that of [`Chunks`].

use std::sync::Arc;

use nczarr_chunkio::ChunkedArray;
use nczarr_dispatch::{CacheConfig, CloseState, Linear, MemMut, MemRef, StoredChunks, VarData, WriteFence};
use nczarr_model::{NcType, Result, Slab};

use crate::layout::Chunks;

/// An array that is written only as long as it is the variable's.
#[derive(Debug)]
pub(crate) struct Gate {
    array: ChunkedArray,
    chunks: Arc<Chunks>,
    gate: WriteFence,
}

impl Gate {
    /// An array whose chunks these are.
    pub(crate) fn new(array: ChunkedArray, chunks: Arc<Chunks>, closing: Arc<CloseState>) -> Self {
        Self { array, chunks, gate: WriteFence::new(closing) }
    }

    /// Whether anything was written.
    pub(crate) fn written(&self) -> bool {
        self.array.written()
    }

    /// Writes every changed chunk, and forgets the unchanged ones.
    ///
    /// # Errors
    /// As [`ChunkedArray::sync`].
    pub(crate) fn sync(&self) -> Result<()> {
        self.chunks.stay(|| self.array.sync())
    }

    /// Lets nobody write from now on. `false` if there are data already, or somebody is about to write some.
    pub(crate) fn retire(&self) -> bool {
        self.gate.retire(|| self.array.written())
    }
}

impl AsRef<WriteFence> for Gate {
    fn as_ref(&self) -> &WriteFence {
        &self.gate
    }
}

#[deny(clippy::missing_trait_methods)]
impl VarData for Gate {
    fn get(&self, slab: &Slab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        self.chunks.stay(|| self.array.get(slab, out))
    }

    fn try_get_cached_element(&self, at: &[u64], ty: NcType, out: &mut [u8]) -> bool {
        self.array.try_get_cached_element(at, ty, out)
    }

    fn try_get_stored_element(&self, at: &[u64], ty: NcType, out: &mut [u8]) -> bool {
        self.chunks.is_fixed() && self.array.try_get_stored_element(at, ty, out)
    }

    fn check_readable(&self, slab: &Slab<'_>) -> Result<()> {
        self.chunks.stay(|| self.array.check_readable(slab))
    }

    fn get_linear(&self, slab: &Slab<'_>, out: MemMut<'_, '_>, linear: &Linear) -> Result<()> {
        self.chunks.stay(|| self.array.get_linear(slab, out, linear))
    }

    fn put(&self, slab: &Slab<'_>, data: MemRef<'_>) -> Result<()> {
        // In this order: who moves chunks has newcomers wait, unless they are within something already.
        self.chunks.stay(|| self.gate.write(|| self.array.put(slab, data)))
    }

    fn is_absent(&self, slab: &Slab<'_>) -> Result<bool> {
        self.chunks.stay(|| self.array.is_absent(slab))
    }

    fn stored_chunks(&self) -> Result<Option<StoredChunks>> {
        self.chunks.stay(|| self.array.stored_chunks())
    }

    fn is_fixed_text(&self) -> bool {
        self.array.is_fixed_text()
    }

    fn set_chunk_cache(&self, cache: CacheConfig) -> Result<()> {
        self.chunks.stay(|| self.array.set_chunk_cache(cache))
    }

    fn chunk_cache(&self) -> CacheConfig {
        self.array.chunk_cache()
    }

    fn chunk_shape(&self) -> Option<Vec<u64>> {
        self.array.chunk_shape()
    }
}
