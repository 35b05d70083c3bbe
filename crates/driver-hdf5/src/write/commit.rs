//! Writing metadata: all of them anew, where nothing is, and the superblock last.
//!
//! Data come before the metadata that lead to them. What only the metadata before led to is free from then on.

use std::sync::Arc;

use nczarr_dispatch::Durability;
use nczarr_dispatch::place::{self, Unfinished};
use nczarr_model::{Error, Lengths, Model, Result, VarId};

use super::dataset::NewFile;
use super::file::Stretch;
use super::netcdf::{Metadata, Place};
use super::superblock;

/// What is known to be stored.
#[derive(Debug, Default)]
pub(super) struct Committed {
    /// What the stored metadata were made of: the model's edition, the lengths of dimensions, the changes of data.
    made_of: Option<(u64, Vec<u64>, u64)>,
    /// The lengths that metadata may tell: the data below them are stored.
    counted: Lengths,
    /// Where they are.
    metadata: Option<Stretch>,
    /// Where the root group is, and where the superblock says that the file ends.
    told: Option<(u64, u64)>,
    /// How long a file was that was there before.
    opened: Option<u64>,
    /// The file of a new dataset.
    unfinished: Option<Unfinished>,
}

impl Committed {
    pub(super) fn new(unfinished: Option<Unfinished>) -> Self {
        Self { unfinished, ..Self::default() }
    }

    /// That of a file that was opened.
    pub(super) fn of_opened(edition: u64, model: &Model, changes: u64, len: u64) -> Self {
        let counted = Lengths::of(model);
        Self { made_of: Some((edition, lens(model, &counted), changes)), counted, opened: Some(len), ..Self::default() }
    }

    /// Whether nothing was ever written.
    pub(super) fn is_new(&self) -> bool {
        self.metadata.is_none() && self.opened.is_none()
    }

    /// Removes the unfinished file.
    pub(super) fn discard(&mut self) -> Result<()> {
        self.unfinished.take().map_or(Ok(()), Unfinished::discard)
    }
}

/// The lengths to be stored.
fn lens(model: &Model, counted: &Lengths) -> Vec<u64> {
    model.dims().map(|(id, dim)| if dim.unlimited { counted.get(id) } else { dim.len() }).collect()
}

impl NewFile {
    fn is_durable(&self) -> bool {
        self.shared.options.durability == Durability::Fsync
    }

    /// Stores the data that are kept in memory, after which metadata may count them; the first error, after all were
    /// tried.
    pub(super) fn flush(&self) -> Result<()> {
        // Taken before the data are: others may append meanwhile.
        let reached = self.model.with(Lengths::of);
        let all: Vec<_> = self.read_vars().iter().map(|slot| slot.data.clone()).collect();
        let model = self.model.snapshot();
        let (mut outcome, mut failed) = (Ok(()), Vec::new());
        for (at, data) in all.into_iter().enumerate() {
            if let Some(Err(error)) = data.map(|data| data.flush()) {
                failed.extend(model.var(VarId(at as u32)));
                outcome = outcome.and(Err(error));
            }
        }
        self.lock_committed().counted.raise(&reached, &failed);
        outcome
    }

    /// Writes the metadata, if they are not those that are stored. `last`: nothing will follow.
    ///
    /// # Errors
    /// What the model has and HDF5 has not; what the system says. The file is as it was then.
    pub(super) fn write_metadata(&self, committed: &mut Committed, last: bool) -> Result<()> {
        let file = &self.shared.file;
        let (edition, model) = {
            // What was admitted before is in it.
            let _vars = self.read_vars();
            (self.model.edition(), self.model.snapshot())
        };
        let mut variables = Vec::with_capacity(model.vars().len());
        for (id, _) in model.vars() {
            variables.push((id, self.variable(id)?));
        }
        // Long work first, while others go on.
        for (id, data) in &variables {
            data.settle(&model, *id)?;
        }
        let mut places: Vec<Place> = Vec::with_capacity(variables.len());
        let looking = file.look();
        let made_of = (edition, lens(&model, &committed.counted), file.changes());
        if committed.made_of.as_ref() != Some(&made_of) {
            for (id, data) in &variables {
                let shape: Vec<u64> = model.var(*id)?.dims.iter().map(|dim| made_of.1[dim.index()]).collect();
                places.push(
                    data.place(&model, *id, &shape)
                        .map_err(|error| error.at(model.var(*id).map_or("", |var| &var.name)))?,
                );
            }
            let later = file.take_later();
            drop(looking);
            let written = self.write_places(&model, &made_of.1, &places, committed);
            file.settle(later, written.is_ok());
            written?;
            committed.made_of = Some(made_of);
        }
        if last {
            self.cut(committed)?;
        }
        if let Some(unfinished) = &mut committed.unfinished {
            // Without its place the file cannot be found, so the next call tries again.
            let kept = unfinished.keep()?;
            committed.unfinished = None;
            if self.is_durable() {
                place::sync_directory(&kept)?;
            }
        }
        Ok(())
    }

    /// Cuts off what is free at the end.
    fn cut(&self, committed: &mut Committed) -> Result<()> {
        let file = &self.shared.file;
        match (committed.told, committed.opened) {
            (Some((root, told)), _) => {
                let end = file.end();
                if end < told {
                    file.write_at(0, &superblock::write(root, end))?;
                    // It may not say that there is more than there is.
                    if self.is_durable() {
                        file.persist()?;
                    }
                    committed.told = Some((root, end));
                }
                file.set_len(end, true)
            }
            // Nothing was written but what nothing leads to.
            (None, Some(len)) => file.set_len(len, true),
            (None, None) => Ok(()),
        }
    }

    fn write_places(
        &self,
        model: &Arc<Model>,
        lens: &[u64],
        places: &[Place],
        committed: &mut Committed,
    ) -> Result<()> {
        let file = &self.shared.file;
        self.shared.heap.flush()?;
        let metadata = Metadata {
            model,
            lens,
            places,
            properties: self.info.properties.as_deref().unwrap_or_default(),
            classic_model: self.classic_model,
        };
        let mut allocated: Result<Stretch> = Ok((0, 0));
        let built = metadata.build(|len| {
            allocated = file.allocate(len).map(|address| (address, len));
            allocated.as_ref().map_or(0, |&(address, _)| address)
        });
        let new = allocated?;
        let mut in_force = false;
        let mut write = |built: Result<(Vec<u8>, u64, u64)>| {
            let (bytes, base, root) = built?;
            file.write_at(base, &bytes)?;
            let end = file.end();
            file.set_len(end, false)?;
            if self.is_durable() {
                file.persist()?;
            }
            in_force = true;
            file.write_at(0, &superblock::write(root, end))?;
            if self.is_durable() {
                file.persist()?;
            }
            Ok::<_, Error>((root, end))
        };
        match write(built) {
            Ok(told) => committed.told = Some(told),
            Err(error) => {
                if new.1 > 0 {
                    // Which superblock the disk has is not known once one was written: both lead to something.
                    file.free(new.0, new.1, if in_force { 0 } else { file.epoch() });
                }
                return Err(error);
            }
        }
        if let Some((address, len)) = committed.metadata.replace(new) {
            file.free(address, len, file.epoch());
        }
        Ok(())
    }
}
