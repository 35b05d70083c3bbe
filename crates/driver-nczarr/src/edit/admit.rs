//! Decides which edits the format can hold, in addition to the model's own rules.
//!
//! An edit has two steps. [`ZarrDataset::begin_edit`] asks the storage for the facts that only it has.
//! [`ZarrDataset::check`] then checks the edit, and the model applies it, both under the lock of
//! [`NodeStates`]. If another edit or a move came between, the storage is asked again.

use std::sync::{Arc, RwLockWriteGuard};

use nczarr_codec::ZarrFormat;
use nczarr_model::{
    Defined, DimId, Edit, Endian, Error, ErrorKind, FilterSpec, GroupId, Model, NcType, Result, TypeClass,
    TypeId, Values, VarId, name,
};
use nczarr_storage::Key;

use crate::dataset::{NodeStates, VarState, ZarrDataset};
use crate::edit::plan::{make_filter, maxstrlen};
use crate::flavour::Flavour;
use crate::metadata::attributes::{self, DEFAULT_MAXSTRLEN, FILL_VALUE, MAXSTRLEN};
use crate::metadata::types::dtype::DTypeKind;
use crate::metadata::types::foreign;
use crate::metadata::v2::var::StoredVariable;
use crate::metadata::v3;
use crate::metadata::v3::document::ZARR_JSON;
use crate::metadata::v3::node_name;
use crate::metadata::v3::source_type::SourceType;
use crate::user;
use crate::write::store::NodeId;

/// Bytes reserved for the names of documents and chunks below the key of a variable or group.
const MAX_CHUNK_NAME: usize = 64;

pub(crate) fn no_var(id: VarId) -> Error {
    ErrorKind::NotVar.context(format!("{id:?}"))
}

/// The kind of layout change, which selects the error once the variable has data.
#[derive(Clone, Copy)]
enum LateChange {
    Layout,
    Fill,
}

/// Facts from the storage on which an edit depends.
#[derive(Default)]
pub(crate) struct StorageFacts {
    /// The key of a new or renamed node, and whether objects exist there.
    new_key: Option<(Key, bool)>,
    /// Whether the storage holds data of the variable.
    has_data: Option<bool>,
}

/// The check of one edit, under the lock of [`NodeStates`].
struct EditCheck<'a> {
    dataset: &'a ZarrDataset,
    model: &'a Model,
    state: &'a mut NodeStates,
    storage: &'a StorageFacts,
    /// The stored type that the caller gave with the definition of a variable.
    source_type: Option<&'a SourceType>,
}

impl ZarrDataset {
    /// Locks the node states for an edit and fetches the storage facts that it depends on.
    ///
    /// While the caller holds the guard, no other thread edits. So [`ZarrDataset::check`] and the model's
    /// change are one step for other threads.
    pub(crate) fn begin_edit(
        &self,
        edit: &Edit<'_>,
    ) -> Result<(RwLockWriteGuard<'_, NodeStates>, StorageFacts)> {
        self.check_open()?;
        if !self.writable {
            return Err(ErrorKind::Perm.context("the dataset is read-only"));
        }
        loop {
            let (edition, moves, asked) = if self.depends_on_storage(edit) {
                let (edition, moves) = (self.model.edition(), self.read_state().move_count);
                (edition, moves, self.query_storage(edit)?)
            } else {
                (0, 0, StorageFacts::default())
            };
            let state = self.write_state();
            // `close` writes earlier definitions and rejects later ones.
            self.check_open()?;
            if asked.new_key.is_some() || asked.has_data.is_some() {
                if state.is_moving {
                    drop(state);
                    self.wait_for_move();
                    continue;
                }
                if (self.model.edition(), state.move_count) != (edition, moves) {
                    // Another edit or a move came between, so the question may have been the wrong one.
                    continue;
                }
            }
            return Ok((state, asked));
        }
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
        EditCheck { dataset: self, model, state, storage: asked, source_type: None }.check(edit)
    }

    /// Defines a variable whose elements are stored in the given type.
    pub(crate) fn define_with_source_type(&self, edit: &Edit<'_>, given: SourceType) -> Result<VarId> {
        let (mut state, asked) = self.begin_edit(edit)?;
        let check = |model: &Model| {
            state.extend(model)?;
            EditCheck { dataset: self, model, state: &mut state, storage: &asked, source_type: Some(&given) }
                .check(edit)
        };
        let made = self.model.define_if(check, |model, ()| model.apply(edit))?;
        let Defined::Var(id) = made else {
            return Err(ErrorKind::Internal.context(format!("{made:?} in place of a variable")));
        };
        state.extend(&self.model.snapshot())?;
        if let Some(here) = state.vars.get_mut(id.index()) {
            Arc::make_mut(&mut here.stored).source_type = Some(given);
        }
        Ok(id)
    }

