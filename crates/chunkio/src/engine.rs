//! [`ArrayEngine`]: the chunks of an array in cache and storage, for any kind of elements.
//!
//! It owns the write-back protocol. A partial write records the written elements and reads nothing. A
//! complete chunk is stored without reading. A partial chunk goes through [`ZMap::update`]: read the stored
//! chunk, put the written elements over it, and store the result. If another writer came between, repeat. So
//! no update is lost, inside the process ([`ChunkClaims`]) or outside. If a cheap test shows that the chunk
//! is absent, its other elements become fill values. The chunk is then stored on the condition that it is
//! still absent. Chunks that could not be stored stay marked as changed.
//!
//! [`ElementKind`] defines the elements. [`crate::write_back`] stores many chunks at once.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use nczarr_dispatch::Options;
use nczarr_model::{CheckedSlab, Error, ErrorKind, Result};
use nczarr_storage::{ByteRange, Key, Precondition, WriteOutcome, ZMap, ZMapExt};

use crate::cache::{CachedChunk, ChunkCache, DirtyChunk, InsertOutcome};
use crate::claims::{ChunkClaim, ChunkClaims};
use crate::fast::pending_batch::PendingBatch;
use crate::grid::{ChunkGrid, ChunkIndex};
use crate::mask::ElementMask;
use crate::memory::HasByteView;
use crate::project::{ChunkPart, Projection, StridedRun};
use crate::shard::Shards;
use crate::{ChunkStore, ShardSpec};

/// The in-memory form of a chunk's elements.
pub(crate) trait ElementKind: Send + Sync + fmt::Debug {
    /// All elements of a chunk.
    type Data: HasByteView + Send + Sync;

    /// Returns their size in memory, in bytes.
    fn cost(&self, data: &Self::Data) -> usize;

    /// Returns the maximum size of a stored chunk, in bytes.
    fn limit(&self) -> usize;

    /// Copies the elements.
    fn copy(&self, data: &Self::Data) -> Result<Self::Data>;

    /// Returns a chunk of fill values.
    fn fill_values(&self) -> Result<Self::Data>;

    /// Returns a chunk whose elements are all written before they are read.
    fn uninitialised_values(&self) -> Result<Self::Data> {
        self.fill_values()
    }

    /// Whether the stored bytes equal the bytes in memory.
    fn is_plain(&self) -> bool {
        false
    }

    /// Returns the stored bytes of a chunk, if they equal its bytes in memory.
    fn as_stored<'d>(&self, _data: &'d Self::Data) -> Option<&'d [u8]> {
        None
    }

    /// Returns the expected size of a stored chunk, in bytes: a hint for the first read.
    fn expected_size(&self) -> usize;

    /// Returns the size of every stored chunk, if it is fixed.
    fn stored_size(&self) -> Option<usize> {
        None
    }

    /// Decodes a chunk.
    fn decode(&self, stored: &[u8]) -> Result<Self::Data>;

    /// Encodes a chunk.
    fn encode(&self, data: &Self::Data, stored: &mut Vec<u8>) -> Result<()>;

    /// Copies the elements of `over` that are in the mask into `base`.
    fn overlay(&self, base: &mut Self::Data, over: &Self::Data, mask: &ElementMask);

    /// Sets all elements outside the mask to the fill value.
    fn fill_outside(&self, data: &mut Self::Data, mask: &ElementMask) -> Result<()> {
        let mut base = self.fill_values()?;
        self.overlay(&mut base, data, mask);
        *data = base;
        Ok(())
    }
}

/// The part of a chunk that is being stored.
pub(crate) struct WriteBackSnapshot<D> {
    pub(crate) data: Arc<D>,
    pub(crate) mask: Arc<ElementMask>,
    /// Whether `data` can be stored without a merge.
    pub(crate) ready: bool,
}

/// Held during the write-back of a chunk. If it is dropped unfinished, also by a panic, the elements count as
/// changed again.
pub(crate) struct WriteBackGuard<'a, F: ElementKind> {
    engine: &'a ArrayEngine<F>,
    pub(crate) index: ChunkIndex,
    arrived: bool,
    /// The stored elements after a merge, if they exceed the written ones.
    merged: Option<F::Data>,
}

