//! The tree: groups, dimensions, variables and types of one dataset.
//!
//! [`Model`] is a value that answers every inquiry. [`Edit`](crate::Edit)s change it once a dataset is open.
//! A driver that loads a dataset uses the `add_*` functions. These functions check that names are free and
//! references exist. They do not check legal names or the rules of a format.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use indexmap::IndexMap;
use indexmap::map::Entry;

use crate::{
    DimId, DimLengths, Error, ErrorKind, FillMode, GroupId, NcType, Result, TypeId, UserType, Values, VarId,
    fill,
};

/// The hasher of names: fast, with a random key since names come from files.
pub type NameHasher = foldhash::fast::RandomState;

/// Objects by name, in the order of definition. `default()` is empty.
pub type Named<T> = IndexMap<String, T, NameHasher>;

/// The attributes of a group or variable, in the order of definition.
pub type Att = Named<Values>;

/// A group.
#[derive(Debug, Clone, Default)]
pub struct Group {
    /// Its name; the root's is `/`.
    pub name: String,
    /// The parent group; `None` for the root.
    pub parent: Option<GroupId>,
    /// Its groups by name, in the order of definition.
    pub groups: Named<GroupId>,
    /// Its dimensions by name, in the order of definition.
    pub dims: Named<DimId>,
    /// Its variables by name, in the order of definition.
    pub vars: Named<VarId>,
    /// Its types by name, in the order of definition.
    pub types: Named<TypeId>,
    /// Its attributes.
    pub atts: Att,
}

/// A shared dimension.
///
/// All snapshots of a model share the length. An unlimited length only grows.
#[derive(Debug, Clone)]
pub struct Dim {
    /// Its name.
    pub name: String,
    /// The group it is defined in.
    pub group: GroupId,
    /// Whether writes may extend it.
    pub unlimited: bool,
    len: Arc<AtomicU64>,
}

impl Dim {
    /// The current length.
    pub fn len(&self) -> u64 {
        self.len.load(Ordering::Acquire)
    }

    /// Whether the current length is 0.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the shared counter of the length.
    pub fn shared_len(&self) -> &Arc<AtomicU64> {
        &self.len
    }

    /// Raises the length of an unlimited dimension to at least `len`.
    pub fn grow(&self, len: u64) {
        self.len.fetch_max(len, Ordering::AcqRel);
    }

    /// Extends an unlimited dimension by `count`, to at most `limit`, in one step. Returns the earlier
    /// length.
    ///
    /// Threads that call it get different ranges of indices.
    ///
    /// # Errors
    /// As [`Dim::end_of`].
    pub fn reserve(&self, count: u64, limit: u64) -> Result<u64> {
        let mut start = self.len();
        loop {
            let end = self.end_of(start, count, limit)?;
            match self.len.compare_exchange_weak(start, end, Ordering::AcqRel, Ordering::Acquire) {
                Ok(start) => return Ok(start),
                Err(now) => start = now,
            }
        }
    }

    /// Returns the length of an unlimited dimension after `count` indices from `start` on.
    ///
    /// # Errors
    /// `NC_EINVAL` if the dimension is fixed; `NC_EDIMSIZE` if the length exceeds `limit`.
    pub fn end_of(&self, start: u64, count: u64, limit: u64) -> Result<u64> {
        if !self.unlimited {
            return Err(ErrorKind::Inval.context(format!(
                "dimension {}: its length is fixed; only unlimited dimensions grow",
                self.name
            )));
        }
        start.checked_add(count).filter(|&end| end <= limit).ok_or_else(|| {
            ErrorKind::DimSize.context(format!(
                "dimension {}: {count} more indices exceed the largest length (expected at most {limit}, found {start})",
                self.name
            ))
        })
    }
}

/// The chunking of a variable.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Chunking {
    /// The default of the format.
    #[default]
    Default,
    /// Contiguous. Formats with chunks only use one chunk of the whole shape.
    Contiguous,
    /// Stored within the metadata; as [`Chunking::Contiguous`] in formats without that layout.
    Compact,
    /// In chunks of this shape, in elements.
    Chunked(Vec<u64>),
}

/// The byte order in which a variable is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Endian {
    /// The default of the format.
    #[default]
    Native,
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

/// The value of unwritten elements.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum VarFill {
    /// The type's default fill value.
    #[default]
    Default,
    /// This value: one element of the variable's type.
    Value(Values),
    /// No fill: reads give zeros. The variable may still have the attribute `_FillValue`.
    NoFill,
}

/// A filter of a variable, with its names and parameters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FilterSpec {
    /// The HDF5 id, if it has one.
    pub hdf5_id: Option<u32>,
    /// Its name; empty if only the id is known.
    pub name: String,
    /// The HDF5 parameters as users give them.
    pub params: Vec<u32>,
    /// The codec description as stored JSON, if there is one.
    pub codec: Option<String>,
}

