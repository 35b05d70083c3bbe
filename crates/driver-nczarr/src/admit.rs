//! Which edits this format can hold: the rules beside those of the model, checked before anything changes.
//!
//! What only the storage knows is asked first; then the edit is looked at and made in one step, under the lock of what is
//! known beside the model. If another edit came between, the storage is asked again.

use std::sync::{Arc, RwLockWriteGuard};

use nczarr_dispatch::{Key, ZarrFormat};
use nczarr_model::{
    Defined, DimId, Edit, Endian, Error, ErrorKind, FilterSpec, GroupId, Model, NcType, Result, TypeClass, TypeId,
    Values, VarId, name,
};

use crate::attrs::{self, DEFAULT_MAXSTRLEN, FILL_VALUE, MAXSTRLEN};
use crate::dataset::{State, VarState, ZarrDataset};
use crate::dtype::Kind;
use crate::flavour::Flavour;
use crate::moves::Child;
use crate::plan::{instance, maxstrlen};
use crate::types;
use crate::user;
use crate::v3;
use crate::v3::document::ZARR_JSON;
use crate::v3::node_name;
use crate::v3::stored_type::Given;
use crate::var::Stored;

/// What is left for documents and chunks behind the key of a variable or group.
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

/// What only the storage knows, asked before the edit is looked at.
#[derive(Default)]
pub(crate) struct Asked {
    /// Where something new is to be, and whether objects are there.
    place: Option<(Key, bool)>,
    /// Whether there are data of the variable in storage.
    data: Option<bool>,
}

/// The edit as it is looked at: nobody else changes anything meanwhile.
struct Look<'a> {
    dataset: &'a ZarrDataset,
    model: &'a Model,
    state: &'a mut State,
    asked: &'a Asked,
    /// The stored type that was handed over with the definition of a variable.
    given: Option<&'a Given>,
}

impl ZarrDataset {
    /// What an edit is looked at with ([`ZarrDataset::check`]), which nobody else changes as long as it is held: what the edit
    /// makes of the model is one step with that for other threads.
    pub(crate) fn begin(&self, edit: &Edit<'_>) -> Result<(RwLockWriteGuard<'_, State>, Asked)> {
        self.check_open()?;
        if !self.writable {
            return Err(ErrorKind::Perm.context("the dataset is read-only"));
        }
        loop {
            let (edition, moves, asked) = match self.may_ask(edit) {
                true => {
                    let (edition, moves) = (self.model.edition(), self.read_state().moves);
                    (edition, moves, self.ask(edit)?)
                }
                false => (0, 0, Asked::default()),
            };
            let state = self.write_state();
            // Who closes writes what was defined before: what comes after it is refused.
            self.check_open()?;
            if asked.place.is_some() || asked.data.is_some() {
                if state.moving {
                    drop(state);
                    self.see_moved();
                    continue;
                }
                if (self.model.edition(), state.moves) != (edition, moves) {
                    // Another edit came between, or a move: the storage may have been asked for the wrong thing.
                    continue;
                }
            }
            return Ok((state, asked));
        }
    }

    /// Whether this format can hold the edit, which is to be made of this model.
    pub(crate) fn check(&self, edit: &Edit<'_>, model: &Model, state: &mut State, asked: &Asked) -> Result<()> {
        state.extend(model)?;
        Look { dataset: self, model, state, asked, given: None }.check(edit)
    }

    /// Defines a variable, whose elements are stored as the type says that was handed over.
    pub(crate) fn define_given(&self, edit: &Edit<'_>, given: Given) -> Result<VarId> {
        let (mut state, asked) = self.begin(edit)?;
        let check = |model: &Model| {
            state.extend(model)?;
            Look { dataset: self, model, state: &mut state, asked: &asked, given: Some(&given) }.check(edit)
        };
        let made = self.model.define_if(check, |model, ()| model.apply(edit))?;
        let Defined::Var(id) = made else {
            return Err(ErrorKind::Internal.context(format!("{made:?} in place of a variable")));
        };
        state.extend(&self.model.snapshot())?;
        if let Some(here) = state.vars.get_mut(id.index()) {
            Arc::make_mut(&mut here.stored).given = Some(given);
        }
        Ok(id)
    }

