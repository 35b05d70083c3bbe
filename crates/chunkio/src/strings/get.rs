//! Reading text: hits on the calling thread, the rest as one batch.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nczarr_dispatch::{Key, Ranges, ReadJob, ReadOutcome, ReadTicket, Version};
use nczarr_model::{ErrorKind, NcString, Result, Slab};

use super::Strings;
use crate::keeper::{Form, Keeper};
use crate::odometer::Odometer;
use crate::outcome::Outcome;
use crate::project::{Cover, Part, Projection};
use crate::threads;

/// What one element counts for an observer.
const ELEMENT: usize = size_of::<NcString>();

/// Reads a slab that was checked and is not empty.
pub(crate) fn get(keeper: &Keeper<Strings>, slab: &Slab<'_>, out: &mut [NcString]) -> Result<()> {
    let projection = keeper.project(slab, &keeper.grid.shape())?;
    let outcome = Outcome::new(&keeper.options, out.len() * ELEMENT);
    let since = keeper.cache.now();
    let mut misses = Vec::new();
    let mut part = Part::default();
    for number in 0..projection.total {
        projection.part(number, &mut part);
        if !hit(keeper, &part, out)? {
            misses.push(number);
            continue;
        }
        outcome.advance(part.elems * ELEMENT);
        outcome.failure()?;
    }
    let work = misses.len().saturating_mul(keeper.form.elems).saturating_mul(ELEMENT);
    let job = Batch {
        keeper,
        projection: &projection,
        threads: threads::worth(&keeper.options, misses.len(), work),
        misses,
        next: AtomicUsize::new(0),
        placed: AtomicUsize::new(0),
        since,
        out: Mutex::new(out),
        outcome,
    };
    if job.misses.is_empty() {
        return Ok(());
    }
    keeper.map().read_batch(&job);
    job.outcome.failure()?;
    match job.misses.len() - job.placed.load(Ordering::Acquire) {
        0 => Ok(()),
        lost => {
            Err(ErrorKind::Internal.context(format!("{}: the map did not deliver {lost} of its tickets", keeper.name)))
        }
    }
}

/// Copies what the cache holds of a part. `false`: the chunk is not there.
fn hit(keeper: &Keeper<Strings>, part: &Part, out: &mut [NcString]) -> Result<bool> {
    loop {
        let known: Option<Result<bool>> = keeper.cache.look(&part.index, |entry| {
            let known = entry.knows(part);
            if known {
                entry.data.load(part, out)?;
            }
            Ok(known)
        });
        match known.transpose()? {
            Some(true) => return Ok(true),
            Some(false) => keeper.fill_holes(&part.index)?,
            None => return Ok(false),
        }
    }
}

/// The chunks of one read that are not in the cache: decoded by many threads, copied by one at a time.
struct Batch<'a> {
    keeper: &'a Keeper<Strings>,
    projection: &'a Projection,
    threads: usize,
    misses: Vec<usize>,
    next: AtomicUsize,
    placed: AtomicUsize,
    since: u64,
    out: Mutex<&'a mut [NcString]>,
    outcome: Outcome<'a>,
}

impl Batch<'_> {
    fn place(&self, part: &Part, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) -> Result<()> {
        let (keeper, form) = (self.keeper, &self.keeper.form);
        let out = || self.out.lock().unwrap_or_else(PoisonError::into_inner);
        match found? {
            None => {
                keeper.missing(&part.index)?;
                let mut out = out();
                Odometer::each(&part.dims, part.chunk_start, part.mem_start, |_, to| out[to].clone_from(&form.fill));
            }
            Some((ReadOutcome::Bytes(stored), _)) => {
                let data = form.decode(stored)?;
                data.load(part, &mut out())?;
                if part.cover == Cover::Some {
                    let cost = form.cost(&data);
                    keeper.cache.insert_read(&part.index, Arc::new(data), cost, self.since);
                }
            }
            Some((ReadOutcome::InPlace, _)) => {
                return Err(ErrorKind::Internal.context("the map filled memory it was not lent"));
            }
        }
        self.placed.fetch_add(1, Ordering::AcqRel);
        self.outcome.advance(part.elems * ELEMENT);
        Ok(())
    }
}

impl ReadJob for Batch<'_> {
    fn threads(&self) -> usize {
        self.threads
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        let number = *self.misses.get(self.next.fetch_add(1, Ordering::Relaxed))?;
        if self.outcome.is_stopped() {
            return None;
        }
        let part = self.projection.get(number);
        self.keeper.locate(&part.index, key);
        let plan = &self.keeper.form.plan;
        let hint = plan.bytes.unwrap_or(self.keeper.form.elems).min(plan.limit);
        Some(ReadTicket { index: number, ranges: Ranges::All, hint, limit: plan.limit, versioned: false, into: None })
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        if ticket.index >= self.projection.total {
            return;
        }
        let part = self.projection.get(ticket.index);
        if let Err(error) = self.place(&part, found) {
            self.outcome.fail(self.keeper.blame(error, &part.index));
        }
    }
}