    /// Whether the edit may depend on facts that only the storage has. Most edits do not.
    fn depends_on_storage(&self, edit: &Edit<'_>) -> bool {
        match *edit {
            Edit::DefVar { .. } | Edit::DefGroup { .. } => !self.created,
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
            if self.created {
                return Ok(StorageFacts::default());
            }
            // An opened dataset may contain objects that no list names.
            let model = self.model.snapshot();
            let mut state = self.write_state();
            state.extend(&model)?;
            let key = self.node_key(&model, &state, parent, child, name, &[]);
            drop(state);
            // The check reports an illegal name.
            let Ok(Some(key)) = key else { return Ok(StorageFacts::default()) };
            let taken = self.map.exists(&key)? || !self.map.children(&key)?.is_empty();
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
                let group = self.model.snapshot().var(var)?.group;
                place(group, name, Some(NodeId::Var(var)))
            }
            Edit::RenameGroup { group, name } => match self.model.snapshot().group(group)?.parent {
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
        let state = self.read_state();
        let Some(var) = state.vars.get(id.index()) else { return Ok(None) };
        if !var.on_disk || has_written(var) {
            return Ok(None);
        }
        let key = var.key.clone();
        drop(state);
        let is_data =
            |name: &String| !name.starts_with('.') && (self.format == ZarrFormat::V2 || name != ZARR_JSON);
        Ok(Some(self.map.children(&key)?.iter().any(is_data)))
    }

    /// The key for a new node, or for a node that gets the name `name`. `None` if the group already has that
    /// name; then the model reports the conflict.
    fn node_key(
        &self,
        model: &Model,
        state: &NodeStates,
        parent: GroupId,
        child: Option<NodeId>,
        name: &str,
        dims: &[DimId],
    ) -> Result<Option<Key>> {
        if self.root_array {
            return Err(ErrorKind::Perm.context("the store is a single array; it cannot hold other nodes"));
        }
        let name = name::nfc(name);
        let place = model.group(parent)?;
        if place.vars.contains_key(&*name) || place.groups.contains_key(&*name) {
            return Ok(None);
        }
        // Readers of plain Zarr skip hidden names. In a V2 store a node may be called `zarr.json`: the name
        // is only a prefix of keys there, and V2 has no such document. A V3 store can hold it if it escapes
        // names.
        let refused = self.format == ZarrFormat::V3 && !state.escapes_names && node_name::is_forbidden(&name);
        if name.starts_with('.') || refused {
            return Err(ErrorKind::BadName.context(format!("{name:?}: Zarr cannot hold this name")));
        }
        let key = state
            .key_of(&state.group(parent)?.key, &name, child)
            .map_err(|error| ErrorKind::BadName.context(error.what()))?;
        let most =
            self.map.caps().max_key.map_or(self.options.limits.key, |most| most.min(self.options.limits.key));
        let (len, below) = (key.as_str().len(), max_chunk_name(model, dims));
        if len.saturating_add(below) > most {
            return Err(ErrorKind::MaxName.context(format!(
                "{name:?}: key {key} has {len} bytes and its chunks up to {below} more (expected at most {most} together)"
            )));
        }
        if let Some(most) = self.map.caps().max_segment.filter(|most| node_name::stored(&key).len() > *most) {
            let stored = node_name::stored(&key);
            return Err(ErrorKind::MaxName.context(format!(
                "{name:?}: the stored name {stored:?} is too long for this storage (expected at most {most} bytes, found {})",
                stored.len()
            )));
        }
        if let Some(rival) = state.conflicting_node(model, parent, &name, &key)? {
            return Err(ErrorKind::Object.context(format!("{name:?}: its key {key} belongs to {rival}")));
        }
        Ok(Some(key))
    }
}

/// The most bytes by which a key of a document or chunk is longer than the key of its variable.
fn max_chunk_name(model: &Model, dims: &[DimId]) -> usize {
    let digits = |dim: &DimId| match model.dim(*dim) {
        Ok(dim) if !dim.unlimited => dim.len().max(1).ilog10() as usize + 1,
        _ => u64::MAX.ilog10() as usize + 1,
    };
    // Each index has a separator before it. In V3 the letter `c` comes before all of them.
    MAX_CHUNK_NAME.max(2 + dims.iter().map(|dim| digits(dim) + 1).sum::<usize>())
}

/// The error for an edit that would replace a group document that could not be read.
fn unreadable_group() -> Error {
    ErrorKind::Perm.context("the stored metadata of the group cannot be read; writing it would lose it")
}

/// Whether this session wrote data of the variable, stored or still cached.
fn has_written(var: &VarState) -> bool {
    var.array.as_ref().is_some_and(|array| array.written())
}

impl EditCheck<'_> {
    /// Checks whether this format can hold the edit.
    fn check(&mut self, edit: &Edit<'_>) -> Result<()> {
        if self.dataset.classic_model {
            check_classic_model(self.model, edit)?;
        }
        match *edit {
            Edit::DefDim { group, .. }
            | Edit::DefVar { group, .. }
            | Edit::DefGroup { parent: group, .. }
            | Edit::DefCompound { group, .. }
            | Edit::DefOpaque { group, .. }
            | Edit::DefVlen { group, .. }
            | Edit::DefEnum { group, .. }
                if self.is_unreadable(group) =>
            {
                Err(unreadable_group())
            }
            Edit::RenameVar { var, .. } if self.is_unreadable(self.model.var(var)?.group) => {
                Err(unreadable_group())
            }
            Edit::RenameGroup { group, .. }
                if self.model.group(group)?.parent.is_some_and(|id| self.is_unreadable(id)) =>
            {
                Err(unreadable_group())
            }
            Edit::DefDim { .. } | Edit::RenameDim { .. } | Edit::SetFill { .. } => Ok(()),
            Edit::DefVar { group, name, xtype, dims, .. } => {
                if let (NcType::User(ty), Flavour::NcZarr) = (xtype, self.dataset.flavour) {
                    let var = nczarr_model::Var { xtype, ..nczarr_model::Var::default() };
                    user::new_encoding(self.model, &var, ty, self.dataset.format, &self.dataset.registry)
                        .map_err(|error| error.at(name))?;
                } else if let (NcType::User(ty), None) = (xtype, self.source_type) {
                    let stored = foreign::stored_dtype(self.model, ty, Endian::Native)?;
                    if self.dataset.format == ZarrFormat::V3 && matches!(stored.kind, DTypeKind::Compound) {
                        v3::types::write(&stored, None).map_err(|error| error.at(name))?;
                    }
                }
                self.check_node(group, None, name, dims)
            }
            Edit::DefGroup { parent, name } => self.check_node(parent, None, name, &[]),
            Edit::RenameVar { var: id, name } => {
                let var = self.model.var(id)?;
                self.check_rename(var.group, NodeId::Var(id), name, &var.dims)
            }
            Edit::RenameGroup { group, name } => match self.model.group(group)?.parent {
                Some(parent) => self.check_rename(parent, NodeId::Group(group), name, &[]),
                None => Ok(()),
            },
            Edit::PutAtt { group, var, name, values } => self.put_att(group, var, &name::nfc(name), values),
            Edit::RenameAtt { group, var, name, to } => {
                let to = name::nfc(to);
                self.check_att_name(group, var, &to)?;
                self.check_att_change(var, name)?;
                self.check_att_change(var, &to)
            }
            Edit::DelAtt { group, var, name } => {
                self.check_att_place(group, var)?;
                self.check_att_change(var, name)
            }
            Edit::DefVarUnwritten { var, value } => {
                self.check_fill(var, value)?;
                self.replan(var, LateChange::Fill)
            }
            Edit::DefVarFill { var, value, .. } => {
                if let Some(value) = value {
                    self.check_fill(var, value)?;
                }
                self.replan(var, LateChange::Fill)
            }
            Edit::DefVarEndian { var, endian } => {
                if endian == Endian::Big && self.dataset.description.writer_bugs.swapped {
                    return Err(ErrorKind::Inval.context(
                        "the dataset's \"_NCProperties\" names netCDF-C 4.9.2 or earlier; readers take all \
                         variables of such a dataset as little-endian, so it cannot hold big-endian ones",
                    ));
                }
                self.replan(var, LateChange::Layout)
            }
            Edit::DefVarShards { shards: Some(_), .. } if self.dataset.format != ZarrFormat::V3 => {
                Err(ErrorKind::NotNc4
                    .context("shards: only Zarr V3 has shards; create the dataset with mode=…,v3"))
            }
            Edit::DefVarShards { shards: None, var } if self.model.var(var)?.shards.is_none() => Ok(()),
            Edit::DefVarShards { var, .. } => self.replan(var, LateChange::Layout),
            Edit::DefVarChunking { var, .. } | Edit::DefVarQuantize { var, .. } => {
                self.replan(var, LateChange::Layout)
            }
            Edit::DefVarFilter { var, filter } => {
                self.check_filter(filter)?;
                let filters =
                    self.model.var(var)?.filters.iter().filter(|have| have.hdf5_id != filter.hdf5_id);
                self.check_chain(var, &filters.chain([filter]).cloned().collect::<Vec<_>>())?;
                self.replan(var, LateChange::Layout)
            }
            Edit::DefVarFilters { var, filters } => {
                for filter in filters {
                    self.check_filter(filter)?;
                }
                self.check_chain(var, filters)?;
                self.replan(var, LateChange::Layout)
            }
            // Whether a compound can be stored is checked when a variable has that type.
            Edit::DefCompound { name, size, .. } | Edit::DefOpaque { name, size, .. }
                if size > user::MAX_SIZE && self.dataset.flavour == Flavour::NcZarr =>
            {
                Err(ErrorKind::Inval.context(format!(
                    "type {name}: its elements are too large (expected at most {} bytes, found {size})",
                    user::MAX_SIZE
                )))
            }
            Edit::DefCompound { name, .. } | Edit::DefOpaque { name, .. } => self.check_type_name(name),
            Edit::DefVlen { name, .. } | Edit::DefEnum { name, .. } => match self.dataset.flavour {
                Flavour::NcZarr => self.check_type_name(name),
                Flavour::Zarr => {
                    Err(ErrorKind::NotNc4.context(format!("type {name}: Zarr has neither vlens nor enums")))
                }
            },
            Edit::InsertField { ty, name, .. } | Edit::InsertEnum { ty, name, .. } => {
                self.check_members(ty, name)
            }
            _ => Err(ErrorKind::Inval.context("NCZarr does not support this edit")),
        }
    }

