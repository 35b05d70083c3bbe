//! [`IndexCache`]: recently read shard indexes, each with the version of its shard.
//!
//! An index is used only for bytes of the same version, which readers compare. So its age and other writers
//! do not matter. A chunk that is missing from a cached index is looked up again.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, PoisonError, RwLock};

use nczarr_storage::Stamp;

use super::index::ShardIndex;

/// The number of cached indexes.
const SLOTS: usize = 256;

/// The maximum size of a cached index. All together take no more than the chunk cache.
const LARGEST: usize = 256 << 10;

/// The index of one version of a shard.
#[derive(Debug)]
pub(super) struct CachedIndex {
    pub(super) index: ShardIndex,
    /// `None`: the storage has no versions; the index serves one read only.
    pub(super) stamp: Option<Stamp>,
}

type IndexSlot = RwLock<Option<(Box<str>, Arc<CachedIndex>)>>;

/// Indexes by key. Each key has one slot, which keeps the latest.
#[derive(Debug)]
pub(super) struct IndexCache {
    slots: Box<[IndexSlot]>,
    hash: RandomState,
}

impl IndexCache {
    pub(super) fn new() -> Self {
        Self { slots: (0..SLOTS).map(|_| RwLock::default()).collect(), hash: RandomState::new() }
    }

    fn slot(&self, key: &str) -> &IndexSlot {
        &self.slots[self.hash.hash_one(key) as usize % SLOTS]
    }

    pub(super) fn find(&self, key: &str) -> Option<Arc<CachedIndex>> {
        let slot = self.slot(key).read().unwrap_or_else(PoisonError::into_inner);
        slot.as_ref().filter(|(own, _)| **own == *key).map(|(_, known)| Arc::clone(known))
    }

    pub(super) fn keep(&self, key: &str, known: &Arc<CachedIndex>) {
        if known.stamp.is_some() && known.index.cost() <= LARGEST {
            *self.slot(key).write().unwrap_or_else(PoisonError::into_inner) =
                Some((key.into(), Arc::clone(known)));
        }
    }
}
