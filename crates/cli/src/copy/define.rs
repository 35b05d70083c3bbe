//! Defines the objects of the source in the target: groups, types, dimensions, variables, attributes.
//!
//! If the target refuses an object, it is defined in another form (`fit`, `names`) or left out; both are
//! recorded and reported. The code asks for the target's format only where a choice must precede the refusal.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use nczarr::Registry;
use nczarr::dispatch::{Dataset, Format, FormatX};
use nczarr::nc_table::NcDispatch as _;
use nczarr_model::{
    Defined, Dim, DimId, Edit, Error, ErrorKind, GroupId, Model, NcType, Result, Scalar, TypeClass, TypeId,
    UserType, Values, VarId,
};

use super::defined::DefinedObjects;
use super::error::CopyError;
use super::loss_report::{self, LossReport};
use super::max_length::BUILT_IN_MAX_LEN;
use super::names::{GivenNames, GroupTarget, Namespace};
use super::select::Selection;
use super::spec::RequestedLayout;
use super::strings::{self, StringStats};

/// Variables that are left out.
const UNREADABLE: &str = "variables skipped, because they cannot be read";
const NO_DIMS: &str = "dimensions left out";
const NO_TYPES: &str = "types left out";
const FLAT: &str = "groups flattened, objects renamed to group_object";
const RENAMED: &str = "names changed";

/// The request: which objects to define, and how.
pub struct DefineRequest<'a> {
    /// The requested layout.
    pub layout: &'a RequestedLayout,
    /// The selected objects.
    pub select: &'a Selection,
    /// String statistics of each string variable.
    pub texts: &'a HashMap<VarId, StringStats>,
    /// Variables whose lossy filters are left out.
    pub exact: &'a HashSet<VarId>,
    /// The available filters.
    pub registry: &'a Registry,
    /// Variables left out so that the others are not too large.
    pub without: &'a HashSet<VarId>,
}

/// Defines everything that the target can hold, and ends define mode.
///
/// # Errors
///
/// Errors of reading the source and writing the target; `NC_EVARSIZE` if all variables together are too
/// large.
pub fn all(
    from: &dyn Dataset,
    to: &dyn Dataset,
    wanted: &DefineRequest<'_>,
) -> Result<DefinedObjects, CopyError> {
    let source = from.model().snapshot();
    let select = wanted.select;
    let copied = DefinedObjects {
        made: to.model().snapshot(),
        vars: Vec::new(),
        dims: Vec::new(),
        groups: vec![GroupTarget::copy(GroupId::ROOT, GroupId::ROOT)],
        atts: HashMap::new(),
        lost: LossReport::default(),
        left: HashSet::new(),
        types: Vec::new(),
    };
    let mut work = Definer {
        from,
        to,
        source: Arc::clone(&source),
        wanted,
        names: GivenNames::default(),
        string_dims: Vec::new(),
        copied,
    };
    for (id, group) in source.groups().skip(1) {
        work.group(id, group)?;
    }
    // Formats with one unlimited dimension have it as the first of each variable's.
    let several = to.info().format == Format::NetCdf4;
    let record = if several { None } else { record_dim(&source) };
    for (id, dim) in source.dims() {
        let unlimited = if several { dim.unlimited } else { record == Some(id) };
        let new = if select.has_group(dim.group) { work.dim(dim, unlimited && !select.fixed)? } else { None };
        work.copied.dims.push(new);
    }
    for (_, ty) in source.user_types() {
        let new = if select.has_group(ty.group) { work.user_type(ty)? } else { None };
        work.copied.types.push(new);
    }
    for (id, group) in source.groups().filter(|(id, _)| select.has_group(*id)) {
        work.group_atts(id, &group.atts)?;
    }
    if to.info().formatx == FormatX::NcZarr {
        for ((ty, field), len) in strings::field_lengths(from, &source, select).map_err(CopyError::Source)? {
            work.field_length(ty, &field, len)?;
        }
    }
    for (id, var) in source.vars() {
        if let Some(why) = select.unreadable.get(&id) {
            work.left_out(UNREADABLE, work.path(var.group, &var.name), why);
        }
        let new = if select.has_var(id, var) { work.var(id, var)? } else { None };
        work.copied.vars.push(new);
    }
    if to.model().is_defining() {
        // Keep the room that the writer reserved for later additions.
        let room = from.editor().map(|editor| editor.header_padding()).unwrap_or_default();
        to._enddef(room.h_minfree, room.v_align, room.v_minfree, room.r_align)?;
    }
    work.copied.made = to.model().snapshot();
    Ok(work.copied)
}

