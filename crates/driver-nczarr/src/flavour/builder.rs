//! [`DatasetBuilder`]: the model of a store under construction.

use std::sync::Arc;

use nczarr_dispatch::Fault;
use nczarr_model::{Error, GroupId, Model, NcType, Result, Var, VarFill, VarId};
use nczarr_storage::Key;

use crate::dataset::node_states::{GroupState, VarState};
use crate::metadata::paths::slashed;
use crate::metadata::types::foreign;
use crate::metadata::v2::var::shown_attributes;
use crate::metadata::variable::{StoredVariable, set_problem};
use crate::open::tree::RawGroup;

/// The model of a store under construction, and the states beside it, by id.
#[derive(Debug, Default)]
pub(crate) struct DatasetBuilder {
    pub(crate) model: Model,
    pub(crate) vars: Vec<VarState>,
    pub(crate) groups: Vec<GroupState>,
    pub(crate) notes: Vec<String>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) empty_folders: Vec<Key>,
    /// Whether an array had dimension names in xarray's form.
    pub(crate) xarray_dims: bool,
    /// The store is one array without a group.
    pub(crate) root_array: bool,
    /// Whether a node of a plain store has an annotation; only set if documents are kept.
    pub(crate) annotated: bool,
    /// A group's declared dimensions are outdated, or an array has another name for a dimension than the
    /// model.
    pub(crate) stale_dims: bool,
    /// Whether to record the names of dimensions, because documents may be written back.
    pub(super) keep: bool,
    /// Variables whose types are defined after all names are known.
    pub(super) untyped_vars: Vec<VarId>,
}

impl DatasetBuilder {
    /// Adds a group; the first one becomes the root.
    pub(super) fn add_group(&mut self, raw: &mut RawGroup, parent: Option<GroupId>) -> Result<GroupId> {
        let id = match parent {
            None => GroupId::ROOT,
            Some(parent) => self.model.add_group(parent, &raw.name).map_err(|error| error.at(&raw.key))?,
        };
        self.model.group_mut(id)?.atts = shown_attributes(&raw.attrs, None, 0);
        self.groups.push(GroupState {
            key: raw.key.clone(),
            zgroup: raw.zgroup.take(),
            attrs: std::mem::take(&mut raw.attrs),
            unreadable: raw.damage.is_some(),
            ..GroupState::default()
        });
        if let Some(broken) = raw.damage.take() {
            self.mark_damaged(id, broken.why);
        }
        Ok(id)
    }

    /// Marks a group as unreadable, so that its documents are not replaced.
    pub(super) fn mark_damaged(&mut self, id: GroupId, why: Error) {
        if let Some(group) = self.groups.get_mut(id.index()) {
            group.unreadable = true;
            self.faults.push(Fault::damaged(slashed(&group.key), why));
        }
    }

    /// Adds a variable.
    pub(super) fn add_var(
        &mut self,
        var: Arc<Var>,
        key: Key,
        mut stored: Arc<StoredVariable>,
    ) -> Result<VarId> {
        if self.keep {
            Arc::make_mut(&mut stored).dim_names = Some(dim_names(&self.model, &var)?);
        }
        let id = self.model.add_var(var).map_err(|error| error.at(&key))?;
        let own = |id: VarId| self.model.var(id).is_ok_and(|var| var.xtype == foreign::UNDEFINED);
        if own(id) && (stored.list.is_some() || stored.meta.as_ref().is_some_and(|meta| meta.dtype.is_user()))
        {
            self.untyped_vars.push(id);
        }
        self.vars.push(VarState::loaded(key, stored));
        Ok(id)
    }

    /// Defines the types of variables with types of their own.
    pub(super) fn define_types(&mut self) {
        for id in std::mem::take(&mut self.untyped_vars) {
            let Some(stored) = self.vars.get(id.index()).map(|var| &var.stored) else { continue };
            let Some(meta) = &stored.meta else { continue };
            if let Err(error) = foreign::define(&mut self.model, id, &meta.dtype, stored.list)
                && let Ok(var) = self.model.var_mut(id)
            {
                var.xtype = NcType::Byte;
                var.fill = VarFill::NoFill;
                set_problem(var, error);
            }
        }
    }
}

/// Returns the names of a variable's dimensions.
pub(crate) fn dim_names(model: &Model, var: &Var) -> Result<Vec<String>> {
    var.dims.iter().map(|&dim| Ok(model.dim(dim)?.name.clone())).collect()
}
