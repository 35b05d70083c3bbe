//! [`Admission`]: checks an edit before the model applies it.
//!
//! An edit has two steps. [`Admission::begin_edit`] fetches facts that only the storage has.
//! [`Admission::check`] then checks the edit, and the model applies it, both under the lock of
//! [`NodeStates`]. If another edit or a move came between, the storage is asked again. `edit_check` has the
//! rules.

use nczarr_storage::ZMapExt;
use std::sync::{Arc, RwLockWriteGuard};

use nczarr_codec::ZarrFormat;
use nczarr_model::{Defined, Edit, ErrorKind, GroupId, Model, Result, VarFill, VarId, name};

use crate::dataset::catalog::Catalog;
use crate::dataset::node_id::NodeId;
use crate::dataset::node_states::NodeStates;
use crate::edit::edit_check::{EditCheck, StorageFacts, has_written, node_key};
use crate::metadata::attributes::{FILL_VALUE, MAXSTRLEN};
use crate::metadata::v3::document::ZARR_JSON;
use crate::metadata::v3::source_type::SourceType;
use crate::write::commit::Committer;

/// Decides whether the format and the stored objects allow an edit.
#[derive(Clone, Copy)]
pub(crate) struct Admission<'c> {
    pub(crate) catalog: &'c Catalog,
    pub(crate) committer: &'c Committer,
}

