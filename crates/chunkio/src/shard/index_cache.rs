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

/// Indexes by key. An index lies in the first free slot of its group from the key's own slot on. If the group
/// is full, it replaces the index in its own slot.
#[derive(Debug)]
pub(super) struct IndexCache {
    groups: [OnceLock<Box<[IndexSlot; GROUP_SLOTS]>>; GROUPS],
    hash: RandomState,
}

impl IndexCache {
    pub(super) fn new() -> Self {
        Self { groups: [const { OnceLock::new() }; GROUPS], hash: RandomState::new() }
    }

    /// Returns the group of a key, and the order of its slots there.
    fn locate(
        &self,
        key: &str,
    ) -> (&OnceLock<Box<[IndexSlot; GROUP_SLOTS]>>, impl Iterator<Item = usize> + use<>) {
        let hash = self.hash.hash_one(key) as usize;
        let own = hash / GROUPS % GROUP_SLOTS;
        (&self.groups[hash % GROUPS], (own..GROUP_SLOTS).chain(0..own))
    }

    pub(super) fn find(&self, key: &str) -> Option<Arc<CachedIndex>> {
        let (group, order) = self.locate(key);
        let group = group.get()?;
        for at in order {
            match &*group[at].read().unwrap_or_else(PoisonError::into_inner) {
                Some((own, known)) if **own == *key => return Some(Arc::clone(known)),
                Some(_) => {}
                None => break,
            }
        }
        None
    }

    pub(super) fn keep(&self, key: &str, known: &Arc<CachedIndex>) {
        if known.stamp.is_none() || known.index.cost() > LARGEST {
            return;
        }
        let (group, mut order) = self.locate(key);
        let group = group.get_or_init(Box::default);
        let write = |at: usize| group[at].write().unwrap_or_else(PoisonError::into_inner);
        let entry = Some((key.into(), Arc::clone(known)));
        let Some(first) = order.next() else { return };
        for at in std::iter::once(first).chain(order) {
            let mut slot = write(at);
            if slot.as_ref().is_none_or(|(own, _)| **own == *key) {
                *slot = entry;
                return;
            }
        }
        *write(first) = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nczarr_storage::Version;

    /// Returns an index without chunks, of some version.
    fn index() -> Arc<CachedIndex> {
        Arc::new(CachedIndex { index: ShardIndex::empty(1), stamp: Some(Version::comparable(1u8).stamp()) })
    }

    #[test]
    fn a_few_shards_never_replace_one_another() {
        // The hash is random, so each round has other collisions.
        for round in 0..200 {
            let cache = IndexCache::new();
            let keys: Vec<String> = (0..GROUP_SLOTS).map(|shard| format!("v/c/{shard}")).collect();
            for key in keys.iter().chain(&keys) {
                cache.keep(key, &index());
            }
            assert!(keys.iter().all(|key| cache.find(key).is_some()), "round {round}");
            assert!(cache.find("v/c/other").is_none());
        }
    }

    #[test]
    fn the_latest_index_of_many_is_kept() {
        let cache = IndexCache::new();
        for shard in 0..10 * GROUPS * GROUP_SLOTS {
            let (key, known) = (format!("v/c/{shard}"), index());
            cache.keep(&key, &known);
            assert!(cache.find(&key).is_some_and(|found| Arc::ptr_eq(&found, &known)), "{key}");
        }
    }
}
