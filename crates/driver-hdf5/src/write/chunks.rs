//! [`WritableChunks`]: the chunks of one variable, as the map that the chunk engine writes to.
//!
//! A new chunk goes to free space. The chunk it replaces stays until no metadata lead to it. A reader holds
//! the table's lock, so that the space of its chunk is not reused.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use nczarr_chunkio::ChunkStore;
use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::OutBuf;
use nczarr_storage::{Key, ListMode, MapCaps, ObjectInfo, Precondition, ReadOptions, WriteOutcome, ZMap};

use super::chunk_index::ChunkExtent;
use super::file::WritableFile;

/// The largest rank of an HDF5 dataset.
pub(super) const MAX_RANK: usize = 32;

/// Separator between the indexes of a chunk.
const SEPARATOR: char = '.';

/// The chunks of a variable.
pub(super) struct WritableChunks {
    file: Arc<WritableFile>,
    rank: usize,
    table: RwLock<HashMap<Box<[u64]>, ChunkEntry>>,
}

impl fmt::Debug for WritableChunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunks").field("rank", &self.rank).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy)]
struct ChunkEntry {
    extent: ChunkExtent,
    /// The epoch of its writing; 0 for a chunk of the opened file.
    epoch: u64,
}

impl WritableChunks {
    pub(super) fn new(file: Arc<WritableFile>, rank: usize) -> Self {
        Self { file, rank, table: RwLock::default() }
    }

    /// Adds a chunk of the opened file.
    pub(super) fn insert(&self, index: Vec<u64>, extent: ChunkExtent) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        table.insert(index.into(), ChunkEntry { extent, epoch: 0 });
    }

    /// Returns the number of chunks.
    pub(super) fn len(&self) -> usize {
        self.table.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether a chunk exists.
    pub(super) fn has(&self, index: &[u64]) -> bool {
        self.table.read().unwrap_or_else(PoisonError::into_inner).contains_key(index)
    }

    /// Takes the chunks of another table of the same file, except those that exist here. The rest of the
    /// other table is freed.
    pub(super) fn absorb(&self, other: &Self) {
        let _changing = self.file.change();
        let epoch = self.file.epoch();
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let mut others = other.table.write().unwrap_or_else(PoisonError::into_inner);
        let mut left = Vec::new();
        for (index, kept) in others.drain() {
            match table.entry(index) {
                Entry::Occupied(_) => left.push(kept),
                Entry::Vacant(vacant) => {
                    vacant.insert(ChunkEntry { epoch, ..kept });
                }
            }
        }
        drop((table, others));
        left.into_iter().for_each(|kept| self.free(kept));
    }

    /// Frees the space of a replaced chunk.
    fn free(&self, old: ChunkEntry) {
        let (address, len) = (old.extent.address, u64::from(old.extent.size));
        match old.epoch {
            // A chunk of the opened file may start at any address.
            0 => self.file.free_later([(address, len)]),
            epoch => self.file.free(address, len, epoch),
        }
    }

    /// Returns all chunks, sorted by index.
    pub(super) fn sorted(&self) -> Vec<(Vec<u64>, ChunkExtent)> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = table.iter().map(|(index, kept)| (index.to_vec(), kept.extent)).collect();
        all.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        all
    }

    /// Returns the place of the only chunk of a contiguous array.
    pub(super) fn only(&self) -> Option<ChunkExtent> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        table.values().next().map(|kept| kept.extent)
    }

    /// Calls `then` with the place of a chunk. The space is not reused meanwhile.
    fn with<T>(&self, key: &Key, then: impl FnOnce(ChunkExtent) -> Result<T>) -> Result<Option<T>> {
        let (index, rank) = self.index(key)?;
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        match table.get(&index[..rank]) {
            Some(kept) => then(kept.extent).map(Some).map_err(|error| error.at(key)),
            None => Ok(None),
        }
    }

    fn index(&self, key: &Key) -> Result<([u64; MAX_RANK], usize)> {
        let mut index = [0; MAX_RANK];
        let mut rank = 0;
        for number in key.as_str().split(SEPARATOR) {
            let slot = index.get_mut(rank).ok_or_else(|| wrong(key))?;
            *slot = number.parse().map_err(|_| wrong(key))?;
            rank += 1;
        }
        // The chunk of a scalar has the index 0.
        if rank == self.rank.max(1) { Ok((index, self.rank)) } else { Err(wrong(key)) }
    }
}