    /// Whether the edit may depend on what only the storage knows: most do not, by what they are.
    fn may_ask(&self, edit: &Edit<'_>) -> bool {
        match *edit {
            Edit::DefVar { .. } | Edit::DefGroup { .. } => !self.created,
            Edit::PutAtt { var: None, .. } => false,
            // Other forms of a name are looked at when it is asked.
            Edit::PutAtt { name, .. } => {
                name.starts_with('_') && [FILL_VALUE, MAXSTRLEN].contains(&name) || !name.is_ascii()
            }
            _ => true,
        }
    }

    /// Asks the storage what the edit depends on, if it does.
    fn ask(&self, edit: &Edit<'_>) -> Result<Asked> {
        let place = |parent: GroupId, name: &str, child: Option<Child>| {
            if self.created {
                return Ok(Asked::default());
            }
            // In a dataset that was opened there may be objects that no list names.
            let model = self.model.snapshot();
            let mut state = self.write_state();
            state.extend(&model)?;
            let key = self.node_key(&model, &state, (parent, child), name, &[]);
            drop(state);
            // What is wrong with it is said when it is looked at.
            let Ok(Some(key)) = key else { return Ok(Asked::default()) };
            let taken = self.map.exists(&key)? || !self.map.children(&key)?.is_empty();
            Ok(Asked { place: Some((key, taken)), data: None })
        };
        let data = |id: VarId| Ok(Asked { data: self.has_stored_data(id)?, place: None });
        let layout = |var: Option<VarId>, names: &[&str]| match var {
            Some(id) if names.iter().any(|name| [FILL_VALUE, MAXSTRLEN].contains(&&*name::nfc(name))) => data(id),
            _ => Ok(Asked::default()),
        };
        match *edit {
            Edit::DefVar { group, name, .. } => place(group, name, None),
            Edit::DefGroup { parent, name } => place(parent, name, None),
            Edit::RenameVar { var, name } => {
                let group = self.model.snapshot().var(var)?.group;
                place(group, name, Some(Child::Var(var)))
            }
            Edit::RenameGroup { group, name } => match self.model.snapshot().group(group)?.parent {
                Some(parent) => place(parent, name, Some(Child::Group(group))),
                None => Ok(Asked::default()),
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
            _ => Ok(Asked::default()),
        }
    }

    /// Whether storage has data of a variable; `None` if it cannot, or if it is known without asking.
    fn has_stored_data(&self, id: VarId) -> Result<Option<bool>> {
        let state = self.read_state();
        let Some(var) = state.vars.get(id.index()) else { return Ok(None) };
        if !var.on_disk || has_written(var) {
            return Ok(None);
        }
        let key = var.key.clone();
        drop(state);
        let is_data = |name: &String| !name.starts_with('.') && (self.format == ZarrFormat::V2 || name != ZARR_JSON);
        Ok(Some(self.map.children(&key)?.iter().any(is_data)))
    }

    /// Where a variable or group of this name is to be, of a new one or of what is renamed; `None` if it is there already, of
    /// which the model says what.
    fn node_key(
        &self,
        model: &Model,
        state: &State,
        (parent, child): (GroupId, Option<Child>),
        name: &str,
        dims: &[DimId],
    ) -> Result<Option<Key>> {
        if self.root_array {
            return Err(ErrorKind::Perm.context("the store is a single array; it holds nothing else"));
        }
        let name = name::nfc(name);
        let place = model.group(parent)?;
        if place.vars.contains_key(&*name) || place.groups.contains_key(&*name) {
            return Ok(None);
        }
        // Readers of plain Zarr skip hidden names. `zarr.json` is free in a V2 store: as a variable or group it is only
        // ever a prefix of keys, which nobody can take for V3's document of that name, and V2 has no such document.
        // Of V3 it is where there is a place for the true name.
        let refused = self.format == ZarrFormat::V3 && !state.escapes && node_name::is_forbidden(&name);
        if name.starts_with('.') || refused {
            return Err(ErrorKind::BadName.context(format!("{name:?}: not a name Zarr can hold")));
        }
        let key = state
            .key_of(&state.group(parent)?.key, &name, child)
            .map_err(|error| ErrorKind::BadName.context(error.what()))?;
        let most = self.map.max_key().map_or(self.options.limits.key, |most| most.min(self.options.limits.key));
        let (len, below) = (key.as_str().len(), chunk_name(model, dims));
        if len.saturating_add(below) > most {
            return Err(ErrorKind::MaxName.context(format!(
                "{name:?}: key {key}: {len} bytes, and up to {below} more of what is below it; a key has at most {most}"
            )));
        }
        if let Some(most) = self.map.max_segment().filter(|most| node_name::stored(&key).len() > *most) {
            let stored = node_name::stored(&key);
            return Err(ErrorKind::MaxName.context(format!(
                "{name:?}: stored as {stored:?}: {} bytes; a name in this storage has at most {most}",
                stored.len()
            )));
        }
        if let Some(rival) = state.rival(model, parent, &name, &key)? {
            return Err(ErrorKind::Object.context(format!("{name:?}: its place {key} is that of {rival}")));
        }
        Ok(Some(key))
    }
}

/// How many bytes the keys of its documents and chunks are longer at most than the key of a variable with these dimensions.
fn chunk_name(model: &Model, dims: &[DimId]) -> usize {
    let digits = |dim: &DimId| match model.dim(*dim) {
        Ok(dim) if !dim.unlimited => dim.len().max(1).ilog10() as usize + 1,
        _ => u64::MAX.ilog10() as usize + 1,
    };
    // Before each index stands a separator, before all of them, in V3, a letter too.
    CHUNK_NAME.max(2 + dims.iter().map(|dim| digits(dim) + 1).sum::<usize>())
}

/// The error of what would have to be written into a group's document that cannot be read.
fn lost() -> Error {
    ErrorKind::Perm.context("the stored metadata of the group cannot be read, and would be lost")
}

/// Whether data of a variable were written here, whether or not they are in storage yet.
fn has_written(var: &VarState) -> bool {
    var.array.as_ref().is_some_and(|array| array.written())
}

impl Look<'_> {
    /// Whether this format can hold the edit.
    fn check(&mut self, edit: &Edit<'_>) -> Result<()> {
        if self.dataset.classic_model {
            classic(self.model, edit)?;
        }
        match *edit {
            Edit::DefDim { group, .. }
            | Edit::DefVar { group, .. }
            | Edit::DefGroup { parent: group, .. }
            | Edit::DefCompound { group, .. }
            | Edit::DefOpaque { group, .. }
            | Edit::DefVlen { group, .. }
            | Edit::DefEnum { group, .. }
                if self.is_lost(group) =>
            {
                Err(lost())
            }
            Edit::RenameVar { var, .. } if self.is_lost(self.model.var(var)?.group) => Err(lost()),
            Edit::RenameGroup { group, .. } if self.model.group(group)?.parent.is_some_and(|id| self.is_lost(id)) => {
                Err(lost())
            }
            Edit::DefDim { .. } | Edit::RenameDim { .. } | Edit::SetFill { .. } => Ok(()),
            Edit::DefVar { group, name, xtype, dims, .. } => {
                if let (NcType::User(ty), Flavour::NcZarr) = (xtype, self.dataset.flavour) {
                    let var = nczarr_model::Var { xtype, ..nczarr_model::Var::default() };
                    user::new_form(self.model, &var, ty, self.dataset.format, &self.dataset.registry)
                        .map_err(|error| error.at(name))?;
                } else if let (NcType::User(ty), None) = (xtype, self.given) {
                    let stored = types::stored(self.model, ty, Endian::Native)?;
                    if self.dataset.format == ZarrFormat::V3 && matches!(stored.kind, Kind::Record) {
                        v3::types::write(&stored, None).map_err(|error| error.at(name))?;
                    }
                }
                self.check_node((group, None), name, dims)
            }
            Edit::DefGroup { parent, name } => self.check_node((parent, None), name, &[]),
            Edit::RenameVar { var: id, name } => {
                let var = self.model.var(id)?;
                self.check_rename((var.group, Child::Var(id)), name, &var.dims)
            }
            Edit::RenameGroup { group, name } => match self.model.group(group)?.parent {
                Some(parent) => self.check_rename((parent, Child::Group(group)), name, &[]),
                None => Ok(()),
            },
            Edit::PutAtt { group, var, name, values } => self.put_att(group, var, &name::nfc(name), values),
            Edit::RenameAtt { group, var, name, to } => {
                let to = name::nfc(to);
                self.check_att_name(group, var, &to)?;
                self.touch_att(var, name)?;
                self.touch_att(var, &to)
            }
            Edit::DelAtt { group, var, name } => {
                self.check_att_place(group, var)?;
                self.touch_att(var, name)
            }
            Edit::DefVarUnwritten { var, value } => {
                self.check_fill(var, value)?;
                self.relayout(var, Late::Fill)
            }
            Edit::DefVarFill { var, value, .. } => {
                if let Some(value) = value {
                    self.check_fill(var, value)?;
                }
                self.relayout(var, Late::Fill)
            }
            Edit::DefVarEndian { var, endian } => {
                if endian == Endian::Big && self.dataset.about.defects.swapped {
                    return Err(ErrorKind::Inval.context(
                        "the dataset's \"_NCProperties\" names a netCDF-C up to 4.9.2, by which readers take all its \
                         variables for little-endian: it holds no big-endian ones",
                    ));
                }
                self.relayout(var, Late::Layout)
            }
            Edit::DefVarShards { shards: Some(_), .. } if self.dataset.format != ZarrFormat::V3 => {
                Err(ErrorKind::NotNc4.context("shards: only Zarr V3 has some (mode=…,v3)"))
            }
            Edit::DefVarShards { shards: None, var } if self.model.var(var)?.shards.is_none() => Ok(()),
            Edit::DefVarShards { var, .. } => self.relayout(var, Late::Layout),
            Edit::DefVarChunking { var, .. } | Edit::DefVarQuantize { var, .. } => self.relayout(var, Late::Layout),
            Edit::DefVarFilter { var, filter } => {
                self.check_filter(filter)?;
                let filters = self.model.var(var)?.filters.iter().filter(|have| have.hdf5_id != filter.hdf5_id);
                self.check_chain(var, &filters.chain([filter]).cloned().collect::<Vec<_>>())?;
                self.relayout(var, Late::Layout)
            }
            Edit::DefVarFilters { var, filters } => {
                for filter in filters {
                    self.check_filter(filter)?;
                }
                self.check_chain(var, filters)?;
                self.relayout(var, Late::Layout)
            }
            // Whether a record can be stored, is known when a variable is one.
            Edit::DefCompound { name, size, .. } | Edit::DefOpaque { name, size, .. }
                if size > user::MAX_SIZE && self.dataset.flavour == Flavour::NcZarr =>
            {
                Err(ErrorKind::Inval.context(format!("type {name}: elements of {size} bytes")))
            }
            Edit::DefCompound { name, .. } | Edit::DefOpaque { name, .. } => self.check_type_name(name),
            Edit::DefVlen { name, .. } | Edit::DefEnum { name, .. } => match self.dataset.flavour {
                Flavour::NcZarr => self.check_type_name(name),
                Flavour::Zarr => {
                    Err(ErrorKind::NotNc4.context(format!("type {name}: Zarr has neither vlens nor enums")))
                }
            },
            Edit::InsertField { ty, name, .. } | Edit::InsertEnum { ty, name, .. } => self.check_members(ty, name),
            _ => Err(ErrorKind::Inval.context("NCZarr does not know this edit")),
        }
    }

