//! Which edits this format can hold: the rules beside those of the model, checked before anything changes.

use dispatch::Key;
use model::{DimId, Edit, Error, ErrorKind, GroupId, Model, NcType, Result, Values, VarId, name};

use crate::attrs::{self, DEFAULT_MAXSTRLEN, FILL_VALUE, MAXSTRLEN};
use crate::dataset::{State, ZarrDataset};
use crate::dtype::Kind;
use crate::plan::{instance, maxstrlen};

/// A chunk's key is at most this much longer than its variable's.
const CHUNK_NAME: usize = 64;

pub(crate) fn no_var(id: VarId) -> Error {
    ErrorKind::NotVar.context(format!("{id:?}"))
}

/// What an edit of a variable's layout is refused with once there are data.
#[derive(Clone, Copy)]
enum Late {
    Layout,
    Fill,
}

impl ZarrDataset {
    /// Whether this format can hold the edit.
    pub(crate) fn check(&self, edit: &Edit<'_>) -> Result<()> {
        if !self.writable {
            return Err(ErrorKind::Perm.context("the dataset is read-only"));
        }
        let model = self.model.snapshot();
        if self.classic_model {
            classic(&model, edit)?;
        }
        match *edit {
            Edit::DefDim { .. } | Edit::RenameDim { .. } | Edit::SetFill { .. } => Ok(()),
            Edit::DefVar { group, name, xtype, .. } => {
                if !xtype.is_atomic() {
                    return Err(no_user_types());
                }
                self.check_node(&model, group, name)
            }
            Edit::DefGroup { parent, name } => self.check_node(&model, parent, name),
            Edit::RenameVar { var, name } => {
                let group = model.var(var)?.group;
                self.check_rename(&model, group, name)
            }
            Edit::RenameGroup { group, name } => match model.group(group)?.parent {
                Some(parent) => self.check_rename(&model, parent, name),
                None => Ok(()),
            },
            Edit::PutAtt { group, var, name, values } => self.put_att(&model, group, var, &name::nfc(name), values),
            Edit::RenameAtt { group, var, name, to } => {
                let to = name::nfc(to);
                self.check_att_name(group, var, &to)?;
                self.touch_att(&model, var, name)?;
                self.touch_att(&model, var, &to)
            }
            Edit::DelAtt { group, var, name } => {
                self.check_att_place(group, var)?;
                self.touch_att(&model, var, name)
            }
            Edit::DefVarFill { var, value, .. } => {
                if let Some(value) = value {
                    self.check_fill(&model, var, value)?;
                }
                self.relayout(&model, var, Late::Fill)
            }
            Edit::DefVarChunking { var, .. } | Edit::DefVarEndian { var, .. } | Edit::DefVarQuantize { var, .. } => {
                self.relayout(&model, var, Late::Layout)
            }
            Edit::DefVarFilter { var, filter } => {
                instance(filter, &self.registry)?;
                self.relayout(&model, var, Late::Layout)
            }
            Edit::DefCompound { .. }
            | Edit::InsertField { .. }
            | Edit::DefVlen { .. }
            | Edit::DefEnum { .. }
            | Edit::InsertEnum { .. }
            | Edit::DefOpaque { .. } => Err(no_user_types()),
            _ => Err(ErrorKind::Inval.context("NCZarr does not know this edit")),
        }
    }

