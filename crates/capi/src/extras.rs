//! Functions that programs need although no public header declares them.

use std::ffi::{c_char, c_int, c_uint};
use std::ptr;

use nczarr::ErrorKind;

use crate::boundary::memory;
use crate::boundary::pointer::{OutPtr, TextPtr};
use crate::rc;

/// The version of HDF5 whose files the library reads and writes. Python's netCDF4 asks for it.
const HDF5: [c_uint; 3] = [1, 14, 6];

c_functions! {
    /// Answers the version of HDF5.
    fn H5get_libversion(major: OutPtr<c_uint>, minor: OutPtr<c_uint>, release: OutPtr<c_uint>) {
        let places = [major, minor, release];
        places.iter().zip(HDF5).for_each(|(place, number)| place.set(number));
        Ok(())
    }

    /// Sets a value of the rc file for this process.
    fn nc_rc_set(key: TextPtr, value: TextPtr) {
        let null = || ErrorKind::Inval.context("the key or the value is null");
        let (key, value) = (key.bytes().ok_or_else(null)?, value.bytes().ok_or_else(null)?);
        rc::set(key, value);
        Ok(())
    }
}

// Returns a value that `nc_rc_set` stored. The caller frees it.
export_value!("nc_rc_get", (key: TextPtr) -> *mut c_char, rc_get(key).unwrap_or(ptr::null_mut()));

fn rc_get(key: TextPtr) -> Option<*mut c_char> {
    let value = rc::get(key.bytes()?)?;
    memory::copy_text(&value).ok()
}

// The log is that of the crate `tracing`, so a level has no effect, as in a netCDF-C without logging.
export_value!("nc_set_log_level", (_level: c_int) -> c_int, 0);
