//! Stores many changed chunks: all of them in a flush, the oldest when the cache is full.
//!
//! Complete chunks go in one batch, encoded by the threads of the map. Partial chunks follow; each is merged
//! with the stored chunk.

mod shards;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::{run_on_pool, run_with_caller};
use nczarr_storage::batch::{Payload, WriteJob, WriteTicket};
use nczarr_storage::{Key, Precondition, WriteOutcome};

use crate::cache::DirtyChunk;
use crate::claims::ChunkClaim;
use crate::engine::{ArrayEngine, ElementKind, WriteBackGuard, WriteBackSnapshot};
use crate::grid::ChunkIndex;
use crate::outcome::TransferOutcome;
use crate::threads;

/// Unfiltered chunks below this size are stored by two threads. More would contend for the directory, whose
/// entries the system changes one at a time.
const SMALL: usize = 128 << 10;

impl<F: ElementKind> ArrayEngine<F> {
    /// Stores all changed chunks. Continues after an error and returns the first.
    pub(crate) fn flush(&self) -> Result<()> {
        let mut changed = self.cache.changed();
        DirtyChunk::sort_by_index(&mut changed);
        self.store_changed(&changed)
    }

    /// Stores and evicts the oldest changed chunks until a quarter of the budget is free, if the budget is
    /// exceeded.
    pub(crate) fn relieve(&self) -> Result<()> {
        if self.cache.excess() == 0 {
            return Ok(());
        }
        self.cache.evict_clean();
        let excess = self.cache.excess();
        if excess == 0 {
            return Ok(());
        }
        let mut wanted = excess + self.cache.budget() / 4;
        let mut changed = self.cache.changed();
        DirtyChunk::sort_by_age(&mut changed);
        changed.retain(|entry| {
            let take = wanted > 0;
            wanted = wanted.saturating_sub(entry.cost);
            take
        });
        // In grid order, so that two threads never wait for each other.
        DirtyChunk::sort_by_index(&mut changed);
        let result = self.store_changed(&changed);
        changed.iter().for_each(|entry| self.cache.remove_clean(&entry.index));
        result
    }

    /// Stores some changed chunks in grid order. Continues after an error and returns the first.
    pub(crate) fn store_changed(&self, changed: &[DirtyChunk]) -> Result<()> {
        if let Some(shards) = &self.shards {
            let mut list: Vec<ChunkIndex> = changed.iter().map(|entry| shards.shard(&entry.index)).collect();
            list.sort_unstable();
            list.dedup();
            return self.write_shards(&list);
        }
        let bytes: usize = changed.iter().filter(|entry| entry.complete).map(|entry| entry.cost).sum();
        let (map, threads) = (self.map(), threads::worth(&self.options, changed.len(), bytes));
        // The calling thread works too, except for remote maps, which keep many requests in flight
        // themselves.
        let along = if map.caps().remote { 1 } else { threads };
        let job = WriteBackJob {
            engine: self,
            changed,
            threads: if along > 1 { 1 } else { threads },
            next: AtomicUsize::new(0),
            flights: changed.iter().map(|_| InFlightChunk::waiting()).collect(),
            holes: Mutex::new(Vec::new()),
            outcome: TransferOutcome::without_progress(),
        };
        let work = || map.write_batch(&job);
        match along {
            0 | 1 => work(),
            // Small objects without filters keep the system busy, and more than two threads do not speed it
            // up.
            _ if self.form.is_plain() && bytes / changed.len() < SMALL => run_with_caller(2, &work),
            _ => run_with_caller(along, &work),
        }
        let mut result = job.outcome.failure();
        let holes = std::mem::take(&mut *lock(&job.holes));
        let lost = job.flights.iter().any(|flight| lock(&flight.landing).is_some());
        drop(job);
        if lost {
            result =
                result.and(Err(ErrorKind::Internal.context("the map did not return all of its tickets")));
        }
        let parts = self.write_parts(changed, &holes);
        result.and(parts)
    }
}

