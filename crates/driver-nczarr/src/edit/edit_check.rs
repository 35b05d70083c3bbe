//! [`EditCheck`]: the edits that the format can hold, in addition to the model's own rules.

use nczarr_codec::ZarrFormat;
use nczarr_model::{
    DimId, Edit, Endian, Error, ErrorKind, FilterSpec, GroupId, Model, NcType, Result, TypeClass, TypeId,
    Values, VarId, name,
};
use nczarr_storage::Key;

use crate::dataset::catalog::Catalog;
use crate::dataset::node_id::NodeId;
use crate::dataset::node_states::{NodeStates, VarState};
use crate::edit::parallel_layouts::planner;
use crate::flavour::kind::Flavour;
use crate::metadata::attributes::maxstrlen;
use crate::metadata::attributes::{self, DEFAULT_MAXSTRLEN, FILL_VALUE, MAXSTRLEN};
use crate::metadata::codecs::filters::make_filter;
use crate::metadata::types::dtype::DTypeKind;
use crate::metadata::types::foreign;
use crate::metadata::v3;
use crate::metadata::v3::node_name;
use crate::metadata::v3::source_type::SourceType;
use crate::metadata::variable::StoredVariable;
use crate::user;

/// Bytes reserved for the names of documents and chunks below the key of a variable or group.
const MAX_CHUNK_NAME: usize = 64;

pub(crate) fn no_var(id: VarId) -> Error {
    ErrorKind::NotVar.context(format!("{id:?}"))
}

/// The kind of a layout change. It selects the error if the variable has data.
#[derive(Clone, Copy)]
enum LateChange {
    Layout,
    Fill,
}

/// Facts from the storage on which an edit depends.
#[derive(Default)]
pub(crate) struct StorageFacts {
    /// The key of a new or renamed node, and whether objects exist there.
    pub(super) new_key: Option<(Key, bool)>,
    /// Whether the storage holds data of the variable.
    pub(super) has_data: Option<bool>,
}

/// The check of one edit, under the lock of [`NodeStates`].
pub(super) struct EditCheck<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) model: &'a Model,
    pub(super) state: &'a mut NodeStates,
    pub(super) storage: &'a StorageFacts,
    /// The stored type that the caller gave with the definition of a variable.
    pub(super) source_type: Option<&'a SourceType>,
}