    /// Whether the documents of a group could not be read.
    fn is_unreadable(&self, group: GroupId) -> bool {
        self.state.groups.get(group.index()).is_some_and(|group| group.unreadable)
    }

    /// Checks whether a type can have another member.
    fn check_members(&self, ty: TypeId, name: &str) -> Result<()> {
        let Ok(user) = self.model.user_type(ty) else { return Ok(()) };
        let count = match &user.class {
            TypeClass::Compound { fields, .. } => fields.len(),
            TypeClass::Enum { members, .. } => members.len(),
            TypeClass::Opaque { .. } | TypeClass::Vlen { .. } => 0,
        };
        if count >= user::MAX_MEMBERS && self.dataset.flavour == Flavour::NcZarr {
            Err(ErrorKind::NotNc4
                .context(format!("{}.{name}: a type has at most {count} members", user.name)))
        } else {
            Ok(())
        }
    }

    /// Checks whether another type can be defined.
    fn check_type_name(&self, name: &str) -> Result<()> {
        if self.dataset.root_array && self.dataset.flavour == Flavour::NcZarr {
            Err(ErrorKind::Perm.context(format!("type {name}: the store is a single array")))
        } else {
            Ok(())
        }
    }

    /// Checks whether a variable or group of this name can be made.
    fn check_node(&self, parent: GroupId, child: Option<NodeId>, name: &str, dims: &[DimId]) -> Result<()> {
        let Some(key) = self.dataset.node_key(self.model, self.state, parent, child, name, dims)? else {
            return Ok(());
        };
        match &self.storage.new_key {
            Some((asked, true)) if *asked == key && !is_vacated(self.state, self.model, &key, child) => {
                Err(ErrorKind::Object.context(format!(
                    "{key}: the storage has objects there that do not belong to this dataset"
                )))
            }
            _ => Ok(()),
        }
    }

