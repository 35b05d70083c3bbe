//! [`Keeper`]: an array's chunks between memory and storage, whatever their elements are.
//!
//! It owns the write-back protocol. A partial write marks what it wrote and reads nothing. A chunk written
//! completely is stored as it is. One with holes goes through [`ZMap::update`]: read what storage holds now, put the
//! written elements over it, store that if nobody came between, else again; so no update is lost, inside
//! the process (a [`Claims`] per chunk) or outside. Where storage that is cheap to ask holds nothing of a chunk, its holes
//! are filled in place, and it is stored if there is still nothing. What could not be stored stays marked.
//!
//! What elements are, [`Form`] knows. [`crate::flush`] writes many chunks at once.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use nczarr_dispatch::{ByteRange, Key, Options, Precondition, WriteOutcome, ZMap};
use nczarr_model::{Error, ErrorKind, Result, Slab};

use crate::cache::{Cache, Entry, Inserted};
use crate::claims::{Claim, Claims};
use crate::grid::{ChunkIndex, Grid};
use crate::lot::Lot;
use crate::mask::Mask;
use crate::memory::Viewed;
use crate::project::{Dim, Part, Projection};
use crate::shard::Shards;
use crate::{ChunkStore, ShardSpec};

/// What the elements of a chunk are in memory.
pub(crate) trait Form: Send + Sync + fmt::Debug {
    /// All elements of one chunk.
    type Data: Viewed + Send + Sync;

    /// Bytes of memory they take.
    fn cost(&self, data: &Self::Data) -> usize;

    /// The most bytes a stored chunk may have.
    fn limit(&self) -> usize;

    /// A copy.
    fn copy(&self, data: &Self::Data) -> Result<Self::Data>;

    /// A chunk nobody wrote.
    fn blank(&self) -> Result<Self::Data>;

    /// A chunk of which nothing will be read before it is written.
    fn fresh(&self) -> Result<Self::Data> {
        self.blank()
    }

    /// Whether the stored bytes of chunks are their bytes in memory.
    fn is_plain(&self) -> bool {
        false
    }

    /// The stored bytes of a chunk, if they are its bytes in memory.
    fn as_stored<'d>(&self, _data: &'d Self::Data) -> Option<&'d [u8]> {
        None
    }

    /// A chunk from its stored bytes.
    fn decode(&self, stored: &[u8]) -> Result<Self::Data>;

    /// The stored bytes of a chunk.
    fn encode(&self, data: &Self::Data, stored: &mut Vec<u8>) -> Result<()>;

    /// Puts the elements of `over` that are in the mask into `base`.
    fn overlay(&self, base: &mut Self::Data, over: &Self::Data, mask: &Mask);

    /// Makes all elements that are not in the mask those of a chunk nobody wrote.
    fn fill_outside(&self, data: &mut Self::Data, mask: &Mask) -> Result<()> {
        let mut base = self.blank()?;
        self.overlay(&mut base, data, mask);
        *data = base;
        Ok(())
    }
}

/// What of an entry is on its way to storage.
pub(crate) struct Snapshot<D> {
    pub(crate) data: Arc<D>,
    pub(crate) mask: Arc<Mask>,
    /// Whether `data` can be stored as it is.
    pub(crate) ready: bool,
}

/// Held while a chunk is on its way. Should it never arrive, its elements count as changed again: also where a map, a filter
/// or a codec panics.
pub(crate) struct Landing<'a, F: Form> {
    keeper: &'a Keeper<F>,
    pub(crate) index: ChunkIndex,
    arrived: bool,
    /// The elements in storage now, if those are more than the ones that were sent.
    merged: Option<F::Data>,
}

impl<F: Form> Landing<'_, F> {
    /// Storage has it. `merged`: what it holds now, if that is more than what departed.
    pub(crate) fn arrive(mut self, merged: Option<F::Data>) {
        (self.arrived, self.merged) = (true, merged);
    }
}

impl<F: Form> Drop for Landing<'_, F> {
    fn drop(&mut self) {
        self.keeper.arrive(&self.index, self.arrived, self.merged.take());
    }
}

/// The chunks of one array.
#[derive(Debug)]
pub(crate) struct Keeper<F: Form> {
    pub(crate) name: String,
    pub(crate) grid: Grid,
    pub(crate) form: F,
    pub(crate) store: Arc<dyn ChunkStore>,
    pub(crate) shards: Option<Shards>,
    pub(crate) options: Options,
    pub(crate) cache: Cache<F::Data>,
    pub(crate) claims: Claims,
    pub(crate) lot: Lot,
    /// Whether storage gives ranges of chunks as they are in memory, once it was asked.
    pub(crate) ranged: OnceLock<bool>,
    writable: bool,
    written: AtomicBool,
}

