//! Stores chunks that are encoded already, and removes chunks.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use nczarr_dispatch::{EncodedCheck, EncodedChunk};
use nczarr_model::{CheckedSlab, ErrorKind, Result};
use nczarr_storage::batch::{Payload, WriteJob, WriteTicket};
use nczarr_storage::{Key, Precondition, WriteOutcome};

use super::unexpected_mask;
use crate::claims::ChunkClaim;
use crate::engine::{ArrayEngine, ElementKind};
use crate::grid::ChunkIndex;
use crate::outcome::TransferOutcome;
use crate::threads;

/// A chunk to store.
pub(super) struct GivenChunk<'a> {
    pub(super) index: ChunkIndex,
    stored: &'a EncodedChunk,
}

/// The chunks of one write, in grid order.
pub(super) struct GivenChunks<'a> {
    pub(super) list: Vec<GivenChunk<'a>>,
    check: EncodedCheck,
}

impl<F: ElementKind> ArrayEngine<F> {
    /// Returns the bytes to store for a chunk, after their check.
    pub(super) fn checked<'a>(&self, chunk: &GivenChunk<'a>, check: EncodedCheck) -> Result<&'a [u8]> {
        let EncodedChunk { bytes, filter_mask, .. } = chunk.stored;
        if *filter_mask != 0 {
            return Err(unexpected_mask(*filter_mask));
        }
        self.check_limit(bytes)?;
        if check == EncodedCheck::Decode {
            self.form.decode(bytes)?;
        } else if let Some(expected) = self.form.stored_size()
            && expected != bytes.len()
        {
            return Err(ErrorKind::Inval.context(format!(
                "wrong size of an encoded chunk (expected {expected} bytes, found {})",
                bytes.len()
            )));
        }
        Ok(bytes)
    }

    /// Drops a chunk from the cache: storage has newer elements.
    pub(super) fn forget(&self, index: &ChunkIndex) {
        self.cache.mark_stale(index);
        self.cache.remove(index);
    }

    /// Removes a chunk from storage and cache. Returns whether it existed.
    pub(super) fn erase(&self, slab: &CheckedSlab<'_>) -> Result<bool> {
        self.check_writable()?;
        let index = self.chunk_of(slab)?;
        self.set_written();
        let _claim = self.claim(&index);
        let was_written = self.cache.with_chunk(&index, |entry| entry.is_dirty()).unwrap_or(false);
        let existed = match &self.shards {
            None => self.map().delete(&self.key(&index)).map_err(|error| self.at_chunk(error, &index))?,
            Some(shards) => self.is_stored(&index)? && self.erase_in_shard(shards, &index)?,
        };
        self.forget(&index);
        Ok(existed || was_written)
    }

    /// Replaces chunks by encoded bytes.
    pub(super) fn write_encoded(
        &self,
        slabs: &[CheckedSlab<'_>],
        stored: &[EncodedChunk],
        check: EncodedCheck,
    ) -> Result<()> {
        self.check_writable()?;
        if slabs.len() != stored.len() {
            return Err(ErrorKind::Inval.context(format!(
                "{}: wrong number of encoded chunks (expected {}, found {})",
                self.name,
                slabs.len(),
                stored.len()
            )));
        }
        let chunks = self.chunks_of_slabs(slabs)?;
        let given = chunks.into_iter().zip(stored).map(|(index, stored)| GivenChunk { index, stored });
        let mut list: Vec<GivenChunk<'_>> = given.collect();
        // Claims are taken in grid order, each once.
        list.sort_unstable_by(|a, b| a.index.cmp(&b.index));
        if let Some([chunk, _]) = list.array_windows().find(|[a, b]| a.index == b.index) {
            return Err(self.at_chunk(ErrorKind::Inval.context("it occurs twice in one write"), &chunk.index));
        }
        if list.is_empty() {
            return Ok(());
        }
        self.set_written();
        let work = match check {
            EncodedCheck::Decode => list.len().saturating_mul(self.form.expected_size()),
            _ => stored.iter().map(|chunk| chunk.bytes.len()).sum(),
        };
        let threads = threads::worth(&self.options, list.len(), work);
        let given = GivenChunks { list, check };
        if let Some(shards) = &self.shards {
            return self.write_encoded_in_shards(shards, &given, threads);
        }
        let job = EncodedWriteJob {
            engine: self,
            threads,
            next: AtomicUsize::new(0),
            stored: AtomicUsize::new(0),
            in_flight: Mutex::new(Vec::new()),
            given,
            outcome: TransferOutcome::without_progress(),
        };
        self.map().write_batch(&job);
        job.outcome.failure()?;
        match job.given.list.len() - job.stored.load(Ordering::Acquire) {
            0 => Ok(()),
            lost => Err(ErrorKind::Internal
                .context(format!("{}: the map did not return {lost} of its tickets", self.name))),
        }
    }
}

impl GivenChunks<'_> {
    /// Returns the checked bytes of a chunk.
    pub(super) fn bytes<F: ElementKind>(&self, engine: &ArrayEngine<F>, number: usize) -> Result<&[u8]> {
        let chunk = self.list.get(number);
        let chunk = chunk.ok_or_else(|| ErrorKind::Internal.context("a ticket that was not issued"))?;
        engine.checked(chunk, self.check)
    }
}

/// The chunks of one write that are objects.
struct EncodedWriteJob<'a, F: ElementKind> {
    engine: &'a ArrayEngine<F>,
    given: GivenChunks<'a>,
    threads: usize,
    next: AtomicUsize,
    stored: AtomicUsize,
    /// The open tickets.
    in_flight: Mutex<Vec<(usize, ChunkClaim<'a>)>>,
    outcome: TransferOutcome<'a>,
}

impl<F: ElementKind> WriteJob for EncodedWriteJob<'_, F> {
    fn threads(&self) -> usize {
        self.threads
    }

    fn next(&self, key: &mut Key) -> Option<WriteTicket> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let chunk = self.given.list.get(number).filter(|_| !self.outcome.is_stopped())?;
        let claim = self.engine.claims.take(&chunk.index);
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner).push((number, claim));
        self.engine.locate(&chunk.index, key);
        Some(WriteTicket { index: number, precondition: Precondition::Any })
    }

    fn value(&self, index: usize, _scratch: &mut Vec<u8>) -> Result<Payload<'_>> {
        self.given.bytes(self.engine, index).map(Payload::Borrowed)
    }

    fn done(&self, ticket: WriteTicket, outcome: Result<WriteOutcome>) {
        let claim = {
            let mut in_flight = self.in_flight.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(at) = in_flight.iter().position(|(number, _)| *number == ticket.index) else { return };
            in_flight.swap_remove(at).1
        };
        let outcome = outcome.and_then(|outcome| match outcome {
            WriteOutcome::Done(_) => Ok(()),
            WriteOutcome::Conflict => {
                Err(ErrorKind::Internal.context("the map reported a conflict without a precondition"))
            }
        });
        match outcome {
            Ok(()) => {
                self.engine.forget(&claim.index);
                self.stored.fetch_add(1, Ordering::AcqRel);
            }
            Err(error) => self.outcome.fail(self.engine.at_chunk(error, &claim.index)),
        }
    }
}
