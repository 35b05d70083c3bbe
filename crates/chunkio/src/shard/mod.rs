//! Chunks in shards: many chunks in one object with an index.
//!
//! A [`ShardLevel`](level::ShardLevel) defines one level of shards; [`Shards`] has all levels of an array.
//! Chunks are read through [`ShardMap`](map::ShardMap), which presents them as objects, so the rest of the
//! engine does not distinguish them. They are written shard by shard ([`rewrite`], and `crate::write_back`).
//!
//! Source: the codec `sharding_indexed` of Zarr V3.

mod answers;
mod group_requests;
mod index;
mod index_cache;
mod level;
mod map;
mod prefetch;
mod read_map;
mod read_round;
mod rewrite;
mod round_state;

use std::sync::Arc;

use nczarr_dispatch::Limits;
use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::DimVec;
use nczarr_storage::{Key, ZMap};

pub(crate) use level::ShardLevel;
pub(crate) use rewrite::{ChunkEdits, ShardRewrite, has_parts};

use crate::grid::{ChunkGrid, ChunkIndex};
use crate::{ChunkStore, ShardSpec};
use map::{ShardMap, ShardSource};
use prefetch::IndexPrefetch;

/// The shards of an array.
#[derive(Debug)]
pub(crate) struct Shards {
    /// The levels, outermost first; never empty.
    pub(crate) levels: Vec<Arc<ShardLevel>>,
    /// The chunks of an outermost shard along each dimension.
    pub(crate) counts: Vec<u64>,
    map: Arc<ShardMap>,
}

impl Shards {
    /// Creates the shards; `None` if chunks are objects. `part`: the maximum stored size of a chunk.
    pub(crate) fn new(
        specs: Vec<ShardSpec>,
        grid: &ChunkGrid,
        part: usize,
        store: &Arc<dyn ChunkStore>,
        limits: &Limits,
    ) -> Result<Option<Self>> {
        if specs.is_empty() {
            return Ok(None);
        }
        let rank = grid.rank();
        let mut levels = Vec::new();
        let (mut part, mut counts) = (part, vec![1u64; rank]);
        for spec in specs.into_iter().rev() {
            if spec.counts.len() != rank {
                return Err(ErrorKind::Inval
                    .context(format!("shards of {:?} chunks, {rank} dimensions", spec.counts)));
            }
            let level = ShardLevel::new(spec, part, limits.chunk)?;
            part = level.limit;
            for (count, more) in counts.iter_mut().zip(&level.counts) {
                *count = count
                    .checked_mul(*more)
                    .ok_or_else(|| ErrorKind::BadChunk.context("shards whose chunks cannot be counted"))?;
            }
            levels.push(Arc::new(level));
        }
        levels.reverse();
        let mut map: Option<Arc<ShardMap>> = None;
        for level in &levels {
            let ahead = map.is_none().then(|| IndexPrefetch::new(Arc::clone(store), grid, &counts));
            let below = map.take().map_or_else(|| ShardSource::Store(Arc::clone(store)), ShardSource::Shards);
            map = Some(Arc::new(ShardMap::new(below, Arc::clone(level), ahead)));
        }
        Ok(map.map(|map| Self { levels, counts, map }))
    }

    /// Returns the map in which chunks are objects.
    pub(crate) fn map(&self) -> &dyn ZMap {
        &*self.map
    }

    /// Returns the coordinates of a chunk's outermost shard, and its numbers in the shards, outermost first.
    pub(crate) fn split(&self, index: &[u64]) -> (ChunkIndex, DimVec<usize>) {
        let mut index = ChunkIndex::from(index);
        let mut numbers = DimVec::with_len(self.levels.len());
        for (number, level) in numbers.iter_mut().zip(&self.levels).rev() {
            *number = level.split(&mut index);
        }
        (index, numbers)
    }

    /// Returns the coordinates of a chunk's outermost shard.
    pub(crate) fn shard(&self, index: &[u64]) -> ChunkIndex {
        index.iter().zip(&self.counts).map(|(at, count)| at / count).collect()
    }

    /// Sets `key` to the key of a chunk in its shards.
    pub(crate) fn locate(&self, store: &dyn ChunkStore, index: &[u64], key: &mut Key) {
        let (shard, numbers) = self.split(index);
        store.locate(&shard, key);
        for &number in numbers.iter() {
            key.push_index(&[number as u64], '/');
        }
    }
}