impl<F: Form> Keeper<F> {
    pub(crate) fn new(
        name: String,
        grid: Grid,
        form: F,
        (store, shards): (Arc<dyn ChunkStore>, Vec<ShardSpec>),
        options: Options,
        writable: bool,
        chunk_cost: usize,
    ) -> Result<Self> {
        let cache = Cache::new(options.cache_bytes, chunk_cost);
        let (claims, lot, written) = (Claims::default(), Lot::default(), AtomicBool::new(false));
        let shards = Shards::new(shards, &grid, form.limit(), &store, &options.limits)?;
        let ranged = OnceLock::new();
        Ok(Self { name, grid, form, store, shards, options, cache, claims, lot, ranged, writable, written })
    }

    /// The chunks as objects, for reading; objects are written in the map of the store.
    pub(crate) fn map(&self) -> &dyn ZMap {
        self.shards.as_ref().map_or(self.store.map(), Shards::map)
    }

    /// Sets `key` to that of a chunk.
    pub(crate) fn locate(&self, index: &[u64], key: &mut Key) {
        match &self.shards {
            None => self.store.locate(index, key),
            Some(shards) => shards.locate(&*self.store, index, key),
        }
    }

    /// The chunks that a slab touches, those of a shard one after another.
    pub(crate) fn project(&self, slab: &Slab<'_>, shape: &[u64]) -> Result<Projection> {
        Projection::new(&self.grid, slab, shape, self.shards.as_ref().map(|shards| &*shards.counts))
    }