    /// Whether the documents of a group cannot be read.
    fn is_lost(&self, group: GroupId) -> bool {
        self.state.groups.get(group.index()).is_some_and(|group| group.lost)
    }

    /// Whether a type can have another member.
    fn check_members(&self, ty: TypeId, name: &str) -> Result<()> {
        let Ok(user) = self.model.user_type(ty) else { return Ok(()) };
        let count = match &user.class {
            TypeClass::Compound { fields, .. } => fields.len(),
            TypeClass::Enum { members, .. } => members.len(),
            TypeClass::Opaque { .. } | TypeClass::Vlen { .. } => 0,
        };
        match count >= user::MAX_MEMBERS && self.dataset.flavour == Flavour::NcZarr {
            true => Err(ErrorKind::NotNc4.context(format!("{}.{name}: at most {count} are possible", user.name))),
            false => Ok(()),
        }
    }

    /// Whether there can be another type.
    fn check_type_name(&self, name: &str) -> Result<()> {
        match self.dataset.root_array && self.dataset.flavour == Flavour::NcZarr {
            true => Err(ErrorKind::Perm.context(format!("type {name}: the store is a single array"))),
            false => Ok(()),
        }
    }

    /// Whether a variable or group of this name can be made.
    fn check_node(&self, place: (GroupId, Option<Child>), name: &str, dims: &[DimId]) -> Result<()> {
        let Some(key) = self.dataset.node_key(self.model, self.state, place, name, dims)? else { return Ok(()) };
        match &self.asked.place {
            Some((asked, true)) if *asked == key && !is_vacated(self.state, self.model, &key, place.1) => {
                Err(ErrorKind::Object.context(format!("{key}: there are objects that are not this dataset's")))
            }
            _ => Ok(()),
        }
    }

