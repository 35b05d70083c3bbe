//! Changed chunks in shards to storage: all of one shard together, so that it is written once.
//!
//! A shard of which all chunks are known here is written as it is; every other goes through [`nczarr_dispatch::ZMap::update`], where chunks
//! that did not change are moved as they are stored.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use nczarr_dispatch::{ByteRange, DimVec, Key, Payload, run_on_pool};
use nczarr_model::{ErrorKind, Result};

use crate::grid::ChunkIndex;
use crate::keeper::{Form, Keeper, Landing, Snapshot};
use crate::outcome::Outcome;
use crate::shard::{Edits, Rewrite, Shards};
use crate::threads;

/// A changed chunk that departed.
struct Changed<'a, F: Form> {
    numbers: DimVec<usize>,
    snapshot: Snapshot<F::Data>,
    /// What storage holds now, if that is more than what departed.
    merged: Mutex<Option<F::Data>>,
    landing: Landing<'a, F>,
}

impl<F: Form> Keeper<F> {
    /// Stores the changed chunks of some shards. All are tried; the first error is answered.
    pub(crate) fn write_shards(&self, list: &[ChunkIndex]) -> Result<()> {
        let Some(shards) = &self.shards else { return Ok(()) };
        let changed = self.cache.changed();
        let cost = changed.iter().map(|entry| entry.cost).sum();
        let mut sorted: Vec<(ChunkIndex, ChunkIndex)> =
            changed.into_iter().map(|entry| (shards.shard(&entry.index), entry.index)).collect();
        sorted.retain(|(shard, _)| list.binary_search(shard).is_ok());
        sorted.sort_unstable();
        let groups: Vec<&[(ChunkIndex, ChunkIndex)]> = sorted.chunk_by(|one, other| one.0 == other.0).collect();
        let all = threads::worth(&self.options, sorted.len(), cost);
        let several = all.min(groups.len());
        let each = all.checked_div(several).unwrap_or(1);
        let (next, outcome) = (AtomicUsize::new(0), Outcome::unwatched());
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
            let snapshot = self.depart(index)?;
            let numbers = shards.split(index).1;
            Some(Changed { numbers, snapshot, merged: Mutex::new(None), landing: self.landing(index) })
        });
        let mut edits: Vec<Changed<'_, F>> = departed.collect();
        if edits.is_empty() {
            return Ok(());
        }
        edits.sort_unstable_by(|a, b| a.numbers.cmp(&b.numbers));
        let mut key = Key::root();
        self.store.locate(shard, &mut key);
        let list = List { keeper: self, edits };
        let result = self.store_shard(shards, shard, &key, &list, threads);
        let arrived = result.is_ok();
        for Changed { snapshot, merged, landing, .. } in list.edits {
            // A later change of the elements needs no copy then.
            drop(snapshot);
            if arrived {
                landing.arrive(merged.into_inner().unwrap_or_else(PoisonError::into_inner));
            }
        }
        result.map_err(|error| error.at(format_args!("{}: shard {key}", self.name)))
    }

    fn store_shard(
        &self,
        shards: &Shards,
        shard: &ChunkIndex,
        key: &Key,
        list: &List<'_, F>,
        threads: usize,
    ) -> Result<()> {
        let map = self.store.map();
        let limit = shards.levels.first().map_or(0, |level| level.limit);
        let shard_of = Rewrite { levels: &shards.levels, edits: list, threads };
        let all = list.edits.iter().all(|edit| edit.snapshot.ready);
        if all && self.chunks_of(shards, shard) == Some(list.edits.len() as u64) {
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
            return Err(ErrorKind::Io.context(format!("longer than the {limit} bytes it may have")));
        }
        change(found.then_some(&old), &mut new)?;
        map.write(key, &new)
    }

    /// How many chunks of a shard there can be in storage; `None` if that cannot be counted.
    fn chunks_of(&self, shards: &Shards, shard: &ChunkIndex) -> Option<u64> {
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

impl<F: Form> Keeper<F> {
    /// What of a dimension can have been written: all of it where somebody may have appended, in this process or not.
    pub(crate) fn fixed_len(&self, dim: usize) -> u64 {
        if self.grid.dims[dim].unlimited { u64::MAX } else { self.grid.len(dim) }
    }
}

/// The changed chunks of one shard.
struct List<'a, F: Form> {
    keeper: &'a Keeper<F>,
    edits: Vec<Changed<'a, F>>,
}

impl<F: Form> Edits for List<'_, F> {
    fn count(&self) -> usize {
        self.edits.len()
    }

    fn numbers(&self, edit: usize) -> &DimVec<usize> {
        &self.edits[edit].numbers
    }

    fn make(&self, edit: usize, old: Option<&[u8]>, new: &mut Vec<u8>) -> Result<Payload<'_>> {
        let (keeper, edit) = (self.keeper, &self.edits[edit]);
        let form = &keeper.form;
        let made = (|| {
            if edit.snapshot.ready {
                if let Some(stored) = form.as_stored(&edit.snapshot.data) {
                    return Ok(Payload::Borrowed(stored));
                }
                form.encode(&edit.snapshot.data, new)?;
                return Ok(Payload::Scratch);
            }
            let mut data = match old {
                Some(stored) => keeper.check_limit(stored).and_then(|()| form.decode(stored))?,
                None => form.blank()?,
            };
            form.overlay(&mut data, &edit.snapshot.data, &edit.snapshot.mask);
            form.encode(&data, new)?;
            *edit.merged.lock().unwrap_or_else(PoisonError::into_inner) = Some(data);
            Ok(Payload::Scratch)
        })();
        made.map_err(|error| keeper.blame(error, &edit.landing.index))
    }
}