    fn check_rename(&self, parent: GroupId, child: NodeId, name: &str, dims: &[DimId]) -> Result<()> {
        if !self.dataset.map.caps().delete {
            return Err(ErrorKind::Perm.context("the storage cannot move objects"));
        }
        self.check_node(parent, Some(child), name, dims)
    }

    /// Checks whether attributes of this node can be changed.
    fn check_att_place(&self, group: GroupId, var: Option<VarId>) -> Result<()> {
        match var {
            None if self.dataset.root_array && group == GroupId::ROOT => {
                Err(ErrorKind::Perm.context("the store is a single array; it has no global attributes"))
            }
            None if self.is_unreadable(group) => Err(unreadable_group()),
            Some(var) if self.state.vars.get(var.index()).is_some_and(|var| var.stored.attrs_lost) => {
                Err(ErrorKind::Perm
                    .context("the stored attributes cannot be read; writing them would lose them"))
            }
            _ => Ok(()),
        }
    }

    fn check_att_name(&self, group: GroupId, var: Option<VarId>, name: &str) -> Result<()> {
        let is_v3 = self.dataset.format == ZarrFormat::V3;
        if attributes::is_reserved(name) || is_v3 && v3::keys::is_reserved(name) {
            return Err(ErrorKind::NameInUse.context(format!("attribute {name}: the name is reserved")));
        }
        self.check_att_place(group, var)
    }

