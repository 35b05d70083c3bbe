//! Defining in the target what the source has: groups, types, dimensions, variables, attributes.
//!
//! What the target refuses is defined as it can be held (`fit`, `names`), or left out; both is written down, to be told.
//! Which format the target has is asked only where a choice is to be made before it can refuse.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use nczarr::Registry;
use nczarr::dispatch::{Dataset, Format, FormatX, NcDispatch as _};
use nczarr_model::{
    Defined, Dim, DimId, Edit, Error, ErrorKind, GroupId, Model, NcType, Result, Scalar, TypeClass, TypeId, UserType,
    Values, VarId,
};

use super::Broken;
use super::fit::Change;
use super::losses::{self, Losses};
use super::names::{Names, Place, Space};
use super::select::Selection;
use super::spec::Layout;
use super::strings::{self, Text};

/// Variables that are left out.
const UNREADABLE: &str = "variables that cannot be read";
const NO_DIMS: &str = "dimensions that the target cannot hold";
const NO_TYPES: &str = "types that the target cannot hold";
const FLAT: &str = "groups, whose objects have the names of their groups and _ before their own";
const RENAMED: &str = "names, which are others there";

/// What became of the objects of the source, by their ids there; `None`: left out.
pub struct Copied {
    /// The model of the target.
    pub made: Arc<Model>,
    /// The variables.
    pub vars: Vec<Option<NewVar>>,
    /// The dimensions.
    pub dims: Vec<Option<DimId>>,
    /// The groups.
    pub groups: Vec<Place>,
    /// Names of attributes of groups that have others now.
    pub atts: HashMap<(GroupId, String), String>,
    /// What was left out or changed.
    pub lost: Losses,
    /// The paths of attributes that were left out.
    pub left: HashSet<String>,
    types: Vec<Option<TypeId>>,
}

/// A variable of the target.
pub struct NewVar {
    pub id: VarId,
    pub form: Form,
}

/// How its elements are those of the source.
#[derive(Debug, Clone, PartialEq)]
pub enum Form {
    /// As they are.
    Same,
    /// In another type.
    Numbers(Change),
    /// Strings as rows of `len` bytes.
    Text { len: u64 },
}

impl Copied {
    /// The target's type that stands for one of the source's; `None` if it was left out.
    pub fn ty(&self, ty: NcType) -> Option<NcType> {
        let NcType::User(id) = ty else { return Some(ty) };
        self.types.get(id.index()).copied().flatten().map(NcType::User)
    }

    /// Values of the target's types.
    pub fn values(&self, values: &Values) -> Option<Values> {
        Some(match (values, self.ty(values.nc_type())?) {
            (Values::User(_, bytes), NcType::User(id)) => Values::User(id, bytes.clone()),
            (Values::Packed(_, list), NcType::User(id)) => Values::Packed(id, list.clone()),
            (values, _) => values.clone(),
        })
    }
}

/// What is to be defined.
pub struct Wanted<'a> {
    /// The layout that was asked for.
    pub layout: &'a Layout,
    /// What of the source is wanted at all.
    pub select: &'a Selection,
    /// What is known of the strings of each string variable.
    pub texts: &'a HashMap<VarId, Text>,
    /// Variables whose filters that lose something are to be left out.
    pub exact: &'a HashSet<VarId>,
    /// The filters there are.
    pub registry: &'a Registry,
    /// Variables that are to be left out, since with them the others would be too large.
    pub without: &'a HashSet<VarId>,
}

