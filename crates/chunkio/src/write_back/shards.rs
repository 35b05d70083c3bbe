//! Stores changed chunks in shards: all chunks of one shard together, so that it is written once.
//!
//! A shard whose chunks are all known is written without reading. Any other goes through
//! [`nczarr_storage::ZMap::update`], which copies unchanged chunks in encoded form.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::{DimVec, run_on_pool};
use nczarr_storage::batch::Payload;
use nczarr_storage::{ByteRange, Key, ZMapExt};

use crate::engine::{ArrayEngine, ElementKind, WriteBackGuard, WriteBackSnapshot};
use crate::grid::ChunkIndex;
use crate::outcome::TransferOutcome;
use crate::shard::{ChunkEdits, ShardRewrite, Shards};
use crate::threads;

/// A changed chunk during write-back.
struct ShardEdit<'a, F: ElementKind> {
    numbers: DimVec<usize>,
    snapshot: WriteBackSnapshot<F::Data>,
    /// The stored elements after a merge, if they exceed the written ones.
    merged: Mutex<Option<F::Data>>,
    landing: WriteBackGuard<'a, F>,
}

impl<F: ElementKind> ArrayEngine<F> {
    /// Stores the changed chunks of some shards. Continues after an error and returns the first.
    pub(crate) fn write_shards(&self, list: &[ChunkIndex]) -> Result<()> {
        let Some(shards) = &self.shards else { return Ok(()) };
        let changed = self.cache.changed();
        let cost = changed.iter().map(|entry| entry.cost).sum();
        let mut sorted: Vec<(ChunkIndex, ChunkIndex)> =
            changed.into_iter().map(|entry| (shards.shard(&entry.index), entry.index)).collect();
        sorted.retain(|(shard, _)| list.binary_search(shard).is_ok());
        sorted.sort_unstable();
        let groups: Vec<&[(ChunkIndex, ChunkIndex)]> =
            sorted.chunk_by(|one, other| one.0 == other.0).collect();
        let all = threads::worth(&self.options, sorted.len(), cost);
        let several = all.min(groups.len());
        let each = all.checked_div(several).unwrap_or(1);
        let (next, outcome) = (AtomicUsize::new(0), TransferOutcome::without_progress());
        run_on_pool(several, &|| {
            while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Err(error) = self.write_shard(shards, group, each) {
                    outcome.note(error);
                }
            }
        });
        outcome.failure()
    }

    fn write_shard(&self, shards: &Shards, group: &[(ChunkIndex, ChunkIndex)], threads: usize) -> Result<()> {
        let Some((shard, _)) = group.first() else { return Ok(()) };
        let _claim = self.claims.take(shard);
        let departed = group.iter().filter_map(|(_, index)| {
            let snapshot = self.begin_write_back(index)?;
            let numbers = shards.split(index).1;
            Some(ShardEdit {
                numbers,
                snapshot,
                merged: Mutex::new(None),
                landing: self.write_back_guard(index),
            })
        });
        let mut edits: Vec<ShardEdit<'_, F>> = departed.collect();
        if edits.is_empty() {
            return Ok(());
        }
        edits.sort_unstable_by(|a, b| a.numbers.cmp(&b.numbers));
        let mut key = Key::root();
        self.store.locate(shard, &mut key);
        let list = ShardEdits { engine: self, edits };
        let all = list.edits.iter().all(|edit| edit.snapshot.ready);
        let whole = all && self.chunks_of(shards, shard) == Some(list.edits.len() as u64);
        let result = self.store_shard(shards, &key, &list, whole, threads);
        let arrived = result.is_ok();
        for ShardEdit { snapshot, merged, landing, .. } in list.edits {
            // Dropped first, so that a later change needs no copy.
            drop(snapshot);
            if arrived {
                landing.finish(merged.into_inner().unwrap_or_else(PoisonError::into_inner));
            }
        }
        result.map_err(|error| self.at_shard(error, &key))
    }

    /// Stores a shard with changed chunks. `whole`: these are all its chunks, so it is not read.
    pub(crate) fn store_shard(
        &self,
        shards: &Shards,
        key: &Key,
        edits: &dyn ChunkEdits,
        whole: bool,
        threads: usize,
    ) -> Result<()> {
        let map = self.store.map();
        let limit = shards.levels.first().map_or(0, |level| level.limit);
        let shard_of = ShardRewrite { levels: &shards.levels, edits, threads };
        if whole {
            let mut new = Vec::new();
            shard_of.whole(None, &mut new)?;
            return map.write(key, &new);
        }
        let mut change = |old: Option<&[u8]>, new: &mut Vec<u8>| shard_of.whole(old, new);
        if map.caps().conditional_write {
            return map.update(key, limit, &mut change);
        }
        if !self.options.exclusive {
            return Err(ErrorKind::Perm.context("this storage has no conditional writes"));
        }
        let (mut old, mut new) = (Vec::new(), Vec::new());
        let found = map.read(key, ByteRange::first((limit as u64).saturating_add(1)), &mut old)?;
        if old.len() > limit {
            return Err(ErrorKind::Io.context(format!("too long (expected at most {limit} bytes)")));
        }
        change(found.then_some(&old), &mut new)?;
        map.write(key, &new)
    }

    /// Returns the maximum number of chunks in a shard; `None` on overflow.
    pub(crate) fn chunks_of(&self, shards: &Shards, shard: &ChunkIndex) -> Option<u64> {
        let mut chunks = 1u64;
        for (dim, (at, count)) in shard.iter().zip(&shards.counts).enumerate() {
            let first = at.checked_mul(*count)?;
            let len = self.fixed_len(dim);
            let inside = len.div_ceil(self.grid.chunk[dim]).saturating_sub(first).min(*count);
            chunks = chunks.checked_mul(inside)?;
        }
        Some(chunks)
    }
}

impl<F: ElementKind> ArrayEngine<F> {
    /// Returns the length of a dimension that may be written: unlimited if another writer may have appended.
    pub(crate) fn fixed_len(&self, dim: usize) -> u64 {
        if self.grid.dims[dim].unlimited { u64::MAX } else { self.grid.len(dim) }
    }
}

/// The changed chunks of one shard.
struct ShardEdits<'a, F: ElementKind> {
    engine: &'a ArrayEngine<F>,
    edits: Vec<ShardEdit<'a, F>>,
}

impl<F: ElementKind> ChunkEdits for ShardEdits<'_, F> {
    fn count(&self) -> usize {
        self.edits.len()
    }

    fn numbers(&self, edit: usize) -> &DimVec<usize> {
        &self.edits[edit].numbers
    }

    fn make(&self, edit: usize, old: Option<&[u8]>, new: &mut Vec<u8>) -> Result<Payload<'_>> {
        let (engine, edit) = (self.engine, &self.edits[edit]);
        let form = &engine.form;
        let made = (|| {
            if edit.snapshot.ready {
                if let Some(stored) = form.as_stored(&edit.snapshot.data) {
                    return Ok(Payload::Borrowed(stored));
                }
                form.encode(&edit.snapshot.data, new)?;
                return Ok(Payload::Scratch);
            }
            let mut data = match old {
                Some(stored) => engine.check_limit(stored).and_then(|()| form.decode(stored))?,
                None => form.fill_values()?,
            };
            form.overlay(&mut data, &edit.snapshot.data, &edit.snapshot.mask);
            form.encode(&data, new)?;
            *edit.merged.lock().unwrap_or_else(PoisonError::into_inner) = Some(data);
            Ok(Payload::Scratch)
        })();
        made.map_err(|error| engine.at_chunk(error, &edit.landing.index))
    }
}