impl FilterSpec {
    /// Returns the filter for a variable of another dataset.
    ///
    /// The codec description is kept only if there is no id. The description belongs to chunks of the old
    /// dataset (an element size, for example). Readers that use the id ignore it.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self { codec: self.codec.clone().filter(|_| self.hdf5_id.is_none()), ..self.clone() }
    }
}

/// Quantization of floats before compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantize {
    /// Alternately clears and sets bits; keeps this many significant decimal digits.
    BitGroom(u32),
    /// Keeps the bits that each value needs for this many significant decimal digits.
    GranularBitRound(u32),
    /// Keeps this many significant bits.
    BitRound(u32),
}

/// A variable.
#[derive(Debug, Clone, Default)]
pub struct Var {
    /// Its name.
    pub name: String,
    /// The group it is defined in.
    pub group: GroupId,
    /// The netCDF type of its elements.
    pub xtype: NcType,
    /// Its dimensions, slowest first; none for a scalar.
    pub dims: Vec<DimId>,
    /// Its attributes.
    pub atts: Att,
    /// Its chunk shape.
    pub chunking: Chunking,
    /// The shape of its shards, in elements: objects with a whole number of chunks along each dimension.
    /// `None`: each chunk is an object.
    pub shards: Option<Vec<u64>>,
    /// Its byte order.
    pub endian: Endian,
    /// The value of unwritten elements.
    pub fill: VarFill,
    /// Its filters, in the order of encoding.
    pub filters: Vec<FilterSpec>,
    /// Its quantization.
    pub quantize: Option<Quantize>,
    /// The name of its stored type, if netCDF has no such type (`|b1`, `<U5`, `float16` …).
    pub stored_type: Option<String>,
    /// The error of reading its data, if they are unreadable. Its metadata are readable.
    pub problem: Option<Error>,
}

impl Default for GroupId {
    fn default() -> Self {
        Self::ROOT
    }
}

impl Var {
    /// Returns the value of unwritten elements, as one element. `None` for no-fill, and for a user-defined
    /// type without one: reads give zeros.
    pub fn fill_value(&self) -> Option<Values> {
        match &self.fill {
            VarFill::Default => fill::default(self.xtype),
            VarFill::Value(value) => Some(value.clone()),
            VarFill::NoFill => None,
        }
    }
}

/// The metadata of one dataset.
#[derive(Debug, Clone)]
pub struct Model {
    groups: Vec<Arc<Group>>,
    dims: Vec<Dim>,
    vars: Vec<Arc<Var>>,
    types: Vec<Arc<UserType>>,
    /// See [`Model::naming`].
    naming: u64,
    /// The fill mode of new variables.
    pub fill_mode: FillMode,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            groups: vec![Arc::new(Group { name: "/".to_owned(), ..Group::default() })],
            dims: Vec::new(),
            vars: Vec::new(),
            types: Vec::new(),
            naming: 0,
            fill_mode: FillMode::Fill,
        }
    }
}

impl Model {
    /// An empty dataset: the root group and nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// The root group.
    pub fn root(&self) -> &Group {
        &self.groups[0]
    }

    /// A group.
    ///
    /// # Errors
    /// [`ErrorKind::BadGrpId`] if there is no such group.
    pub fn group(&self, id: GroupId) -> Result<&Group> {
        self.groups
            .get(id.index())
            .map(|group| &**group)
            .ok_or_else(|| ErrorKind::BadGrpId.context(format!("{id:?}")))
    }

    /// A group, to change it.
    ///
    /// # Errors
    /// As [`Model::group`].
    pub fn group_mut(&mut self, id: GroupId) -> Result<&mut Group> {
        self.groups
            .get_mut(id.index())
            .map(Arc::make_mut)
            .ok_or_else(|| ErrorKind::BadGrpId.context(format!("{id:?}")))
    }

    /// A dimension.
    ///
    /// # Errors
    /// [`ErrorKind::BadDim`] if there is no such dimension.
    pub fn dim(&self, id: DimId) -> Result<&Dim> {
        self.dims.get(id.index()).ok_or_else(|| ErrorKind::BadDim.context(format!("{id:?}")))
    }

    /// A dimension, to change it.
    ///
    /// # Errors
    /// As [`Model::dim`].
    pub fn dim_mut(&mut self, id: DimId) -> Result<&mut Dim> {
        self.dims.get_mut(id.index()).ok_or_else(|| ErrorKind::BadDim.context(format!("{id:?}")))
    }