    fn put_att(&mut self, group: GroupId, var: Option<VarId>, name: &str, values: &Values) -> Result<()> {
        self.check_att_name(group, var, name)?;
        let is_fill = var.is_some() && name == FILL_VALUE;
        if !values.nc_type().is_atomic() && self.dataset.flavour == Flavour::NcZarr {
            // The model reports values that do not match their type.
            if self.model.items(values).is_ok() {
                user::check_att(self.model, values).map_err(|error| error.at(name))?;
            }
        } else if !is_fill || values.nc_type().is_atomic() {
            let kept = self.dataset.flavour == Flavour::NcZarr || self.dataset.annotate;
            attributes::check(values, kept).map_err(|error| error.at(name))?;
        }
        let bad_width = name == DEFAULT_MAXSTRLEN && var.is_none() && group == GroupId::ROOT
            || name == MAXSTRLEN && is_string(self.model, var);
        if bad_width && maxstrlen(values).is_none_or(|width| width as u64 > self.dataset.options.limits.chunk)
        {
            return Err(ErrorKind::Inval.context(format!(
                "attribute {name}: the width is invalid (expected one integer of at least 1)"
            )));
        }
        match var {
            Some(id) if name == FILL_VALUE => {
                if self.model.var(id)?.atts.get(name) == Some(values) {
                    return Ok(());
                }
                self.check_fill(id, values)?;
                self.replan(id, LateChange::Fill)
            }
            Some(id) if name == MAXSTRLEN && self.model.var(id)?.xtype == NcType::String => {
                if maxstrlen(values) == self.stored_width(id) {
                    return Ok(());
                }
                self.replan(id, LateChange::Layout)
            }
            _ => Ok(()),
        }
    }

    /// Checks the deletion or renaming of an attribute that may determine the layout.
    fn check_att_change(&mut self, var: Option<VarId>, name: &str) -> Result<()> {
        match var {
            Some(id) if name == FILL_VALUE => self.replan(id, LateChange::Fill),
            Some(id) if name == MAXSTRLEN && is_string(self.model, var) => {
                // Once there are data, the width stays the same, whatever the attribute is.
                if self.has_data(id) { Ok(()) } else { self.replan(id, LateChange::Layout) }
            }
            _ => Ok(()),
        }
    }

    /// Checks whether the fill value can be stored.
    fn check_fill(&self, id: VarId, value: &Values) -> Result<()> {
        let var = self.model.var(id)?;
        let mut filled = var.clone();
        filled.fill = nczarr_model::VarFill::Value(value.clone());
        if let (NcType::User(ty), Flavour::NcZarr) = (var.xtype, self.dataset.flavour) {
            if value.nc_type() != var.xtype || self.model.items(value).is_err() {
                return Ok(());
            }
            let form = user::new_encoding(self.model, var, ty, self.dataset.format, &self.dataset.registry)?;
            return user::stored_fill(self.model, &filled, ty, &form).map(drop);
        }
        let dtype = match self.state.vars.get(id.index()).and_then(|var| var.stored.meta.as_ref()) {
            Some(meta) => meta.dtype.clone(),
            None => self.dataset.planner().dtype(self.model, var, 1)?,
        };
        // The model reports a difference in type.
        if value.nc_type() != var.xtype {
            return Ok(());
        }
        if let Some(given) = self.given(id)
            && let Some(data) = given.of(self.model, var.xtype, var.endian)
        {
            return given.fill(Some(value), &data).map(drop).map_err(|error| error.at(FILL_VALUE));
        }
        self.dataset.planner().fill(&filled, &dtype).map(drop)
    }