/// Defines everything that the target can hold, and ends define mode.
///
/// # Errors
/// What reading the source and writing the target say; `NC_EVARSIZE` if all variables together are too large.
pub fn all(from: &dyn Dataset, to: &dyn Dataset, wanted: &Wanted<'_>) -> Result<Copied, Broken> {
    let source = from.model().snapshot();
    let select = wanted.select;
    let copied = Copied {
        made: to.model().snapshot(),
        vars: Vec::new(),
        dims: Vec::new(),
        groups: vec![Place::copy(GroupId::ROOT, GroupId::ROOT)],
        atts: HashMap::new(),
        lost: Losses::default(),
        left: HashSet::new(),
        types: Vec::new(),
    };
    let mut work = Work {
        from,
        to,
        source: Arc::clone(&source),
        wanted,
        names: Names::default(),
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
        for ((ty, field), len) in strings::field_lengths(from, &source, select).map_err(Broken::Source)? {
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
        // Room that the writer left is there for those who will add something.
        let room = from.header_padding();
        to._enddef(room.h_minfree, room.v_align, room.v_minfree, room.r_align)?;
    }
    work.copied.made = to.model().snapshot();
    Ok(work.copied)
}

/// The dimension that is unlimited where only one can be, and only as the first of a variable's.
fn record_dim(source: &Model) -> Option<DimId> {
    let first_only = |id: DimId| source.vars().all(|(_, var)| !var.dims.iter().skip(1).any(|&dim| dim == id));
    let used = |id: DimId| source.vars().any(|(_, var)| var.dims.first() == Some(&id));
    let candidates = || source.dims().filter(|&(id, _)| first_only(id));
    let unlimited = || candidates().filter(|(_, dim)| dim.unlimited).map(|(id, _)| id);
    // One without length can be nothing else there.
    let empty = || candidates().filter(|(_, dim)| dim.is_empty()).map(|(id, _)| id);
    unlimited().find(|&id| used(id)).or_else(|| unlimited().next()).or_else(|| empty().next())
}

/// Whether an error says that the format cannot hold something, and not that writing fails.
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

/// What was made, or why the format refuses it.
pub fn unless_refused<T>(made: Result<T>) -> Result<Result<T, Error>> {
    match made {
        Err(error) if !is_refusal(&error) => Err(error),
        made => Ok(made),
    }
}

/// What is being defined, as far as it is.
pub struct Work<'a> {
    pub from: &'a dyn Dataset,
    pub to: &'a dyn Dataset,
    pub source: Arc<Model>,
    pub wanted: &'a Wanted<'a>,
    pub names: Names,
    /// Those of the bytes of strings, by length.
    pub string_dims: Vec<(u64, DimId)>,
    pub copied: Copied,
}

impl Work<'_> {
    /// What an object is called in messages.
    pub fn path(&self, group: GroupId, name: &str) -> String {
        losses::path(&self.source, group, name)
    }

    /// Where the objects of a group go.
    pub fn place(&self, group: GroupId) -> Result<Place> {
        self.copied.groups.get(group.index()).cloned().ok_or_else(|| ErrorKind::BadGrpId.context(format!("{group:?}")))
    }

    /// A name for an object of a group, and where it goes.
    pub fn name(&mut self, space: Space, group: GroupId, name: &str) -> Result<(GroupId, String)> {
        let place = self.place(group)?;
        let given = self.names.give(&self.source, &place, space, name);
        if given != format!("{}{name}", place.prefix) {
            self.copied.lost.add(RENAMED, format!("{} ({given})", self.path(group, name)));
        }
        Ok((place.group, given))
    }

    /// Writes down that something was left out.
    pub fn left_out(&mut self, kind: &str, path: String, why: impl std::fmt::Display) {
        self.copied.lost.add(kind, format!("{path} ({why:#})"));
    }

    fn group(&mut self, id: GroupId, group: &nczarr_model::Group) -> Result<()> {
        let parent = self.place(group.parent.unwrap_or(GroupId::ROOT))?;
        // In a group that has no place of its own none can be.
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
            Some(new) => Place::copy(id, new),
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
        let (group, name) = self.name(Space::Dims, dim.group, &dim.name)?;
        let one_only = self.to.info().format != Format::NetCdf4;
        let made = if unlimited {
            self.to.def_dim(group, &name, None)
        } else if one_only && dim.is_empty() {
            // A length of 0 would make it unlimited.
            Err(ErrorKind::DimSize.context("only the unlimited one has no length"))
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

    /// Lets the strings of a field be as long as the longest of them, if they are longer than they may be anyway or by what
    /// was copied.
    fn field_length(&self, ty: TypeId, field: &str, len: usize) -> Result<(), Broken> {
        let user = self.source.user_type(ty)?;
        if self.copied.ty(NcType::User(ty)).is_none() {
            return Ok(());
        }
        let name = format!("{}.{field}.strlen", user.name);
        let group = self.place(user.group)?.group;
        let said = self.to.model().snapshot().group(group)?.atts.get(&name).and_then(|values| values.scalar(0));
        let most = match said {
            Some(Scalar::Int(most)) => usize::try_from(most).unwrap_or(0),
            _ => super::var::BUILT_IN_MAX_LEN,
        };
        if len <= most {
            return Ok(());
        }
        let len = i32::try_from(len)
            .map_err(|error| ErrorKind::VarSize.context(format!("a string of {len} bytes")).caused_by(error))?;
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
            TypeClass::Compound { size, .. } => self.to.edit(&Edit::DefCompound { group, name, size: *size })?,
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
