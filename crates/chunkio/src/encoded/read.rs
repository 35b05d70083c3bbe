//! Reads stored chunks as bytes, all in one batch.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use nczarr_dispatch::EncodedChunk;
use nczarr_model::{CheckedSlab, ErrorKind, Result};
use nczarr_storage::batch::{Ranges, ReadJob, ReadOutcome, ReadTicket};
use nczarr_storage::{Key, Version};

use super::MASK;
use crate::cache::DirtyChunk;
use crate::engine::{ArrayEngine, ElementKind};
use crate::grid::ChunkIndex;
use crate::outcome::TransferOutcome;
use crate::spec::ObjectForm;
use crate::threads;

impl<F: ElementKind> ArrayEngine<F> {
    /// Stores the cached changes of some chunks.
    fn store_cached(&self, chunks: &[ChunkIndex]) -> Result<()> {
        if self.cache.is_empty() {
            return Ok(());
        }
        let dirty = |index: &ChunkIndex| self.cache.with_chunk(index, DirtyChunk::of)?;
        let mut changed: Vec<DirtyChunk> = chunks.iter().filter_map(dirty).collect();
        DirtyChunk::sort_by_index(&mut changed);
        changed.dedup_by(|a, b| a.index == b.index);
        if changed.is_empty() { Ok(()) } else { self.store_changed(&changed) }
    }

    /// Returns the length of a stored chunk; `None` if it is absent.
    pub(super) fn encoded_len(&self, slab: &CheckedSlab<'_>) -> Result<Option<u64>> {
        let index = self.chunk_of(slab)?;
        self.store_cached(std::slice::from_ref(&index))?;
        let len = self.map().len(&self.key(&index)).map_err(|error| self.at_chunk(error, &index))?;
        let before = if self.store.object_form() == ObjectForm::Masked { MASK as u64 } else { 0 };
        Ok(len.map(|len| len.saturating_sub(before)))
    }

    /// Returns the stored bytes of chunks; `None` if a chunk is absent.
    pub(super) fn read_encoded(&self, slabs: &[CheckedSlab<'_>]) -> Result<Vec<Option<EncodedChunk>>> {
        let chunks = self.chunks_of_slabs(slabs)?;
        self.store_cached(&chunks)?;
        let work = chunks.len().saturating_mul(self.form.expected_size());
        let job = EncodedReadJob {
            engine: self,
            threads: threads::worth(&self.options, chunks.len(), work),
            next: AtomicUsize::new(0),
            found: Mutex::new(chunks.iter().map(|_| None).collect()),
            chunks,
            outcome: TransferOutcome::without_progress(),
        };
        if !job.chunks.is_empty() {
            self.map().read_batch(&job);
        }
        job.outcome.failure()?;
        let found = job.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.into_iter().collect::<Option<Vec<_>>>().ok_or_else(|| {
            ErrorKind::Internal.context(format!("{}: the map did not return all of its tickets", self.name))
        })
    }
}

/// A result for each chunk, once it is known.
type FoundChunks = Vec<Option<Option<EncodedChunk>>>;

struct EncodedReadJob<'a, F: ElementKind> {
    engine: &'a ArrayEngine<F>,
    chunks: Vec<ChunkIndex>,
    threads: usize,
    next: AtomicUsize,
    found: Mutex<FoundChunks>,
    outcome: TransferOutcome<'a>,
}

impl<F: ElementKind> EncodedReadJob<'_, F> {
    fn chunk(&self, stored: &[u8]) -> Result<EncodedChunk> {
        if self.engine.store.object_form() != ObjectForm::Masked {
            return Ok(EncodedChunk::from(stored.to_vec()));
        }
        let (mask, bytes) = stored
            .split_first_chunk::<MASK>()
            .ok_or_else(|| ErrorKind::Internal.context("the filter mask of a chunk is missing"))?;
        Ok(EncodedChunk::from(bytes.to_vec()).filter_mask(u32::from_le_bytes(*mask)))
    }
}

impl<F: ElementKind> ReadJob for EncodedReadJob<'_, F> {
    fn threads(&self) -> usize {
        self.threads
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let index = self.chunks.get(number).filter(|_| !self.outcome.is_stopped())?;
        self.engine.locate(index, key);
        let form = &self.engine.form;
        Some(ReadTicket::new(number, Ranges::All, form.limit()).hint(form.expected_size()))
    }

    fn remaining(&self) -> Option<usize> {
        Some(self.chunks.len().saturating_sub(self.next.load(Ordering::Relaxed)))
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        let Some(index) = self.chunks.get(ticket.index) else { return };
        let found = found.and_then(|found| match found {
            // The dataset's options may make absence an error.
            None => self.engine.missing(index).map(|()| None),
            Some((ReadOutcome::Bytes(stored), _)) => self.chunk(stored).map(Some),
            Some((ReadOutcome::InPlace, _)) => {
                Err(ErrorKind::Internal.context("the map filled memory it was not lent"))
            }
        });
        match found {
            Ok(chunk) => {
                self.found.lock().unwrap_or_else(PoisonError::into_inner)[ticket.index] = Some(chunk);
            }
            Err(error) => self.outcome.fail(self.engine.at_chunk(error, index)),
        }
    }
}