    /// The right to change the object of a chunk.
    fn claim(&self, index: &ChunkIndex) -> Claim<'_> {
        match &self.shards {
            None => self.claims.take(index),
            Some(shards) => self.claims.take(&shards.shard(index)),
        }
    }

    /// The key of a chunk.
    pub(crate) fn key(&self, index: &ChunkIndex) -> Key {
        let mut key = Key::root();
        self.locate(index, &mut key);
        key
    }

    /// Says which chunk of which array an error is about.
    pub(crate) fn blame(&self, error: Error, index: &ChunkIndex) -> Error {
        error.at(format_args!("{}: chunk {}", self.name, self.key(index)))
    }

    /// Refuses to write a read-only array.
    pub(crate) fn check_writable(&self) -> Result<()> {
        if !self.writable {
            return Err(ErrorKind::Perm.context(format!("{}: the dataset is read-only", self.name)));
        }
        Ok(())
    }

    /// Something was written.
    pub(crate) fn set_written(&self) {
        self.written.store(true, Ordering::Release);
    }

    /// Whether anything was written.
    pub(crate) fn written(&self) -> bool {
        self.written.load(Ordering::Acquire)
    }

    /// Refuses to write a part of a chunk where another process could write the same chunk unseen.
    pub(crate) fn check_partial(&self, index: &ChunkIndex) -> Result<()> {
        if self.options.exclusive || self.map().caps().conditional_write {
            return Ok(());
        }
        let why = "a part of a chunk cannot be written safely: this storage has no conditional writes, \
                   and the dataset was not opened for exclusive use";
        Err(self.blame(ErrorKind::Perm.context(why), index))
    }

    /// Lets `write` write a part of a chunk in memory; it may be called again on other memory. Whether all of the
    /// chunk was written by now.
    pub(crate) fn put_part(&self, part: &Part, mut write: impl FnMut(&mut F::Data)) -> Result<bool> {
        let (index, elems) = (&part.index, self.grid.elems);
        loop {
            let changed = self.cache.change(index, |entry| {
                let data = entry.edit(|data| self.form.copy(data))?;
                write(data);
                entry.cost = self.form.cost(&entry.data);
                entry.wrote(part, elems);
                Ok(entry.is_complete())
            });
            if let Some(result) = changed {
                return result.map_err(|error| self.blame(error, index));
            }
            let mut mask = Mask::new(elems);
            self.mask_outside(index, &mut mask);
            // What is outside counts as written, and must be fill then.
            let data = if mask.is_empty() { self.form.fresh() } else { self.form.blank() };
            let mut data = data.map_err(|error| self.blame(error, index))?;
            write(&mut data);
            mask.insert(part);
            let complete = mask.is_full();
            let entry = Entry {
                index: index.clone(),
                cost: self.form.cost(&data),
                data: Arc::new(data),
                filled: false,
                mask: Some(mask),
                flying: None,
                changed: self.cache.now(),
            };
            match self.cache.insert(entry) {
                Inserted::Done => return Ok(complete),
                Inserted::Present => {}
                Inserted::Crowded => {
                    let mut crowd = self.cache.crowd(index);
                    crowd.sort_unstable_by_key(|entry| (!entry.complete, entry.changed));
                    if let Some(oldest) = crowd.first() {
                        self.write_back(&oldest.index)?;
                        self.cache.remove_clean(&oldest.index);
                    }
                }
            }
        }
    }

    /// Elements beyond the end of a fixed dimension are nobody's: they count as written.
    ///
    /// Beyond the end of an unlimited one another process may have appended, unless this one is alone.
    fn mask_outside(&self, index: &ChunkIndex, mask: &mut Mask) {
        let grid = &self.grid;
        for dim in (0..grid.rank()).filter(|&dim| !grid.dims[dim].unlimited) {
            let inside = grid.inside(dim, index[dim], grid.len(dim)) as usize;
            let outside = grid.chunk[dim] as usize - inside;
            if outside == 0 {
                continue;
            }
            let mut part = Part { elems: 1, chunk_start: inside * grid.strides[dim], ..Part::default() };
            let mut dims: Vec<usize> = (0..grid.rank()).collect();
            dims.sort_by_key(|&at| grid.strides[at]);
            for at in dims {
                let n = if at == dim { outside } else { grid.chunk[at] as usize };
                part.nest(Dim { n, chunk: grid.strides[at], mem: grid.strides[at] });
            }
            part.finish();
            mask.insert(&part);
        }
    }

    /// Makes every element of a chunk's entry known, if there is one: what was not written comes from storage.
    pub(crate) fn fill_holes(&self, index: &ChunkIndex) -> Result<()> {
        // Nobody in this process changes the chunk in storage between reading it and filling the entry.
        let _claim = self.claim(index);
        if self.cache.look(index, |entry| entry.filled).unwrap_or(true) {
            return Ok(());
        }
        let mut stored = Vec::new();
        if !self.read_stored(index, &mut stored)? {
            return self.fill_absent(index).map(drop);
        }
        let base = self.form.decode(&stored).map_err(|error| self.blame(error, index))?;
        self.cache.change(index, |entry| {
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

    /// Makes every element of a chunk's entry known where storage holds nothing of the chunk. Whether some were not.
    fn fill_absent(&self, index: &ChunkIndex) -> Result<bool> {
        let filled = self.cache.change(index, |entry| {
            if entry.filled {
                return Ok(false);
            }
            let mut mask = entry.mask.clone().unwrap_or_else(|| Mask::new(self.grid.elems));
            if let Some(flying) = &entry.flying {
                mask.unite(flying);
            }
            self.form.fill_outside(entry.edit(|data| self.form.copy(data))?, &mask)?;
            entry.cost = self.form.cost(&entry.data);
            entry.filled = true;
            Ok(true)
        });
        filled.unwrap_or(Ok(false)).map_err(|error| self.blame(error, index))
    }

    /// As [`Keeper::fill_absent`], for an entry with holes that is about to be stored, where asking the storage costs little.
    fn fill_new(&self, index: &ChunkIndex) -> Result<bool> {
        let caps = self.map().caps();
        let able = !caps.remote && (self.options.exclusive || caps.conditional_write);
        let has_holes =
            |entry: &Entry<F::Data>| !entry.filled && entry.mask.as_ref().is_some_and(|mask| !mask.is_full());
        if !able || !self.cache.look(index, has_holes).unwrap_or(false) {
            return Ok(false);
        }
        match self.map().exists(&self.key(index)) {
            Ok(true) => Ok(false),
            Ok(false) => self.fill_absent(index),
            Err(error) => Err(self.blame(error, index)),
        }
    }

    /// Whether no chunk of a slab is stored, or about to be.
    pub(crate) fn is_absent(&self, slab: &Slab<'_>) -> Result<bool> {
        let projection = self.project(slab, &self.grid.shape())?;
        let mut part = Part::default();
        for number in 0..projection.total {
            projection.part(number, &mut part);
            let index = &part.index;
            let exists = || self.map().exists(&self.key(index)).map_err(|error| self.blame(error, index));
            if self.cache.look(index, |_| ()).is_some() || exists()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The stored bytes of a chunk; `false` if there is none.
    pub(crate) fn read_stored(&self, index: &ChunkIndex, stored: &mut Vec<u8>) -> Result<bool> {
        let range = ByteRange::first((self.form.limit() as u64).saturating_add(1));
        let found = self.map().read(&self.key(index), range, stored);
        let found = found.and_then(|found| self.check_limit(stored).map(|()| found));
        found.map_err(|error| self.blame(error, index))
    }

    pub(crate) fn check_limit(&self, stored: &[u8]) -> Result<()> {
        let limit = self.form.limit();
        if stored.len() > limit {
            return Err(ErrorKind::Io.context(format!("longer than the {limit} bytes it may have")));
        }
        Ok(())
    }

    /// What must be written of an entry, marked as being on its way. Only for whoever holds the claim.
    pub(crate) fn depart(&self, index: &ChunkIndex) -> Option<Snapshot<F::Data>> {
        let alone = self.options.exclusive;
        self.cache.change(index, |entry| {
            let mut mask = entry.mask.take()?;
            if let Some(lost) = entry.flying.take() {
                // A writer that never came back.
                mask.unite(&lost);
            }
            entry.filled |= mask.is_full();
            let ready = mask.is_full() || (alone && entry.filled);
            let mask = Arc::new(mask);
            entry.flying = Some(Arc::clone(&mask));
            Some(Snapshot { data: Arc::clone(&entry.data), mask, ready })
        })?
    }

    /// To be held from [`Keeper::depart`] until storage has the chunk.
    pub(crate) fn landing(&self, index: &ChunkIndex) -> Landing<'_, F> {
        Landing { keeper: self, index: index.clone(), arrived: false, merged: None }
    }

    /// What departed has arrived, or not. `merged`: what storage holds now, if that is more than what departed.
    fn arrive(&self, index: &ChunkIndex, arrived: bool, merged: Option<F::Data>) {
        if arrived {
            self.cache.stale(index);
        }
        self.cache.change(index, |entry| {
            let flying = entry.flying.take();
            if !arrived {
                match (&mut entry.mask, flying) {
                    (Some(mask), Some(flying)) => mask.unite(&flying),
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

    /// Stores one changed chunk, on this thread.
    pub(crate) fn write_back(&self, index: &ChunkIndex) -> Result<()> {
        if let Some(shards) = &self.shards {
            return self.write_shards(&[shards.shard(index)]);
        }
        let _claim = self.claims.take(index);
        let is_new = self.fill_new(index)?;
        let Some(snapshot) = self.depart(index) else { return Ok(()) };
        let landing = self.landing(index);
        let result = if snapshot.ready {
            self.store_all(index, &snapshot, |key, stored| self.map().write(key, stored)).map(|()| None)
        } else if is_new {
            self.create(index, &snapshot)
        } else {
            self.merge(index, &snapshot).map(Some)
        };
        // A later change of the elements needs no copy then.
        drop(snapshot);
        landing.arrive(result.map_err(|error| self.blame(error, index))?);
        Ok(())
    }

    /// Hands `store` the key of a chunk and its bytes, all of which are known.
    fn store_all<T>(
        &self,
        index: &ChunkIndex,
        snapshot: &Snapshot<F::Data>,
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

    /// Stores a chunk of which storage held nothing a moment ago; if somebody else did meanwhile, as [`Keeper::merge`].
    fn create(&self, index: &ChunkIndex, snapshot: &Snapshot<F::Data>) -> Result<Option<F::Data>> {
        match self.store_all(index, snapshot, |key, stored| self.map().write_if(key, stored, Precondition::Absent))? {
            WriteOutcome::Done(_) => Ok(None),
            WriteOutcome::Conflict => {
                self.cache.change(index, |entry| entry.filled = false);
                self.merge(index, snapshot).map(Some)
            }
        }
    }

    /// Puts written elements over what storage holds, and answers all of them.
    fn merge(&self, index: &ChunkIndex, snapshot: &Snapshot<F::Data>) -> Result<F::Data> {
        let (key, form) = (self.key(index), &self.form);
        let mut merged = None;
        let mut change = |old: Option<&[u8]>, new: &mut Vec<u8>| {
            let mut data = match old {
                Some(stored) => self.check_limit(stored).and_then(|()| form.decode(stored))?,
                None => form.blank()?,
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
