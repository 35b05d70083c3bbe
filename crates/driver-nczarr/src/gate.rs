//! [`Gate`]: the engine's array of a variable, as callers keep it.
//!
//! A layout may change as long as there are no data, and a dataset is closed: who may still write then is the business of
//! [`WriteGate`]. Reading costs nothing extra.

use std::sync::Arc;

use chunkio::ChunkedArray;
use dispatch::{CacheConfig, Closing, Linear, MemMut, MemRef, VarData, WriteGate};
use model::{NcType, Result, Slab};

/// An array that is written only as long as it is the variable's.
#[derive(Debug)]
pub(crate) struct Gate {
    array: ChunkedArray,
    gate: WriteGate,
}

impl Gate {
    pub(crate) fn new(array: ChunkedArray, closing: Arc<Closing>) -> Self {
        Self { array, gate: WriteGate::new(closing) }
    }

    /// The array, past the gate.
    pub(crate) fn array(&self) -> &ChunkedArray {
        &self.array
    }

    /// Lets nobody write from now on. `false` if there are data already, or somebody is about to write some.
    pub(crate) fn retire(&self) -> bool {
        self.gate.retire(|| self.array.written())
    }

    pub(crate) fn gate(&self) -> &WriteGate {
        &self.gate
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
        self.gate.write(|| self.array.put(slab, data))
    }

    fn is_absent(&self, slab: &Slab<'_>) -> Result<bool> {
        self.array.is_absent(slab)
    }

    fn is_fixed_text(&self) -> bool {
        self.array.is_fixed_text()
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
