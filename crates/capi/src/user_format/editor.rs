//! Definitions in a dataset of a user-defined format.

use std::ffi::c_int;

use nczarr::dispatch::{Dataset as _, Editor, HeaderPadding};
use nczarr::model::{Defined, Edit, GroupId, Model, TypeId, VarId};
use nczarr::{ErrorKind, FillMode, NcType, Result};

use super::c_memory::lend_values;
use super::numbers::{NewObject, Numbers};
use super::{Turn, UserDataset, c_name};
use crate::open_file::NC_GLOBAL;
use crate::type_space::TypeSpace;
use crate::types::enumeration::member_bytes;

const NC_NOFILL: c_int = 0x100;

impl Editor for UserDataset {
    fn admit(&self, edit: &Edit<'_>) -> Result<()> {
        match edit {
            // It reaches a format in no other way.
            Edit::SetFill { mode: FillMode::Fill } => self.table.set_fill(self.ncid, 0),
            Edit::SetFill { .. } => self.table.set_fill(self.ncid, NC_NOFILL),
            _ => Ok(()),
        }
    }

    fn apply(&self, edit: &Edit<'_>) -> Result<Defined> {
        // One edit at a time, so that the numbers of the table are noted in the order of the model.
        let _turn = Turn::take();
        // The model refuses what it cannot show, before the table changes anything.
        let before = self.model.snapshot();
        before.as_ref().clone().apply(edit)?;
        let object = self.define(&before, edit)?;
        drop(before);
        self.note_number(object)?;
        self.model().define(edit)
    }

    fn commit(&self, padding: HeaderPadding) -> Result<()> {
        let HeaderPadding { h_minfree, v_align, v_minfree, r_align } = padding;
        let padding = [h_minfree, v_align, v_minfree, r_align];
        self.table.enddef(self.ncid, padding.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX)))
    }
}

impl UserDataset {
    /// Passes an edit to the table.
    fn define(&self, model: &Model, edit: &Edit<'_>) -> Result<NewObject> {
        if let Some(object) = self.define_object(edit)? {
            return Ok(object);
        }
        let table = self.table;
        match *edit {
            Edit::RenameDim { dim, name } => {
                let (ncid, id) = (self.group(model.dim(dim)?.group)?, self.look_numbers(|of| of.dim(dim))?);
                table.rename_dim(ncid, id, &c_name(name)?)
            }
            Edit::RenameVar { var, name } => {
                let (ncid, id) = self.look_numbers(|of| of.var(var))?;
                table.rename_var(ncid, id, &c_name(name)?)
            }
            Edit::RenameGroup { group, name } => table.rename_grp(self.group(group)?, &c_name(name)?),
            Edit::PutAtt { group, var, name, values } => {
                let (ncid, owner) = self.owner(group, var)?;
                let (name, code) = (c_name(name)?, self.code(values.nc_type())?);
                lend_values(TypeSpace::as_stored(model), values, |bytes| {
                    table.put_att(ncid, owner, &name, code, values.len(), bytes)
                })
            }
            Edit::RenameAtt { group, var, name, to } => {
                let (ncid, owner) = self.owner(group, var)?;
                table.rename_att(ncid, owner, &c_name(name)?, &c_name(to)?)
            }
            Edit::DelAtt { group, var, name } => {
                let (ncid, owner) = self.owner(group, var)?;
                table.del_att(ncid, owner, &c_name(name)?)
            }
            Edit::DefVarFill { var, no_fill, value } => {
                let (ncid, id) = self.look_numbers(|of| of.var(var))?;
                match value {
                    None => table.def_var_fill(ncid, id, no_fill, None),
                    Some(value) => lend_values(TypeSpace::as_stored(model), value, |bytes| {
                        table.def_var_fill(ncid, id, no_fill, Some(bytes))
                    }),
                }
            }
            Edit::InsertField { ty, name, offset, field, shape } => {
                let shape: Vec<_> = shape.iter().map(|&size| size as c_int).collect();
                let (ncid, code) = self.type_place(model, ty)?;
                table.insert_field(ncid, code, &c_name(name)?, offset, (self.code(field)?, &shape))
            }
            Edit::InsertEnum { ty, name, value } => {
                let (ncid, code) = self.type_place(model, ty)?;
                let size = model.type_size(NcType::User(ty))?.unwrap_or(0);
                table.insert_enum(ncid, code, &c_name(name)?, &member_bytes(value, size))
            }
            _ => self.define_storage(edit),
        }
        .map(|()| NewObject::None)
    }

    /// Passes the definition of an object to the table; `None` for any other edit.
    fn define_object(&self, edit: &Edit<'_>) -> Result<Option<NewObject>> {
        let table = self.table;
        Ok(Some(match *edit {
            Edit::DefDim { group, name, len } => {
                let len = usize::try_from(len.unwrap_or(0));
                let len = len.map_err(|_| ErrorKind::DimSize.context(format!("dimension {name:?}")))?;
                NewObject::Dim(table.def_dim(self.group(group)?, &c_name(name)?, len)?)
            }
            Edit::DefVar { group, name, xtype, dims } => {
                let (ncid, code) = (self.group(group)?, self.code(xtype)?);
                let dims = |of: &Numbers| dims.iter().map(|&dim| of.dim(dim)).collect::<Result<Vec<_>>>();
                let dims = self.look_numbers(dims)?;
                NewObject::Var(ncid, table.def_var(ncid, &c_name(name)?, code, &dims)?)
            }
            Edit::DefGroup { parent, name } => {
                NewObject::Group(table.def_grp(self.group(parent)?, &c_name(name)?)?)
            }
            Edit::DefCompound { group, name, size } => {
                NewObject::Type(table.def_compound(self.group(group)?, size, &c_name(name)?)?)
            }
            Edit::DefVlen { group, name, base } => {
                NewObject::Type(table.def_vlen(self.group(group)?, &c_name(name)?, self.code(base)?)?)
            }
            Edit::DefEnum { group, name, base } => {
                NewObject::Type(table.def_enum(self.group(group)?, self.code(base)?, &c_name(name)?)?)
            }
            Edit::DefOpaque { group, name, size } => {
                NewObject::Type(table.def_opaque(self.group(group)?, size, &c_name(name)?)?)
            }
            _ => return Ok(None),
        }))
    }

    fn group(&self, group: GroupId) -> Result<c_int> {
        self.look_numbers(|numbers| numbers.group(group))
    }

    fn code(&self, ty: NcType) -> Result<c_int> {
        self.look_numbers(|numbers| numbers.type_code(ty))
    }

    /// Returns the group of a type and its number.
    fn type_place(&self, model: &Model, ty: TypeId) -> Result<(c_int, c_int)> {
        Ok((self.group(model.user_type(ty)?.group)?, self.code(NcType::User(ty))?))
    }

    /// Returns the group and the number of the owner of attributes.
    fn owner(&self, group: GroupId, var: Option<VarId>) -> Result<(c_int, c_int)> {
        match var {
            Some(var) => self.look_numbers(|numbers| numbers.var(var)),
            None => Ok((self.group(group)?, NC_GLOBAL)),
        }
    }
}
