//! [`ZarrDataset`]: an open NCZarr or Zarr dataset.
//!
//! It has three parts. The [`Catalog`] has all nodes and their documents, the [`Committer`] stores
//! metadata, and an [`Admission`] checks an edit. This file connects them as a [`Dataset`].
//!
//! `node_states` has the states beside the model, by `node_id`. `attributes_json` copies the JSON of
//! attributes.

pub(crate) mod attributes_json;
pub(crate) mod catalog;
pub(crate) mod description;
pub(crate) mod hidden_names;
pub(crate) mod node_id;
pub(crate) mod node_states;
pub(crate) mod preserved_json;

use std::sync::Arc;

use nczarr_chunkio::QuantizedArray;
use nczarr_dispatch::{
    Audit, Dataset, DatasetInfo, Editor, Fault, HeaderPadding, JsonMetadata, Registry, StoredType, VarData,
};
use nczarr_model::{
    Defined, DimId, Edit, Error, ErrorKind, GroupId, Lengths, Model, ModelCell, NcType, Result, Values,
    VarId, name,
};
use nczarr_storage::{Key, ZMapExt};

use crate::audit::Auditor;
use crate::data::guarded_array::GuardedArray;
use crate::data::make_array::make_array;
use crate::edit::admission::Admission;
use crate::edit::parallel_layouts::planner;
use crate::edit::stored_type::{define_as_stored, presented_type, type_as_stored};
use crate::metadata::attributes::FILL_VALUE;
use crate::metadata::paths::slashed;
use crate::write::commit::{Committer, UndoCreate};
use crate::write::committed::CommittedMetadata;

use self::catalog::Catalog;
use self::node_states::{ArrayHandle, VarState};

/// The reason for leaving out a node with an impossible name.
pub(crate) const UNNAMEABLE: &str = "the name has control characters or is not UTF-8, so no node can have it";

/// An open dataset.
#[derive(Debug)]
pub(crate) struct ZarrDataset {
    catalog: Arc<Catalog>,
    committer: Committer,
}

impl ZarrDataset {
    /// Makes a dataset from its catalog and the metadata that are stored.
    pub(crate) fn new(catalog: Catalog, committed: CommittedMetadata, undo: Option<UndoCreate>) -> Self {
        let catalog = Arc::new(catalog);
        let committer = Committer::new(Arc::clone(&catalog), committed, undo);
        Self { catalog, committer }
    }

    pub(crate) fn committer(&self) -> &Committer {
        &self.committer
    }

    fn admission(&self) -> Admission<'_> {
        Admission { catalog: &self.catalog, committer: &self.committer }
    }

    /// Returns the data of a variable; makes the array on the first call.
    fn array(&self, id: VarId) -> Result<ArrayHandle> {
        if let Some(array) = self.catalog.read_state().vars.get(id.index()).and_then(VarState::handle) {
            return Ok(array);
        }
        loop {
            let mut state = self.catalog.write_state();
            // Read under the lock of the states, so that an edit after this point plans the layout again.
            let model = self.catalog.model.snapshot();
            if let Some(problem) = &model.var(id)?.problem {
                return Err(problem.clone());
            }
            state.extend(&model)?;
            if state.is_moving {
                drop(state);
                self.committer.wait_for_move();
                continue;
            }
            if state.is_waiting(id)? {
                drop(state);
                self.committer.move_renamed(&model)?;
                continue;
            }
            let Some(var) = state.vars.get_mut(id.index()) else {
                return Err(crate::edit::edit_check::no_var(id));
            };
            if let Some(array) = var.handle() {
                return Ok(array);
            }
            if var.replan {
                planner(&self.catalog).plan(&model, id, Arc::make_mut(&mut var.stored))?;
                (var.replan, var.planned) = (false, true);
            }
            return make_array(&self.catalog, &model, id, var);
        }
    }

    /// Ends define mode and stores everything.
    fn write_all(&self) -> Result<()> {
        // Data first: metadata must only count stored data.
        let flushed = self.flush();
        self.committer.write_metadata(true)?;
        self.catalog.model.end();
        flushed?;
        self.catalog.map.sync()
    }

    /// Rejects new writers, waits for the current ones, then runs `work` once.
    fn close_once(&self, work: impl FnOnce() -> Result<()>) -> Result<()> {
        // A dataset opened for reading has no writers.
        self.catalog
            .closing
            .close_with(|| if self.catalog.writable { self.arrays() } else { Vec::new() }, work)
    }

    fn arrays(&self) -> Vec<Arc<GuardedArray>> {
        self.catalog.read_state().vars.iter().filter_map(|var| var.array.clone()).collect()
    }

    /// Stores the data of all variables and then raises the lengths that metadata may declare. Tries all;
    /// returns the first error.
    fn flush(&self) -> Result<()> {
        // Read before the data are stored: other threads may append meanwhile.
        let reached = self.catalog.model.with(Lengths::of);
        let arrays: Vec<_> = self.catalog.read_state().vars.iter().map(|var| var.array.clone()).collect();
        self.catalog
            .read_state()
            .vars
            .iter()
            .filter_map(|var| var.rectilinear.as_ref())
            .for_each(|array| array.clear_cache());
        let model = self.catalog.model.snapshot();
        let (mut outcome, mut failed) = (Ok(()), Vec::new());
        for (at, array) in arrays.into_iter().enumerate() {
            if let Some(Err(error)) = array.map(|array| array.sync()) {
                failed.extend(model.var(VarId(at as u32)));
                outcome = outcome.and(Err(error));
            }
        }
        self.committer.lock().stored_lens.raise(&reached, &failed);
        outcome
    }
}