/// Returns the dimension to be unlimited in a format that allows only one, as the first of a variable's
/// dimensions.
fn record_dim(source: &Model) -> Option<DimId> {
    let first_only = |id: DimId| source.vars().all(|(_, var)| !var.dims.iter().skip(1).any(|&dim| dim == id));
    let used = |id: DimId| source.vars().any(|(_, var)| var.dims.first() == Some(&id));
    let candidates = || source.dims().filter(|&(id, _)| first_only(id));
    let unlimited = || candidates().filter(|(_, dim)| dim.unlimited).map(|(id, _)| id);
    // A dimension without length must be the unlimited one.
    let empty = || candidates().filter(|(_, dim)| dim.is_empty()).map(|(id, _)| id);
    unlimited().find(|&id| used(id)).or_else(|| unlimited().next()).or_else(|| empty().next())
}

/// Returns whether an error means that the format cannot hold an object, rather than that writing failed.
fn is_refusal(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::BadType
            | ErrorKind::BadTypId
            | ErrorKind::NotNc4
            | ErrorKind::StrictNc3
            | ErrorKind::NoCompound
            | ErrorKind::Unlimit
            | ErrorKind::UnlimPos
            | ErrorKind::DimSize
            | ErrorKind::VarSize
            | ErrorKind::BadName
            | ErrorKind::MaxName
            | ErrorKind::NameInUse
            | ErrorKind::MaxDims
            | ErrorKind::MaxVars
            | ErrorKind::MaxAtts
            | ErrorKind::Char
            | ErrorKind::Range
            | ErrorKind::Inval
            | ErrorKind::NoFilter
            | ErrorKind::Filter
    )
}

/// The defined object, or the reason why the format refuses it.
pub fn unless_refused<T>(made: Result<T>) -> Result<Result<T, Error>> {
    match made {
        Err(error) if !is_refusal(&error) => Err(error),
        made => Ok(made),
    }
}

/// The state of defining.
pub struct Definer<'a> {
    pub from: &'a dyn Dataset,
    pub to: &'a dyn Dataset,
    pub source: Arc<Model>,
    pub wanted: &'a DefineRequest<'a>,
    pub names: GivenNames,
    /// Dimensions for the bytes of strings, by length.
    pub string_dims: Vec<(u64, DimId)>,
    pub copied: DefinedObjects,
}

