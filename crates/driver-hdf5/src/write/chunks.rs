//! [`Chunks`]: the chunks of one variable, as the engine's map of objects.
//!
//! A chunk that is written goes where nothing is; what it replaces stays until the metadata no longer lead there. Who
//! reads holds the table meanwhile, so that nothing takes the place of what is being read.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use nczarr_chunkio::ChunkStore;
use nczarr_dispatch::{ByteRange, Key, MapCaps, OutBuf, ZMap};
use nczarr_model::{ErrorKind, Result};

use super::chunk_index::Extent;
use super::file::File;

/// HDF5 has no arrays of more dimensions.
pub(super) const MAX_RANK: usize = 32;

/// Between the indices of a chunk.
const SEPARATOR: char = '.';

/// The chunks of a variable.
pub(super) struct Chunks {
    file: Arc<File>,
    rank: usize,
    table: RwLock<HashMap<Box<[u64]>, Kept>>,
}

impl fmt::Debug for Chunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunks").field("rank", &self.rank).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy)]
struct Kept {
    extent: Extent,
    /// When it was written; 0: it was there before.
    epoch: u64,
}

impl Chunks {
    pub(super) fn new(file: Arc<File>, rank: usize) -> Self {
        Self { file, rank, table: RwLock::default() }
    }

    /// A chunk that was there before.
    pub(super) fn insert(&self, index: Vec<u64>, extent: Extent) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        table.insert(index.into(), Kept { extent, epoch: 0 });
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.table.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether there is one.
    pub(super) fn has(&self, index: &[u64]) -> bool {
        self.table.read().unwrap_or_else(PoisonError::into_inner).contains_key(index)
    }

    /// Takes the chunks of another table of the same file, where it has none itself. The others are given up.
    pub(super) fn adopt(&self, other: &Self) {
        let _changing = self.file.change();
        let epoch = self.file.epoch();
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let mut others = other.table.write().unwrap_or_else(PoisonError::into_inner);
        let mut left = Vec::new();
        for (index, kept) in others.drain() {
            match table.entry(index) {
                Entry::Occupied(_) => left.push(kept),
                Entry::Vacant(vacant) => {
                    vacant.insert(Kept { epoch, ..kept });
                }
            }
        }
        drop((table, others));
        left.into_iter().for_each(|kept| self.free(kept));
    }

    /// Gives up the place of what was replaced.
    fn free(&self, old: Kept) {
        let (address, len) = (old.extent.address, u64::from(old.extent.size));
        match old.epoch {
            // What lies beside it may begin anywhere.
            0 => self.file.free_later([(address, len)]),
            epoch => self.file.free(address, len, epoch),
        }
    }

    /// All chunks, in the order of their indices.
    pub(super) fn sorted(&self) -> Vec<(Vec<u64>, Extent)> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = table.iter().map(|(index, kept)| (index.to_vec(), kept.extent)).collect();
        all.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        all
    }

    /// Where the only chunk of an array in one piece is.
    pub(super) fn only(&self) -> Option<Extent> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        table.values().next().map(|kept| kept.extent)
    }

    /// Calls `then` with where the chunk of a key is; that place is nobody else's meanwhile.
    fn with<T>(&self, key: &Key, then: impl FnOnce(Extent) -> Result<T>) -> Result<Option<T>> {
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
        // The one chunk of a scalar is called 0.
        match rank == self.rank.max(1) {
            true => Ok((index, self.rank)),
            false => Err(wrong(key)),
        }
    }
}

fn wrong(key: &Key) -> nczarr_model::Error {
    ErrorKind::Internal.context(format!("key {key}: not that of a chunk"))
}

impl ChunkStore for Chunks {
    fn map(&self) -> &dyn ZMap {
        self
    }

    fn locate(&self, index: &[u64], key: &mut Key) {
        key.set(const { &Key::root() });
        key.push_index(if index.is_empty() { &[0] } else { index }, SEPARATOR);
    }
}

impl ZMap for Chunks {
    fn caps(&self) -> MapCaps {
        MapCaps { write: true, overwrite: true, delete: true, list: true, range_read: true, ..MapCaps::default() }
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        self.with(key, |extent| Ok(u64::from(extent.size)))
    }

    fn read(&self, key: &Key, range: ByteRange, out: &mut Vec<u8>) -> Result<bool> {
        out.clear();
        let found = self.with(key, |extent| {
            let start = range.offset.min(u64::from(extent.size));
            let len = range.len.unwrap_or(u64::MAX).min(u64::from(extent.size) - start);
            self.file.read(extent.address + start, len as usize, out)
        })?;
        Ok(found.is_some())
    }

    fn read_into(&self, key: &Key, offset: u64, out: &mut OutBuf<'_>) -> Result<bool> {
        let found = self.with(key, |extent| {
            let start = offset.min(u64::from(extent.size));
            let limit = (u64::from(extent.size) - start).min(out.room() as u64) as usize;
            let read = out.limited(limit, |out| self.file.read_at(extent.address + start, out))?;
            match read == limit {
                true => Ok(()),
                false => Err(ErrorKind::Trunc.context("the file was cut short")),
            }
        })?;
        Ok(found.is_some())
    }

    fn write(&self, key: &Key, value: &[u8]) -> Result<()> {
        let (index, rank) = self.index(key)?;
        let too_long = |_| ErrorKind::BadChunk.context(format!("chunk {key}: {} bytes", value.len()));
        let size = u32::try_from(value.len()).map_err(too_long)?;
        let epoch = self.file.epoch();
        let address = self.file.allocate(value.len() as u64)?;
        if let Err(error) = self.file.write_at(address, value) {
            // Allocated in this epoch or an earlier one: no metadata lead there.
            self.file.free(address, u64::from(size), self.file.epoch());
            return Err(error.at(key));
        }
        let _changing = self.file.change();
        let epoch = self.file.epoch().max(epoch);
        let kept = Kept { extent: Extent { address, size, mask: 0 }, epoch };
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let old = match table.get_mut(&index[..rank]) {
            Some(old) => Some(std::mem::replace(old, kept)),
            None => table.insert(index[..rank].into(), kept),
        };
        drop(table);
        if let Some(old) = old {
            self.free(old);
        }
        Ok(())
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

    fn search(&self, prefix: &Key) -> Result<Vec<String>> {
        if !prefix.is_root() {
            return Ok(Vec::new());
        }
        let mut key = Key::root();
        let mut names: Vec<String> = (self.sorted().iter())
            .map(|(index, _)| {
                self.locate(index, &mut key);
                key.as_str().to_owned()
            })
            .collect();
        names.sort_unstable();
        Ok(names)
    }
}
