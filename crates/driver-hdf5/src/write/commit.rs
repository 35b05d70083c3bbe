//! Writes metadata: all anew into free space, and the superblock last.
//!
//! Data are written before the metadata that lead to them. Space that only the earlier metadata used becomes
//! free afterwards.

use std::sync::Arc;

use nczarr_dispatch::Durability;
use nczarr_dispatch::single_file;
use nczarr_model::{DimLengths, Error, Model, Result, VarId};

use super::att_order::AttOrders;
use super::committed::{CommittedFile, lens};
use super::dataset::WritableDataset;
use super::file::FileRange;
use super::netcdf::{DataPlacement, FileMetadata};
use super::superblock;

impl WritableDataset {
    fn is_durable(&self) -> bool {
        self.shared.options.durability == Durability::Fsync
    }

    /// Stores cached data, so that metadata may count them. Tries all variables, and returns the first error.
    pub(super) fn flush(&self) -> Result<()> {
        // Take the lengths before the data, because other threads may append meanwhile.
        let reached = self.model.with(DimLengths::of);
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

    /// Writes the metadata unless they are unchanged. `last`: the dataset is being closed.
    ///
    /// # Errors
    /// Errors for content that HDF5 cannot hold; I/O errors. The file is then unchanged.
    pub(super) fn write_metadata(&self, committed: &mut CommittedFile, last: bool) -> Result<()> {
        let file = &self.shared.file;
        let (edition, model, orders) = {
            // All admitted edits are part of the model now.
            let _vars = self.read_vars();
            let (edition, model) = (self.model.edition(), self.model.snapshot());
            let mut orders = self.lock_orders();
            orders.settle(&model);
            (edition, model, orders.clone())
        };
        let mut variables = Vec::with_capacity(model.vars().len());
        for (id, _) in model.vars() {
            variables.push((id, self.variable(id)?));
        }
        // Do long work first, while other threads continue.
        for (id, data) in &variables {
            data.settle(&model, *id)?;
        }
        let mut places: Vec<DataPlacement> = Vec::with_capacity(variables.len());
        let looking = file.freeze();
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
            let written = self.write_places(&model, &orders, &made_of.1, &places, committed);
            file.settle(later, written.is_ok());
            written?;
            committed.made_of = Some(made_of);
        }
        if last {
            self.cut(committed)?;
        }
        if let Some(unfinished) = &mut committed.unfinished {
            // Without its name the file cannot be found, so the next call tries again.
            let kept = unfinished.persist()?;
            committed.unfinished = None;
            if self.is_durable() {
                single_file::sync_directory(&kept)?;
            }
        }
        Ok(())
    }

    /// Truncates free space at the end of the file.
    fn cut(&self, committed: &mut CommittedFile) -> Result<()> {
        let file = &self.shared.file;
        match (committed.superblock_state, committed.opened) {
            (Some((root, told)), _) => {
                let end = file.end();
                if end < told {
                    file.write_at(0, &superblock::write(root, end))?;
                    // The file must never be shorter than the superblock states.
                    if self.is_durable() {
                        file.persist()?;
                    }
                    committed.superblock_state = Some((root, end));
                }
                file.set_len(end, true)
            }
            // Only unreferenced bytes were written.
            (None, Some(len)) => file.set_len(len, true),
            (None, None) => Ok(()),
        }
    }

    fn write_places(
        &self,
        model: &Arc<Model>,
        orders: &AttOrders,
        lens: &[u64],
        places: &[DataPlacement],
        committed: &mut CommittedFile,
    ) -> Result<()> {
        let file = &self.shared.file;
        self.shared.heap.flush()?;
        let metadata = FileMetadata {
            model,
            orders,
            texts: &self.shared.texts,
            lens,
            places,
            properties: self.info.properties.as_deref().unwrap_or_default(),
            classic_model: self.classic_model,
            without_unwritten_records: self.shared.options.netcdf_c_rules,
        };
        let mut allocated: Result<FileRange> = Ok((0, 0));
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
            Ok(told) => committed.superblock_state = Some(told),
            Err(error) => {
                if new.1 > 0 {
                    // The disk may have either superblock now, so the space of both must stay.
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
