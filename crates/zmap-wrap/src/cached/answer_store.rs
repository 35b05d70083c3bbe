//! [`AnswerStore`]: the storage of cached answers. [`AnswerStore::stage`] does the slow work before any lock
//! is taken.

use std::sync::Arc;

use nczarr_model::Result;
use nczarr_storage::Key;

use super::disk::{self, DiskStore};
use super::memory::MemoryStore;
use super::part::{CachedAnswer, ObjectPart};

#[derive(Debug)]
pub(super) enum AnswerStore {
    Memory(MemoryStore),
    Disk(DiskStore),
}

/// An answer that is ready to be stored.
pub(super) enum StagedAnswer {
    Memory(ObjectPart, CachedAnswer),
    Disk(disk::PartialFile),
}

impl AnswerStore {
    pub(super) fn get(&self, key: &Key, part: ObjectPart) -> Option<CachedAnswer> {
        match self {
            Self::Memory(memory) => memory.get(key, part),
            Self::Disk(disk) => disk.get(key, part),
        }
    }

    /// Prepares an answer; `None` if it cannot be cached.
    pub(super) fn stage(&self, key: &Key, part: ObjectPart, bytes: Option<&[u8]>) -> Option<StagedAnswer> {
        match self {
            Self::Memory(_) => Some(StagedAnswer::Memory(part, bytes.map(Arc::from))),
            Self::Disk(disk) => disk.stage(key, part, bytes).map(StagedAnswer::Disk),
        }
    }

    pub(super) fn settle(&self, key: &Key, staged: StagedAnswer) {
        match (self, staged) {
            (Self::Memory(memory), StagedAnswer::Memory(part, kept)) => memory.put(key, part, kept),
            (Self::Disk(disk), StagedAnswer::Disk(staged)) => disk.settle(staged),
            // One store stages and settles, so the variants agree.
            _ => {}
        }
    }

    /// Evicts entries beyond the budget, if that is slow.
    pub(super) fn trim(&self) {
        if let Self::Disk(disk) = self {
            disk.trim();
        }
    }

    pub(super) fn forget(&self, key: &Key) -> Result<()> {
        match self {
            Self::Memory(memory) => memory.forget(key),
            Self::Disk(disk) => disk.forget(key)?,
        }
        Ok(())
    }

    pub(super) fn clear(&self) -> Result<()> {
        match self {
            Self::Memory(memory) => memory.clear(),
            Self::Disk(disk) => disk.clear()?,
        }
        Ok(())
    }

    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Memory(memory) => memory.bytes(),
            Self::Disk(disk) => disk.bytes(),
        }
    }
}