impl Admission<'_> {
    /// Locks the node states for an edit and fetches the storage facts that it depends on.
    ///
    /// While the caller holds the guard, no other thread edits. So [`Admission::check`] and the model's
    /// change are one step for other threads.
    pub(crate) fn begin_edit(
        &self,
        edit: &Edit<'_>,
    ) -> Result<(RwLockWriteGuard<'_, NodeStates>, StorageFacts)> {
        self.check_writable()?;
        loop {
            let (edition, moves, asked) = if self.depends_on_storage(edit) {
                let (edition, moves) = (self.catalog.model.edition(), self.catalog.read_state().move_count);
                (edition, moves, self.query_storage(edit)?)
            } else {
                (0, 0, StorageFacts::default())
            };
            let state = self.catalog.write_state();
            // `close` writes earlier definitions and rejects later ones.
            self.catalog.check_open()?;
            if asked.new_key.is_some() || asked.has_data.is_some() {
                if state.is_moving {
                    drop(state);
                    self.committer.wait_for_move();
                    continue;
                }
                if (self.catalog.model.edition(), state.move_count) != (edition, moves) {
                    // Another edit or a move came between, so the facts may be about the wrong key.
                    continue;
                }
            }
            return Ok((state, asked));
        }
    }

    /// Checks whether the dataset is open for writing.
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.catalog.check_open()?;
        if self.catalog.writable { Ok(()) } else { Err(ErrorKind::Perm.context("the dataset is read-only")) }
    }

    /// Checks whether this format can hold `edit`, which is about to be applied to `model`.
    pub(crate) fn check(
        &self,
        edit: &Edit<'_>,
        model: &Model,
        state: &mut NodeStates,
        asked: &StorageFacts,
    ) -> Result<()> {
        state.extend(model)?;
        EditCheck { catalog: self.catalog, model, state, storage: asked, source_type: None }.check(edit)
    }

    /// Defines a variable whose elements are stored in the given type.
    pub(crate) fn define_with_source_type(&self, edit: &Edit<'_>, given: SourceType) -> Result<VarId> {
        let (mut state, asked) = self.begin_edit(edit)?;
        let check = |model: &Model| {
            state.extend(model)?;
            EditCheck {
                catalog: self.catalog,
                model,
                state: &mut state,
                storage: &asked,
                source_type: Some(&given),
            }
            .check(edit)
        };
        let registry = &self.catalog.registry;
        let define = |model: &mut Model, ()| {
            let made = model.apply(edit)?;
            let Defined::Var(id) = made else {
                return Err(ErrorKind::Internal.context(format!("{made:?} in place of a variable")));
            };
            let var = model.var_mut(id)?;
            var.stored_type = given.foreign_name(registry);
            if let (VarFill::Default, Some(value)) = (&var.fill, given.default_fill(registry)) {
                var.fill = VarFill::Value(value);
            }
            Ok(id)
        };
        let id = self.catalog.model.define_if(check, define)?;
        state.extend(&self.catalog.model.snapshot())?;
        if let Some(here) = state.vars.get_mut(id.index()) {
            Arc::make_mut(&mut here.stored).source_type = Some(given);
        }
        Ok(id)
    }

    /// Whether the edit may depend on facts that only the storage has. Most edits do not.
    fn depends_on_storage(&self, edit: &Edit<'_>) -> bool {
        match *edit {
            Edit::DefVar { .. } | Edit::DefGroup { .. } => !self.catalog.created,
            Edit::PutAtt { var: None, .. } => false,
            // Other Unicode forms of a name are compared in `query_storage`.
            Edit::PutAtt { name, .. } => {
                name.starts_with('_') && [FILL_VALUE, MAXSTRLEN].contains(&name) || !name.is_ascii()
            }
            _ => true,
        }
    }

    /// Fetches from the storage the facts that the edit depends on.
    fn query_storage(&self, edit: &Edit<'_>) -> Result<StorageFacts> {
        let place = |parent: GroupId, name: &str, child: Option<NodeId>| {
            // Other processes may have stored the same node meanwhile.
            if self.catalog.created || self.catalog.options.collective {
                return Ok(StorageFacts::default());
            }
            // An opened dataset may contain objects that no list names.
            let model = self.catalog.model.snapshot();
            let mut state = self.catalog.write_state();
            state.extend(&model)?;
            let key = node_key(self.catalog, &model, &state, parent, child, name, &[]);
            drop(state);
            // The check reports an illegal name.
            let Ok(Some(key)) = key else { return Ok(StorageFacts::default()) };
            let taken = self.catalog.map.exists(&key)? || !self.catalog.map.children(&key)?.is_empty();
            Ok(StorageFacts { new_key: Some((key, taken)), has_data: None })
        };
        let data = |id: VarId| Ok(StorageFacts { has_data: self.has_stored_data(id)?, new_key: None });
        let layout = |var: Option<VarId>, names: &[&str]| match var {
            Some(id) if names.iter().any(|name| [FILL_VALUE, MAXSTRLEN].contains(&&*name::nfc(name))) => {
                data(id)
            }
            _ => Ok(StorageFacts::default()),
        };
        match *edit {
            Edit::DefVar { group, name, .. } => place(group, name, None),
            Edit::DefGroup { parent, name } => place(parent, name, None),
            Edit::RenameVar { var, name } => {
                let group = self.catalog.model.snapshot().var(var)?.group;
                place(group, name, Some(NodeId::Var(var)))
            }
            Edit::RenameGroup { group, name } => match self.catalog.model.snapshot().group(group)?.parent {
                Some(parent) => place(parent, name, Some(NodeId::Group(group))),
                None => Ok(StorageFacts::default()),
            },
            Edit::PutAtt { var, name, .. } | Edit::DelAtt { var, name, .. } => layout(var, &[name]),
            Edit::RenameAtt { var, name, to, .. } => layout(var, &[name, to]),
            Edit::DefVarFill { var, .. }
            | Edit::DefVarUnwritten { var, .. }
            | Edit::DefVarChunking { var, .. }
            | Edit::DefVarShards { var, .. }
            | Edit::DefVarEndian { var, .. }
            | Edit::DefVarQuantize { var, .. }
            | Edit::DefVarFilter { var, .. }
            | Edit::DefVarFilters { var, .. } => data(var),
            _ => Ok(StorageFacts::default()),
        }
    }

    /// Whether the storage has data of a variable. `None` if it cannot have any, or if the answer is known
    /// without asking.
    fn has_stored_data(&self, id: VarId) -> Result<Option<bool>> {
        let state = self.catalog.read_state();
        let Some(var) = state.vars.get(id.index()) else { return Ok(None) };
        if !var.on_disk || has_written(var) {
            return Ok(None);
        }
        let key = var.key.clone();
        drop(state);
        let is_data = |name: &String| {
            !name.starts_with('.') && (self.catalog.format == ZarrFormat::V2 || name != ZARR_JSON)
        };
        Ok(Some(self.catalog.map.children(&key)?.iter().any(is_data)))
    }
}