    /// Whether a variable or group of this name can be made.
    fn check_node(&self, model: &Model, parent: GroupId, name: &str) -> Result<()> {
        if self.root_array {
            return Err(ErrorKind::Perm.context("the store is a single array; it holds nothing else"));
        }
        let name = name::nfc(name);
        let place = model.group(parent)?;
        if place.vars.contains_key(&*name) || place.groups.contains_key(&*name) {
            // The model says what of it.
            return Ok(());
        }
        // Readers of plain Zarr skip hidden names. `zarr.json` is free in a V2 store: as a variable or group it is only
        // ever a prefix of keys, which nobody can take for V3's document of that name, and V2 has no such document.
        if name.starts_with('.') {
            return Err(ErrorKind::BadName.context(format!("{name:?}: not a name Zarr can hold")));
        }
        let mut state = self.write_state();
        state.extend(model)?;
        let place =
            state.groups.get(parent.index()).ok_or_else(|| ErrorKind::BadGrpId.context(format!("{parent:?}")))?;
        let key = place.key.join(&name).map_err(|error| ErrorKind::BadName.context(error.what()))?;
        let limit = self.options.limits.key.saturating_sub(CHUNK_NAME);
        if key.as_str().len() > limit {
            let len = key.as_str().len();
            return Err(ErrorKind::MaxName.context(format!("{key}: a key of {len} bytes; the limit is {limit}")));
        }
        let vacated = is_vacated(&state, model, &key);
        drop(state);
        if self.created || vacated {
            return Ok(());
        }
        // In a dataset that was opened there may be objects that no list names.
        match self.map.exists(&key)? || !self.map.search(&key)?.is_empty() {
            true => Err(ErrorKind::Object.context(format!("{key}: there are objects that are not this dataset's"))),
            false => Ok(()),
        }
    }

    fn check_rename(&self, model: &Model, parent: GroupId, name: &str) -> Result<()> {
        let caps = self.map.caps();
        if !caps.delete {
            return Err(ErrorKind::Perm.context("the storage cannot move objects"));
        }
        self.check_node(model, parent, name)
    }

    /// Whether attributes of this place can be changed.
    fn check_att_place(&self, group: GroupId, var: Option<VarId>) -> Result<()> {
        match var {
            None if self.root_array && group == GroupId::ROOT => {
                Err(ErrorKind::Perm.context("the store is a single array; it has no global attributes"))
            }
            Some(var) if self.read_state().vars.get(var.index()).is_some_and(|var| var.stored.attrs_lost) => {
                Err(ErrorKind::Perm.context("the stored attributes cannot be read, and would be lost"))
            }
            _ => Ok(()),
        }
    }

    fn check_att_name(&self, group: GroupId, var: Option<VarId>, name: &str) -> Result<()> {
        if attrs::is_reserved(name) {
            return Err(ErrorKind::NameInUse.context(format!("attribute {name}: the name is reserved")));
        }
        self.check_att_place(group, var)
    }

    fn put_att(&self, model: &Model, group: GroupId, var: Option<VarId>, name: &str, values: &Values) -> Result<()> {
        self.check_att_name(group, var, name)?;
        attrs::write(values, &self.options.limits).map_err(|error| error.at(name))?;
        let bad_width = name == DEFAULT_MAXSTRLEN && var.is_none() && group == GroupId::ROOT
            || name == MAXSTRLEN && is_string(model, var);
        if bad_width && maxstrlen(values).is_none_or(|width| width as u64 > self.options.limits.chunk) {
            return Err(ErrorKind::Inval.context(format!("attribute {name}: one integer of at least 1 is wanted")));
        }
        match var {
            Some(id) if name == FILL_VALUE => {
                if model.var(id)?.atts.get(name) == Some(values) {
                    return Ok(());
                }
                self.check_fill(model, id, values)?;
                self.relayout(model, id, Late::Fill)
            }
            Some(id) if name == MAXSTRLEN && model.var(id)?.xtype == NcType::String => {
                if maxstrlen(values) == self.stored_width(id) {
                    return Ok(());
                }
                self.relayout(model, id, Late::Layout)
            }
            _ => Ok(()),
        }
    }

    /// An attribute that says something of the layout goes or comes.
    fn touch_att(&self, model: &Model, var: Option<VarId>, name: &str) -> Result<()> {
        match var {
            Some(id) if name == FILL_VALUE => self.relayout(model, id, Late::Fill),
            Some(id) if name == MAXSTRLEN && is_string(model, var) => {
                // With data the width stays what it is, whatever the attribute says.
                if self.has_data(id)? { Ok(()) } else { self.relayout(model, id, Late::Layout) }
            }
            _ => Ok(()),
        }
    }

