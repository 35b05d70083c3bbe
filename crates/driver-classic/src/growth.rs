//! Making room: what must be in the file before data of a variable are read or written.
//!
//! A record that begins to be holds fill values in every variable. They are not written at once: of each variable it
//! is known how many records are ready ([`Claims`]), and a write that covers whole new records needs none. Whatever is
//! read, and everything that `sync` and `close` leave, has been filled or written.
//!
//! Each variable has a lock of its own, held while its records are filled, not while they are written.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nczarr_chunkio::ByteStore as _;
use nczarr_dispatch::has_elapsed;
use nczarr_model::{Result, Slab, VarId};

use crate::claims::Claims;
use crate::current::{Current, Here};
use crate::fill;

/// How far the data of a variable are there.
#[derive(Debug)]
pub(crate) struct Growth {
    /// What [`Claims::ready`] says, for a look without the lock.
    ready: AtomicU64,
    claims: Mutex<Claims>,
}

/// Records that a write has to write all of.
#[derive(Debug)]
pub(crate) struct Claimed(u64);

impl Growth {
    /// So many records have been filled or written.
    pub(crate) fn new(ready: u64) -> Self {
        Self { ready: AtomicU64::new(ready), claims: Mutex::new(Claims::new(ready)) }
    }

    pub(crate) fn is_ready(&self, units: u64) -> bool {
        self.ready.load(Ordering::Acquire) >= units
    }

    fn claims(&self) -> MutexGuard<'_, Claims> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// With the lock held.
    fn publish(&self, claims: &Claims) {
        self.ready.store(claims.ready(), Ordering::Release);
    }
}

/// How long who needs records waits for those who write them, before it fills them.
const PATIENCE: Duration = Duration::from_millis(10);

/// Between two looks.
const PAUSE: Duration = Duration::from_micros(100);

impl Current {
    /// Makes records of a variable ready (of a fixed one: all of it is one). `filling`: whether the dataset is filled.
    ///
    /// Records that somebody is writing are waited for, and filled if that takes long: who writes may be waiting for
    /// this thread.
    ///
    /// # Errors
    /// What the storage says; as [`Current::here`].
    pub(crate) fn ensure(&self, id: VarId, units: Range<u64>, filling: bool) -> Result<()> {
        let here = self.here(id)?;
        let mut start = None;
        while !here.is_ready(units.end) {
            let mut claims = here.growth.claims();
            if claims.is_writing(&units) && !has_elapsed(PATIENCE, &mut start) {
                drop(claims);
                std::thread::sleep(PAUSE);
                continue;
            }
            return self.settle(here, &mut claims, units, filling);
        }
        Ok(())
    }

    /// Makes all variables ready.
    ///
    /// # Errors
    /// As [`Current::ensure`].
    pub(crate) fn ensure_all(&self, records: u64, filling: bool) -> Result<()> {
        for at in 0..self.vars.len() {
            let id = VarId(at as u32);
            self.ensure(id, 0..self.here(id)?.units(records), filling)?;
        }
        Ok(())
    }

    /// Makes room for a write of `slab`, which has a variable of the shape `shape`. What the write must fill itself is
    /// the answer: [`Current::written`] or [`Current::lost`] has to be told what came of it.
    ///
    /// # Errors
    /// As [`Current::ensure`].
    pub(crate) fn claim(&self, id: VarId, slab: &Slab<'_>, shape: &[u64], filling: bool) -> Result<Option<Claimed>> {
        let here = self.here(id)?;
        let units = match here.slot.record {
            _ if slab.is_empty() => return Ok(None),
            true => slab.start[0]..slab.end(0).unwrap_or(u64::MAX),
            false => 0..1,
        };
        if here.is_ready(units.end) {
            return Ok(None);
        }
        let mut claims = here.growth.claims();
        if !covers(slab, shape, usize::from(here.slot.record)) {
            self.settle(here, &mut claims, units, filling)?;
            return Ok(None);
        }
        let end = claims.end();
        // What others are writing just now, or what lies between.
        self.settle(here, &mut claims, units.start.min(end)..units.end.min(end).max(units.start), filling)?;
        let first = claims.end();
        if first >= units.end {
            return Ok(None);
        }
        self.pad(here, first..units.end, filling)?;
        Ok(Some(Claimed(claims.claim(units.end))))
    }

