//! Attributes.

use std::ffi::c_int;

use nczarr::ErrorKind;

use super::v2_functions;
use crate::att::get::nc_get_att;
use crate::att::inquire::{nc_copy_att, nc_del_att, nc_inq_att, nc_inq_attname, nc_rename_att};
use crate::att::put::nc_put_att;
use crate::boundary::pointer::{NamePtr, OutPtr, SourcePtr, TargetPtr, TextPtr};

v2_functions! {
    /// Sets an attribute.
    fn ncattput(ncid: c_int, varid: c_int, name: TextPtr, datatype: c_int, len: c_int, value: SourcePtr) {
        let negative = |_| ErrorKind::Inval.context(format!("an attribute of {len} values"));
        let len = usize::try_from(len).map_err(negative)?;
        nc_put_att(ncid, varid, name, datatype, len, value).map(|()| 0)
    }

    /// Returns type and length of an attribute.
    fn ncattinq(ncid: c_int, varid: c_int, name: TextPtr, datatype: OutPtr<c_int>, len: OutPtr<c_int>) {
        let found = OutPtr::<usize>::result_of(|len| nc_inq_att(ncid, varid, name, datatype, len))?;
        len.set(found as c_int);
        Ok(1)
    }

    /// Returns the values of an attribute.
    fn ncattget(ncid: c_int, varid: c_int, name: TextPtr, value: TargetPtr) {
        nc_get_att(ncid, varid, name, value).map(|()| 1)
    }

    /// Copies an attribute.
    fn ncattcopy(ncid_in: c_int, varid_in: c_int, name: TextPtr, ncid_out: c_int, varid_out: c_int) {
        nc_copy_att(ncid_in, varid_in, name, ncid_out, varid_out).map(|()| 0)
    }

    /// Returns the name of an attribute.
    fn ncattname(ncid: c_int, varid: c_int, attnum: c_int, name: NamePtr) {
        nc_inq_attname(ncid, varid, attnum, name).map(|()| attnum)
    }

    /// Renames an attribute.
    fn ncattrename(ncid: c_int, varid: c_int, name: TextPtr, newname: TextPtr) {
        nc_rename_att(ncid, varid, name, newname).map(|()| 1)
    }

    /// Deletes an attribute.
    fn ncattdel(ncid: c_int, varid: c_int, name: TextPtr) {
        nc_del_att(ncid, varid, name).map(|()| 1)
    }
}
