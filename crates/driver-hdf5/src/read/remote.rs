//! [`RemoteArray`]: a chunked array in a remote file. A read loads only the part of the chunk index that it
//! needs.

use std::sync::Arc;

use nczarr_chunkio::ChunkedArray;
use nczarr_dispatch::{
    CacheConfig, ChunkEncoding, EncodedCheck, EncodedChunk, EncodedChunks, MemMut, StoredChunks, VarData,
};
use nczarr_model::convert::Linear;
use nczarr_model::{CheckedSlab, NcType, Result};

use super::index::{ChunkBox, LazyChunkIndex};

/// A chunked array whose chunks are located on demand.
#[derive(Debug)]
pub(super) struct RemoteArray {
    pub(super) known: Arc<LazyChunkIndex>,
    pub(super) chunk_shape: Vec<u64>,
    /// Used while every known chunk has all filters.
    pub(super) plain: ChunkedArray,
    /// Used once a chunk lacks a filter; `None` if the dataset has no filters.
    pub(super) masked: Option<ChunkedArray>,
}

impl RemoteArray {
    fn array(&self) -> &ChunkedArray {
        match &self.masked {
            Some(masked) if self.known.is_masked() => masked,
            _ => &self.plain,
        }
    }

    /// Loads the index entries of a slab and returns the array to read it with.
    fn with(&self, slab: &CheckedSlab<'_>) -> Result<&ChunkedArray> {
        if let Some(wanted) = self.wanted(slab) {
            self.known.load(&wanted)?;
        }
        Ok(self.array())
    }

    /// Returns the chunks that a slab needs; `None` if it is empty.
    fn wanted(&self, slab: &CheckedSlab<'_>) -> Option<ChunkBox> {
        if slab.is_empty() {
            return None;
        }
        let grid = self.known.grid();
        let (mut first, mut last) = (Vec::with_capacity(grid.len()), Vec::with_capacity(grid.len()));
        for (axis, &count) in grid.iter().enumerate() {
            let (start, chunk) = (slab.start[axis], self.chunk_shape[axis].max(1));
            first.push(start / chunk);
            last.push(((slab.end(axis) - 1) / chunk).min(count.checked_sub(1)?));
        }
        ChunkBox::new(first, last)
    }
}

impl VarData for RemoteArray {
    fn get(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        self.with(slab)?.get(slab, out)
    }

    fn get_linear(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>, linear: &Linear) -> Result<()> {
        self.with(slab)?.get_linear(slab, out, linear)
    }

    fn try_get_cached_element(&self, at: &[u64], ty: NcType, out: &mut [u8]) -> bool {
        self.array().try_get_cached_element(at, ty, out)
    }

    fn check_readable(&self, slab: &CheckedSlab<'_>) -> Result<()> {
        self.with(slab)?.check_readable(slab)
    }

    fn is_absent(&self, slab: &CheckedSlab<'_>) -> Result<bool> {
        self.with(slab)?.is_absent(slab)
    }

    fn stored_chunks(&self) -> Result<Option<StoredChunks>> {
        self.array().stored_chunks()
    }

    fn encoded_chunks(&self) -> Option<&dyn EncodedChunks> {
        self.plain.encoded_chunks().map(|_| self as _)
    }

    fn set_chunk_cache(&self, cache: CacheConfig) -> Result<()> {
        self.masked.iter().try_for_each(|masked| masked.set_chunk_cache(cache))?;
        self.plain.set_chunk_cache(cache)
    }

    fn chunk_cache(&self) -> CacheConfig {
        self.plain.chunk_cache()
    }

    fn chunk_shape(&self) -> Option<Vec<u64>> {
        self.plain.chunk_shape()
    }
}

impl EncodedChunks for RemoteArray {
    fn encoding(&self) -> ChunkEncoding {
        self.plain.encoding()
    }

    fn encoded_len(&self, chunk: &CheckedSlab<'_>) -> Result<Option<u64>> {
        self.with(chunk)?.encoded_len(chunk)
    }

    fn read_encoded(&self, chunks: &[CheckedSlab<'_>]) -> Result<Vec<Option<EncodedChunk>>> {
        for chunk in chunks {
            self.with(chunk)?;
        }
        self.array().read_encoded(chunks)
    }

    fn decode(&self, chunk: &CheckedSlab<'_>, stored: &EncodedChunk, out: MemMut<'_, '_>) -> Result<()> {
        // Both arrays decode a chunk without a mask.
        let array = self.masked.as_ref().filter(|_| stored.filter_mask != 0).unwrap_or(&self.plain);
        array.decode(chunk, stored, out)
    }

    fn write_encoded(
        &self,
        chunks: &[CheckedSlab<'_>],
        stored: &[EncodedChunk],
        check: EncodedCheck,
    ) -> Result<()> {
        self.plain.write_encoded(chunks, stored, check)
    }

    fn erase(&self, chunk: &CheckedSlab<'_>) -> Result<bool> {
        self.plain.erase(chunk)
    }
}
