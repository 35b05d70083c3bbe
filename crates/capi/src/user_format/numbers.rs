//! [`Numbers`]: the numbers that a table gave to its objects. The library has numbers of its own.

use std::collections::HashMap;
use std::ffi::c_int;
use std::fmt::Debug;
use std::hash::Hash;

use nczarr::model::{DimId, GroupId, TypeId, VarId};
use nczarr::{ErrorKind, NcType, Result};

/// The numbers of a table for the objects of a dataset.
#[derive(Debug)]
pub struct Numbers {
    groups: Numbering<c_int>,
    dims: Numbering<c_int>,
    /// The group and its number of the variable.
    vars: Numbering<(c_int, c_int)>,
    types: Numbering<c_int>,
}

/// A new object with the number that a table gave to it.
#[derive(Debug, Clone, Copy)]
pub enum NewObject {
    None,
    Group(c_int),
    Dim(c_int),
    Var(c_int, c_int),
    Type(c_int),
}

impl Numbers {
    /// Makes the numbers of a dataset that only has a root group.
    pub fn of_root(ncid: c_int) -> Self {
        let mut groups = Numbering::new("group");
        groups.add(ncid);
        Self {
            groups,
            dims: Numbering::new("dimension"),
            vars: Numbering::new("variable"),
            types: Numbering::new("type"),
        }
    }

    /// Adds the next object.
    ///
    /// # Errors
    /// `NC_EINTERNAL` if another object has the number.
    pub fn add(&mut self, object: NewObject) -> Result<()> {
        match object {
            NewObject::None => Ok(()),
            NewObject::Group(ncid) => self.groups.add_new(ncid),
            NewObject::Dim(dim) => self.dims.add_new(dim),
            NewObject::Var(ncid, var) => self.vars.add_new((ncid, var)),
            NewObject::Type(ty) if NcType::from_code(ty).is_some() => Err(ErrorKind::Internal
                .context(format!("the table gave a type the number {ty} of an atomic type"))),
            NewObject::Type(ty) => self.types.add_new(ty),
        }
    }

    /// Returns the id of a group in the table.
    pub fn group(&self, group: GroupId) -> Result<c_int> {
        self.groups.number(group.index())
    }

    /// Returns the number of a dimension in the table.
    pub fn dim(&self, dim: DimId) -> Result<c_int> {
        self.dims.number(dim.index())
    }

    /// Returns the group and the number of a variable in the table.
    pub fn var(&self, var: VarId) -> Result<(c_int, c_int)> {
        self.vars.number(var.index())
    }

    /// Returns the number of a type in the table.
    pub fn type_code(&self, ty: NcType) -> Result<c_int> {
        match ty {
            NcType::User(id) => self.types.number(id.index()),
            ty => Ok(ty.code()),
        }
    }

    /// Finds a dimension by its number in the table.
    pub fn find_dim(&self, dim: c_int) -> Result<DimId> {
        let place = self.dims.place(dim).map(DimId);
        place.ok_or_else(|| ErrorKind::BadDim.context(format!("the table has no dimension {dim}")))
    }

    /// Finds a variable by its group and its number in the table.
    pub fn find_var(&self, ncid: c_int, var: c_int) -> Result<VarId> {
        let place = self.vars.place((ncid, var)).map(VarId);
        place.ok_or_else(|| {
            ErrorKind::NotVar.context(format!("the table has no variable {var} in group {ncid}"))
        })
    }

    /// Finds a type by its number in the table.
    pub fn find_type(&self, code: c_int) -> Result<NcType> {
        let user = || self.types.place(code).map(|place| NcType::User(TypeId(place)));
        let ty = NcType::from_code(code).or_else(user);
        ty.ok_or_else(|| ErrorKind::BadType.context(format!("the table has no type {code}")))
    }
}

/// The numbers of the objects of one kind, in the order of the library.
#[derive(Debug)]
struct Numbering<T> {
    what: &'static str,
    numbers: Vec<T>,
    places: HashMap<T, u32>,
}

impl<T: Copy + Eq + Hash + Debug> Numbering<T> {
    fn new(what: &'static str) -> Self {
        Self { what, numbers: Vec::new(), places: HashMap::new() }
    }

    fn add(&mut self, number: T) {
        self.places.insert(number, self.numbers.len() as u32);
        self.numbers.push(number);
    }

    fn add_new(&mut self, number: T) -> Result<()> {
        if self.places.contains_key(&number) {
            let what = self.what;
            return Err(
                ErrorKind::Internal.context(format!("the table gave two {what}s the number {number:?}"))
            );
        }
        self.add(number);
        Ok(())
    }

    fn number(&self, place: usize) -> Result<T> {
        let number = self.numbers.get(place).copied();
        number.ok_or_else(|| ErrorKind::Internal.context(format!("{} {place} has no number", self.what)))
    }

    fn place(&self, number: T) -> Option<u32> {
        self.places.get(&number).copied()
    }
}
