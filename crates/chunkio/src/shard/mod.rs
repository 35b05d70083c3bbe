//! Chunks in shards: many chunks in one object, with an index.
//!
//! A [`Level`](level::Level) knows how one level of shards is laid out; [`Shards`] is all levels of an array. Chunks are
//! read through [`ShardMap`](map::ShardMap), which presents them as objects, so that all else of the engine is the same
//! with shards and without; they are written shard by shard ([`rewrite`], and `crate::flush`).
//!
//! Source: the codec `sharding_indexed` of Zarr V3.

mod ahead;
mod answer;
mod cache;
mod index;
mod level;
mod map;
mod rewrite;
mod round;
mod together;

use std::sync::Arc;

use nczarr_dispatch::{DimVec, Key, Limits, ZMap};
use nczarr_model::{ErrorKind, Result};

pub(crate) use level::Level;
pub(crate) use rewrite::{Edits, Rewrite, has_parts};

use crate::grid::{ChunkIndex, Grid};
use crate::{ChunkStore, ShardSpec};
use ahead::Ahead;
use map::{Below, ShardMap};

/// The shards of an array.
#[derive(Debug)]
pub(crate) struct Shards {
    /// The outermost first; never empty.
    pub(crate) levels: Vec<Arc<Level>>,
    /// Chunks of an outermost shard along each dimension.
    pub(crate) counts: Vec<u64>,
    map: Arc<ShardMap>,
}

impl Shards {
    /// `None` if chunks are objects. `part`: the most stored bytes of a chunk.
    pub(crate) fn new(
        specs: Vec<ShardSpec>,
        grid: &Grid,
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
                return Err(ErrorKind::Inval.context(format!("shards of {:?} chunks, {rank} dimensions", spec.counts)));
            }
            let level = Level::new(spec, part, limits.chunk)?;
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
            let ahead = map.is_none().then(|| Ahead::new(Arc::clone(store), grid, &counts));
            let below = map.take().map_or_else(|| Below::Store(Arc::clone(store)), Below::Shards);
            map = Some(Arc::new(ShardMap::new(below, Arc::clone(level), ahead)));
        }
        Ok(map.map(|map| Self { levels, counts, map }))
    }

    /// The chunks as objects.
    pub(crate) fn map(&self) -> &dyn ZMap {
        &*self.map
    }

    /// The numbers of a chunk in its shards, the outermost first, and the coordinates of the outermost.
    pub(crate) fn split(&self, index: &[u64]) -> (ChunkIndex, DimVec<usize>) {
        let mut index = ChunkIndex::from(index);
        let mut numbers = DimVec::with_len(self.levels.len());
        for (number, level) in numbers.iter_mut().zip(&self.levels).rev() {
            *number = level.split(&mut index);
        }
        (index, numbers)
    }

    /// The coordinates of a chunk's outermost shard.
    pub(crate) fn shard(&self, index: &[u64]) -> ChunkIndex {
        index.iter().zip(&self.counts).map(|(at, count)| at / count).collect()
    }

    /// Sets `key` to what stands for a chunk.
    pub(crate) fn locate(&self, store: &dyn ChunkStore, index: &[u64], key: &mut Key) {
        let (shard, numbers) = self.split(index);
        store.locate(&shard, key);
        for &number in numbers.iter() {
            key.push_index(&[number as u64], '/');
        }
    }
}
