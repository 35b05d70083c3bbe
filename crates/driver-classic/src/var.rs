//! [`ClassicVar`]: the data of a variable, which callers keep across redefinitions.

use std::sync::Arc;

use nczarr_chunkio::FlatArray;
use nczarr_dispatch::{Linear, MemMut, MemRef, VarData};
use nczarr_model::{CheckedSlab, Error, ErrorKind, Result, VarId};

use crate::file_state::FileState;
use crate::growth::ClaimedRecords;
use crate::shared::ClassicShared;

/// The data of one variable.
#[derive(Debug)]
pub(crate) struct ClassicVar {
    shared: Arc<ClassicShared>,
    id: VarId,
    /// The state when it was created, and its number.
    first: (u64, Arc<FileState>),
}

impl ClassicVar {
    pub(crate) fn new(shared: Arc<ClassicShared>, id: VarId) -> Self {
        let first = shared.numbered();
        Self { shared, id, first }
    }

    /// Whether it refers to the current state of the file.
    pub(crate) fn is_current(&self) -> bool {
        self.first.0 == self.shared.number()
    }

    /// Calls `work` with the current state of the file.
    fn with_current<T>(&self, work: impl FnOnce(&FileState) -> Result<T>) -> Result<T> {
        if self.is_current() { work(&self.first.1) } else { work(&self.shared.numbered().1) }
    }

    /// Returns the array after making a slab readable.
    fn readable<'c>(&self, current: &'c FileState, slab: &CheckedSlab<'_>) -> Result<&'c FlatArray> {
        let array = current.array(&self.shared.model, self.id)?;
        if self.shared.writable && !slab.is_empty() {
            let here = current.here(self.id)?;
            let units = if here.slot.record { slab.start[0]..slab.end(0) } else { 0..1 };
            if !here.is_ready(units.end) {
                let _writing = self.shared.gate.lock_shared();
                self.check_open()?;
                current.ensure(self.id, units)?;
            }
        }
        Ok(array)
    }

    fn write(&self, current: &FileState, slab: &CheckedSlab<'_>, data: MemRef<'_>) -> Result<()> {
        let array = current.array(&self.shared.model, self.id)?;
        let here = current.here(self.id)?;
        let records = here.slot.record.then(|| slab.end(0));
        if let Some(end) = records {
            self.check_records(current, end)?;
        }
        if slab.is_empty() || here.is_ready(here.units(records.unwrap_or(0))) {
            return array.put(slab, data);
        }
        let model = self.shared.model.snapshot();
        let Some(claimed) = current.claim(self.id, slab, &model.shape(self.id)?)? else {
            return array.put(slab, data);
        };
        let lost = LostOnDrop { current, id: self.id, claimed: &claimed };
        loop {
            let outcome = array.put(slab, data);
            if outcome.as_ref().is_err_and(|error| error.kind() != ErrorKind::Range) {
                return outcome;
            }
            if current.written(self.id, &claimed) {
                std::mem::forget(lost);
                return outcome;
            }
        }
    }

    /// Checks that the format and a file allow this number of records.
    fn check_records(&self, current: &FileState, end: u64) -> Result<()> {
        let most = self.shared.kind.most_records();
        if end > most {
            return Err(self.at_var(
                ErrorKind::InvalCoords
                    .context(format!("too many records for the format (expected at most {most})")),
            ));
        }
        if current.layout.size(end).is_none() {
            let size = current.layout.recsize;
            return Err(self.at_var(
                ErrorKind::VarSize
                    .context(format!("{end} records of {size} bytes exceed the size of a file")),
            ));
        }
        Ok(())
    }

    fn check_open(&self) -> Result<()> {
        self.shared.check_open().map_err(|error| self.at_var(error))
    }

    fn at_var(&self, error: Error) -> Error {
        error.at(self.shared.model.snapshot().var_path(self.id).unwrap_or_default())
    }
}

/// Claimed records that were not written: they are filled before they count, also if an observer panics.
struct LostOnDrop<'a> {
    current: &'a FileState,
    id: VarId,
    claimed: &'a ClaimedRecords,
}

impl Drop for LostOnDrop<'_> {
    fn drop(&mut self) {
        self.current.lost(self.id, self.claimed);
    }
}

impl VarData for ClassicVar {
    fn check_readable(&self, slab: &CheckedSlab<'_>) -> Result<()> {
        // A writable file creates missing data on reads.
        if self.shared.writable {
            Ok(())
        } else {
            self.with_current(|current| current.array(&self.shared.model, self.id)?.check_readable(slab))
        }
    }

    fn get(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        self.with_current(|current| self.readable(current, slab)?.get(slab, out))
    }

    fn get_linear(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>, linear: &Linear) -> Result<()> {
        self.with_current(|current| self.readable(current, slab)?.get_linear(slab, out, linear))
    }

    fn put(&self, slab: &CheckedSlab<'_>, data: MemRef<'_>) -> Result<()> {
        if !self.shared.writable {
            return Err(ErrorKind::Perm.context("the dataset is read-only"));
        }
        // A write after the close fails without waiting for the lock.
        self.check_open()?;
        let _writing = self.shared.gate.lock_shared();
        // Checked again under the lock, which prevents moving and closing.
        self.check_open()?;
        let outcome = self.with_current(|current| self.write(current, slab, data));
        match outcome {
            // A close during this write did not wait for it, and may have counted too few records.
            Ok(()) if self.shared.is_left() => Err(self.at_var(
                ErrorKind::BadId
                    .context("the dataset was closed during the write; the written records may be lost"),
            )),
            outcome => outcome,
        }
    }
}
