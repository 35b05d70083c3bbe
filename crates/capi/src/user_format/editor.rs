//! Definitions in a dataset of a user-defined format.

use std::ffi::c_int;

use nczarr::dispatch::{Dataset as _, Editor, HeaderPadding};
use nczarr::model::{Defined, Edit, VarId};
use nczarr::{ErrorKind, FillMode, NcType, Result, Values};

use super::{UserDataset, c_name};
use crate::boundary::dispatch_table::TextPointers;
use crate::open_file::NC_GLOBAL;

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
        // The model refuses what it cannot show, before the table changes anything.
        let mut trial = self.model.snapshot().as_ref().clone();
        let expected = trial.apply(edit)?;
        self.define(edit, expected)?;
        self.model().define(edit)
    }

    fn commit(&self, padding: HeaderPadding) -> Result<()> {
        let HeaderPadding { h_minfree, v_align, v_minfree, r_align } = padding;
        let padding = [h_minfree, v_align, v_minfree, r_align];
        self.table.enddef(self.ncid, padding.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX)))
    }
}

impl UserDataset {
    /// Passes an edit to the table. The numbers of new objects must be those of the model.
    fn define(&self, edit: &Edit<'_>, expected: Defined) -> Result<()> {
        let (table, ncid) = (self.table, self.ncid);
        match *edit {
            Edit::DefDim { name, len, .. } => {
                let len = usize::try_from(len.unwrap_or(0));
                let len = len.map_err(|_| ErrorKind::DimSize.context(format!("dimension {name:?}")))?;
                let id = table.def_dim(ncid, &c_name(name)?, len)?;
                check_id("dimension", id, matches!(expected, Defined::Dim(dim) if dim.0 as c_int == id))
            }
            Edit::RenameDim { dim, name } => table.rename_dim(ncid, dim.0 as c_int, &c_name(name)?),
            Edit::DefVar { name, xtype, dims, .. } => {
                let dims: Vec<_> = dims.iter().map(|dim| dim.0 as c_int).collect();
                let id = table.def_var(ncid, &c_name(name)?, xtype.code(), &dims)?;
                check_id("variable", id, matches!(expected, Defined::Var(var) if var.0 as c_int == id))
            }
            Edit::RenameVar { var, name } => table.rename_var(ncid, var.0 as c_int, &c_name(name)?),
            Edit::PutAtt { var, name, values, .. } => {
                let bytes = memory_of(values)?;
                let (owner, ty) = (owner(var), values.nc_type().code());
                table.put_att(ncid, owner, &c_name(name)?, ty, values.len(), &bytes.bytes)
            }
            Edit::RenameAtt { var, name, to, .. } => {
                table.rename_att(ncid, owner(var), &c_name(name)?, &c_name(to)?)
            }
            Edit::DelAtt { var, name, .. } => table.del_att(ncid, owner(var), &c_name(name)?),
            Edit::DefVarFill { var, no_fill, value } => {
                let value = value.map(memory_of).transpose()?;
                table.def_var_fill(ncid, var.0 as c_int, no_fill, value.as_ref().map(|value| &*value.bytes))
            }
            _ => {
                Err(ErrorKind::NotNc4.context("a user-defined format has neither groups, types nor layouts"))
            }
        }
    }
}

/// Values in the memory of C, and the texts that they point to.
struct CMemory {
    bytes: Vec<u8>,
    _texts: Option<TextPointers>,
}

fn memory_of(values: &Values) -> Result<CMemory> {
    if let Values::String(strings) = values {
        let texts = TextPointers::new(strings)?;
        return Ok(CMemory { bytes: texts.bytes.clone(), _texts: Some(texts) });
    }
    let wrong = || ErrorKind::BadType.context(format!("values of type {}", values.nc_type().name()));
    let is_atomic = NcType::is_atomic(values.nc_type());
    let bytes = values.to_native_bytes().filter(|_| is_atomic).ok_or_else(wrong)?;
    Ok(CMemory { bytes, _texts: None })
}

fn owner(var: Option<VarId>) -> c_int {
    var.map_or(NC_GLOBAL, |var| var.0 as c_int)
}

fn check_id(what: &str, found: c_int, is_expected: bool) -> Result<()> {
    if !is_expected {
        let what = format!("the table gave the new {what} the number {found} (expected the next one)");
        return Err(ErrorKind::Internal.context(what));
    }
    Ok(())
}
