//! Dimensions.

use std::ffi::{c_int, c_long};

use nczarr::ErrorKind;

use super::v2_functions;
use crate::boundary::pointer::{NamePtr, OutPtr, TextPtr};
use crate::dim::{nc_def_dim, nc_inq_dim, nc_inq_dimid, nc_rename_dim};

v2_functions! {
    /// Defines a dimension and returns its id.
    fn ncdimdef(ncid: c_int, name: TextPtr, length: c_long) {
        let negative = |_| ErrorKind::DimSize.context(format!("a dimension of length {length}"));
        let length = usize::try_from(length).map_err(negative)?;
        OutPtr::result_of(|id| nc_def_dim(ncid, name, length, id))
    }

    /// Returns the id of a dimension.
    fn ncdimid(ncid: c_int, name: TextPtr) {
        OutPtr::result_of(|id| nc_inq_dimid(ncid, name, id))
    }

    /// Returns name and length of a dimension.
    fn ncdiminq(ncid: c_int, dimid: c_int, name: NamePtr, length: OutPtr<c_long>) {
        length.set(OutPtr::<usize>::result_of(|len| nc_inq_dim(ncid, dimid, name, len))? as c_long);
        Ok(dimid)
    }

    /// Renames a dimension.
    fn ncdimrename(ncid: c_int, dimid: c_int, name: TextPtr) {
        nc_rename_dim(ncid, dimid, name).map(|()| dimid)
    }
}