    /// A variable.
    ///
    /// # Errors
    /// [`ErrorKind::NotVar`] if there is no such variable.
    pub fn var(&self, id: VarId) -> Result<&Var> {
        self.vars
            .get(id.index())
            .map(|var| &**var)
            .ok_or_else(|| ErrorKind::NotVar.context(format!("{id:?}")))
    }

    /// A variable, to change it.
    ///
    /// # Errors
    /// As [`Model::var`].
    pub fn var_mut(&mut self, id: VarId) -> Result<&mut Var> {
        self.vars
            .get_mut(id.index())
            .map(Arc::make_mut)
            .ok_or_else(|| ErrorKind::NotVar.context(format!("{id:?}")))
    }

    /// A user-defined type.
    ///
    /// # Errors
    /// [`ErrorKind::BadTypId`] if there is no such type.
    pub fn user_type(&self, id: TypeId) -> Result<&UserType> {
        self.types
            .get(id.index())
            .map(|ty| &**ty)
            .ok_or_else(|| ErrorKind::BadTypId.context(format!("{id:?}")))
    }

    /// A user-defined type, to change it.
    ///
    /// # Errors
    /// As [`Model::user_type`].
    pub fn user_type_mut(&mut self, id: TypeId) -> Result<&mut UserType> {
        self.types
            .get_mut(id.index())
            .map(Arc::make_mut)
            .ok_or_else(|| ErrorKind::BadTypId.context(format!("{id:?}")))
    }

    /// Returns all groups: the root first, parents before children.
    pub fn groups(&self) -> impl ExactSizeIterator<Item = (GroupId, &Group)> {
        self.groups_from(0)
    }

    /// Returns all but the first `count`, which are not visited.
    pub fn groups_from(&self, count: usize) -> impl ExactSizeIterator<Item = (GroupId, &Group)> {
        let rest = self.groups.get(count..).unwrap_or_default();
        rest.iter().enumerate().map(move |(i, group)| (GroupId((count + i) as u32), &**group))
    }

    /// All dimensions, in the order of definition.
    pub fn dims(&self) -> impl ExactSizeIterator<Item = (DimId, &Dim)> {
        self.dims.iter().enumerate().map(|(i, dim)| (DimId(i as u32), dim))
    }

    /// All variables, in the order of definition.
    pub fn vars(&self) -> impl ExactSizeIterator<Item = (VarId, &Var)> {
        self.vars_from(0)
    }

    /// Returns all but the first `count`, which are not visited.
    pub fn vars_from(&self, count: usize) -> impl ExactSizeIterator<Item = (VarId, &Var)> {
        let rest = self.vars.get(count..).unwrap_or_default();
        rest.iter().enumerate().map(move |(i, var)| (VarId((count + i) as u32), &**var))
    }

    /// Returns a number that changes with each rename of a group, dimension or variable, and never repeats.
    /// If it is equal in two models of one dataset, their common objects have equal names.
    pub fn naming(&self) -> u64 {
        self.naming
    }

    /// Records a rename.
    pub(crate) fn renamed(&mut self) {
        static NAMINGS: AtomicU64 = AtomicU64::new(1);
        self.naming = NAMINGS.fetch_add(1, Ordering::Relaxed);
    }

    /// All user-defined types, in the order of definition.
    pub fn user_types(&self) -> impl ExactSizeIterator<Item = (TypeId, &UserType)> {
        self.types.iter().enumerate().map(|(i, ty)| (TypeId(i as u32), &**ty))
    }

    /// Returns a model with the same types and nothing else, for long-term use with elements of these types.
    #[must_use]
    pub fn types_only(&self) -> Self {
        Self { types: self.types.clone(), ..Self::default() }
    }

    /// Returns this model with its unlimited dimensions at other lengths, which do not grow with this
    /// model's.
    #[must_use]
    pub fn at(&self, lengths: &DimLengths) -> Self {
        let mut then = self.clone();
        for (at, dim) in then.dims.iter_mut().enumerate().filter(|(_, dim)| dim.unlimited) {
            dim.len = Arc::new(AtomicU64::new(lengths.get(DimId(at as u32))));
        }
        then
    }

    /// The current shape of a variable, in elements.
    ///
    /// # Errors
    /// As [`Model::var`] and [`Model::dim`].
    pub fn shape(&self, id: VarId) -> Result<Vec<u64>> {
        self.var(id)?.dims.iter().map(|&dim| Ok(self.dim(dim)?.len())).collect()
    }

    /// Returns the size of an element of `ty` in memory; `None` for strings and vlens.
    ///
    /// # Errors
    /// As [`Model::user_type`].
    pub fn type_size(&self, ty: NcType) -> Result<Option<usize>> {
        match ty {
            NcType::User(id) => self.user_type(id)?.size(),
            atomic => Ok(atomic.size()),
        }
    }

