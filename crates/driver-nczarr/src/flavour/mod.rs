//! What the documents of a store mean: NCZarr's keys, xarray's dimension names, or plain Zarr.
//!
//! A flavour turns a [`RawTree`](crate::tree::RawTree) into a [`Model`] and what is remembered beside it. It does no
//! I/O. Start with [`Loaded`].

mod nczarr;
mod pure;

use std::sync::Arc;

use nczarr_dispatch::{Fault, Key};
use nczarr_model::{Error, GroupId, Model, NcType, Var, VarFill, VarId};

use crate::attrs::NC_PROPERTIES;
use crate::dataset::VarState;
use crate::json::{Members, Object, Value};
use crate::lists;
use crate::tree::{RawGroup, slashed};
use crate::types;
use crate::var::{Links, Stored, note, present};

pub(crate) use nczarr::load as nczarr;
pub(crate) use pure::load as pure;

/// Which rules a dataset follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// NCZarr: shared dimensions, recorded types, lists.
    NcZarr,
    /// Plain Zarr, with or without dimension names.
    Zarr,
}

/// Where the names of an array's dimensions are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Naming {
    /// In NCZarr's references.
    References,
    /// In the attribute that xarray has them in.
    Attribute,
    /// Nowhere.
    None,
}

/// What an array of `rank` dimensions says of them.
pub(crate) fn links(naming: Naming, attrs: &Members<'_>, zarray: &Value<'_>, rank: usize) -> Links {
    match naming {
        Naming::References => {
            Links::References(lists::references(attrs, zarray.as_object()).map(|found| found.map(Box::new)))
        }
        Naming::Attribute => pure::names(attrs, rank).map_or(Links::None, Links::Names),
        Naming::None => Links::None,
    }
}

/// A group as it was loaded.
#[derive(Debug, Clone)]
pub(crate) struct LoadedGroup {
    pub(crate) key: Key,
    pub(crate) zgroup: Option<Object>,
    pub(crate) attrs: Object,
    /// Its documents could not be read and so must not be replaced.
    pub(crate) lost: bool,
}

/// The model of a store, and what is remembered beside it, by id.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) model: Model,
    pub(crate) vars: Vec<VarState>,
    pub(crate) groups: Vec<LoadedGroup>,
    pub(crate) notes: Vec<String>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) hollow: Vec<Key>,
    /// Whether dimension names of xarray's kind were found.
    pub(crate) named_dims: bool,
    /// Whether some node of a plain store says what Zarr has no word for; only known where documents are kept.
    pub(crate) annotated: bool,
    /// What groups say of their dimensions is no longer so, or an array has another name for one than the model.
    pub(crate) stale: bool,
    /// Remember the names of dimensions: documents may have to be written back.
    keep: bool,
    /// The variables whose types are to be defined once all names are taken.
    typed: Vec<VarId>,
}

impl Loaded {
    /// Adds a group; the first one becomes the root.
    fn group(&mut self, raw: &mut RawGroup, parent: Option<GroupId>) -> nczarr_model::Result<GroupId> {
        let id = match parent {
            None => GroupId::ROOT,
            Some(parent) => self.model.add_group(parent, &raw.name).map_err(|error| error.at(&raw.key))?,
        };
        self.model.group_mut(id)?.atts = present(&raw.attrs, None, 0);
        self.groups.push(LoadedGroup {
            key: raw.key.clone(),
            zgroup: raw.zgroup.take(),
            attrs: std::mem::take(&mut raw.attrs),
            lost: raw.broken.is_some(),
        });
        if let Some(broken) = raw.broken.take() {
            self.break_group(id, broken.why);
        }
        Ok(id)
    }

    /// Notes that a group cannot be read as a whole. Its documents are not replaced.
    fn break_group(&mut self, id: GroupId, why: Error) {
        if let Some(group) = self.groups.get_mut(id.index()) {
            group.lost = true;
            self.faults.push(Fault::damaged(slashed(&group.key), why));
        }
    }

    /// Adds a variable.
    fn var(&mut self, var: Arc<Var>, key: Key, mut stored: Arc<Stored>) -> nczarr_model::Result<VarId> {
        if self.keep {
            Arc::make_mut(&mut stored).dim_names = Some(dim_names(&self.model, &var)?);
        }
        let id = self.model.add_var(var).map_err(|error| error.at(&key))?;
        let own = |id: VarId| self.model.var(id).is_ok_and(|var| var.xtype == types::UNDEFINED);
        if own(id) && (stored.list.is_some() || stored.meta.as_ref().is_some_and(|meta| meta.dtype.is_user())) {
            self.typed.push(id);
        }
        self.vars.push(VarState::loaded(key, stored));
        Ok(id)
    }

    /// Defines the types of variables that have some of their own.
    fn define_types(&mut self) {
        for id in std::mem::take(&mut self.typed) {
            let Some(stored) = self.vars.get(id.index()).map(|var| &var.stored) else { continue };
            let Some(meta) = &stored.meta else { continue };
            if let Err(error) = types::define(&mut self.model, id, &meta.dtype, stored.list)
                && let Ok(var) = self.model.var_mut(id)
            {
                var.xtype = NcType::Byte;
                var.fill = VarFill::NoFill;
                note(var, error);
            }
        }
    }
}

/// What was loaded, once nothing is added any more: datasets may have the model in common.
#[derive(Debug)]
pub(crate) struct Settled {
    pub(crate) model: Arc<Model>,
    pub(crate) vars: Vec<VarState>,
    pub(crate) groups: Vec<LoadedGroup>,
    pub(crate) notes: Vec<String>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) hollow: Vec<Key>,
    pub(crate) named_dims: bool,
    pub(crate) annotated: bool,
    pub(crate) stale: bool,
}

impl From<Loaded> for Settled {
    fn from(loaded: Loaded) -> Self {
        let Loaded { model, vars, groups, notes, faults, hollow, named_dims, annotated, stale, .. } = loaded;
        Self { model: Arc::new(model), vars, groups, notes, faults, hollow, named_dims, annotated, stale }
    }
}

impl Settled {
    /// The same for another dataset, with the model in common.
    pub(crate) fn again(&self) -> Self {
        let vars = self.vars.iter().map(|var| VarState::loaded(var.key.clone(), Arc::clone(&var.stored)));
        Self {
            model: Arc::clone(&self.model),
            vars: vars.collect(),
            groups: self.groups.clone(),
            notes: self.notes.clone(),
            faults: self.faults.clone(),
            hollow: self.hollow.clone(),
            ..*self
        }
    }
}

/// The names of a variable's dimensions.
pub(crate) fn dim_names(model: &Model, var: &Var) -> nczarr_model::Result<Vec<String>> {
    var.dims.iter().map(|&dim| Ok(model.dim(dim)?.name.clone())).collect()
}

/// The text of `_NCProperties`.
pub(crate) fn properties<'a>(attrs: &'a Members<'_>) -> Option<&'a str> {
    attrs.get(NC_PROPERTIES).and_then(Value::as_str)
}
