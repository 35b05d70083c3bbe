//! The end of a dataset: closing, aborting and deleting.

use std::ffi::c_int;

use super::path;
use crate::boundary::pointer::TextPtr;
use crate::table;

c_functions! {
    /// Closes a dataset. If that fails, it stays open, and closing can be tried again.
    fn nc_close(ncid: c_int) {
        let (slot, file) = table::find_root(ncid)?;
        // After a panic the state is unknown, so nothing is written. The table forgets it all the same.
        if file.check_usable().is_ok() {
            file.close()?;
        }
        table::remove(slot, &file);
        Ok(())
    }

    /// Closes a dataset without the changes of an unfinished define mode, and deletes one just created.
    fn nc_abort(ncid: c_int) {
        let (slot, file) = table::find_root(ncid)?;
        table::remove(slot, &file);
        file.dataset.abort()
    }

    /// Deletes the dataset at a path.
    fn nc_delete(path: TextPtr) {
        let place = path::place(path::bytes(&path)?);
        nczarr::delete(&place).map_err(|error| error.in_path(&place))
    }
}
