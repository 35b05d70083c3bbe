//! User-defined types.

use std::ffi::{CStr, c_int};
use std::ptr::null_mut;

use nczarr::model::MAX_VAR_DIMS;
use nczarr::{ErrorKind, Result};

use super::TablePtr;
use super::inquiries::name_of;
use crate::user_format::{Turn, outcome};

/// The properties of a type, with the numbers of the table.
pub struct UserClass {
    pub name: Vec<u8>,
    pub size: usize,
    /// The type of the elements of a vlen, or of the members of an enum.
    pub base: c_int,
    /// The number of fields or members.
    pub parts: usize,
    /// `NC_VLEN`, `NC_OPAQUE`, `NC_ENUM` or `NC_COMPOUND`.
    pub class: c_int,
}

/// The properties of a field, with the numbers of the table.
pub struct UserField {
    pub name: Vec<u8>,
    pub offset: usize,
    pub ty: c_int,
    pub shape: Vec<c_int>,
}

impl TablePtr {
    /// Returns the properties of a type.
    pub fn inq_user_type(self, ncid: c_int, ty: c_int) -> Result<UserClass> {
        let (mut size, mut base, mut parts, mut class) = (0, 0, 0, 0);
        let name = name_of(|name| {
            call!(self.inq_user_type(ncid, ty, name, &mut size, &mut base, &mut parts, &mut class))
        })?;
        Ok(UserClass { name, size, base, parts, class })
    }

    /// Returns the properties of a field.
    pub fn inq_compound_field(self, ncid: c_int, ty: c_int, place: c_int) -> Result<UserField> {
        let (mut offset, mut field, mut rank) = (0, 0, 0);
        let none = null_mut();
        let name = name_of(|name| {
            call!(self.inq_compound_field(ncid, ty, place, name, &mut offset, &mut field, &mut rank, none))
        })?;
        let known = usize::try_from(rank).ok().filter(|&rank| rank <= MAX_VAR_DIMS);
        let wrong = || ErrorKind::BadField.context(format!("a field of {rank} dimensions"));
        let mut shape = vec![0; known.ok_or_else(wrong)?];
        if !shape.is_empty() {
            let (name, offset, field, rank) = (null_mut(), null_mut(), null_mut(), null_mut());
            let sizes = shape.as_mut_ptr();
            call!(self.inq_compound_field(ncid, ty, place, name, offset, field, rank, sizes))?;
        }
        Ok(UserField { name, offset, ty: field, shape })
    }

    /// Returns name and value of a member of an enum. The value has the base type of the enum at its
    /// beginning.
    pub fn inq_enum_member(self, ncid: c_int, ty: c_int, place: c_int) -> Result<(Vec<u8>, [u8; 8])> {
        let mut value = [0; 8];
        let name =
            name_of(|name| call!(self.inq_enum_member(ncid, ty, place, name, value.as_mut_ptr().cast())))?;
        Ok((name, value))
    }

    pub fn def_compound(self, ncid: c_int, size: usize, name: &CStr) -> Result<c_int> {
        let mut ty = -1;
        call!(self.def_compound(ncid, size, name.as_ptr(), &mut ty))?;
        Ok(ty)
    }

    /// Adds a field. A single value has no shape.
    pub fn insert_field(
        self,
        ncid: c_int,
        ty: c_int,
        name: &CStr,
        offset: usize,
        (field, shape): (c_int, &[c_int]),
    ) -> Result<()> {
        if shape.is_empty() {
            return call!(self.insert_compound(ncid, ty, name.as_ptr(), offset, field));
        }
        let (rank, sizes) = (shape.len() as c_int, shape.as_ptr());
        call!(self.insert_array_compound(ncid, ty, name.as_ptr(), offset, field, rank, sizes))
    }

    pub fn def_vlen(self, ncid: c_int, name: &CStr, base: c_int) -> Result<c_int> {
        let mut ty = -1;
        call!(self.def_vlen(ncid, name.as_ptr(), base, &mut ty))?;
        Ok(ty)
    }

    pub fn def_enum(self, ncid: c_int, base: c_int, name: &CStr) -> Result<c_int> {
        let mut ty = -1;
        call!(self.def_enum(ncid, base, name.as_ptr(), &mut ty))?;
        Ok(ty)
    }

    /// Adds a member, whose value has the base type of the enum.
    pub fn insert_enum(self, ncid: c_int, ty: c_int, name: &CStr, value: &[u8]) -> Result<()> {
        call!(self.insert_enum(ncid, ty, name.as_ptr(), value.as_ptr().cast()))
    }

    pub fn def_opaque(self, ncid: c_int, size: usize, name: &CStr) -> Result<c_int> {
        let mut ty = -1;
        call!(self.def_opaque(ncid, size, name.as_ptr(), &mut ty))?;
        Ok(ty)
    }
}
