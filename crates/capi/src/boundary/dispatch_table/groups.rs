//! Groups, and the objects that each one lists.

use std::ffi::{CStr, c_int};
use std::ptr::null_mut;

use nczarr::{Error, ErrorKind, Result};

use super::TablePtr;
use super::inquiries::name_of;
use crate::user_format::{Turn, outcome};

impl TablePtr {
    /// Returns the child groups.
    pub fn inq_grps(self, ncid: c_int) -> Result<Option<Vec<c_int>>> {
        list_of(|count, ids| call!(self.inq_grps(ncid, count, ids)))
    }

    /// Returns the name of a group.
    pub fn inq_grpname(self, ncid: c_int) -> Result<Vec<u8>> {
        name_of(|name| call!(self.inq_grpname(ncid, name)))
    }

    /// Returns the dimensions of a group.
    pub fn inq_dimids(self, ncid: c_int) -> Result<Option<Vec<c_int>>> {
        list_of(|count, ids| call!(self.inq_dimids(ncid, count, ids, 0)))
    }

    /// Returns the unlimited dimensions of a group.
    pub fn inq_unlimdims(self, ncid: c_int) -> Result<Option<Vec<c_int>>> {
        list_of(|count, ids| call!(self.inq_unlimdims(ncid, count, ids)))
    }

    /// Returns the variables of a group.
    pub fn inq_varids(self, ncid: c_int) -> Result<Option<Vec<c_int>>> {
        list_of(|count, ids| call!(self.inq_varids(ncid, count, ids)))
    }

    /// Returns the user-defined types of a group.
    pub fn inq_typeids(self, ncid: c_int) -> Result<Option<Vec<c_int>>> {
        list_of(|count, ids| call!(self.inq_typeids(ncid, count, ids)))
    }

    /// Defines a group and returns its id.
    pub fn def_grp(self, ncid: c_int, name: &CStr) -> Result<c_int> {
        let mut id = -1;
        call!(self.def_grp(ncid, name.as_ptr(), &mut id))?;
        Ok(id)
    }

    pub fn rename_grp(self, ncid: c_int, name: &CStr) -> Result<()> {
        call!(self.rename_grp(ncid, name.as_ptr()))
    }
}

/// Returns the numbers that an entry lists. `None`: the table has no such entry, or its format no such
/// objects.
fn list_of(entry: impl Fn(*mut c_int, *mut c_int) -> Result<()>) -> Result<Option<Vec<c_int>>> {
    let mut count = 0;
    match entry(&mut count, null_mut()) {
        Err(error) if is_lacking(&error) => return Ok(None),
        outcome => outcome?,
    }
    let len = usize::try_from(count);
    let mut ids = vec![0; len.map_err(|_| ErrorKind::Internal.context(format!("{count} objects")))?];
    if !ids.is_empty() {
        entry(&mut count, ids.as_mut_ptr())?;
    }
    Ok(Some(ids))
}

/// Whether a table has no such entry, or its format no such objects.
pub fn is_lacking(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotBuilt | ErrorKind::NotNc4)
}