impl EditCheck<'_> {
    /// Checks whether this format can hold the edit.
    pub(super) fn check(&mut self, edit: &Edit<'_>) -> Result<()> {
        if self.catalog.classic_model {
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
                if let (NcType::User(ty), Flavour::NcZarr) = (xtype, self.catalog.flavour) {
                    let var = nczarr_model::Var { xtype, ..nczarr_model::Var::default() };
                    user::new_encoding(self.model, &var, ty, self.catalog.format, &self.catalog.registry)
                        .map_err(|error| error.at(name))?;
                } else if let (NcType::User(ty), None) = (xtype, self.source_type) {
                    let stored = foreign::stored_dtype(self.model, ty, Endian::Native)?;
                    if self.catalog.format == ZarrFormat::V3 && matches!(stored.kind, DTypeKind::Compound) {
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
                self.check_unwritten(var)?;
                self.replan(var, LateChange::Fill)
            }
            Edit::DefVarFill { var, value, .. } => {
                if let Some(value) = value {
                    self.check_fill(var, value)?;
                }
                self.replan(var, LateChange::Fill)
            }
            Edit::DefVarEndian { var, endian } => {
                if endian == Endian::Big && self.catalog.description.writer_bugs.swapped {
                    return Err(ErrorKind::Inval.context(
                        "the dataset's \"_NCProperties\" names netCDF-C 4.9.2 or earlier; readers take all \
                         variables of such a dataset as little-endian, so it cannot hold big-endian ones",
                    ));
                }
                self.replan(var, LateChange::Layout)
            }
            Edit::DefVarShards { shards: Some(_), .. } if self.catalog.format != ZarrFormat::V3 => {
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
                if size > user::MAX_SIZE && self.catalog.flavour == Flavour::NcZarr =>
            {
                Err(ErrorKind::Inval.context(format!(
                    "type {name}: its elements are too large (expected at most {} bytes, found {size})",
                    user::MAX_SIZE
                )))
            }
            Edit::DefCompound { name, .. } | Edit::DefOpaque { name, .. } => self.check_type_name(name),
            Edit::DefVlen { name, .. } | Edit::DefEnum { name, .. } => match self.catalog.flavour {
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
        if count >= user::MAX_MEMBERS && self.catalog.flavour == Flavour::NcZarr {
            Err(ErrorKind::NotNc4
                .context(format!("{}.{name}: a type has at most {count} members", user.name)))
        } else {
            Ok(())
        }
    }

    /// Checks whether another type can be defined.
    fn check_type_name(&self, name: &str) -> Result<()> {
        if self.catalog.root_array && self.catalog.flavour == Flavour::NcZarr {
            Err(ErrorKind::Perm.context(format!("type {name}: the store is a single array")))
        } else {
            Ok(())
        }
    }

    /// Checks whether a variable or group of this name can be made.
    fn check_node(&self, parent: GroupId, child: Option<NodeId>, name: &str, dims: &[DimId]) -> Result<()> {
        let Some(key) = node_key(self.catalog, self.model, self.state, parent, child, name, dims)? else {
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
        if !self.catalog.map.caps().delete {
            return Err(ErrorKind::Perm.context("the storage cannot move objects"));
        }
        self.check_node(parent, Some(child), name, dims)
    }

    /// Checks whether attributes of this node can be changed.
    fn check_att_place(&self, group: GroupId, var: Option<VarId>) -> Result<()> {
        match var {
            None if self.catalog.root_array && group == GroupId::ROOT => {
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
        let is_v3 = self.catalog.format == ZarrFormat::V3;
        if attributes::is_reserved(name) || is_v3 && v3::keys::is_reserved(name) {
            return Err(ErrorKind::NameInUse.context(format!("attribute {name}: the name is reserved")));
        }
        self.check_att_place(group, var)
    }

    fn put_att(&mut self, group: GroupId, var: Option<VarId>, name: &str, values: &Values) -> Result<()> {
        self.check_att_name(group, var, name)?;
        let is_fill = var.is_some() && name == FILL_VALUE;
        if !values.nc_type().is_atomic() && self.catalog.flavour == Flavour::NcZarr {
            // The model reports values that do not match their type.
            if self.model.items(values).is_ok() {
                user::check_att(self.model, values).map_err(|error| error.at(name))?;
            }
        } else if !is_fill || values.nc_type().is_atomic() {
            let kept = self.catalog.flavour == Flavour::NcZarr || self.catalog.annotate;
            attributes::check(values, kept).map_err(|error| error.at(name))?;
        }
        let bad_width = name == DEFAULT_MAXSTRLEN && var.is_none() && group == GroupId::ROOT
            || name == MAXSTRLEN && is_string(self.model, var);
        if bad_width && maxstrlen(values).is_none_or(|width| width as u64 > self.catalog.options.limits.chunk)
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

    /// Checks whether unwritten elements may have another value than the attribute `_FillValue`. Zarr V2 and
    /// NCZarr do not distinguish the two.
    fn check_unwritten(&self, id: VarId) -> Result<()> {
        let var = self.model.var(id)?;
        let is_separate = self.catalog.flavour != Flavour::NcZarr
            && self.catalog.format == ZarrFormat::V3
            && var.xtype.is_numeric()
            && var.stored_type.is_none()
            && self.given(id).is_none();
        if is_separate || !var.atts.contains_key(FILL_VALUE) {
            return Ok(());
        }
        Err(ErrorKind::Inval.context("the attribute _FillValue defines the value of unwritten elements"))
    }

    /// Checks whether the fill value can be stored.
    fn check_fill(&self, id: VarId, value: &Values) -> Result<()> {
        let var = self.model.var(id)?;
        let mut filled = var.clone();
        filled.fill = nczarr_model::VarFill::Value(value.clone());
        if let (NcType::User(ty), Flavour::NcZarr) = (var.xtype, self.catalog.flavour) {
            if value.nc_type() != var.xtype || self.model.items(value).is_err() {
                return Ok(());
            }
            let form = user::new_encoding(self.model, var, ty, self.catalog.format, &self.catalog.registry)?;
            return user::stored_fill(self.model, &filled, ty, &form).map(drop);
        }
        let dtype = match self.state.vars.get(id.index()).and_then(|var| var.stored.meta.as_ref()) {
            Some(meta) => meta.dtype.clone(),
            None => planner(self.catalog).dtype(self.model, var, 1)?,
        };
        // The model reports a difference in type.
        if value.nc_type() != var.xtype {
            return Ok(());
        }
        if let Some(given) = self.given(id)
            && let Some(data) = given.of(self.model, var.xtype, var.endian, &self.catalog.registry)
        {
            if let (DTypeKind::Bool, Values::UByte(bytes)) = (data.dtype.kind, value)
                && let Some(byte) = bytes.first().filter(|byte| **byte > 1)
            {
                return Err(ErrorKind::Range
                    .context(format!("{FILL_VALUE}: no truth value (expected 0 or 1, found {byte})")));
            }
            return match self.catalog.format {
                ZarrFormat::V3 => {
                    given.fill(Some(value), &data).map(drop).map_err(|error| error.at(FILL_VALUE))
                }
                ZarrFormat::V2 => planner(self.catalog).fill(&filled, &data.dtype).map(drop),
            };
        }
        planner(self.catalog).fill(&filled, &dtype).map(drop)
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
        let (format, registry) = (self.catalog.format, &self.catalog.registry);
        let name = make_filter(filter, format, registry)?.info().name;
        if registry.filter(name)?.can_encode() {
            Ok(())
        } else {
            Err(ErrorKind::NoFilter.context(format!("filter {name}: it can decode but not encode")))
        }
    }

    /// Checks whether a variable can have these filters in V3.
    fn check_chain(&self, id: VarId, filters: &[FilterSpec]) -> Result<()> {
        if self.catalog.format != ZarrFormat::V3 {
            return Ok(());
        }
        match planner(self.catalog).check_filters_v3(self.model, id, filters, self.given(id)) {
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
                planner(self.catalog).plan(self.model, id, &mut planned)?;
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

/// The key for a new node, or for a node that gets the name `name`. `None` if the group already has that
/// name; then the model reports the conflict.
pub(super) fn node_key(
    catalog: &Catalog,
    model: &Model,
    state: &NodeStates,
    parent: GroupId,
    child: Option<NodeId>,
    name: &str,
    dims: &[DimId],
) -> Result<Option<Key>> {
    if catalog.root_array {
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
    let refused = catalog.format == ZarrFormat::V3 && !state.escapes_names && node_name::is_forbidden(&name);
    if name.starts_with('.') || refused {
        return Err(ErrorKind::BadName.context(format!("{name:?}: Zarr cannot hold this name")));
    }
    let key = state
        .key_of(&state.group(parent)?.key, &name, child)
        .map_err(|error| ErrorKind::BadName.context(error.what()))?;
    let most = catalog
        .map
        .caps()
        .max_key
        .map_or(catalog.options.limits.key, |most| most.min(catalog.options.limits.key));
    let (len, below) = (key.as_str().len(), max_chunk_name(model, dims));
    if len.saturating_add(below) > most {
        return Err(ErrorKind::MaxName.context(format!(
            "{name:?}: key {key} has {len} bytes and its chunks up to {below} more (expected at most {most} together)"
        )));
    }
    if let Some(most) = catalog.map.caps().max_segment.filter(|most| node_name::stored(&key).len() > *most) {
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
pub(super) fn has_written(var: &VarState) -> bool {
    var.array.as_ref().is_some_and(|array| array.written())
}