    fn check_rename(&self, (parent, child): (GroupId, Child), name: &str, dims: &[DimId]) -> Result<()> {
        if !self.dataset.map.caps().delete {
            return Err(ErrorKind::Perm.context("the storage cannot move objects"));
        }
        self.check_node((parent, Some(child)), name, dims)
    }

    /// Whether attributes of this place can be changed.
    fn check_att_place(&self, group: GroupId, var: Option<VarId>) -> Result<()> {
        match var {
            None if self.dataset.root_array && group == GroupId::ROOT => {
                Err(ErrorKind::Perm.context("the store is a single array; it has no global attributes"))
            }
            None if self.is_lost(group) => Err(lost()),
            Some(var) if self.state.vars.get(var.index()).is_some_and(|var| var.stored.attrs_lost) => {
                Err(ErrorKind::Perm.context("the stored attributes cannot be read, and would be lost"))
            }
            _ => Ok(()),
        }
    }

    fn check_att_name(&self, group: GroupId, var: Option<VarId>, name: &str) -> Result<()> {
        let is_v3 = self.dataset.format == ZarrFormat::V3;
        if attrs::is_reserved(name) || is_v3 && v3::keys::is_reserved(name) {
            return Err(ErrorKind::NameInUse.context(format!("attribute {name}: the name is reserved")));
        }
        self.check_att_place(group, var)
    }

