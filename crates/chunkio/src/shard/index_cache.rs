//! [`IndexCache`]: recently read shard indexes, each with the version of its shard.
//!
//! An index is used only for bytes of the same version, which readers compare. So its age and other writers
//! do not matter. A chunk that is missing from a cached index is looked up again.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use nczarr_storage::Stamp;

use super::index::ShardIndex;

/// The number of groups of slots. A group is allocated for its first index.
const GROUPS: usize = 16;

/// The number of cached indexes in a group.
const GROUP_SLOTS: usize = 16;

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
    groups: [OnceLock<Box<[IndexSlot; GROUP_SLOTS]>>; GROUPS],
    hash: RandomState,
}

impl IndexCache {
    pub(super) fn new() -> Self {
        Self { groups: [const { OnceLock::new() }; GROUPS], hash: RandomState::new() }
    }

    /// Returns the group of a key, and its slot there.
    fn locate(&self, key: &str) -> (&OnceLock<Box<[IndexSlot; GROUP_SLOTS]>>, usize) {
        let hash = self.hash.hash_one(key) as usize;
        (&self.groups[hash % GROUPS], hash / GROUPS % GROUP_SLOTS)
    }

    pub(super) fn find(&self, key: &str) -> Option<Arc<CachedIndex>> {
        let (group, slot) = self.locate(key);
        let slot = group.get()?[slot].read().unwrap_or_else(PoisonError::into_inner);
        slot.as_ref().filter(|(own, _)| **own == *key).map(|(_, known)| Arc::clone(known))
    }

    pub(super) fn keep(&self, key: &str, known: &Arc<CachedIndex>) {
        if known.stamp.is_some() && known.index.cost() <= LARGEST {
            let (group, slot) = self.locate(key);
            let slot = &group.get_or_init(Box::default)[slot];
            *slot.write().unwrap_or_else(PoisonError::into_inner) = Some((key.into(), Arc::clone(known)));
        }
    }
}
