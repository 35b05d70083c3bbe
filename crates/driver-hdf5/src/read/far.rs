//! [`Far`]: an array in chunks in a file elsewhere. Before it is read, the part of its index is read that leads there.

use std::sync::Arc;

use nczarr_chunkio::ChunkedArray;
use nczarr_dispatch::{CacheConfig, MemMut, StoredChunks, VarData};
use nczarr_model::convert::Linear;
use nczarr_model::{NcType, Result, Slab};

use super::index::{Known, Wanted};

/// An array whose chunks are found as they are wanted.
#[derive(Debug)]
pub(super) struct Far {
    pub(super) known: Arc<Known>,
    pub(super) chunk_shape: Vec<u64>,
    /// As it is as long as no chunk is known from which a filter was left out.
    pub(super) plain: ChunkedArray,
    /// As it is then; `None`: there are no filters.
    pub(super) masked: Option<ChunkedArray>,
}

impl Far {
    fn array(&self) -> &ChunkedArray {
        match &self.masked {
            Some(masked) if self.known.is_masked() => masked,
            _ => &self.plain,
        }
    }

    /// The array, all chunks of a slab being known.
    fn with(&self, slab: &Slab<'_>) -> Result<&ChunkedArray> {
        if let Some(wanted) = self.wanted(slab) {
            self.known.learn(&wanted)?;
        }
        Ok(self.array())
    }

    /// The chunks that hold a slab, as far as there are such. Slabs that make no sense are the array's to refuse.
    fn wanted(&self, slab: &Slab<'_>) -> Option<Wanted> {
        let grid = self.known.grid();
        if [slab.start.len(), slab.count.len(), self.chunk_shape.len()] != [grid.len(); 3] {
            return None;
        }
        let (mut first, mut last) = (Vec::with_capacity(grid.len()), Vec::with_capacity(grid.len()));
        for (axis, &count) in grid.iter().enumerate() {
            let (start, chunk) = (slab.start[axis], self.chunk_shape[axis].max(1));
            let more = slab.count[axis].checked_sub(1)?.saturating_mul(slab.step(axis));
            first.push(start / chunk);
            last.push((start.saturating_add(more) / chunk).min(count.checked_sub(1)?));
        }
        Wanted::new(first, last)
    }
}

impl VarData for Far {
    fn get(&self, slab: &Slab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        self.with(slab)?.get(slab, out)
    }

    fn get_linear(&self, slab: &Slab<'_>, out: MemMut<'_, '_>, linear: &Linear) -> Result<()> {
        self.with(slab)?.get_linear(slab, out, linear)
    }

    fn peek(&self, at: &[u64], ty: NcType, out: &mut [u8]) -> bool {
        self.array().peek(at, ty, out)
    }

    fn look(&self, slab: &Slab<'_>) -> Result<()> {
        self.with(slab)?.look(slab)
    }

    fn is_absent(&self, slab: &Slab<'_>) -> Result<bool> {
        self.with(slab)?.is_absent(slab)
    }

    fn stored_chunks(&self) -> Result<Option<StoredChunks>> {
        self.array().stored_chunks()
    }

    fn tune(&self, cache: CacheConfig) -> Result<()> {
        self.masked.iter().try_for_each(|masked| masked.tune(cache))?;
        self.plain.tune(cache)
    }

    fn cache(&self) -> CacheConfig {
        self.plain.cache()
    }

    fn chunk_shape(&self) -> Option<Vec<u64>> {
        self.plain.chunk_shape()
    }
}
