//! Functions for the whole process, which have nothing to do here.

use std::ffi::c_int;

use nczarr::ErrorKind;

use crate::boundary::pointer::OutPtr;
use crate::table;

c_functions! {
    /// The library needs no preparation.
    fn nc_initialize() {
        Ok(())
    }

    /// Open datasets stay usable, and new ones can be opened afterwards.
    fn nc_finalize() {
        Ok(())
    }

    /// Returns the processing element: always 0.
    fn nc_inq_base_pe(ncid: c_int, pe: OutPtr<c_int>) {
        table::find(ncid)?;
        pe.set(0);
        Ok(())
    }

    /// Accepts the only processing element.
    fn nc_set_base_pe(ncid: c_int, pe: c_int) {
        table::find(ncid)?;
        if pe != 0 {
            return Err(ErrorKind::Inval.context(format!("processing element {pe}")));
        }
        Ok(())
    }
}
