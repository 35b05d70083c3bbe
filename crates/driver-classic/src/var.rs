//! [`ClassicVar`]: a variable's data as callers keep it, also across redefinitions.

use std::sync::Arc;

use nczarr_chunkio::FlatArray;
use nczarr_dispatch::{Linear, MemMut, MemRef, VarData};
use nczarr_model::{Error, ErrorKind, FillMode, Model, Result, Slab, VarId};

use crate::current::Current;
use crate::dataset::Shared;
use crate::growth::Claimed;

/// The data of one variable.
#[derive(Debug)]
pub(crate) struct ClassicVar {
    shared: Arc<Shared>,
    id: VarId,
    /// What was current when it was asked for, and its number.
    first: (u64, Arc<Current>),
}

impl ClassicVar {
    pub(crate) fn new(shared: Arc<Shared>, id: VarId) -> Self {
        let first = shared.numbered();
        Self { shared, id, first }
    }

    /// Whether it still speaks of the file as it is.
    pub(crate) fn is_current(&self) -> bool {
        self.first.0 == self.shared.number()
    }

    /// Lets `work` use the file as it is now.
    fn with_current<T>(&self, work: impl FnOnce(&Current) -> Result<T>) -> Result<T> {
        match self.is_current() {
            true => work(&self.first.1),
            false => work(&self.shared.numbered().1),
        }
    }

    /// The array, when everything of a slab is there to be read.
    fn readable<'c>(&self, current: &'c Current, slab: &Slab<'_>) -> Result<&'c FlatArray> {
        let array = current.array(&self.shared.model, self.id)?;
        if self.shared.writable && !slab.is_empty() {
            let here = current.here(self.id)?;
            let units = if here.slot.record { slab.start[0]..slab.end(0).unwrap_or(u64::MAX) } else { 0..1 };
            if !here.is_ready(units.end) {
                let _writing = self.shared.gate.lock_shared();
                self.check_open()?;
                current.ensure(self.id, units, is_filling(&self.shared.model.snapshot()))?;
            }
        }
        Ok(array)
    }

    fn write(&self, current: &Current, slab: &Slab<'_>, data: MemRef<'_>) -> Result<()> {
        let array = current.array(&self.shared.model, self.id)?;
        let here = current.here(self.id)?;
        let records = here.slot.record.then(|| slab.end(0));
        if let Some(end) = records {
            self.check_records(current, end)?;
        }
        if slab.is_empty() || here.is_ready(here.units(records.flatten().unwrap_or(0))) {
            return array.put(slab, data);
        }
        let model = self.shared.model.snapshot();
        let filling = is_filling(&model);
        let Some(claimed) = current.claim(self.id, slab, &model.shape(self.id)?, filling)? else {
            return array.put(slab, data);
        };
        let lost = Lost { current, id: self.id, claimed: &claimed };
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

    /// Whether the format and a file can have so many records.
    fn check_records(&self, current: &Current, end: Option<u64>) -> Result<()> {
        let most = self.shared.kind.most_records();
        match end.filter(|&end| end <= most) {
            Some(end) if current.layout.size(end).is_some() => Ok(()),
            Some(end) => {
                let size = current.layout.recsize;
                Err(self
                    .named(ErrorKind::VarSize.context(format!("{end} records of {size} bytes: no file is so long"))))
            }
            None => Err(self.named(ErrorKind::InvalCoords.context(format!("the format has at most {most} records")))),
        }
    }

    fn check_open(&self) -> Result<()> {
        self.shared.check_open().map_err(|error| self.named(error))
    }

    fn named(&self, error: Error) -> Error {
        error.at(self.shared.model.snapshot().var_path(self.id).unwrap_or_default())
    }
}

/// Records that were claimed and not written: they are filled before they count. Also where an observer panics.
struct Lost<'a> {
    current: &'a Current,
    id: VarId,
    claimed: &'a Claimed,
}

impl Drop for Lost<'_> {
    fn drop(&mut self) {
        self.current.lost(self.id, self.claimed);
    }
}

/// Whether what is not written is filled.
pub(crate) fn is_filling(model: &Model) -> bool {
    model.fill_mode == FillMode::Fill
}

impl VarData for ClassicVar {
    fn check_readable(&self, slab: &Slab<'_>) -> Result<()> {
        // Who writes makes what is missing when it is read.
        match self.shared.writable {
            true => Ok(()),
            false => self.with_current(|current| current.array(&self.shared.model, self.id)?.check_readable(slab)),
        }
    }

    fn get(&self, slab: &Slab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        self.with_current(|current| self.readable(current, slab)?.get(slab, out))
    }

    fn get_linear(&self, slab: &Slab<'_>, out: MemMut<'_, '_>, linear: &Linear) -> Result<()> {
        self.with_current(|current| self.readable(current, slab)?.get_linear(slab, out, linear))
    }

    fn put(&self, slab: &Slab<'_>, data: MemRef<'_>) -> Result<()> {
        if !self.shared.writable {
            return Err(ErrorKind::Perm.context("the dataset is read-only"));
        }
        // Who comes too late has nothing to wait for.
        self.check_open()?;
        let _writing = self.shared.gate.lock_shared();
        // Asked for inside as well: as long as somebody writes nothing is moved, and nothing closed.
        self.check_open()?;
        let outcome = self.with_current(|current| self.write(current, slab, data));
        match outcome {
            // Who closed it from within this write could not wait for it, and may have counted too few records.
            Ok(()) if self.shared.is_left() => Err(self.named(
                ErrorKind::BadId
                    .context("the dataset was closed in the middle of the write; what was written may not count"),
            )),
            outcome => outcome,
        }
    }
}
