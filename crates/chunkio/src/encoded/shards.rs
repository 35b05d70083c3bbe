//! Stores encoded chunks in shards: all chunks of one shard together. Other chunks of the shard are copied in
//! encoded form.

use std::sync::atomic::{AtomicUsize, Ordering};

use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::{DimVec, run_on_pool};
use nczarr_storage::Key;
use nczarr_storage::batch::Payload;

use super::write::GivenChunks;
use crate::engine::{ArrayEngine, ElementKind};
use crate::grid::ChunkIndex;
use crate::outcome::TransferOutcome;
use crate::shard::{ChunkEdits, Shards};

impl<F: ElementKind> ArrayEngine<F> {
    /// Stores chunks, shard by shard.
    pub(super) fn write_encoded_in_shards(
        &self,
        shards: &Shards,
        given: &GivenChunks<'_>,
        threads: usize,
    ) -> Result<()> {
        let mut numbers: Vec<(ChunkIndex, usize)> =
            given.list.iter().enumerate().map(|(at, chunk)| (shards.shard(&chunk.index), at)).collect();
        numbers.sort_unstable();
        let groups: Vec<&[(ChunkIndex, usize)]> = numbers.chunk_by(|one, other| one.0 == other.0).collect();
        let several = threads.min(groups.len());
        let each = threads.checked_div(several).unwrap_or(1);
        let (next, outcome) = (AtomicUsize::new(0), TransferOutcome::without_progress());
        run_on_pool(several, &|| {
            while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed))
                && !outcome.is_stopped()
            {
                if let Err(error) = self.write_encoded_shard(shards, given, group, each) {
                    outcome.fail(error);
                }
            }
        });
        outcome.failure()
    }

    fn write_encoded_shard(
        &self,
        shards: &Shards,
        given: &GivenChunks<'_>,
        group: &[(ChunkIndex, usize)],
        threads: usize,
    ) -> Result<()> {
        let Some((shard, _)) = group.first() else { return Ok(()) };
        let mut edits: Vec<EncodedEdit> = group
            .iter()
            .map(|&(_, given_at)| EncodedEdit {
                numbers: shards.split(&given.list[given_at].index).1,
                given: Some(given_at),
            })
            .collect();
        edits.sort_unstable_by(|a, b| a.numbers.cmp(&b.numbers));
        let whole = self.chunks_of(shards, shard) == Some(edits.len() as u64);
        let _claim = self.claims.take(shard);
        self.store_encoded(
            shards,
            shard,
            &EncodedEdits { engine: self, given: Some(given), edits },
            whole,
            threads,
        )?;
        group.iter().for_each(|&(_, given_at)| self.forget(&given.list[given_at].index));
        Ok(())
    }

    /// Removes a chunk from its shard. The caller holds the claim on the shard.
    pub(super) fn erase_in_shard(&self, shards: &Shards, index: &ChunkIndex) -> Result<bool> {
        let (shard, numbers) = shards.split(index);
        let edits = vec![EncodedEdit { numbers, given: None }];
        self.store_encoded(shards, &shard, &EncodedEdits { engine: self, given: None, edits }, false, 1)?;
        Ok(true)
    }

    fn store_encoded(
        &self,
        shards: &Shards,
        shard: &ChunkIndex,
        edits: &EncodedEdits<'_, F>,
        whole: bool,
        threads: usize,
    ) -> Result<()> {
        let mut key = Key::root();
        self.store.locate(shard, &mut key);
        self.store_shard(shards, &key, edits, whole, threads).map_err(|error| self.at_shard(error, &key))
    }
}

/// A chunk of a shard, and its number among the given ones; `None`: it is removed.
struct EncodedEdit {
    numbers: DimVec<usize>,
    given: Option<usize>,
}

/// The given and removed chunks of one shard.
struct EncodedEdits<'a, F: ElementKind> {
    engine: &'a ArrayEngine<F>,
    given: Option<&'a GivenChunks<'a>>,
    edits: Vec<EncodedEdit>,
}

impl<F: ElementKind> ChunkEdits for EncodedEdits<'_, F> {
    fn count(&self) -> usize {
        self.edits.len()
    }

    fn numbers(&self, edit: usize) -> &DimVec<usize> {
        &self.edits[edit].numbers
    }

    fn removes(&self, edit: usize) -> bool {
        self.edits[edit].given.is_none()
    }

    fn make(&self, edit: usize, _old: Option<&[u8]>, _new: &mut Vec<u8>) -> Result<Payload<'_>> {
        let (Some(given), Some(number)) = (self.given, self.edits[edit].given) else {
            return Err(ErrorKind::Internal.context("a removed chunk has no bytes"));
        };
        let index = &given.list[number].index;
        let bytes = given.bytes(self.engine, number);
        bytes.map(Payload::Borrowed).map_err(|error| self.engine.at_chunk(error, index))
    }
}
