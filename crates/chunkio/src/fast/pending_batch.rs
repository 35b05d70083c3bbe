//! [`PendingBatch`]: complete cached chunks that wait for more, so that several threads store them together.
//!
//! Applies to appending record by record, which completes one chunk at a time. The number of waiting chunks
//! is bounded. Reads find them in the cache, and the next flush stores them at the latest. Only chunks that
//! no other process reads before a flush wait. Partial writes completed them, or they are whole chunks of
//! records that storage does not count yet. They need encoding, or the map gains from several threads. Falls
//! back to storing each chunk at once.

use std::sync::{Mutex, PoisonError};

use nczarr_dispatch::Options;

use crate::grid::ChunkIndex;
use crate::threads;

/// The decoded bytes that are stored together, or one chunk per thread if that is more. They justify waking
/// threads and fit the processor's caches.
const BYTES: usize = 1 << 20;

/// The maximum number of chunks.
const MOST: usize = 256;

/// Waiting chunks take at most this fraction of the cache: one part in `PART`.
const PART: usize = 4;

/// The waiting chunks.
#[derive(Debug, Default)]
pub(crate) struct PendingBatch(Mutex<Vec<ChunkIndex>>);

impl PendingBatch {
    /// Returns the number of chunks of `bytes` bytes that are stored together; 1 if that gains nothing.
    /// `budget`: the size of the cache.
    pub(crate) fn size(options: &Options, budget: usize, bytes: usize) -> usize {
        let (bytes, threads) = (bytes.max(1), threads::most(options));
        let lot = (BYTES / bytes).max(threads).min(MOST).min(budget / PART / bytes);
        if threads::worth(options, lot, lot * bytes) < 2 { 1 } else { lot }
    }

    /// Adds a chunk. Returns all of them once there are `full`.
    pub(crate) fn add(&self, index: &ChunkIndex, full: usize) -> Option<Vec<ChunkIndex>> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push(index.clone());
        (waiting.len() >= full).then(|| std::mem::take(&mut *waiting))
    }
}
