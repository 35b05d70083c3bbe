//! Many changed chunks to storage: everything at a flush, the oldest when memory runs out.
//!
//! Chunks that can be stored as they are go in one batch, encoded by as many threads as the map drives; those
//! with holes follow one by one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use dispatch::{Key, Payload, WriteJob, WriteTicket, Written};
use model::{ErrorKind, Result};

use crate::cache::Changed;
use crate::claims::Claim;
use crate::keeper::{Form, Keeper, Snapshot};
use crate::outcome::Outcome;
use crate::small::ChunkIndex;
use crate::threads;

impl<F: Form> Keeper<F> {
    /// Stores every changed chunk. All are tried; the first error is answered.
    pub(crate) fn flush(&self) -> Result<()> {
        let mut changed = self.cache.changed();
        changed.sort_unstable_by(|a, b| a.index.cmp(&b.index));
        self.write_all(&changed)
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
        let result = self.write_all(&changed);
        changed.iter().for_each(|entry| self.cache.remove_clean(&entry.index));
        result
    }

    fn write_all(&self, changed: &[Changed]) -> Result<()> {
        let bytes = changed.iter().filter(|entry| entry.complete).map(|entry| entry.cost).sum();
        let job = FlushJob {
            keeper: self,
            changed,
            threads: threads::worth(&self.options, changed.len(), bytes),
            next: AtomicUsize::new(0),
            flying: changed.iter().map(|_| Mutex::new(None)).collect(),
            holes: Mutex::new(Vec::new()),
            outcome: Outcome::unwatched(),
        };
        self.map().write_batch(&job);
        let mut result = job.outcome.failure();
        let holes = std::mem::take(&mut *job.holes.lock().unwrap_or_else(PoisonError::into_inner));
        let lost = job.flying.iter().any(|flying| flying.lock().unwrap_or_else(PoisonError::into_inner).is_some());
        drop(job);
        if lost {
            result = result.and(Err(ErrorKind::Internal.context("the map did not return all of its tickets")));
        }
        for index in holes {
            result = result.and(self.write_back(&index));
        }
        result
    }
}

struct FlushJob<'a, F: Form> {
    keeper: &'a Keeper<F>,
    changed: &'a [Changed],
    threads: usize,
    next: AtomicUsize,
    flying: Vec<Mutex<Option<Flight<'a, F>>>>,
    holes: Mutex<Vec<ChunkIndex>>,
    outcome: Outcome<'a>,
}

/// One chunk on its way. Should it never arrive, its elements count as changed again.
struct Flight<'a, F: Form> {
    keeper: &'a Keeper<F>,
    claim: Claim<'a>,
    snapshot: Option<Snapshot<F::Data>>,
    arrived: bool,
}

impl<F: Form> Drop for Flight<'_, F> {
    fn drop(&mut self) {
        // Before the entry may change again, so that it need not be copied for that.
        self.snapshot = None;
        self.keeper.arrive(&self.claim.index, self.arrived, None);
    }
}

impl<F: Form> WriteJob for FlushJob<'_, F> {
    fn threads(&self) -> usize {
        self.threads
    }

    fn next(&self, key: &mut Key) -> Option<WriteTicket> {
        loop {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let entry = self.changed.get(at)?;
            let holes = || self.holes.lock().unwrap_or_else(PoisonError::into_inner).push(entry.index.clone());
            if !entry.complete && !self.keeper.options.exclusive {
                holes();
                continue;
            }
            let claim = self.keeper.claims.take(&entry.index);
            let Some(snapshot) = self.keeper.depart(&entry.index) else { continue };
            let ready = snapshot.ready;
            let flight = Flight { keeper: self.keeper, claim, snapshot: Some(snapshot), arrived: false };
            if !ready {
                drop(flight);
                holes();
                continue;
            }
            self.keeper.store.locate(&entry.index, key);
            *self.flying[at].lock().unwrap_or_else(PoisonError::into_inner) = Some(flight);
            return Some(WriteTicket { index: at, expect: None });
        }
    }

    fn value(&self, index: usize, scratch: &mut Vec<u8>) -> Result<Payload<'_>> {
        let unknown = || ErrorKind::Internal.context("the map asks for a ticket that is not its own");
        let data = {
            let flying = self.flying.get(index).ok_or_else(unknown)?.lock().unwrap_or_else(PoisonError::into_inner);
            let snapshot = flying.as_ref().and_then(|flight| flight.snapshot.as_ref()).ok_or_else(unknown)?;
            snapshot.data.clone()
        };
        self.keeper.form.encode(&data, scratch)?;
        Ok(Payload::Scratch)
    }

    fn done(&self, ticket: WriteTicket, outcome: Result<Written>) {
        let Some(flying) = self.flying.get(ticket.index) else { return };
        let Some(mut flight) = flying.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let lost = || ErrorKind::Internal.context("the map compared what it was not asked to");
        let outcome = outcome.and_then(|written| match written {
            Written::Done(_) => Ok(()),
            Written::Lost => Err(lost()),
        });
        flight.arrived = outcome.is_ok();
        if let Err(error) = outcome {
            self.outcome.note(self.keeper.blame(error, &flight.claim.index));
        }
    }
}