    fn put_att(&mut self, group: GroupId, var: Option<VarId>, name: &str, values: &Values) -> Result<()> {
        self.check_att_name(group, var, name)?;
        let is_fill = var.is_some() && name == FILL_VALUE;
        if !values.nc_type().is_atomic() && self.dataset.flavour == Flavour::NcZarr {
            // Whether they are values at all, the model says.
            if self.model.items(values).is_ok() {
                user::check_att(self.model, values).map_err(|error| error.at(name))?;
            }
        } else if !is_fill || values.nc_type().is_atomic() {
            let kept = self.dataset.flavour == Flavour::NcZarr || self.dataset.annotate;
            attrs::check(values, kept).map_err(|error| error.at(name))?;
        }
        let bad_width = name == DEFAULT_MAXSTRLEN && var.is_none() && group == GroupId::ROOT
            || name == MAXSTRLEN && is_string(self.model, var);
        if bad_width && maxstrlen(values).is_none_or(|width| width as u64 > self.dataset.options.limits.chunk) {
            return Err(ErrorKind::Inval.context(format!("attribute {name}: one integer of at least 1 is wanted")));
        }
        match var {
            Some(id) if name == FILL_VALUE => {
                if self.model.var(id)?.atts.get(name) == Some(values) {
                    return Ok(());
                }
                self.check_fill(id, values)?;
                self.relayout(id, Late::Fill)
            }
            Some(id) if name == MAXSTRLEN && self.model.var(id)?.xtype == NcType::String => {
                if maxstrlen(values) == self.stored_width(id) {
                    return Ok(());
                }
                self.relayout(id, Late::Layout)
            }
            _ => Ok(()),
        }
    }

