//! [`Lot`]: chunks that are complete in the cache and wait for a few more, so that several threads store them at once.
//!
//! Who appends record by record completes one chunk at a time, and would wait for each by itself. What waits is bounded, is
//! read from the cache like everything in it, and goes at the latest with the next flush. Only that waits which nobody
//! reads elsewhere before a flush: chunks that were written part by part, and whole ones of records that are not counted yet
//! in storage, if they have to be encoded or the map stores more by several threads.

use std::sync::{Mutex, PoisonError};

use nczarr_model::Result;

use crate::cache::Changed;
use crate::grid::ChunkIndex;
use crate::keeper::{Form, Keeper};
use crate::threads;

/// As many bytes of decoded chunks are stored together, or a chunk for each thread if that is more: enough to be worth the
/// waking of threads, and few enough that they stay in the processor's caches.
const BYTES: usize = 1 << 20;

/// However small they are.
const MOST: usize = 256;

/// The part of the cache that may wait.
const PART: usize = 4;

/// The chunks that wait.
#[derive(Debug, Default)]
pub(crate) struct Lot(Mutex<Vec<ChunkIndex>>);

impl Lot {
    /// Adds a chunk; answers all of them once there are `full`.
    fn add(&self, index: &ChunkIndex, full: usize) -> Option<Vec<ChunkIndex>> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push(index.clone());
        (waiting.len() >= full).then(|| std::mem::take(&mut *waiting))
    }
}

impl<F: Form> Keeper<F> {
    /// How many chunks of so many bytes are stored together; 1 if nothing is gained by it.
    pub(crate) fn lot(&self, bytes: usize) -> usize {
        let (bytes, threads) = (bytes.max(1), threads::most(&self.options));
        let lot = (BYTES / bytes).max(threads).min(MOST).min(self.cache.budget() / PART / bytes);
        if self.shards.is_some() || threads::worth(&self.options, lot, lot * bytes) < 2 { 1 } else { lot }
    }

    /// Stores a chunk that is complete in the cache, once `lot` of them are; they leave the cache then. All are tried;
    /// the first error is answered, and what could not be stored stays.
    pub(crate) fn store_with_others(&self, index: &ChunkIndex, lot: usize) -> Result<()> {
        let Some(mut lot) = self.lot.add(index, lot) else { return Ok(()) };
        // In the order of the grid, as in every flush.
        lot.sort_unstable();
        lot.dedup();
        let state = |index: &ChunkIndex| self.cache.look(index, Changed::of).flatten();
        let changed: Vec<Changed> = lot.iter().filter_map(state).collect();
        let result = self.store_changed(&changed);
        lot.iter().for_each(|index| self.cache.remove_clean(index));
        result
    }
}