    /// Whether the fill value can be written down.
    fn check_fill(&self, model: &Model, id: VarId, value: &Values) -> Result<()> {
        let var = model.var(id)?;
        let mut filled = var.clone();
        filled.fill = model::VarFill::Value(value.clone());
        let state = self.read_state();
        let dtype = match state.vars.get(id.index()).and_then(|var| var.stored.meta.as_ref()) {
            Some(meta) => meta.dtype.clone(),
            None => crate::dtype::DType::of(var.xtype, var.endian, 1, true)?,
        };
        drop(state);
        // The model says so when the type differs.
        if value.nc_type() != var.xtype {
            return Ok(());
        }
        self.planning().fill(&filled, &dtype).map(drop)
    }

    fn stored_width(&self, id: VarId) -> Option<usize> {
        match self.read_state().vars.get(id.index())?.stored.meta.as_ref()?.dtype.kind {
            Kind::Text(width) => Some(width),
            _ => None,
        }
    }

    /// Whether there are data of a variable, in storage or on the way there.
    fn has_data(&self, id: VarId) -> Result<bool> {
        let state = self.read_state();
        let Some(var) = state.vars.get(id.index()) else { return Ok(false) };
        if var.array.as_ref().is_some_and(|array| array.array().written()) {
            return Ok(true);
        }
        if !var.on_disk {
            return Ok(false);
        }
        let key = var.key.clone();
        drop(state);
        Ok(self.map.search(&key)?.iter().any(|name| !name.starts_with('.')))
    }

    /// The layout of a variable is about to change: refused once there are data, else it will be decided anew.
    fn relayout(&self, model: &Model, id: VarId, late: Late) -> Result<()> {
        let var = model.var(id)?;
        let name = model.var_path(id)?;
        if let Some(problem) = &var.problem {
            return Err(problem.clone().at(name));
        }
        let kind = match late {
            Late::Layout => ErrorKind::LateDef,
            Late::Fill => ErrorKind::LateFill,
        };
        if self.has_data(id)? {
            return Err(kind.context(format!("{name}: there are data already")));
        }
        let mut state = self.write_state();
        let Some(here) = state.vars.get_mut(id.index()) else { return Ok(()) };
        if let Some(array) = &here.array {
            if !array.retire() {
                return Err(kind.context(format!("{name}: its data are being written")));
            }
            here.cache = Some(dispatch::VarData::cache(&**array));
        }
        here.array = None;
        here.chunks = None;
        here.replan = true;
        Ok(())
    }
}

/// Whether a place is that of something that was renamed and will be moved away.
fn is_vacated(state: &State, model: &Model, key: &Key) -> bool {
    let var = model
        .vars()
        .zip(&state.vars)
        .any(|((id, _), here)| here.key == *key && state.proper_key(model, id).is_ok_and(|proper| proper != *key));
    var || model.groups().zip(&state.groups).any(|((_, group), here)| {
        let parent = group.parent.and_then(|parent| state.groups.get(parent.index()));
        here.key == *key && parent.is_some_and(|parent| parent.key.join(&group.name).is_ok_and(|proper| proper != *key))
    })
}

fn is_string(model: &Model, var: Option<VarId>) -> bool {
    var.and_then(|id| model.var(id).ok()).is_some_and(|var| var.xtype == NcType::String)
}

fn no_user_types() -> Error {
    ErrorKind::NotNc4.context("NCZarr holds no user-defined types")
}

/// What the classic model does not have.
fn classic(model: &Model, edit: &Edit<'_>) -> Result<()> {
    let strict = |what: &str| Err(ErrorKind::StrictNc3.context(format!("{what}: not in the classic model")));
    let unlimited = |id: DimId| model.dim(id).is_ok_and(|dim| dim.unlimited);
    match *edit {
        Edit::DefGroup { name, .. } => strict(&format!("group {name}")),
        Edit::DefVar { name, xtype, .. } if xtype.code() > NcType::Double.code() => {
            strict(&format!("variable {name} of type {}", xtype.name()))
        }
        Edit::PutAtt { name, values, .. } if values.nc_type().code() > NcType::Double.code() => {
            strict(&format!("attribute {name} of type {}", values.nc_type().name()))
        }
        Edit::DefDim { name, len: None | Some(0), .. } if model.dims().any(|(id, _)| unlimited(id)) => {
            Err(ErrorKind::Unlimit.context(format!("dimension {name}: the classic model has one unlimited dimension")))
        }
        _ => Ok(()),
    }
}
