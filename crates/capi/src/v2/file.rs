//! Datasets.

use std::ffi::c_int;

use super::v2_functions;
use crate::boundary::pointer::{OutPtr, TextPtr};
use crate::file::create::nc_create;
use crate::file::inquire::nc_inq;
use crate::file::lifecycle::{nc_abort, nc_close};
use crate::file::mode::{nc_enddef, nc_redef, nc_set_fill, nc_sync};
use crate::file::open::nc_open;

v2_functions! {
    /// Creates a dataset and returns its id.
    fn nccreate(path: TextPtr, cmode: c_int) {
        OutPtr::result_of(|id| nc_create(path, cmode, id))
    }

    /// Opens a dataset and returns its id.
    fn ncopen(path: TextPtr, mode: c_int) {
        OutPtr::result_of(|id| nc_open(path, mode, id))
    }

    /// Sets the fill mode and returns the old one.
    fn ncsetfill(ncid: c_int, fillmode: c_int) {
        OutPtr::result_of(|old| nc_set_fill(ncid, fillmode, old))
    }

    /// Enters define mode.
    fn ncredef(ncid: c_int) {
        nc_redef(ncid).map(|()| 0)
    }

    /// Ends define mode.
    fn ncendef(ncid: c_int) {
        nc_enddef(ncid).map(|()| 0)
    }

    /// Writes all changes.
    fn ncsync(ncid: c_int) {
        nc_sync(ncid).map(|()| 0)
    }

    /// Closes without the changes of an unfinished define mode.
    fn ncabort(ncid: c_int) {
        nc_abort(ncid).map(|()| 0)
    }

    /// Closes a dataset.
    fn ncclose(ncid: c_int) {
        nc_close(ncid).map(|()| 0)
    }

    /// Returns the numbers of objects.
    fn ncinquire(
        ncid: c_int, ndims: OutPtr<c_int>, nvars: OutPtr<c_int>, natts: OutPtr<c_int>, recdim: OutPtr<c_int>,
    ) {
        nc_inq(ncid, ndims, nvars, natts, recdim).map(|()| ncid)
    }
}