impl Dataset for ZarrDataset {
    fn info(&self) -> DatasetInfo {
        self.catalog.description.info()
    }

    fn model(&self) -> &ModelCell {
        &self.catalog.model
    }

    fn search_faults(&self) -> Result<Vec<Fault>> {
        self.catalog.check_open()?;
        let mut found = Vec::new();
        if self.catalog.root_array {
            return Ok(found);
        }
        let groups: Vec<Key> =
            self.catalog.read_state().groups.iter().map(|group| group.key.clone()).collect();
        for key in groups.iter().chain(&self.catalog.description.empty_folders) {
            // Nodes are folders; other objects with such names do not matter.
            for name in self.catalog.map.invalid_names(key)?.iter().filter_map(|name| name.strip_suffix('/'))
            {
                found.push(Fault::left_out(format_args!("{}/{name}", slashed(key)), UNNAMEABLE));
            }
        }
        // Opening may have reported them, from consolidated metadata.
        found.retain(|fault| !self.catalog.description.faults.iter().any(|known| known.path == fault.path));
        Ok(found)
    }

    fn registry(&self) -> Option<&Arc<Registry>> {
        Some(&self.catalog.registry)
    }

    fn audit(&self) -> Result<Audit> {
        Auditor { catalog: &self.catalog }.audit()
    }

    fn data(&self, id: VarId) -> Result<Arc<dyn VarData>> {
        self.catalog.check_open()?;
        let array = match self.array(id)? {
            ArrayHandle::Chunked(array) => array,
            ArrayHandle::RectilinearArray(array) => return Ok(array),
        };
        if !self.catalog.writable {
            return Ok(array);
        }
        let model = self.catalog.model.snapshot();
        let var = model.var(id)?;
        match var.quantize {
            Some(quantize) => {
                // Without a fill value, netCDF-C leaves the default fill value unrounded.
                let fill = var.fill_value().or_else(|| nczarr_model::fill::default(var.xtype));
                Ok(Arc::new(QuantizedArray::new(array, var.xtype, quantize, fill)))
            }
            None => Ok(array),
        }
    }

    fn editor(&self) -> Result<&dyn Editor> {
        Ok(self)
    }

    fn json_metadata(&self) -> Option<&dyn JsonMetadata> {
        Some(self)
    }

    fn sync(&self) -> Result<()> {
        self.catalog.check_open()?;
        if self.catalog.writable {
            return self.write_all();
        }
        // Makes the chunks and records of other writers visible, also through a caching map.
        self.catalog.map.sync()?;
        self.flush()?;
        self.committer.refresh_lengths()
    }

    fn image(&self) -> Result<Vec<u8>> {
        if self.catalog.writable && !self.catalog.closing.is_closed() {
            self.write_all()?;
        }
        self.catalog.map.image()
    }

    fn close(&self) -> Result<()> {
        self.close_once(|| {
            let written = if self.catalog.writable { self.write_all() } else { Ok(()) };
            let closed = self.catalog.map.close();
            written.and(closed)
        })
    }