    /// The stored type that the caller gave for a variable.
    fn given(&self, id: VarId) -> Option<&SourceType> {
        self.state.vars.get(id.index())?.stored.source_type.as_ref()
    }

    fn stored_width(&self, id: VarId) -> Option<usize> {
        match self.state.vars.get(id.index())?.stored.meta.as_ref()?.dtype.kind {
            DTypeKind::Text(width) => Some(width),
            _ => None,
        }
    }

    /// Checks whether the filter is available and can encode.
    fn check_filter(&self, filter: &FilterSpec) -> Result<()> {
        let (format, registry) = (self.dataset.format, &self.dataset.registry);
        let name = make_filter(filter, format, registry)?.info().name;
        if registry.filter(name)?.can_encode() {
            Ok(())
        } else {
            Err(ErrorKind::NoFilter.context(format!("filter {name}: it can decode but not encode")))
        }
    }

    /// Checks whether a variable can have these filters in V3.
    fn check_chain(&self, id: VarId, filters: &[FilterSpec]) -> Result<()> {
        if self.dataset.format != ZarrFormat::V3 {
            return Ok(());
        }
        match self.dataset.planner().check_filters_v3(self.model, id, filters, self.given(id)) {
            Err(error) if error.kind() == ErrorKind::Filter => Err(error),
            // The planning of the layout reports all other problems.
            _ => Ok(()),
        }
    }

    /// Whether a variable has data, stored or still cached.
    fn has_data(&self, id: VarId) -> bool {
        let here = self.state.vars.get(id.index());
        here.is_some_and(|var| has_written(var) || var.on_disk && self.storage.has_data == Some(true))
    }

    /// Whether the stored V3 layout equals the one that this library would plan. Codecs, shards and keys of
    /// other writers cannot be planned again.
    fn is_planned_here(&self, id: VarId) -> Result<bool> {
        let Some(here) = self.state.vars.get(id.index()) else { return Ok(true) };
        match &here.stored.meta {
            Some(meta) if meta.v3.is_some() && !meta.raw.is_empty() && !here.replan => {
                let mut planned = StoredVariable::default();
                self.dataset.planner().plan(self.model, id, &mut planned)?;
                Ok(planned.meta.is_some_and(|planned| v3::plan::is_same_layout(&planned, meta)))
            }
            _ => Ok(true),
        }
    }

    /// Marks the layout of a variable to be planned again; an error once there are data.
    fn replan(&mut self, id: VarId, late: LateChange) -> Result<()> {
        let var = self.model.var(id)?;
        let name = || self.model.var_path(id).unwrap_or_default();
        if let Some(problem) = &var.problem {
            return Err(problem.clone().at(name()));
        }
        let kind = match late {
            LateChange::Layout => ErrorKind::LateDef,
            LateChange::Fill => ErrorKind::LateFill,
        };
        if self.has_data(id) {
            return Err(kind.context(format!("{}: the variable already has data", name())));
        }
        if !self.is_planned_here(id)? {
            return Err(kind.context(format!("{}: the layout of another writer cannot be changed", name())));
        }
        let Some(here) = self.state.vars.get_mut(id.index()) else { return Ok(()) };
        if let Some(array) = &here.array {
            if !array.retire() {
                return Err(kind.context(format!("{}: data of the variable are being written", name())));
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

/// Whether a key becomes free: its node was renamed and will be moved away, or is `child` itself.
fn is_vacated(state: &NodeStates, model: &Model, key: &Key, child: Option<NodeId>) -> bool {
    let vars = state.vars.iter().zip(model.vars()).map(|(here, (id, _))| (&here.key, NodeId::Var(id)));
    let groups =
        state.groups.iter().zip(model.groups()).map(|(here, (id, _))| (&here.key, NodeId::Group(id)));
    vars.chain(groups).filter(|(here, _)| *here == key).any(|(_, there)| {
        Some(there) == child || matches!(state.proper_key(model, there), Ok(Some(proper)) if proper != *key)
    })
}

fn is_string(model: &Model, var: Option<VarId>) -> bool {
    var.and_then(|id| model.var(id).ok()).is_some_and(|var| var.xtype == NcType::String)
}

/// Rejects edits that the classic model does not have.
fn check_classic_model(model: &Model, edit: &Edit<'_>) -> Result<()> {
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
            Err(ErrorKind::Unlimit
                .context(format!("dimension {name}: the classic model has one unlimited dimension")))
        }
        _ => Ok(()),
    }
}
