//! Flavours, which give the documents of a store their meaning: NCZarr's keys, xarray's dimension names, or
//! plain Zarr.
//!
//! A flavour turns a [`RawTree`](crate::open::tree::RawTree) into a [`Model`] and the states beside it. It
//! does no I/O. Read [`DatasetBuilder`] first. `nczarr_lists` has NCZarr's own keys, `annotation` the facts
//! that plain Zarr keeps in an attribute.

pub(crate) mod annotation;
pub(crate) mod nczarr_lists;

mod nczarr;
mod plain;

use std::sync::Arc;

use nczarr_dispatch::Fault;
use nczarr_model::{Error, GroupId, Model, NcType, Result, Var, VarFill, VarId};
use nczarr_storage::Key;

use crate::dataset::node_states::VarState;
use crate::metadata::attributes::NC_PROPERTIES;
use crate::metadata::json::{Object, ObjectMembers, Value};
use crate::metadata::types::foreign;
use crate::metadata::v2::var::{DimRefs, ReadContext, StoredVariable, set_problem, shown_attributes};
use crate::open::tree::{RawGroup, RawTree, slashed};

/// Gives a tree its meaning.
///
/// # Errors
/// `NC_ENCZARR` with the key and member, for invalid lists or dimensions of an NCZarr group; `NC_ENAMEINUSE` if
/// two nodes of a plain store have one name.
pub(crate) fn link(tree: RawTree, reading: &ReadContext<'_>) -> Result<DatasetBuilder> {
    match reading.naming {
        DimNaming::References => nczarr::load(tree, reading),
        DimNaming::Attribute | DimNaming::None => plain::load(tree, reading),
    }
}

/// The rules that a dataset follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// NCZarr: shared dimensions, recorded types, lists.
    NcZarr,
    /// Plain Zarr, with or without dimension names.
    Zarr,
}

/// The place of the names of an array's dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DimNaming {
    /// NCZarr's dimension references.
    References,
    /// xarray's attribute.
    Attribute,
    /// No names.
    None,
}

/// Returns the dimension references of an array with `rank` dimensions.
pub(crate) fn dim_refs(
    naming: DimNaming,
    attrs: &ObjectMembers<'_>,
    zarray: &Value<'_>,
    rank: usize,
) -> DimRefs {
    match naming {
        DimNaming::References => DimRefs::References(
            nczarr_lists::references(attrs, zarray.as_object()).map(|found| found.map(Box::new)),
        ),
        DimNaming::Attribute => plain::names(attrs, rank).map_or(DimRefs::None, DimRefs::Names),
        DimNaming::None => DimRefs::None,
    }
}

/// A loaded group.
#[derive(Debug, Clone)]
pub(crate) struct LoadedGroup {
    pub(crate) key: Key,
    pub(crate) zgroup: Option<Object>,
    pub(crate) attrs: Object,
    /// Its documents could not be read and so must not be replaced.
    pub(crate) unreadable: bool,
}

/// The model of a store under construction, and the states beside it, by id.
#[derive(Debug, Default)]
pub(crate) struct DatasetBuilder {
    pub(crate) model: Model,
    pub(crate) vars: Vec<VarState>,
    pub(crate) groups: Vec<LoadedGroup>,
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
    keep: bool,
    /// Variables whose types are defined after all names are known.
    untyped_vars: Vec<VarId>,
}

impl DatasetBuilder {
    /// Adds a group; the first one becomes the root.
    fn add_group(&mut self, raw: &mut RawGroup, parent: Option<GroupId>) -> Result<GroupId> {
        let id = match parent {
            None => GroupId::ROOT,
            Some(parent) => self.model.add_group(parent, &raw.name).map_err(|error| error.at(&raw.key))?,
        };
        self.model.group_mut(id)?.atts = shown_attributes(&raw.attrs, None, 0);
        self.groups.push(LoadedGroup {
            key: raw.key.clone(),
            zgroup: raw.zgroup.take(),
            attrs: std::mem::take(&mut raw.attrs),
            unreadable: raw.damage.is_some(),
        });
        if let Some(broken) = raw.damage.take() {
            self.mark_damaged(id, broken.why);
        }
        Ok(id)
    }

    /// Marks a group as unreadable, so that its documents are not replaced.
    fn mark_damaged(&mut self, id: GroupId, why: Error) {
        if let Some(group) = self.groups.get_mut(id.index()) {
            group.unreadable = true;
            self.faults.push(Fault::damaged(slashed(&group.key), why));
        }
    }

    /// Adds a variable.
    fn add_var(&mut self, var: Arc<Var>, key: Key, mut stored: Arc<StoredVariable>) -> Result<VarId> {
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
    fn define_types(&mut self) {
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

/// A complete loaded dataset. Several datasets may share its model.
#[derive(Debug)]
pub(crate) struct LoadedDataset {
    pub(crate) model: Arc<Model>,
    pub(crate) vars: Vec<VarState>,
    pub(crate) groups: Vec<LoadedGroup>,
    pub(crate) notes: Vec<String>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) empty_folders: Vec<Key>,
    pub(crate) root_array: bool,
    pub(crate) xarray_dims: bool,
    pub(crate) annotated: bool,
    pub(crate) stale_dims: bool,
}

impl From<DatasetBuilder> for LoadedDataset {
    fn from(loaded: DatasetBuilder) -> Self {
        let DatasetBuilder {
            model,
            vars,
            groups,
            notes,
            faults,
            empty_folders: hollow,
            root_array,
            xarray_dims: named_dims,
            annotated,
            stale_dims: stale,
            ..
        } = loaded;
        Self {
            model: Arc::new(model),
            vars,
            groups,
            notes,
            faults,
            empty_folders: hollow,
            root_array,
            xarray_dims: named_dims,
            annotated,
            stale_dims: stale,
        }
    }
}

/// Returns the names of a variable's dimensions.
pub(crate) fn dim_names(model: &Model, var: &Var) -> Result<Vec<String>> {
    var.dims.iter().map(|&dim| Ok(model.dim(dim)?.name.clone())).collect()
}

/// Returns the text of `_NCProperties`.
pub(crate) fn properties<'a>(attrs: &'a ObjectMembers<'_>) -> Option<&'a str> {
    attrs.get(NC_PROPERTIES).and_then(Value::as_str)
}
