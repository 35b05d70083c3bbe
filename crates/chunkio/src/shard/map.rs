//! [`ShardMap`]: the chunks of one level of shards. [`super::read_map`] presents them as objects of a map.
//!
//! Nested shards are a map over a map. Writes handle whole shards elsewhere.

use std::sync::Arc;

use nczarr_storage::ZMap;

use super::index_cache::IndexCache;
use super::level::ShardLevel;
use super::prefetch::IndexPrefetch;
use crate::ChunkStore;

/// The map that holds the shards.
#[derive(Debug)]
pub(crate) enum ShardSource {
    Store(Arc<dyn ChunkStore>),
    Shards(Arc<ShardMap>),
}

/// The chunks of one level of shards.
#[derive(Debug)]
pub(crate) struct ShardMap {
    below: ShardSource,
    pub(super) level: Arc<ShardLevel>,
    pub(super) indexes: IndexCache,
    /// Only for the outermost level.
    pub(super) ahead: Option<IndexPrefetch>,
}

impl ShardMap {
    pub(super) fn new(below: ShardSource, level: Arc<ShardLevel>, ahead: Option<IndexPrefetch>) -> Self {
        Self { below, level, indexes: IndexCache::new(), ahead }
    }

    /// The map that holds the shards.
    pub(super) fn shards(&self) -> &dyn ZMap {
        match &self.below {
            ShardSource::Store(store) => store.map(),
            ShardSource::Shards(map) => &**map,
        }
    }
}
