//! [`Indexes`]: the indexes of shards that were read lately, each with the version of the shard it was read of.
//!
//! An index is used only for bytes of the same version: whoever reads with it compares. So it does not matter how old it
//! is, nor who wrote meanwhile; what it does not hold is not taken for missing.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, PoisonError, RwLock};

use nczarr_dispatch::Stamp;

use super::index::Index;

/// Indexes kept at once.
const SLOTS: usize = 256;

/// The most bytes of one that is kept; all of them together are not more than an array's chunks may take.
const LARGEST: usize = 256 << 10;

/// The index of one state of one shard.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) index: Index,
    /// `None`: the storage has no versions, and the index is for one read only.
    pub(super) stamp: Option<Stamp>,
}

type Slot = RwLock<Option<(Box<str>, Arc<Known>)>>;

/// Indexes by key. Each key has one place, where the last one stays.
#[derive(Debug)]
pub(super) struct Indexes {
    slots: Box<[Slot]>,
    hash: RandomState,
}

impl Indexes {
    pub(super) fn new() -> Self {
        Self { slots: (0..SLOTS).map(|_| RwLock::default()).collect(), hash: RandomState::new() }
    }

    fn slot(&self, key: &str) -> &Slot {
        &self.slots[self.hash.hash_one(key) as usize % SLOTS]
    }

    pub(super) fn find(&self, key: &str) -> Option<Arc<Known>> {
        let slot = self.slot(key).read().unwrap_or_else(PoisonError::into_inner);
        slot.as_ref().filter(|(own, _)| **own == *key).map(|(_, known)| Arc::clone(known))
    }

    pub(super) fn keep(&self, key: &str, known: &Arc<Known>) {
        if known.stamp.is_some() && known.index.cost() <= LARGEST {
            *self.slot(key).write().unwrap_or_else(PoisonError::into_inner) = Some((key.into(), Arc::clone(known)));
        }
    }
}
