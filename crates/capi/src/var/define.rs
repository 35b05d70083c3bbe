//! Definition and names of variables.

use std::ffi::c_int;

use nczarr::dispatch::FormatX;
use nczarr::model::{Edit, TypeClass, VarId, fill};
use nczarr::nc_table::{NcDispatch as _, copy_var};
use nczarr::{ErrorKind, NcType, Values};

use crate::boundary::pointer::{InPtr, OutPtr, TextPtr};
use crate::open_file::{NC_GLOBAL, NamedObject, Node};
use crate::table;

c_functions! {
    /// Defines a variable.
    fn nc_def_var(
        ncid: c_int, name: TextPtr, xtype: c_int, ndims: c_int, dimidsp: InPtr<c_int>, varidp: OutPtr<c_int>,
    ) {
        let node = table::find(ncid)?;
        let ty = node.xtype(xtype)?;
        let rank = usize::try_from(ndims).map_err(|_| ErrorKind::Inval.context(format!("{ndims} dimensions")))?;
        if rank > nczarr::model::MAX_VAR_DIMS {
            return Err(ErrorKind::MaxDims.context(format!("{rank} dimensions")));
        }
        let dims = dimidsp.values(rank, "dimids")?.iter().map(|&dim| node.dim(dim));
        let dims = dims.collect::<nczarr::Result<Vec<_>>>()?;
        let var = node.nc_to_edit()?.def_var(node.group, name.name()?, ty, &dims)?;
        fill_enum(&node, var, ty)?;
        if !varidp.is_null() {
            varidp.set(node.number_of(var)?);
        }
        Ok(())
    }

    /// Renames a variable.
    fn nc_rename_var(ncid: c_int, varid: c_int, name: TextPtr) {
        let node = table::find(ncid)?;
        if varid == NC_GLOBAL {
            return Err(ErrorKind::NotVar.context("the group is no variable"));
        }
        let (var, name) = (node.var(varid)?, name.name()?);
        let old = node.look(|model| Ok(model.var(var)?.name.clone()))?;
        node.rename(NamedObject::Var(var), &old, name)
    }

    /// Copies a variable to another dataset, with its attributes and data.
    fn nc_copy_var(ncid_in: c_int, varid: c_int, ncid_out: c_int) {
        let (from, to) = (table::find(ncid_in)?, table::find(ncid_out)?);
        let var = from.var(varid)?;
        to.forget_accesses();
        copy_var(from.nc(), var, to.nc(), to.group).map(drop)
    }
}

/// Gives unwritten elements of an enum the fill value of its base type, as netCDF-C does in HDF5 files.
fn fill_enum(node: &Node, var: VarId, ty: NcType) -> nczarr::Result<()> {
    let NcType::User(id) = ty else { return Ok(()) };
    if node.formatx != FormatX::Hdf5 {
        return Ok(());
    }
    let base = node.look(|model| {
        Ok(match model.user_type(id)?.class {
            TypeClass::Enum { base, .. } => Some(base),
            _ => None,
        })
    })?;
    match base.and_then(fill::default).and_then(|value| value.to_native_bytes()) {
        Some(bytes) => {
            let value = Values::User(id, bytes);
            node.nc_to_edit()?.edit(&Edit::DefVarUnwritten { var, value: &value }).map(drop)
        }
        None => Ok(()),
    }
}
