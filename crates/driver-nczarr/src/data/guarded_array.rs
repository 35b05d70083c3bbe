//! [`GuardedArray`]: the engine's array of a variable, in the form that callers hold.
//!
//! [`WriteGate`] decides whether a caller may still write: a layout may change while there are no data, and a
//! dataset may be closed. [`VariableChunks`] keeps chunks in place while a caller uses them.

use std::sync::Arc;

use nczarr_chunkio::ChunkedArray;
use nczarr_dispatch::{
    CacheConfig, ChunkEncoding, EncodedCheck, EncodedChunk, EncodedChunks, Linear, MemMut, MemRef,
    StoredChunks, VarData,
};
use nczarr_model::{CheckedSlab, NcType, Result};
use nczarr_runtime::{CloseState, WriteFence};

use crate::data::variable_chunks::VariableChunks;

/// An array that accepts writes only while it belongs to its variable.
#[derive(Debug)]
pub(crate) struct GuardedArray {
    array: ChunkedArray,
    chunks: Arc<VariableChunks>,
    gate: WriteFence,
}

impl GuardedArray {
    /// Combines an array and its chunks.
    pub(crate) fn new(array: ChunkedArray, chunks: Arc<VariableChunks>, closing: Arc<CloseState>) -> Self {
        Self { array, chunks, gate: WriteFence::new(closing) }
    }

    /// Whether anything was written.
    pub(crate) fn written(&self) -> bool {
        self.array.written()
    }

    /// Stores every changed chunk, and drops the unchanged ones.
    ///
    /// # Errors
    /// As [`ChunkedArray::sync`].
    pub(crate) fn sync(&self) -> Result<()> {
        self.chunks.with_stable_keys(|| self.array.sync())
    }

    /// Rejects all writes from now on. `false` if there are data already, or a write is in progress.
    pub(crate) fn retire(&self) -> bool {
        self.gate.retire(|| self.array.written())
    }
}

impl AsRef<WriteFence> for GuardedArray {
    fn as_ref(&self) -> &WriteFence {
        &self.gate
    }
}

#[deny(clippy::missing_trait_methods)]
impl VarData for GuardedArray {
    fn get(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        self.chunks.with_stable_keys(|| self.array.get(slab, out))
    }

    fn try_get_cached_element(&self, at: &[u64], ty: NcType, out: &mut [u8]) -> bool {
        self.array.try_get_cached_element(at, ty, out)
    }

    fn try_get_stored_element(&self, at: &[u64], ty: NcType, out: &mut [u8]) -> bool {
        self.chunks.never_moves() && self.array.try_get_stored_element(at, ty, out)
    }

    fn check_readable(&self, slab: &CheckedSlab<'_>) -> Result<()> {
        self.chunks.with_stable_keys(|| self.array.check_readable(slab))
    }

    fn get_linear(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>, linear: &Linear) -> Result<()> {
        self.chunks.with_stable_keys(|| self.array.get_linear(slab, out, linear))
    }

    fn put(&self, slab: &CheckedSlab<'_>, data: MemRef<'_>) -> Result<()> {
        // In this order: a thread that moves chunks blocks new users, but not calls inside
        // `with_stable_keys`.
        self.chunks.with_stable_keys(|| self.gate.write(|| self.array.put(slab, data)))
    }

    fn is_absent(&self, slab: &CheckedSlab<'_>) -> Result<bool> {
        self.chunks.with_stable_keys(|| self.array.is_absent(slab))
    }

    fn stored_chunks(&self) -> Result<Option<StoredChunks>> {
        self.chunks.with_stable_keys(|| self.array.stored_chunks())
    }

    fn encoded_chunks(&self) -> Option<&dyn EncodedChunks> {
        Some(self)
    }

    fn is_fixed_text(&self) -> bool {
        self.array.is_fixed_text()
    }

    fn set_chunk_cache(&self, cache: CacheConfig) -> Result<()> {
        self.chunks.with_stable_keys(|| self.array.set_chunk_cache(cache))
    }

    fn chunk_cache(&self) -> CacheConfig {
        self.array.chunk_cache()
    }

    fn chunk_shape(&self) -> Option<Vec<u64>> {
        self.array.chunk_shape()
    }
}

impl EncodedChunks for GuardedArray {
    fn encoding(&self) -> ChunkEncoding {
        self.array.encoding()
    }

    fn encoded_len(&self, chunk: &CheckedSlab<'_>) -> Result<Option<u64>> {
        self.chunks.with_stable_keys(|| self.array.encoded_len(chunk))
    }

    fn read_encoded(&self, chunks: &[CheckedSlab<'_>]) -> Result<Vec<Option<EncodedChunk>>> {
        self.chunks.with_stable_keys(|| self.array.read_encoded(chunks))
    }

    fn decode(&self, chunk: &CheckedSlab<'_>, stored: &EncodedChunk, out: MemMut<'_, '_>) -> Result<()> {
        self.array.decode(chunk, stored, out)
    }

    fn write_encoded(
        &self,
        chunks: &[CheckedSlab<'_>],
        stored: &[EncodedChunk],
        check: EncodedCheck,
    ) -> Result<()> {
        let write = || self.array.write_encoded(chunks, stored, check);
        self.chunks.with_stable_keys(|| self.gate.write(write))
    }

    fn erase(&self, chunk: &CheckedSlab<'_>) -> Result<bool> {
        self.chunks.with_stable_keys(|| self.gate.write(|| self.array.erase(chunk)))
    }
}