fn wrong(key: &Key) -> nczarr_model::Error {
    ErrorKind::Internal.context(format!("{key}: not the key of a chunk"))
}

impl ChunkStore for WritableChunks {
    fn map(&self) -> &dyn ZMap {
        self
    }

    fn locate(&self, index: &[u64], key: &mut Key) {
        key.set(const { &Key::root() });
        key.push_index(if index.is_empty() { &[0] } else { index }, SEPARATOR);
    }
}

impl ZMap for WritableChunks {
    fn caps(&self) -> MapCaps {
        MapCaps::new().write(true).overwrite(true).delete(true).list(true).range_read(true)
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        self.with(key, |extent| Ok(u64::from(extent.size)))
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        out.clear();
        let found = self.with(key, |extent| {
            let start = options.range.offset.min(u64::from(extent.size));
            let len = options.range.len.unwrap_or(u64::MAX).min(u64::from(extent.size) - start);
            self.file.read(extent.address + start, len as usize, out)
        })?;
        Ok(found.map(|_| ObjectInfo::default()))
    }

    fn read_into(&self, key: &Key, offset: u64, out: &mut OutBuf<'_>) -> Result<bool> {
        let found = self.with(key, |extent| {
            let start = offset.min(u64::from(extent.size));
            let limit = (u64::from(extent.size) - start).min(out.remaining() as u64) as usize;
            let read = out.fill_limited(limit, |out| self.file.read_at(extent.address + start, out))?;
            if read == limit { Ok(()) } else { Err(ErrorKind::Trunc.context("the file became shorter")) }
        })?;
        Ok(found.is_some())
    }

    fn write_if(&self, key: &Key, value: &[u8], expect: &Precondition) -> Result<WriteOutcome> {
        expect.require_any(key)?;
        let (index, rank) = self.index(key)?;
        let too_long =
            |_| ErrorKind::BadChunk.context(format!("chunk {key}: {} bytes are too many", value.len()));
        let size = u32::try_from(value.len()).map_err(too_long)?;
        let epoch = self.file.epoch();
        let address = self.file.allocate(value.len() as u64)?;
        if let Err(error) = self.file.write_at(address, value) {
            // It was allocated in this epoch or an earlier one, and no metadata lead to it.
            self.file.free(address, u64::from(size), self.file.epoch());
            return Err(error.at(key));
        }
        let _changing = self.file.change();
        let epoch = self.file.epoch().max(epoch);
        let kept = ChunkEntry { extent: ChunkExtent { address, size, mask: 0 }, epoch };
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let old = match table.get_mut(&index[..rank]) {
            Some(old) => Some(std::mem::replace(old, kept)),
            None => table.insert(index[..rank].into(), kept),
        };
        drop(table);
        if let Some(old) = old {
            self.free(old);
        }
        Ok(WriteOutcome::Done(None))
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        let (index, rank) = self.index(key)?;
        let _changing = self.file.change();
        let old = self.table.write().unwrap_or_else(PoisonError::into_inner).remove(&index[..rank]);
        if let Some(old) = old {
            self.free(old);
        }
        Ok(old.is_some())
    }

    fn list(&self, prefix: &Key, mode: ListMode) -> Result<Option<Vec<String>>> {
        if mode != ListMode::Children {
            return Ok(None);
        }
        if !prefix.is_root() {
            return Ok(Some(Vec::new()));
        }
        let mut key = Key::root();
        let mut names: Vec<String> = (self.sorted().iter())
            .map(|(index, _)| {
                self.locate(index, &mut key);
                key.as_str().to_owned()
            })
            .collect();
        names.sort_unstable();
        Ok(Some(names))
    }
}
