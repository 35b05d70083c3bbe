//! Making room: what must be in the file before data of a variable are read or written.
//!
//! A record that begins to be holds fill values in every variable. They are not written at once: of each variable it
//! is known how many records are ready, and a write that covers whole new records needs none. Whatever is read, and
//! everything that `sync` and `close` leave, has been filled or written.

use std::ops::Range;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use chunkio::ByteStore as _;
use model::{Result, Slab, VarId};

use crate::current::{Current, Here};
use crate::fill;

impl Current {
    /// Makes `units` records of a variable (of a fixed one: all of it) ready. `filling`: whether the dataset is filled.
    ///
    /// # Errors
    /// What the storage says; as [`Current::here`].
    pub(crate) fn ensure(&self, id: VarId, units: u64, filling: bool) -> Result<()> {
        let here = self.here(id)?;
        if here.is_ready(units) {
            return Ok(());
        }
        let _growing = self.growing.lock().unwrap_or_else(PoisonError::into_inner);
        self.make_ready(here, units, filling)
    }

    /// Makes all variables ready.
    ///
    /// # Errors
    /// As [`Current::ensure`].
    pub(crate) fn ensure_all(&self, records: u64, filling: bool) -> Result<()> {
        for at in 0..self.vars.len() {
            let id = VarId(at as u32);
            self.ensure(id, self.here(id)?.units(records), filling)?;
        }
        Ok(())
    }

    /// Makes room for a write of `slab`, which has a variable of the shape `shape`. What the write must fill itself is
    /// the answer: if it fails, [`Current::give_back`] has to be told.
    ///
    /// # Errors
    /// As [`Current::ensure`].
    pub(crate) fn claim(&self, id: VarId, slab: &Slab<'_>, shape: &[u64], filling: bool) -> Result<Option<Range<u64>>> {
        let here = self.here(id)?;
        let units = match here.slot.record {
            _ if slab.is_empty() => return Ok(None),
            true => slab.start[0]..slab.end(0).unwrap_or(u64::MAX),
            false => 0..1,
        };
        if here.is_ready(units.end) {
            return Ok(None);
        }
        let _growing = self.growing.lock().unwrap_or_else(PoisonError::into_inner);
        let ready = here.ready.load(Ordering::Acquire);
        if ready >= units.end {
            return Ok(None);
        }
        if !covers(slab, shape, usize::from(here.slot.record)) {
            self.make_ready(here, units.end, filling)?;
            return Ok(None);
        }
        self.make_ready(here, units.start, filling)?;
        let claimed = units.start.max(ready)..units.end;
        self.pad(here, claimed.clone(), filling)?;
        here.ready.store(claimed.end, Ordering::Release);
        Ok(Some(claimed))
    }

    /// A write that had claimed records failed: they get fill values as far as the storage lets them.
    pub(crate) fn give_back(&self, id: VarId, claimed: Range<u64>, filling: bool) {
        let Ok(here) = self.here(id) else { return };
        let _growing = self.growing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = self.fill(here, claimed, filling) {
            tracing::warn!(%error, "what a failed write left could not be filled");
        }
    }

    /// With the lock held.
    fn make_ready(&self, here: &Here, units: u64, filling: bool) -> Result<()> {
        let ready = here.ready.load(Ordering::Acquire);
        if ready < units {
            self.fill(here, ready..units, filling)?;
            here.ready.store(units, Ordering::Release);
        }
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
