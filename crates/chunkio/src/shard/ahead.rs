//! [`Ahead`]: the shards of an array that has few of them, so that a storage far away is asked for all their indexes at once.
//!
//! Else each part of the array that is read first pays a round trip for an index, and another for its bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nczarr_dispatch::Key;

use crate::grid::{ChunkIndex, Grid};
use crate::{ArrayDim, ChunkStore};

/// More shards than this are not a few.
const FEW: u64 = 8;

/// What tells the keys of all shards.
#[derive(Debug)]
pub(super) struct Ahead {
    store: Arc<dyn ChunkStore>,
    dims: Vec<ArrayDim>,
    /// Elements of a shard along each dimension.
    shard: Vec<u64>,
    done: AtomicBool,
}

impl Ahead {
    /// `counts`: chunks of a shard along each dimension.
    pub(super) fn new(store: Arc<dyn ChunkStore>, grid: &Grid, counts: &[u64]) -> Self {
        let shard = grid.chunk.iter().zip(counts).map(|(chunk, count)| chunk.saturating_mul(*count)).collect();
        Self { store, dims: grid.dims.clone(), shard, done: AtomicBool::new(false) }
    }

    /// The keys of all shards, once; none if they are not a few.
    pub(super) fn keys(&self) -> Vec<Key> {
        if self.done.swap(true, Ordering::Relaxed) {
            return Vec::new();
        }
        let lens = self.dims.iter().map(|dim| dim.len.load(Ordering::Relaxed));
        let counts: Vec<u64> = lens.zip(&self.shard).map(|(len, shard)| len.div_ceil(*shard)).collect();
        let Some(all) = counts.iter().try_fold(1u64, |all, &count| all.checked_mul(count)).filter(|&all| all <= FEW)
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