impl<F: ElementKind> WriteBackGuard<'_, F> {
    /// The chunk is stored. `merged`: the stored elements after a merge.
    pub(crate) fn finish(mut self, merged: Option<F::Data>) {
        (self.arrived, self.merged) = (true, merged);
    }
}

impl<F: ElementKind> Drop for WriteBackGuard<'_, F> {
    fn drop(&mut self) {
        self.engine.finish_write_back(&self.index, self.arrived, self.merged.take());
    }
}

/// The place of the chunks of an array.
pub(crate) struct ShardedStore {
    pub(crate) store: Arc<dyn ChunkStore>,
    /// From the outermost; empty without shards.
    pub(crate) shards: Vec<ShardSpec>,
}

/// The chunks of one array.
#[derive(Debug)]
pub(crate) struct ArrayEngine<F: ElementKind> {
    pub(crate) name: String,
    pub(crate) grid: ChunkGrid,
    pub(crate) form: F,
    pub(crate) store: Arc<dyn ChunkStore>,
    pub(crate) shards: Option<Shards>,
    pub(crate) options: Options,
    pub(crate) cache: ChunkCache<F::Data>,
    pub(crate) claims: ChunkClaims,
    pub(crate) pending: PendingBatch,
    /// Whether ranges of stored chunks equal ranges in memory; set on first use.
    pub(crate) ranged: OnceLock<bool>,
    writable: bool,
    written: AtomicBool,
}

impl<F: ElementKind> ArrayEngine<F> {
    pub(crate) fn new(
        name: String,
        grid: ChunkGrid,
        form: F,
        source: ShardedStore,
        options: Options,
        writable: bool,
        chunk_cost: usize,
    ) -> Result<Self> {
        let cache = ChunkCache::new(options.cache_bytes, chunk_cost);
        let (claims, lot, written) =
            (ChunkClaims::default(), PendingBatch::default(), AtomicBool::new(false));
        let ShardedStore { store, shards } = source;
        let shards = Shards::new(shards, &grid, form.limit(), &store, &options.limits)?;
        let ranged = OnceLock::new();
        Ok(Self {
            name,
            grid,
            form,
            store,
            shards,
            options,
            cache,
            claims,
            pending: lot,
            ranged,
            writable,
            written,
        })
    }

    /// Returns the map in which each chunk is an object, for reading. Objects are written to the map of the
    /// store.
    pub(crate) fn map(&self) -> &dyn ZMap {
        self.shards.as_ref().map_or(self.store.map(), Shards::map)
    }

    /// Sets `key` to the key of a chunk.
    pub(crate) fn locate(&self, index: &[u64], key: &mut Key) {
        match &self.shards {
            None => self.store.locate(index, key),
            Some(shards) => shards.locate(&*self.store, index, key),
        }
    }

    /// Projects a slab on the grid. Chunks of one shard are adjacent.
    pub(crate) fn project(&self, slab: &CheckedSlab<'_>, shape: &[u64]) -> Result<Projection> {
        Projection::new(&self.grid, slab, shape, self.shards.as_ref().map(|shards| &*shards.counts))
    }

