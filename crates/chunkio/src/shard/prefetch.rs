//! [`IndexPrefetch`]: requests the indexes of all shards of an array at once, if there are few and the map is
//! remote.
//!
//! Otherwise the first read in each shard would need a round trip for the index, and one for the data.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nczarr_storage::Key;

use crate::grid::{ChunkGrid, ChunkIndex};
use crate::{ArrayDim, ChunkStore};

/// The maximum number of shards.
const FEW: u64 = 8;

/// The keys of all shards.
#[derive(Debug)]
pub(super) struct IndexPrefetch {
    store: Arc<dyn ChunkStore>,
    dims: Vec<ArrayDim>,
    /// The length of a shard along each dimension, in elements.
    shard: Vec<u64>,
    done: AtomicBool,
}

impl IndexPrefetch {
    /// `counts`: chunks of a shard along each dimension.
    pub(super) fn new(store: Arc<dyn ChunkStore>, grid: &ChunkGrid, counts: &[u64]) -> Self {
        let shard =
            grid.chunk.iter().zip(counts).map(|(chunk, count)| chunk.saturating_mul(*count)).collect();
        Self { store, dims: grid.dims.clone(), shard, done: AtomicBool::new(false) }
    }

    /// Returns the keys of all shards, at the first call only; an empty list if there are too many.
    pub(super) fn keys(&self) -> Vec<Key> {
        if self.done.swap(true, Ordering::Relaxed) {
            return Vec::new();
        }
        let lens = self.dims.iter().map(|dim| dim.len.load(Ordering::Relaxed));
        let counts: Vec<u64> = lens.zip(&self.shard).map(|(len, shard)| len.div_ceil(*shard)).collect();
        let Some(all) =
            counts.iter().try_fold(1u64, |all, &count| all.checked_mul(count)).filter(|&all| all <= FEW)
        else {
            return Vec::new();
        };
        let key = |number: u64| {
            let mut rest = number;
            let mut index: ChunkIndex = counts.iter().map(|_| 0).collect();
            for (at, count) in index.iter_mut().zip(&counts).rev() {
                *at = rest % count;
                rest /= count;
            }
            let mut key = Key::root();
            self.store.locate(&index, &mut key);
            key
        };
        (0..all).map(key).collect()
    }
}