    fn abort(&self) -> Result<()> {
        self.close_once(|| {
            let outcome = if !self.catalog.writable {
                Ok(())
            } else if self.committer.is_new() {
                self.committer.delete_all()
            } else {
                self.catalog.model.roll_back();
                self.committer.forget_new().and_then(|()| self.write_all())
            };
            let closed = self.catalog.map.close();
            outcome.and(closed).and_then(|()| self.committer.undo_create())
        })
    }
}

impl Editor for ZarrDataset {
    fn admit(&self, edit: &Edit<'_>) -> Result<()> {
        let admission = self.admission();
        let (mut state, asked) = admission.begin_edit(edit)?;
        self.catalog.model.with(|model| admission.check(edit, model, &mut state, &asked))
    }

    fn apply(&self, edit: &Edit<'_>) -> Result<Defined> {
        let admission = self.admission();
        let (mut state, asked) = admission.begin_edit(edit)?;
        let check = |model: &Model| admission.check(edit, model, &mut state, &asked);
        self.catalog.model.define_if(check, |model, ()| model.apply(edit))
    }

    fn apply_att(&self, group: GroupId, var: Option<VarId>, name: &str, values: &mut Values) -> Result<()> {
        let admission = self.admission();
        let (mut state, asked) = admission.begin_edit(&Edit::PutAtt { group, var, name, values })?;
        let check = |model: &Model| {
            admission.check(&Edit::PutAtt { group, var, name, values }, model, &mut state, &asked)?;
            Ok(values)
        };
        self.catalog.model.define_if(check, |model, values| model.take_att(group, var, name, values))
    }

    fn commit(&self, _padding: HeaderPadding) -> Result<()> {
        self.catalog.check_open()?;
        if self.catalog.writable { self.committer.write_metadata(false) } else { Ok(()) }
    }

    fn reserve(&self, dim: DimId, count: u64) -> Result<u64> {
        self.catalog.check_open()?;
        if !self.catalog.writable {
            return Err(ErrorKind::Perm.context("the dataset is read-only"));
        }
        let len = self.catalog.model.snapshot().dim(dim)?.len();
        let stored = self.committer.lock().stored_lens.get(dim);
        if stored < len {
            // The stored length will count the records that this handle wrote past the end.
            self.flush()?;
        }
        self.committer.reserve(dim, count)
    }
}

impl JsonMetadata for ZarrDataset {
    fn attributes(&self, group: GroupId, var: Option<VarId>) -> Result<Option<Vec<(String, String)>>> {
        self.catalog.check_open()?;
        attributes_json::stored_json(&self.catalog, group, var)
    }

    fn attribute(&self, group: GroupId, var: Option<VarId>, name: &str) -> Result<Option<String>> {
        self.catalog.check_open()?;
        attributes_json::attribute_json(&self.catalog, group, var, &name::nfc(name))
    }

    fn put_attribute(&self, group: GroupId, var: Option<VarId>, name: &str, json: &str) -> Result<bool> {
        self.catalog.check_open()?;
        let name = &*name::nfc(name);
        if name == FILL_VALUE {
            return Err(ErrorKind::Inval
                .context(format!("attribute {name}: it has the type of its variable; set the fill value")));
        }
        let at = |error: Error| error.at(format_args!("attribute {name}"));
        let Some(mut values) = attributes_json::values_of(json, &self.catalog).map_err(at)? else {
            return Ok(false);
        };
        self.apply_att(group, var, name, &mut values)?;
        attributes_json::discard_loaded(&self.catalog, group, var, name);
        attributes_json::preserve_json(&self.catalog, group, var, name, json).map(|()| true)
    }

    fn set_attribute(&self, group: GroupId, var: Option<VarId>, name: &str, json: &str) -> Result<()> {
        self.catalog.check_open()?;
        attributes_json::preserve_json(&self.catalog, group, var, name, json)
    }

    fn stored_type(&self, var: VarId) -> Result<Option<StoredType>> {
        self.catalog.check_open()?;
        type_as_stored(&self.catalog, var)
    }

    fn presented_type(&self, group: GroupId, name: &str, stored: &StoredType) -> Result<Option<NcType>> {
        presented_type(self.admission(), group, name, stored)
    }

    fn def_var(
        &self,
        group: GroupId,
        name: &str,
        xtype: NcType,
        dims: &[DimId],
        stored: &StoredType,
    ) -> Result<Option<VarId>> {
        self.catalog.check_open()?;
        define_as_stored(self.admission(), group, name, xtype, dims, stored)
    }
}
