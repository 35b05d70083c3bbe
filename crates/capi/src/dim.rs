//! Dimensions.

use std::ffi::c_int;

use nczarr::nc_table::{DimInquiry, NcDispatch as _};
use nczarr::{ErrorKind, Result};

use crate::boundary::pointer::{NamePtr, OutPtr, TextPtr};
use crate::open_file::NamedObject;
use crate::table;

c_functions! {
    /// Defines a dimension; a length of 0 is unlimited.
    fn nc_def_dim(ncid: c_int, name: TextPtr, len: usize, idp: OutPtr<c_int>) {
        let node = table::find(ncid)?;
        if node.is_strict() && !node.nc().model().is_defining() {
            return Err(ErrorKind::NotInDefine.context("the dataset is in data mode"));
        }
        let len = (len > 0).then_some(len as u64);
        let dim = node.nc_to_edit()?.def_dim(node.group, name.name()?, len)?;
        idp.set(dim.0 as c_int);
        Ok(())
    }

    /// Finds a dimension by name, in the group or its ancestors.
    fn nc_inq_dimid(ncid: c_int, name: TextPtr, idp: OutPtr<c_int>) {
        let node = table::find(ncid)?;
        let dim = node.nc().inq_dimid(node.group, name.name()?)?;
        idp.set(dim.0 as c_int);
        Ok(())
    }

    /// Returns name and length of a dimension.
    fn nc_inq_dim(ncid: c_int, dimid: c_int, name: NamePtr, lenp: OutPtr<usize>) {
        let dim = inquire(ncid, dimid)?;
        name.set(&dim.name);
        lenp.set(dim.len as usize);
        Ok(())
    }

    /// Returns the name of a dimension.
    fn nc_inq_dimname(ncid: c_int, dimid: c_int, name: NamePtr) {
        name.set(&inquire(ncid, dimid)?.name);
        Ok(())
    }

    /// Returns the length of a dimension.
    fn nc_inq_dimlen(ncid: c_int, dimid: c_int, lenp: OutPtr<usize>) {
        lenp.set(inquire(ncid, dimid)?.len as usize);
        Ok(())
    }

    /// Renames a dimension.
    fn nc_rename_dim(ncid: c_int, dimid: c_int, name: TextPtr) {
        let node = table::find(ncid)?;
        let (dim, name) = (node.dim(dimid)?, name.name()?);
        let old = node.look(|model| Ok(model.dim(dim)?.name.clone()))?;
        node.rename(NamedObject::Dim(dim), &old, name)
    }
}

fn inquire(ncid: c_int, dimid: c_int) -> Result<DimInquiry> {
    let node = table::find(ncid)?;
    node.nc().inq_dim(node.dim(dimid)?)
}
