//! Prepares the file before data of a variable are read or written.
//!
//! A new record has fill values in every variable. They are written late, so a write of whole new records
//! needs none. [`RecordClaims`] counts the ready records of each variable. All data that a program reads, and
//! all data after `sync` and `close`, are filled or written.
//!
//! Each variable has a lock, held while its records are filled, but not while they are written.

use std::ops::Range;
use std::time::Duration;

use nczarr_chunkio::ByteStore as _;
use nczarr_model::{CheckedSlab, Result, VarId};
use nczarr_runtime::has_elapsed;

use crate::claims::RecordClaims;
use crate::file_state::{FileState, VarPlacement};
use crate::fill;

/// Records that a write must write completely.
#[derive(Debug)]
pub(crate) struct ClaimedRecords(u64);

/// The longest wait for writers of needed records, before they are filled.
const PATIENCE: Duration = Duration::from_millis(10);

/// The pause between two checks.
const PAUSE: Duration = Duration::from_micros(100);

impl FileState {
    /// Makes records of a variable ready (a fixed variable is one record). The variable decides whether they
    /// are filled.
    ///
    /// Waits a short time for records that another thread is writing, then fills them, because that thread
    /// may wait for this one.
    ///
    /// # Errors
    /// The storage's error; as [`FileState::here`].
    pub(crate) fn ensure(&self, id: VarId, units: Range<u64>) -> Result<()> {
        let here = self.here(id)?;
        let mut start = None;
        while !here.is_ready(units.end) {
            let mut claims = here.growth.claims();
            if claims.is_writing(&units) && !has_elapsed(PATIENCE, &mut start) {
                drop(claims);
                std::thread::sleep(PAUSE);
                continue;
            }
            return self.settle(here, &mut claims, units);
        }
        Ok(())
    }

    /// Makes all variables ready.
    ///
    /// # Errors
    /// As [`FileState::ensure`].
    pub(crate) fn ensure_all(&self, records: u64) -> Result<()> {
        for at in 0..self.vars.len() {
            let id = VarId(at as u32);
            self.ensure(id, 0..self.here(id)?.units(records))?;
        }
        Ok(())
    }

    /// Prepares a write of `slab` to a variable of shape `shape`. Returns the claim on records that the write
    /// must complete; afterwards call [`FileState::written`] or [`FileState::lost`].
    ///
    /// # Errors
    /// As [`FileState::ensure`].
    pub(crate) fn claim(
        &self,
        id: VarId,
        slab: &CheckedSlab<'_>,
        shape: &[u64],
    ) -> Result<Option<ClaimedRecords>> {
        let here = self.here(id)?;
        if slab.is_empty() {
            return Ok(None);
        }
        let units = if here.slot.record { slab.start[0]..slab.end(0) } else { 0..1 };
        if here.is_ready(units.end) {
            return Ok(None);
        }
        let mut claims = here.growth.claims();
        if !covers(slab, shape, usize::from(here.slot.record)) {
            self.settle(here, &mut claims, units)?;
            return Ok(None);
        }
        let end = claims.end();
        // Records that other threads are writing, and those between.
        self.settle(here, &mut claims, units.start.min(end)..units.end.min(end).max(units.start))?;
        let first = claims.end();
        if first >= units.end {
            return Ok(None);
        }
        self.pad(here, first..units.end)?;
        Ok(Some(ClaimedRecords(claims.claim(units.end))))
    }

    /// Ends the write of a claim. `false`: some of it was filled meanwhile, so it must be written again.
    pub(crate) fn written(&self, id: VarId, claimed: &ClaimedRecords) -> bool {
        self.tell(id, |claims| claims.written(claimed.0)).unwrap_or(true)
    }

    /// Ends a failed write of a claim: its records are filled before they count.
    pub(crate) fn lost(&self, id: VarId, claimed: &ClaimedRecords) {
        self.tell(id, |claims| claims.lost(claimed.0));
    }

    fn tell<T>(&self, id: VarId, what: impl FnOnce(&mut RecordClaims) -> T) -> Option<T> {
        let here = self.here(id).ok()?;
        let mut claims = here.growth.claims();
        let outcome = what(&mut claims);
        here.growth.publish(&claims);
        Some(outcome)
    }

    /// Fills unready records up to the end of `units`, since records are contiguous.
    fn settle(&self, here: &VarPlacement, claims: &mut RecordClaims, units: Range<u64>) -> Result<()> {
        while let Some(part) = claims.unfilled(&units) {
            self.fill(here, part.clone())?;
            claims.settle(&part);
        }
        let end = claims.end();
        if end < units.end {
            self.fill(here, end..units.end)?;
            claims.filled(units.end);
        }
        here.growth.publish(claims);
        Ok(())
    }

    fn fill(&self, here: &VarPlacement, units: Range<u64>) -> Result<()> {
        match here.pattern.as_ref() {
            // Adjacent records without gaps.
            Some(pattern) if !here.slot.record || here.own == self.layout.recsize => fill::write(
                &self.store,
                pattern,
                self.offset(here, units.start),
                here.own * (units.end - units.start),
            ),
            Some(pattern) => units
                .into_iter()
                .try_for_each(|unit| fill::write(&self.store, pattern, self.offset(here, unit), here.own)),
            None => self.reach(here, units),
        }
    }

    /// Fills the padding after records that are about to be written.
    fn pad(&self, here: &VarPlacement, units: Range<u64>) -> Result<()> {
        let bytes = here.slot.bytes;
        match here.pattern.as_ref() {
            _ if here.own <= bytes => Ok(()),
            Some(pattern) => units.into_iter().try_for_each(|unit| {
                fill::write(&self.store, pattern, self.offset(here, unit) + bytes, here.own - bytes)
            }),
            None => self.reach(here, units),
        }
    }

    /// Extends the file to the end of these records. The lock protects their last byte.
    fn reach(&self, here: &VarPlacement, units: Range<u64>) -> Result<()> {
        match units.end.checked_sub(1).filter(|last| units.contains(last) && here.own > 0) {
            Some(last) => self.store.write_at(self.offset(here, last) + here.own - 1, &[0]),
            None => Ok(()),
        }
    }

    /// Returns the offset of a record of a variable. The caller checked the size of the file.
    pub(crate) fn offset(&self, here: &VarPlacement, unit: u64) -> u64 {
        here.slot.begin + if here.slot.record { unit * self.layout.recsize } else { 0 }
    }
}

/// Whether a slab covers the variable, or each of its records.
fn covers(slab: &CheckedSlab<'_>, shape: &[u64], outer: usize) -> bool {
    let whole = |dim: usize| slab.start[dim] == 0 && slab.count[dim] == shape[dim];
    slab.is_dense() && (outer..slab.rank()).all(whole)
}
