//! Names in `netcdf_aux.h` for functions of `netcdf.h`.

use std::ffi::{c_int, c_void};

use crate::boundary::pointer::{OutPtr, SourcePtr, TargetPtr};
use crate::types::memory::{nc_copy_data, nc_copy_data_all, nc_reclaim_data, nc_reclaim_data_all};

c_functions! {
    /// As `nc_reclaim_data`.
    fn ncaux_reclaim_data(ncid: c_int, xtype: c_int, memory: TargetPtr, count: usize) {
        nc_reclaim_data(ncid, xtype, memory, count)
    }

    /// As `nc_reclaim_data_all`.
    fn ncaux_reclaim_data_all(ncid: c_int, xtype: c_int, memory: TargetPtr, count: usize) {
        nc_reclaim_data_all(ncid, xtype, memory, count)
    }

    /// As `nc_copy_data`.
    fn ncaux_copy_data(ncid: c_int, xtype: c_int, memory: SourcePtr, count: usize, copy: TargetPtr) {
        nc_copy_data(ncid, xtype, memory, count, copy)
    }

    /// As `nc_copy_data_all`.
    fn ncaux_copy_data_all(
        ncid: c_int, xtype: c_int, memory: SourcePtr, count: usize, copyp: OutPtr<*mut c_void>,
    ) {
        nc_copy_data_all(ncid, xtype, memory, count, copyp)
    }
}
