//! Many changed chunks to storage: everything at a flush, the oldest when memory runs out.
//!
//! Chunks that can be stored as they are go in one batch, encoded by as many threads as the map drives. Those
//! with holes follow, each read and conditionally written for itself.

mod shards;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use nczarr_dispatch::{
    Key, Payload, WriteJob, WriteOutcome, WriteTicket, run_on_pool, run_with_caller, run_with_helper,
};
use nczarr_model::{ErrorKind, Result};

use crate::cache::Changed;
use crate::claims::Claim;
use crate::grid::ChunkIndex;
use crate::keeper::{Form, Keeper, Landing, Snapshot};
use crate::outcome::Outcome;
use crate::threads;

/// Smaller chunks without filters are stored by two threads: more would meet in the directory, whose names the system changes one
/// after another.
const SMALL: usize = 128 << 10;

impl<F: Form> Keeper<F> {
    /// Stores every changed chunk. All are tried; the first error is answered.
    pub(crate) fn flush(&self) -> Result<()> {
        let mut changed = self.cache.changed();
        changed.sort_unstable_by(|a, b| a.index.cmp(&b.index));
        self.store_changed(&changed)
    }

    /// Stores and gives up the oldest changed chunks until a quarter of the budget is free again, if it is exceeded.
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
        changed.sort_unstable_by_key(|entry| (!entry.complete, entry.changed));
        changed.retain(|entry| {
            let take = wanted > 0;
            wanted = wanted.saturating_sub(entry.cost);
            take
        });
        // In the order of the grid, so that two threads doing this never wait for each other.
        changed.sort_unstable_by(|a, b| a.index.cmp(&b.index));
        let result = self.store_changed(&changed);
        changed.iter().for_each(|entry| self.cache.remove_clean(&entry.index));
        result
    }

    /// Stores some changed chunks, in the order of the grid. All are tried; the first error is answered.
    pub(crate) fn store_changed(&self, changed: &[Changed]) -> Result<()> {
        if let Some(shards) = &self.shards {
            let mut list: Vec<ChunkIndex> = changed.iter().map(|entry| shards.shard(&entry.index)).collect();
            list.sort_unstable();
            list.dedup();
            return self.write_shards(&list);
        }
        let bytes: usize = changed.iter().filter(|entry| entry.complete).map(|entry| entry.cost).sum();
        let (map, threads) = (self.map(), threads::worth(&self.options, changed.len(), bytes));
        // Who waits for little else is better at it too; storage far away has many requests on their way by itself.
        let along = if map.caps().remote { 1 } else { threads };
        let job = FlushJob {
            keeper: self,
            changed,
            threads: if along > 1 { 1 } else { threads },
            next: AtomicUsize::new(0),
            flights: changed.iter().map(|_| Flight::waiting()).collect(),
            holes: Mutex::new(Vec::new()),
            outcome: Outcome::unwatched(),
        };
        let work = || map.write_batch(&job);
        match along {
            0 | 1 => work(),
            2 => run_with_helper(&work),
            _ if self.form.is_plain() && bytes / changed.len() < SMALL => run_with_helper(&work),
            _ => run_with_caller(along, &work),
        }
        let mut result = job.outcome.failure();
        let holes = std::mem::take(&mut *lock(&job.holes));
        let lost = job.flights.iter().any(|flight| lock(&flight.landing).is_some());
        drop(job);
        if lost {
            result = result.and(Err(ErrorKind::Internal.context("the map did not return all of its tickets")));
        }
        let parts = self.write_parts(changed, &holes);
        result.and(parts)
    }
}

impl<F: Form> Keeper<F> {
    /// Stores chunks with holes, each by a read and a conditional write of its own.
    fn write_parts(&self, changed: &[Changed], holes: &[ChunkIndex]) -> Result<()> {
        let bytes = changed.iter().filter(|entry| !entry.complete).map(|entry| entry.cost).sum();
        let (next, outcome) = (AtomicUsize::new(0), Outcome::unwatched());
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

struct FlushJob<'a, F: Form> {
    keeper: &'a Keeper<F>,
    changed: &'a [Changed],
    threads: usize,
    next: AtomicUsize,
    flights: Vec<Flight<'a, F>>,
    holes: Mutex<Vec<ChunkIndex>>,
    outcome: Outcome<'a>,
}

/// One chunk on its way.
struct Flight<'a, F: Form> {
    /// Set once, when it departs.
    snapshot: OnceLock<Snapshot<F::Data>>,
    /// There from departure to arrival. The claim is given back last.
    landing: Mutex<Option<(Landing<'a, F>, Claim<'a>)>>,
}

impl<F: Form> Flight<'_, F> {
    fn waiting() -> Self {
        Self { snapshot: OnceLock::new(), landing: Mutex::new(None) }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<F: Form> WriteJob for FlushJob<'_, F> {
    fn threads(&self) -> usize {
        self.threads
    }

    fn next(&self, key: &mut Key) -> Option<WriteTicket> {
        loop {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let (entry, flight) = (self.changed.get(at)?, self.flights.get(at)?);
            if !entry.complete && !self.keeper.options.exclusive {
                lock(&self.holes).push(entry.index.clone());
                continue;
            }
            let claim = self.keeper.claims.take(&entry.index);
            let Some(snapshot) = self.keeper.depart(&entry.index) else { continue };
            let landing = self.keeper.landing(&entry.index);
            if !snapshot.ready {
                drop((landing, claim));
                lock(&self.holes).push(entry.index.clone());
                continue;
            }
            // Set here only, once per number.
            let _ = flight.snapshot.set(snapshot);
            *lock(&flight.landing) = Some((landing, claim));
            self.keeper.locate(&entry.index, key);
            return Some(WriteTicket { index: at, precondition: None });
        }
    }

    fn value(&self, index: usize, scratch: &mut Vec<u8>) -> Result<Payload<'_>> {
        let snapshot = self.flights.get(index).and_then(|flight| flight.snapshot.get());
        let snapshot =
            snapshot.ok_or_else(|| ErrorKind::Internal.context("the map asks for a ticket that is not its own"))?;
        if let Some(stored) = self.keeper.form.as_stored(&snapshot.data) {
            return Ok(Payload::Borrowed(stored));
        }
        self.keeper.form.encode(&snapshot.data, scratch)?;
        Ok(Payload::Scratch)
    }

    fn done(&self, ticket: WriteTicket, outcome: Result<WriteOutcome>) {
        let flight = self.flights.get(ticket.index).and_then(|flight| lock(&flight.landing).take());
        let Some((landing, claim)) = flight else { return };
        let outcome = outcome.and_then(|written| match written {
            WriteOutcome::Done(_) => Ok(()),
            WriteOutcome::Conflict => Err(ErrorKind::Internal.context("the map compared what it was not asked to")),
        });
        match outcome {
            Ok(()) => landing.arrive(None),
            Err(error) => {
                self.outcome.note(self.keeper.blame(error, &landing.index));
                drop(landing);
            }
        }
        drop(claim);
    }
}