impl<F: ElementKind> ArrayEngine<F> {
    /// Stores partial chunks, each by a merge with the stored chunk.
    fn write_parts(&self, changed: &[DirtyChunk], holes: &[ChunkIndex]) -> Result<()> {
        let bytes = changed.iter().filter(|entry| !entry.complete).map(|entry| entry.cost).sum();
        let (next, outcome) = (AtomicUsize::new(0), TransferOutcome::without_progress());
        run_on_pool(threads::worth(&self.options, holes.len(), bytes), &|| {
            while let Some(index) = holes.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Err(error) = self.write_back(index) {
                    outcome.note(error);
                }
            }
        });
        outcome.failure()
    }
}

struct WriteBackJob<'a, F: ElementKind> {
    engine: &'a ArrayEngine<F>,
    changed: &'a [DirtyChunk],
    threads: usize,
    next: AtomicUsize,
    flights: Vec<InFlightChunk<'a, F>>,
    holes: Mutex<Vec<ChunkIndex>>,
    outcome: TransferOutcome<'a>,
}

/// A chunk during write-back.
struct InFlightChunk<'a, F: ElementKind> {
    /// Set once, when the write-back begins.
    snapshot: OnceLock<WriteBackSnapshot<F::Data>>,
    /// Set while the write-back runs. The claim is released last.
    landing: Mutex<Option<(WriteBackGuard<'a, F>, ChunkClaim<'a>)>>,
}

impl<F: ElementKind> InFlightChunk<'_, F> {
    fn waiting() -> Self {
        Self { snapshot: OnceLock::new(), landing: Mutex::new(None) }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<F: ElementKind> WriteJob for WriteBackJob<'_, F> {
    fn threads(&self) -> usize {
        self.threads
    }

    fn next(&self, key: &mut Key) -> Option<WriteTicket> {
        loop {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let (entry, flight) = (self.changed.get(at)?, self.flights.get(at)?);
            if !entry.complete && !self.engine.options.exclusive {
                lock(&self.holes).push(entry.index.clone());
                continue;
            }
            let claim = self.engine.claims.take(&entry.index);
            let Some(snapshot) = self.engine.begin_write_back(&entry.index) else { continue };
            let landing = self.engine.write_back_guard(&entry.index);
            if !snapshot.ready {
                drop((landing, claim));
                lock(&self.holes).push(entry.index.clone());
                continue;
            }
            // Set only here, once per ticket.
            let _ = flight.snapshot.set(snapshot);
            *lock(&flight.landing) = Some((landing, claim));
            self.engine.locate(&entry.index, key);
            return Some(WriteTicket { index: at, precondition: Precondition::Any });
        }
    }

    fn value(&self, index: usize, scratch: &mut Vec<u8>) -> Result<Payload<'_>> {
        let snapshot = self.flights.get(index).and_then(|flight| flight.snapshot.get());
        let snapshot = snapshot
            .ok_or_else(|| ErrorKind::Internal.context("the map used a ticket that was not issued"))?;
        if let Some(stored) = self.engine.form.as_stored(&snapshot.data) {
            return Ok(Payload::Borrowed(stored));
        }
        self.engine.form.encode(&snapshot.data, scratch)?;
        Ok(Payload::Scratch)
    }

    fn done(&self, ticket: WriteTicket, outcome: Result<WriteOutcome>) {
        let flight = self.flights.get(ticket.index).and_then(|flight| lock(&flight.landing).take());
        let Some((landing, claim)) = flight else { return };
        let outcome = outcome.and_then(|written| match written {
            WriteOutcome::Done(_) => Ok(()),
            WriteOutcome::Conflict => {
                Err(ErrorKind::Internal.context("the map reported a conflict without a precondition"))
            }
        });
        match outcome {
            Ok(()) => landing.finish(None),
            Err(error) => {
                self.outcome.note(self.engine.at_chunk(error, &landing.index));
                drop(landing);
            }
        }
        drop(claim);
    }
}
