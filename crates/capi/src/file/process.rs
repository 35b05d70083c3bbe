//! Functions for the whole process and for processing elements, which have little to do here.

use std::ffi::c_int;

use nczarr::ErrorKind;

use super::create::nc_create;
use super::lifecycle::nc_delete;
use super::open::nc_open;
use crate::boundary::pointer::{OutPtr, TextPtr};
use crate::{rc, table, user_format};

c_functions! {
    /// Loads the formats that rc files name. The library needs no other preparation.
    fn nc_initialize() {
        user_format::load_plugins();
        Ok(())
    }

    /// Forgets the settings of `nc_rc_set`. Open datasets stay usable, and new ones can be opened afterwards.
    fn nc_finalize() {
        rc::forget();
        Ok(())
    }

    /// Creates a dataset for the only processing element.
    fn nc__create_mp(
        path: TextPtr, cmode: c_int, _initialsz: usize, basepe: c_int, _chunksizehintp: OutPtr<usize>,
        ncidp: OutPtr<c_int>,
    ) {
        check_element(basepe)?;
        nc_create(path, cmode, ncidp)
    }

    /// Opens a dataset for the only processing element.
    fn nc__open_mp(
        path: TextPtr, mode: c_int, basepe: c_int, _chunksizehintp: OutPtr<usize>, ncidp: OutPtr<c_int>,
    ) {
        check_element(basepe)?;
        nc_open(path, mode, ncidp)
    }

    /// Deletes the dataset at a path.
    fn nc_delete_mp(path: TextPtr, basepe: c_int) {
        check_element(basepe)?;
        nc_delete(path)
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
        check_element(pe)
    }
}

fn check_element(number: c_int) -> nczarr::Result<()> {
    if number != 0 {
        return Err(ErrorKind::Inval.context(format!("processing element {number}")));
    }
    Ok(())
}
