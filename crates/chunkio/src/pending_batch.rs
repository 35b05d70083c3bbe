//! [`PendingBatch`]: complete cached chunks that wait for more, so that several threads store them together.
//!
//! Applies to appending record by record, which completes one chunk at a time. The waiting chunks are
//! bounded, are read from the cache, and are stored at the next flush at the latest. Only chunks that no
//! other process reads before a flush wait: partially written chunks, and whole chunks of records that are
//! not counted in storage. They must need encoding, or the map must gain from several threads. Falls back to
//! storing each chunk at once.

use std::sync::{Mutex, PoisonError};

use nczarr_model::Result;

use crate::cache::DirtyChunk;
use crate::engine::{ArrayEngine, ElementKind};
use crate::grid::ChunkIndex;
use crate::threads;

/// The decoded bytes that are stored together, or one chunk per thread if that is more: enough to justify
/// waking threads, and few enough for the processor's caches.
const BYTES: usize = 1 << 20;

/// The maximum number of chunks.
const MOST: usize = 256;

/// The divisor for the part of the cache that may wait.
const PART: usize = 4;

/// The waiting chunks.
#[derive(Debug, Default)]
pub(crate) struct PendingBatch(Mutex<Vec<ChunkIndex>>);

impl PendingBatch {
    /// Adds a chunk. Returns all of them once there are `full`.
    fn add(&self, index: &ChunkIndex, full: usize) -> Option<Vec<ChunkIndex>> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push(index.clone());
        (waiting.len() >= full).then(|| std::mem::take(&mut *waiting))
    }
}

impl<F: ElementKind> ArrayEngine<F> {
    /// Returns the number of chunks of `bytes` bytes that are stored together; 1 if that gains nothing.
    pub(crate) fn batch_size(&self, bytes: usize) -> usize {
        let (bytes, threads) = (bytes.max(1), threads::most(&self.options));
        let lot = (BYTES / bytes).max(threads).min(MOST).min(self.cache.budget() / PART / bytes);
        if self.shards.is_some() || threads::worth(&self.options, lot, lot * bytes) < 2 { 1 } else { lot }
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
