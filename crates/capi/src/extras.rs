//! Functions that programs need although no public header declares them.

use std::ffi::{c_int, c_uint};

use crate::boundary::pointer::OutPtr;
use crate::table;

/// The version of HDF5 whose files the library reads and writes. Python's netCDF4 asks for it.
const HDF5: [c_uint; 3] = [1, 14, 6];

c_functions! {
    /// Answers the version of HDF5.
    fn H5get_libversion(major: OutPtr<c_uint>, minor: OutPtr<c_uint>, release: OutPtr<c_uint>) {
        let places = [major, minor, release];
        places.iter().zip(HDF5).for_each(|(place, number)| place.set(number));
        Ok(())
    }

    /// Writes nothing, as a netCDF-C without logging. The id must be that of a dataset.
    fn nc_show_metadata(ncid: c_int) {
        table::find(ncid).map(drop)
    }
}

// The log is that of the crate `tracing`, so a level has no effect, as in a netCDF-C without logging.
export_value!("nc_set_log_level", (_level: c_int) -> c_int, 0);