    /// Adds a group.
    ///
    /// # Errors
    /// [`ErrorKind::NameInUse`], [`ErrorKind::BadGrpId`].
    pub fn add_group(&mut self, parent: GroupId, name: &str) -> Result<GroupId> {
        self.check_object_name(parent, name)?;
        let id = GroupId(self.groups.len() as u32);
        self.groups.push(Arc::new(Group { name: name.to_owned(), parent: Some(parent), ..Group::default() }));
        self.group_mut(parent)?.groups.insert(name.to_owned(), id);
        Ok(id)
    }

    /// Reserves capacity for exactly this many more dimensions and variables of the root group.
    pub fn reserve(&mut self, dims: usize, vars: usize) {
        self.dims.reserve_exact(dims);
        self.vars.reserve_exact(vars);
        let root = Arc::make_mut(&mut self.groups[0]);
        root.dims.reserve_exact(dims);
        root.vars.reserve_exact(vars);
    }

    /// Adds a dimension.
    ///
    /// # Errors
    /// [`ErrorKind::NameInUse`], [`ErrorKind::BadGrpId`].
    pub fn add_dim(
        &mut self,
        group: GroupId,
        name: impl Into<String>,
        len: u64,
        unlimited: bool,
    ) -> Result<DimId> {
        let name = name.into();
        let id = DimId(self.dims.len() as u32);
        match self.group_mut(group)?.dims.entry(name.clone()) {
            Entry::Occupied(_) => return Err(ErrorKind::NameInUse.context(format!("dimension {name:?}"))),
            Entry::Vacant(place) => place.insert(id),
        };
        self.dims.push(Dim { name, group, unlimited, len: Arc::new(AtomicU64::new(len)) });
        Ok(id)
    }

    /// Adds a dimension that its group does not list: only its variables refer to it. The name may be empty.
    ///
    /// For a dataset that is opened for one variable: no caller looks up its dimensions by name.
    pub fn add_unlisted_dim(&mut self, group: GroupId, name: String, len: u64, unlimited: bool) -> DimId {
        let id = DimId(self.dims.len() as u32);
        self.dims.push(Dim { name, group, unlimited, len: Arc::new(AtomicU64::new(len)) });
        id
    }

    /// Adds a variable to `var.group`, as `var.name`.
    ///
    /// # Errors
    /// [`ErrorKind::NameInUse`], [`ErrorKind::BadGrpId`], [`ErrorKind::BadDim`].
    pub fn add_var(&mut self, var: impl Into<Arc<Var>>) -> Result<VarId> {
        let var = var.into();
        for &dim in &var.dims {
            self.dim(dim).map_err(|error| error.at(&var.name))?;
        }
        let id = VarId(self.vars.len() as u32);
        let group = self.group_mut(var.group)?;
        let is_free = !(group.groups.contains_key(&var.name) || group.types.contains_key(&var.name));
        let is_free = match group.vars.entry(var.name.clone()) {
            Entry::Vacant(place) if is_free => {
                place.insert(id);
                true
            }
            _ => false,
        };
        if !is_free {
            // Returns an error that names the object with this name.
            self.check_object_name(var.group, &var.name)?;
        }
        self.vars.push(var);
        Ok(id)
    }

    /// Adds a user-defined type to `ty.group`, as `ty.name`.
    ///
    /// # Errors
    /// [`ErrorKind::NameInUse`], [`ErrorKind::BadGrpId`].
    pub fn add_type(&mut self, ty: UserType) -> Result<TypeId> {
        self.check_object_name(ty.group, &ty.name)?;
        let id = TypeId(self.types.len() as u32);
        self.group_mut(ty.group)?.types.insert(ty.name.clone(), id);
        self.types.push(Arc::new(ty));
        Ok(id)
    }

    /// The attributes of `var`, or of `group` if it is `None`.
    ///
    /// # Errors
    /// As [`Model::var`] and [`Model::group`].
    pub fn atts(&self, group: GroupId, var: Option<VarId>) -> Result<&Att> {
        match var {
            Some(var) => Ok(&self.var(var)?.atts),
            None => Ok(&self.group(group)?.atts),
        }
    }

    /// Checks a new name: variables, groups and types of one group share a namespace; dimensions have their
    /// own.
    pub(crate) fn check_object_name(&self, group: GroupId, name: &str) -> Result<()> {
        let here = self.group(group)?;
        let taken = if here.vars.contains_key(name) {
            "variable"
        } else if here.groups.contains_key(name) {
            "group"
        } else if here.types.contains_key(name) {
            "type"
        } else {
            return Ok(());
        };
        Err(ErrorKind::NameInUse.context(format!("{name:?} is a {taken} of {}", self.fqn(group, "")?)))
    }
}
