//! Stores complete cached chunks together: the engine's side of [`PendingBatch`].

use nczarr_model::{CheckedSlab, Result};

use crate::cache::DirtyChunk;
use crate::engine::{ArrayEngine, ElementKind};
use crate::fast::pending_batch::PendingBatch;
use crate::fixed_size::FixedSize;
use crate::grid::ChunkIndex;

/// Whether whole chunks of a slab may wait in the cache. Then several threads help, and no other process
/// reads the chunks before the new length is stored.
pub(crate) fn gathers(engine: &ArrayEngine<FixedSize>, slab: &CheckedSlab<'_>) -> bool {
    // Unencoded chunks gain nothing, unless the storage itself profits from several threads.
    (engine.form.plan.has_filters() || engine.map().caps().parallel_writes) && grows(engine, slab)
}

/// Whether a slab extends an unlimited dimension.
fn grows(engine: &ArrayEngine<FixedSize>, slab: &CheckedSlab<'_>) -> bool {
    let dims = engine.grid.dims.iter().enumerate();
    dims.filter(|(_, limits)| limits.unlimited).any(|(dim, _)| slab.end(dim) > engine.grid.len(dim))
}

impl<F: ElementKind> ArrayEngine<F> {
    /// Returns the number of chunks of `bytes` bytes that are stored together; 1 if that gains nothing.
    pub(crate) fn batch_size(&self, bytes: usize) -> usize {
        if self.shards.is_some() {
            return 1;
        }
        PendingBatch::size(&self.options, self.cache.budget(), bytes)
    }

    /// Stores a complete cached chunk, once `lot` of them wait, and removes them from the cache. Continues
    /// after an error and returns the first; chunks that could not be stored stay.
    pub(crate) fn store_with_others(&self, index: &ChunkIndex, lot: usize) -> Result<()> {
        let Some(mut lot) = self.pending.add(index, lot) else { return Ok(()) };
        // In grid order, as in every flush.
        lot.sort_unstable();
        lot.dedup();
        let state = |index: &ChunkIndex| self.cache.with_chunk(index, DirtyChunk::of).flatten();
        let changed: Vec<DirtyChunk> = lot.iter().filter_map(state).collect();
        let result = self.store_changed(&changed);
        lot.iter().for_each(|index| self.cache.remove_clean(index));
        result
    }
}