    /// An attribute that says something of the layout goes or comes.
    fn touch_att(&mut self, var: Option<VarId>, name: &str) -> Result<()> {
        match var {
            Some(id) if name == FILL_VALUE => self.relayout(id, Late::Fill),
            Some(id) if name == MAXSTRLEN && is_string(self.model, var) => {
                // With data the width stays what it is, whatever the attribute says.
                if self.has_data(id) { Ok(()) } else { self.relayout(id, Late::Layout) }
            }
            _ => Ok(()),
        }
    }

    /// Whether the fill value can be written down.
    fn check_fill(&self, id: VarId, value: &Values) -> Result<()> {
        let var = self.model.var(id)?;
        let mut filled = var.clone();
        filled.fill = nczarr_model::VarFill::Value(value.clone());
        if let (NcType::User(ty), Flavour::NcZarr) = (var.xtype, self.dataset.flavour) {
            if value.nc_type() != var.xtype || self.model.items(value).is_err() {
                return Ok(());
            }
            let form = user::new_form(self.model, var, ty, self.dataset.format, &self.dataset.registry)?;
            return user::stored_fill(self.model, &filled, ty, &form).map(drop);
        }
        let dtype = match self.state.vars.get(id.index()).and_then(|var| var.stored.meta.as_ref()) {
            Some(meta) => meta.dtype.clone(),
            None => self.dataset.planning().dtype(self.model, var, 1)?,
        };
        // The model says so when the type differs.
        if value.nc_type() != var.xtype {
            return Ok(());
        }
        if let Some(given) = self.given(id)
            && let Some(data) = given.of(self.model, var.xtype, var.endian)
        {
            return given.fill(Some(value), &data).map(drop).map_err(|error| error.at(FILL_VALUE));
        }
        self.dataset.planning().fill(&filled, &dtype).map(drop)
    }

    /// The stored type that was handed over for a variable.
    fn given(&self, id: VarId) -> Option<&Given> {
        self.state.vars.get(id.index())?.stored.given.as_ref()
    }

    fn stored_width(&self, id: VarId) -> Option<usize> {
        match self.state.vars.get(id.index())?.stored.meta.as_ref()?.dtype.kind {
            Kind::Text(width) => Some(width),
            _ => None,
        }
    }

    /// Whether there is such a filter, and new data can be encoded with it.
    fn check_filter(&self, filter: &FilterSpec) -> Result<()> {
        let (format, registry) = (self.dataset.format, &self.dataset.registry);
        let name = instance(filter, format, registry)?.info().name;
        match registry.filter(name)?.can_encode() {
            true => Ok(()),
            false => Err(ErrorKind::NoFilter.context(format!("filter {name}: it is only read"))),
        }
    }

