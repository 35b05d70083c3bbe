//! [`Gate`]: the engine's array of a variable, as callers keep it.
//!
//! A layout may change as long as there are no data. What somebody kept of the old one must not write any more then:
//! nobody would ever store it. The same holds once the dataset is closed. Reading costs nothing extra.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, TryLockError};

use chunkio::ChunkedArray;
use dispatch::{CacheConfig, Linear, MemMut, MemRef, VarData};
use model::{ErrorKind, NcType, Result, Slab};

/// An array that is written only as long as it is the variable's.
#[derive(Debug)]
pub(crate) struct Gate {
    array: ChunkedArray,
    /// Whether another array took its place. Shared by those who write.
    retired: RwLock<bool>,
    /// Whether the dataset is closed.
    closed: Arc<AtomicBool>,
}

impl Gate {
    pub(crate) fn new(array: ChunkedArray, closed: Arc<AtomicBool>) -> Self {
        Self { array, retired: RwLock::new(false), closed }
    }

    /// The array, past the gate.
    pub(crate) fn array(&self) -> &ChunkedArray {
        &self.array
    }

    /// Lets nobody write from now on. `false` if there are data already, or somebody is about to write some.
    pub(crate) fn retire(&self) -> bool {
        // Never waits: who writes may be waiting for other work that came here.
        let mut retired = match self.retired.try_write() {
            Ok(retired) => retired,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        *retired = !self.array.written();
        *retired
    }
}

#[deny(clippy::missing_trait_methods)]
impl VarData for Gate {
    fn get(&self, slab: &Slab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        self.array.get(slab, out)
    }

    fn peek(&self, at: &[u64], ty: NcType, out: &mut [u8]) -> bool {
        self.array.peek(at, ty, out)
    }

    fn look(&self, slab: &Slab<'_>) -> Result<()> {
        self.array.look(slab)
    }

    fn get_linear(&self, slab: &Slab<'_>, out: MemMut<'_, '_>, linear: &Linear) -> Result<()> {
        self.array.get_linear(slab, out, linear)
    }

    fn put(&self, slab: &Slab<'_>, data: MemRef<'_>) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(ErrorKind::BadId.context("the dataset is closed"));
        }
        let retired = self.retired.read().unwrap_or_else(PoisonError::into_inner);
        if *retired {
            let what = "the variable's layout was changed since its data were asked for";
            return Err(ErrorKind::LateDef.context(what));
        }
        self.array.put(slab, data)
    }

    fn is_absent(&self, slab: &Slab<'_>) -> Result<bool> {
        self.array.is_absent(slab)
    }

    fn tune(&self, cache: CacheConfig) -> Result<()> {
        self.array.tune(cache)
    }

    fn cache(&self) -> CacheConfig {
        self.array.cache()
    }

    fn chunk_shape(&self) -> Option<Vec<u64>> {
        self.array.chunk_shape()
    }
}
