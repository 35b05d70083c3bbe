//! Reads text: cached chunks on the calling thread, the others as one batch.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nczarr_model::{CheckedSlab, ErrorKind, NcString, Result};
use nczarr_storage::batch::{Ranges, ReadJob, ReadOutcome, ReadTicket};
use nczarr_storage::{Key, Version};

use super::TextElements;
use crate::engine::{ArrayEngine, ElementKind};
use crate::odometer::Odometer;
use crate::outcome::TransferOutcome;
use crate::project::{ChunkPart, Coverage, Projection};
use crate::threads;

/// The bytes per element that an observer sees.
const ELEMENT: usize = size_of::<NcString>();

/// Reads a non-empty slab.
pub(crate) fn get(
    engine: &ArrayEngine<TextElements>,
    slab: &CheckedSlab<'_>,
    out: &mut [NcString],
) -> Result<()> {
    let projection = engine.project(slab, &engine.grid.shape())?;
    let outcome = TransferOutcome::new(&engine.options, out.len() * ELEMENT);
    let since = engine.cache.now();
    let mut misses = Vec::new();
    let mut part = ChunkPart::default();
    for number in 0..projection.total {
        projection.part(number, &mut part);
        if !hit(engine, &part, out)? {
            misses.push(number);
            continue;
        }
        outcome.advance(part.elems * ELEMENT);
        outcome.failure()?;
    }
    let work = misses.len().saturating_mul(engine.form.elems).saturating_mul(ELEMENT);
    let job = TextReadJob {
        engine,
        projection: &projection,
        threads: threads::worth(&engine.options, misses.len(), work),
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
    engine.map().read_batch(&job);
    job.outcome.failure()?;
    match job.misses.len() - job.placed.load(Ordering::Acquire) {
        0 => Ok(()),
        lost => Err(ErrorKind::Internal
            .context(format!("{}: the map did not deliver {lost} of its tickets", engine.name))),
    }
}

/// Copies a part from the cache. `false`: the chunk is not cached.
fn hit(engine: &ArrayEngine<TextElements>, part: &ChunkPart, out: &mut [NcString]) -> Result<bool> {
    loop {
        let known: Option<Result<bool>> = engine.cache.with_chunk(&part.index, |entry| {
            let known = entry.has_part(part);
            if known {
                entry.data.load(part, out)?;
            }
            Ok(known)
        });
        match known.transpose()? {
            Some(true) => return Ok(true),
            Some(false) => engine.fill_holes(&part.index)?,
            None => return Ok(false),
        }
    }
}

/// The chunks of one read that are not cached: decoded by many threads, copied by one at a time.
struct TextReadJob<'a> {
    engine: &'a ArrayEngine<TextElements>,
    projection: &'a Projection,
    threads: usize,
    misses: Vec<usize>,
    next: AtomicUsize,
    placed: AtomicUsize,
    since: u64,
    out: Mutex<&'a mut [NcString]>,
    outcome: TransferOutcome<'a>,
}

impl TextReadJob<'_> {
    fn place(
        &self,
        part: &ChunkPart,
        found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>,
    ) -> Result<()> {
        let (engine, form) = (self.engine, &self.engine.form);
        let out = || self.out.lock().unwrap_or_else(PoisonError::into_inner);
        match found? {
            None => {
                engine.missing(&part.index)?;
                let mut out = out();
                Odometer::each(&part.dims, part.chunk_start, part.mem_start, |_, to| {
                    out[to].clone_from(&form.fill)
                });
            }
            Some((ReadOutcome::Bytes(stored), _)) => {
                let data = form.decode(stored)?;
                data.load(part, &mut out())?;
                if part.cover == Coverage::Some {
                    let cost = form.cost(&data);
                    engine.cache.insert_read(&part.index, Arc::new(data), cost, self.since);
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

impl ReadJob for TextReadJob<'_> {
    fn threads(&self) -> usize {
        self.threads
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        let number = *self.misses.get(self.next.fetch_add(1, Ordering::Relaxed))?;
        if self.outcome.is_stopped() {
            return None;
        }
        let part = self.projection.get(number);
        self.engine.locate(&part.index, key);
        let plan = &self.engine.form.plan;
        let hint = plan.bytes.unwrap_or(self.engine.form.elems).min(plan.limit);
        Some(ReadTicket::new(number, Ranges::All, plan.limit).hint(hint))
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        if ticket.index >= self.projection.total {
            return;
        }
        let part = self.projection.get(ticket.index);
        if let Err(error) = self.place(&part, found) {
            self.outcome.fail(self.engine.at_chunk(error, &part.index));
        }
    }
}