impl Definer<'_> {
    /// Returns an object's name for messages.
    pub fn path(&self, group: GroupId, name: &str) -> String {
        loss_report::path(&self.source, group, name)
    }

    /// Returns the target group and prefix for the objects of a group.
    pub fn place(&self, group: GroupId) -> Result<GroupTarget> {
        self.copied
            .groups
            .get(group.index())
            .cloned()
            .ok_or_else(|| ErrorKind::BadGrpId.context(format!("{group:?}")))
    }

    /// Returns a free name for an object of a group, and its target group.
    pub fn name(&mut self, space: Namespace, group: GroupId, name: &str) -> Result<(GroupId, String)> {
        let place = self.place(group)?;
        let given = self.names.give(&self.source, &place, space, name);
        if given != format!("{}{name}", place.prefix) {
            self.copied.lost.add(RENAMED, format!("{} ({given})", self.path(group, name)));
        }
        Ok((place.group, given))
    }

    /// Records an object that was left out.
    pub fn left_out(&mut self, kind: &str, path: String, why: impl std::fmt::Display) {
        self.copied.lost.add(kind, format!("{path} ({why:#})"));
    }

    fn group(&mut self, id: GroupId, group: &nczarr_model::Group) -> Result<()> {
        let parent = self.place(group.parent.unwrap_or(GroupId::ROOT))?;
        // A group without a counterpart cannot hold attributes.
        if !self.wanted.select.has_group(id) {
            self.copied.groups.push(parent.inside(&group.name));
            return Ok(());
        }
        let made = if parent.prefix.is_empty() {
            unless_refused(self.to.def_grp(parent.group, &group.name))?.ok()
        } else {
            None
        };
        let place = match made {
            Some(new) => GroupTarget::copy(id, new),
            None => {
                let path = self.path(id, "");
                self.copied.lost.add(FLAT, path);
                parent.inside(&group.name)
            }
        };
        self.copied.groups.push(place);
        Ok(())
    }

    fn dim(&mut self, dim: &Dim, unlimited: bool) -> Result<Option<DimId>> {
        let (group, name) = self.name(Namespace::Dims, dim.group, &dim.name)?;
        let one_only = self.to.info().format != Format::NetCdf4;
        let made = if unlimited {
            self.to.def_dim(group, &name, None)
        } else if one_only && dim.is_empty() {
            // A length of 0 would make it unlimited.
            Err(ErrorKind::DimSize.context("the target allows the length 0 for its unlimited dimension only"))
        } else {
            self.to.def_dim(group, &name, Some(dim.len()))
        };
        match unless_refused(made)? {
            Ok(id) => Ok(Some(id)),
            Err(why) => {
                self.left_out(NO_DIMS, self.path(dim.group, &dim.name), why);
                Ok(None)
            }
        }
    }

    fn user_type(&mut self, user: &UserType) -> Result<Option<TypeId>> {
        match unless_refused(self.def_type(user))? {
            Ok(id) => Ok(Some(id)),
            Err(why) => {
                self.left_out(NO_TYPES, self.path(user.group, &user.name), why);
                Ok(None)
            }
        }
    }

    /// Raises the string length limit of a field to its longest string, if that exceeds the default limit or
    /// the copied one.
    fn field_length(&self, ty: TypeId, field: &str, len: usize) -> Result<(), CopyError> {
        let user = self.source.user_type(ty)?;
        if self.copied.ty(NcType::User(ty)).is_none() {
            return Ok(());
        }
        let name = format!("{}.{field}.strlen", user.name);
        let group = self.place(user.group)?.group;
        let said =
            self.to.model().snapshot().group(group)?.atts.get(&name).and_then(|values| values.scalar(0));
        let most = match said {
            Some(Scalar::Int(most)) => usize::try_from(most).unwrap_or(0),
            _ => BUILT_IN_MAX_LEN,
        };
        if len <= most {
            return Ok(());
        }
        let len = i32::try_from(len).map_err(|error| {
            ErrorKind::VarSize.context(format!("a string of {len} bytes")).caused_by(error)
        })?;
        let values = Values::Int(vec![len]);
        self.to.edit(&Edit::PutAtt { group, var: None, name: &name, values: &values })?;
        Ok(())
    }

    fn def_type(&self, user: &UserType) -> Result<TypeId> {
        let (group, name) = (self.place(user.group)?.group, user.name.as_str());
        let known = |ty: NcType| {
            self.copied.ty(ty).ok_or_else(|| ErrorKind::BadTypId.context("it needs a type that was left out"))
        };
        let made = match &user.class {
            TypeClass::Compound { size, .. } => {
                self.to.edit(&Edit::DefCompound { group, name, size: *size })?
            }
            TypeClass::Enum { base, .. } => self.to.edit(&Edit::DefEnum { group, name, base: *base })?,
            TypeClass::Opaque { size } => self.to.edit(&Edit::DefOpaque { group, name, size: *size })?,
            TypeClass::Vlen { base } => self.to.edit(&Edit::DefVlen { group, name, base: known(*base)? })?,
        };
        let Defined::Type(ty) = made else {
            return Err(ErrorKind::Internal.context(format!("{made:?} in place of a type")));
        };
        match &user.class {
            TypeClass::Compound { fields, .. } => {
                for field in fields {
                    self.to.edit(&Edit::InsertField {
                        ty,
                        name: &field.name,
                        offset: field.offset,
                        field: known(field.ty)?,
                        shape: &field.shape,
                    })?;
                }
            }
            TypeClass::Enum { members, .. } => {
                for member in members {
                    self.to.edit(&Edit::InsertEnum { ty, name: &member.name, value: member.value })?;
                }
            }
            TypeClass::Opaque { .. } | TypeClass::Vlen { .. } => {}
        }
        Ok(ty)
    }
}