    /// Takes the claim on the object of a chunk.
    pub(crate) fn claim(&self, index: &ChunkIndex) -> ChunkClaim<'_> {
        match &self.shards {
            None => self.claims.take(index),
            Some(shards) => self.claims.take(&shards.shard(index)),
        }
    }

    /// Returns the key of a chunk.
    pub(crate) fn key(&self, index: &ChunkIndex) -> Key {
        let mut key = Key::root();
        self.locate(index, &mut key);
        key
    }

    /// Adds the array and the chunk to an error.
    pub(crate) fn at_chunk(&self, error: Error, index: &ChunkIndex) -> Error {
        let key = self.key(index);
        error.in_key(&key).at(format_args!("{}: chunk {key}", self.name))
    }

    /// Adds the array and the shard to an error.
    pub(crate) fn at_shard(&self, error: Error, key: &Key) -> Error {
        error.in_key(key).at(format_args!("{}: shard {key}", self.name))
    }

    /// Fails if the array is read-only.
    pub(crate) fn check_writable(&self) -> Result<()> {
        if !self.writable {
            return Err(ErrorKind::Perm.context(format!("{}: the dataset is read-only", self.name)));
        }
        Ok(())
    }

    /// Records that the array was written to.
    pub(crate) fn set_written(&self) {
        self.written.store(true, Ordering::Release);
    }

    /// Whether the array was written to.
    pub(crate) fn written(&self) -> bool {
        self.written.load(Ordering::Acquire)
    }

    /// Fails if partial writes are unsafe, since another process could write the same chunk unnoticed.
    pub(crate) fn check_partial(&self, index: &ChunkIndex) -> Result<()> {
        if self.options.exclusive || self.map().caps().conditional_write {
            return Ok(());
        }
        let why = "partial chunks cannot be written safely: this storage has no conditional writes, \
                   and the dataset was not opened for exclusive use";
        Err(self.at_chunk(ErrorKind::Perm.context(why), index))
    }

    /// Lets `write` write a part of a cached chunk; it may be called again on other memory. Returns whether
    /// the chunk is complete.
    pub(crate) fn put_part(&self, part: &ChunkPart, mut write: impl FnMut(&mut F::Data)) -> Result<bool> {
        let (index, elems) = (&part.index, self.grid.elems);
        loop {
            let changed = self.cache.update(index, |entry| {
                let data = entry.edit(|data| self.form.copy(data))?;
                write(data);
                entry.cost = self.form.cost(&entry.data);
                entry.mark_written(part, elems);
                Ok(entry.is_complete())
            });
            if let Some(result) = changed {
                return result.map_err(|error| self.at_chunk(error, index));
            }
            let mut mask = ElementMask::new(elems);
            self.mask_outside(index, &mut mask);
            // Elements outside the shape count as written, so they must be fill values.
            let data =
                if mask.is_empty() { self.form.uninitialised_values() } else { self.form.fill_values() };
            let mut data = data.map_err(|error| self.at_chunk(error, index))?;
            write(&mut data);
            mask.insert(part);
            let complete = mask.is_full();
            let entry = CachedChunk {
                index: index.clone(),
                cost: self.form.cost(&data),
                data: Arc::new(data),
                filled: false,
                mask: Some(mask),
                in_flight: None,
                changed: self.cache.now(),
            };
            match self.cache.insert(entry) {
                InsertOutcome::Done => return Ok(complete),
                InsertOutcome::Present => {}
                InsertOutcome::Crowded => {
                    let mut crowd = self.cache.dirty_in_group(index);
                    DirtyChunk::sort_by_age(&mut crowd);
                    if let Some(oldest) = crowd.first() {
                        self.write_back(&oldest.index)?;
                        self.cache.remove_clean(&oldest.index);
                    }
                }
            }
        }
    }

    /// Marks elements beyond the end of fixed dimensions as written.
    ///
    /// Beyond the end of an unlimited dimension another thread or process may append.
    fn mask_outside(&self, index: &ChunkIndex, mask: &mut ElementMask) {
        let grid = &self.grid;
        for dim in (0..grid.rank()).filter(|&dim| !grid.dims[dim].unlimited) {
            let inside = grid.inside(dim, index[dim], grid.len(dim)) as usize;
            let outside = grid.chunk[dim] as usize - inside;
            if outside == 0 {
                continue;
            }
            let mut part =
                ChunkPart { elems: 1, chunk_start: inside * grid.strides[dim], ..ChunkPart::default() };
            for at in grid.innermost_first() {
                let n = if at == dim { outside } else { grid.chunk[at] as usize };
                part.nest(StridedRun { n, chunk: grid.strides[at], mem: grid.strides[at] });
            }
            part.finish();
            mask.insert(&part);
        }
    }

    /// Completes a cached chunk, if it is cached: elements that were not written come from storage.
    pub(crate) fn fill_holes(&self, index: &ChunkIndex) -> Result<()> {
        // The claim excludes changes of the stored chunk by this process.
        let _claim = self.claim(index);
        if self.cache.with_chunk(index, |entry| entry.filled).unwrap_or(true) {
            return Ok(());
        }
        let mut stored = Vec::new();
        if !self.read_stored(index, &mut stored)? {
            return self.fill_absent(index).map(drop);
        }
        let base = self.form.decode(&stored).map_err(|error| self.at_chunk(error, index))?;
        self.cache.update(index, |entry| {
            if let Some(mask) = entry.mask.as_ref().filter(|_| !entry.filled) {
                let mut base = base;
                self.form.overlay(&mut base, &entry.data, mask);
                entry.data = Arc::new(base);
                entry.cost = self.form.cost(&entry.data);
                entry.filled = true;
            }
        });
        Ok(())
    }

    /// Completes a cached chunk with fill values, if the stored chunk is absent. Returns whether elements
    /// were unknown.
    fn fill_absent(&self, index: &ChunkIndex) -> Result<bool> {
        let filled = self.cache.update(index, |entry| {
            if entry.filled {
                return Ok(false);
            }
            let mut mask = entry.mask.clone().unwrap_or_else(|| ElementMask::new(self.grid.elems));
            if let Some(flying) = &entry.in_flight {
                mask.union_with(flying);
            }
            self.form.fill_outside(entry.edit(|data| self.form.copy(data))?, &mask)?;
            entry.cost = self.form.cost(&entry.data);
            entry.filled = true;
            Ok(true)
        });
        filled.unwrap_or(Ok(false)).map_err(|error| self.at_chunk(error, index))
    }

    /// As [`ArrayEngine::fill_absent`], for a partial chunk that is about to be stored, if the test for
    /// absence is cheap.
    fn fill_new(&self, index: &ChunkIndex) -> Result<bool> {
        let caps = self.map().caps();
        let able = !caps.remote && (self.options.exclusive || caps.conditional_write);
        let has_holes = |entry: &CachedChunk<F::Data>| {
            !entry.filled && entry.mask.as_ref().is_some_and(|mask| !mask.is_full())
        };
        if !able || !self.cache.with_chunk(index, has_holes).unwrap_or(false) {
            return Ok(false);
        }
        if self.is_stored(index)? { Ok(false) } else { self.fill_absent(index) }
    }

    /// Whether a chunk is stored. For a chunk in a shard this reads the index alone.
    pub(crate) fn is_stored(&self, index: &ChunkIndex) -> Result<bool> {
        let (map, key) = (self.map(), self.key(index));
        let found = match &self.shards {
            None => map.exists(&key),
            // The length of a chunk in a shard would need its bytes.
            Some(_) => map.read(&key, ByteRange::first(0), &mut Vec::new()),
        };
        found.map_err(|error| self.at_chunk(error, index))
    }

    /// Whether no chunk of a slab is stored or cached.
    pub(crate) fn is_absent(&self, slab: &CheckedSlab<'_>) -> Result<bool> {
        let projection = self.project(slab, &self.grid.shape())?;
        let mut part = ChunkPart::default();
        for number in 0..projection.total {
            projection.part(number, &mut part);
            if self.cache.with_chunk(&part.index, |_| ()).is_some() || self.is_stored(&part.index)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads the stored bytes of a chunk; `false` if it is absent.
    pub(crate) fn read_stored(&self, index: &ChunkIndex, stored: &mut Vec<u8>) -> Result<bool> {
        let range = ByteRange::first((self.form.limit() as u64).saturating_add(1));
        let found = self.map().read(&self.key(index), range, stored);
        let found = found.and_then(|found| self.check_limit(stored).map(|()| found));
        found.map_err(|error| self.at_chunk(error, index))
    }

    pub(crate) fn check_limit(&self, stored: &[u8]) -> Result<()> {
        let limit = self.form.limit();
        if stored.len() > limit {
            return Err(ErrorKind::Io.context(format!("too long (expected at most {limit} bytes)")));
        }
        Ok(())
    }

    /// Begins the write-back of a chunk and returns the elements to store. The caller holds the claim.
    pub(crate) fn begin_write_back(&self, index: &ChunkIndex) -> Option<WriteBackSnapshot<F::Data>> {
        let alone = self.options.exclusive;
        self.cache.update(index, |entry| {
            let mut mask = entry.mask.take()?;
            if let Some(lost) = entry.in_flight.take() {
                // Left by an interrupted write-back.
                mask.union_with(&lost);
            }
            entry.filled |= mask.is_full();
            let ready = mask.is_full() || (alone && entry.filled);
            let mask = Arc::new(mask);
            entry.in_flight = Some(Arc::clone(&mask));
            Some(WriteBackSnapshot { data: Arc::clone(&entry.data), mask, ready })
        })?
    }

    /// Returns the guard of a write-back that [`ArrayEngine::begin_write_back`] began.
    pub(crate) fn write_back_guard(&self, index: &ChunkIndex) -> WriteBackGuard<'_, F> {
        WriteBackGuard { engine: self, index: index.clone(), arrived: false, merged: None }
    }

    /// Finishes a write-back. `merged`: the stored elements after a merge.
    fn finish_write_back(&self, index: &ChunkIndex, arrived: bool, merged: Option<F::Data>) {
        if arrived {
            self.cache.mark_stale(index);
        }
        self.cache.update(index, |entry| {
            let flying = entry.in_flight.take();
            if !arrived {
                match (&mut entry.mask, flying) {
                    (Some(mask), Some(flying)) => mask.union_with(&flying),
                    (mask, flying) => *mask = flying.map(Arc::unwrap_or_clone),
                }
                return;
            }
            if let Some(merged) = merged.filter(|_| entry.mask.is_none()) {
                entry.data = Arc::new(merged);
                entry.cost = self.form.cost(&entry.data);
                entry.filled = true;
            }
        });
    }

    /// Stores one changed chunk on this thread.
    pub(crate) fn write_back(&self, index: &ChunkIndex) -> Result<()> {
        if let Some(shards) = &self.shards {
            return self.write_shards(&[shards.shard(index)]);
        }
        let _claim = self.claims.take(index);
        let is_new = self.fill_new(index)?;
        let Some(snapshot) = self.begin_write_back(index) else { return Ok(()) };
        let landing = self.write_back_guard(index);
        let result = if snapshot.ready {
            self.store_all(index, &snapshot, |key, stored| self.map().write(key, stored)).map(|()| None)
        } else if is_new {
            self.create(index, &snapshot)
        } else {
            self.merge(index, &snapshot).map(Some)
        };
        // Dropped first, so that a later change needs no copy.
        drop(snapshot);
        landing.finish(result.map_err(|error| self.at_chunk(error, index))?);
        Ok(())
    }

    /// Calls `store` with the key and the encoded bytes of a complete chunk.
    fn store_all<T>(
        &self,
        index: &ChunkIndex,
        snapshot: &WriteBackSnapshot<F::Data>,
        store: impl FnOnce(&Key, &[u8]) -> Result<T>,
    ) -> Result<T> {
        let key = self.key(index);
        if let Some(stored) = self.form.as_stored(&snapshot.data) {
            return store(&key, stored);
        }
        let mut stored = Vec::new();
        self.form.encode(&snapshot.data, &mut stored)?;
        store(&key, &stored)
    }

    /// Stores a chunk that was absent. If another process created it meanwhile, merges instead.
    fn create(&self, index: &ChunkIndex, snapshot: &WriteBackSnapshot<F::Data>) -> Result<Option<F::Data>> {
        match self.store_all(index, snapshot, |key, stored| {
            self.map().write_if(key, stored, &Precondition::Absent)
        })? {
            WriteOutcome::Done(_) => Ok(None),
            WriteOutcome::Conflict => {
                self.cache.update(index, |entry| entry.filled = false);
                self.merge(index, snapshot).map(Some)
            }
        }
    }

    /// Merges the written elements with the stored chunk, and returns all elements.
    fn merge(&self, index: &ChunkIndex, snapshot: &WriteBackSnapshot<F::Data>) -> Result<F::Data> {
        let (key, form) = (self.key(index), &self.form);
        let mut merged = None;
        let mut change = |old: Option<&[u8]>, new: &mut Vec<u8>| {
            let mut data = match old {
                Some(stored) => self.check_limit(stored).and_then(|()| form.decode(stored))?,
                None => form.fill_values()?,
            };
            form.overlay(&mut data, &snapshot.data, &snapshot.mask);
            form.encode(&data, new)?;
            merged = Some(data);
            Ok(())
        };
        if self.map().caps().conditional_write {
            self.map().update(&key, form.limit(), &mut change)?;
        } else if self.options.exclusive {
            let (mut old, mut new) = (Vec::new(), Vec::new());
            let range = ByteRange::first((form.limit() as u64).saturating_add(1));
            let found = self.map().read(&key, range, &mut old)?;
            change(found.then_some(&old), &mut new)?;
            self.map().write(&key, &new)?;
        } else {
            return self.check_partial(index).and(Err(ErrorKind::Perm.into()));
        }
        merged.ok_or_else(|| ErrorKind::Internal.context("the map updated nothing"))
    }
}