    /// What was claimed has been written. `false`: some of it was filled meanwhile, so it has to be written again.
    pub(crate) fn written(&self, id: VarId, claimed: &Claimed) -> bool {
        self.tell(id, |claims| claims.written(claimed.0)).unwrap_or(true)
    }

    /// What was claimed could not be written: it is filled before it counts.
    pub(crate) fn lost(&self, id: VarId, claimed: &Claimed) {
        self.tell(id, |claims| claims.lost(claimed.0));
    }

    fn tell<T>(&self, id: VarId, what: impl FnOnce(&mut Claims) -> T) -> Option<T> {
        let here = self.here(id).ok()?;
        let mut claims = here.growth.claims();
        let outcome = what(&mut claims);
        here.growth.publish(&claims);
        Some(outcome)
    }

    /// Fills what is not ready of some records and, since records follow one another, before them.
    fn settle(&self, here: &Here, claims: &mut Claims, units: Range<u64>, filling: bool) -> Result<()> {
        while let Some(part) = claims.unfilled(&units) {
            self.fill(here, part.clone(), filling)?;
            claims.settle(&part);
        }
        let end = claims.end();
        if end < units.end {
            self.fill(here, end..units.end, filling)?;
            claims.filled(units.end);
        }
        here.growth.publish(claims);
        Ok(())
    }

    fn fill(&self, here: &Here, units: Range<u64>, filling: bool) -> Result<()> {
        match here.pattern.as_ref().filter(|_| filling) {
            // One record after another, and nothing in between.
            Some(pattern) if !here.slot.record || here.own == self.layout.recsize => {
                fill::write(&self.store, pattern, self.offset(here, units.start), here.own * (units.end - units.start))
            }
            Some(pattern) => units
                .into_iter()
                .try_for_each(|unit| fill::write(&self.store, pattern, self.offset(here, unit), here.own)),
            None => self.reach(here, units),
        }
    }

    /// Fills the padding behind records that are about to be written.
    fn pad(&self, here: &Here, units: Range<u64>, filling: bool) -> Result<()> {
        let bytes = here.slot.bytes;
        match here.pattern.as_ref().filter(|_| filling) {
            _ if here.own <= bytes => Ok(()),
            Some(pattern) => units.into_iter().try_for_each(|unit| {
                fill::write(&self.store, pattern, self.offset(here, unit) + bytes, here.own - bytes)
            }),
            None => self.reach(here, units),
        }
    }

    /// Lets the file reach as far as these records do. Their last byte is nobody else's as long as the lock is held.
    fn reach(&self, here: &Here, units: Range<u64>) -> Result<()> {
        match units.end.checked_sub(1).filter(|last| units.contains(last) && here.own > 0) {
            Some(last) => self.store.write_at(self.offset(here, last) + here.own - 1, &[0]),
            None => Ok(()),
        }
    }

    /// Where a record of a variable begins. Who asks has checked that a file reaches there.
    pub(crate) fn offset(&self, here: &Here, unit: u64) -> u64 {
        here.slot.begin + if here.slot.record { unit * self.layout.recsize } else { 0 }
    }
}

/// Whether a slab has every element of the variable, or of each record from its first to its last.
fn covers(slab: &Slab<'_>, shape: &[u64], outer: usize) -> bool {
    let whole = |dim: usize| slab.start[dim] == 0 && slab.count[dim] == shape[dim];
    slab.is_dense() && (outer..slab.rank()).all(whole)
}
