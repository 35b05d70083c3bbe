//! [`Shelf`]: where answers are kept. What takes long is done by [`Shelf::stage`], before anybody is kept waiting.

use std::sync::Arc;

use nczarr_dispatch::Key;
use nczarr_model::Result;

use super::disk::{self, Disk};
use super::memory::Memory;
use super::part::Part;

/// An answer: the bytes, or that there is no object.
pub(super) type Kept = Option<Arc<[u8]>>;

#[derive(Debug)]
pub(super) enum Shelf {
    Memory(Memory),
    Disk(Disk),
}

/// An answer on its way to its place.
pub(super) enum Staged {
    Memory(Part, Kept),
    Disk(disk::Staged),
}

impl Shelf {
    pub(super) fn get(&self, key: &Key, part: Part) -> Option<Kept> {
        match self {
            Self::Memory(memory) => memory.get(key, part),
            Self::Disk(disk) => disk.get(key, part),
        }
    }

    /// `None`: it cannot be kept.
    pub(super) fn stage(&self, key: &Key, part: Part, bytes: Option<&[u8]>) -> Option<Staged> {
        match self {
            Self::Memory(_) => Some(Staged::Memory(part, bytes.map(Arc::from))),
            Self::Disk(disk) => disk.stage(key, part, bytes).map(Staged::Disk),
        }
    }

    pub(super) fn settle(&self, key: &Key, staged: Staged) {
        match (self, staged) {
            (Self::Memory(memory), Staged::Memory(part, kept)) => memory.put(key, part, kept),
            (Self::Disk(disk), Staged::Disk(staged)) => disk.settle(staged),
            // One shelf stages and settles.
            _ => {}
        }
    }

    /// Gives up what is beyond the budget, where that takes long.
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