    /// Whether a variable can have these filters in V3.
    fn check_chain(&self, id: VarId, filters: &[FilterSpec]) -> Result<()> {
        if self.dataset.format != ZarrFormat::V3 {
            return Ok(());
        }
        match self.dataset.planning().check_filters_v3(self.model, id, filters, self.given(id)) {
            Err(error) if error.kind() == ErrorKind::Filter => Err(error),
            // What else is wrong is said when it is laid out.
            _ => Ok(()),
        }
    }

    /// Whether there are data of a variable, in storage or on the way there.
    fn has_data(&self, id: VarId) -> bool {
        let here = self.state.vars.get(id.index());
        here.is_some_and(|var| has_written(var) || var.on_disk && self.asked.data == Some(true))
    }

    /// Whether the stored layout of a variable of V3 is the one that would be decided here. Codecs, shards and keys of
    /// others are not to be had again.
    fn is_planned_here(&self, id: VarId) -> Result<bool> {
        let Some(here) = self.state.vars.get(id.index()) else { return Ok(true) };
        match &here.stored.meta {
            Some(meta) if meta.v3.is_some() && !meta.raw.is_empty() && !here.replan => {
                let mut planned = Stored::default();
                self.dataset.planning().plan(self.model, id, &mut planned)?;
                Ok(planned.meta.is_some_and(|planned| v3::plan::is_same_layout(&planned, meta)))
            }
            _ => Ok(true),
        }
    }

    /// The layout of a variable is about to change: refused once there are data, else it will be decided anew.
    fn relayout(&mut self, id: VarId, late: Late) -> Result<()> {
        let var = self.model.var(id)?;
        let name = || self.model.var_path(id).unwrap_or_default();
        if let Some(problem) = &var.problem {
            return Err(problem.clone().at(name()));
        }
        let kind = match late {
            Late::Layout => ErrorKind::LateDef,
            Late::Fill => ErrorKind::LateFill,
        };
        if self.has_data(id) {
            return Err(kind.context(format!("{}: there are data already", name())));
        }
        if !self.is_planned_here(id)? {
            return Err(kind.context(format!("{}: its layout is another writer's, and stays as it is", name())));
        }
        let Some(here) = self.state.vars.get_mut(id.index()) else { return Ok(()) };
        if let Some(array) = &here.array {
            if !array.retire() {
                return Err(kind.context(format!("{}: its data are being written", name())));
            }
            here.cache = Some(nczarr_dispatch::VarData::chunk_cache(&**array));
        }
        here.array = None;
        here.rectilinear = None;
        here.chunks = None;
        here.replan = true;
        Ok(())
    }
}

/// Whether a place is that of something that was renamed and will be moved away, or that of what is to be there, `child`.
fn is_vacated(state: &State, model: &Model, key: &Key, child: Option<Child>) -> bool {
    let vars = state.vars.iter().zip(model.vars()).map(|(here, (id, _))| (&here.key, Child::Var(id)));
    let groups = state.groups.iter().zip(model.groups()).map(|(here, (id, _))| (&here.key, Child::Group(id)));
    vars.chain(groups).filter(|(here, _)| *here == key).any(|(_, there)| {
        Some(there) == child || matches!(state.proper_key(model, there), Ok(Some(proper)) if proper != *key)
    })
}

fn is_string(model: &Model, var: Option<VarId>) -> bool {
    var.and_then(|id| model.var(id).ok()).is_some_and(|var| var.xtype == NcType::String)
}

/// What the classic model does not have.
fn classic(model: &Model, edit: &Edit<'_>) -> Result<()> {
    let strict = |what: &str| Err(ErrorKind::StrictNc3.context(format!("{what}: not in the classic model")));
    let unlimited = |id: DimId| model.dim(id).is_ok_and(|dim| dim.unlimited);
    match *edit {
        Edit::DefGroup { name, .. } => strict(&format!("group {name}")),
        Edit::DefCompound { name, .. }
        | Edit::DefVlen { name, .. }
        | Edit::DefEnum { name, .. }
        | Edit::DefOpaque { name, .. } => strict(&format!("type {name}")),
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
