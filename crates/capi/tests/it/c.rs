//! The declarations of C, and short forms for tests.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};

// The crate has no items for Rust; this links its functions.
use netcdf as _;

pub const NC_GLOBAL: c_int = -1;
pub const WRITE: c_int = 1;
pub const NOCLOBBER: c_int = 4;
pub const NETCDF4: c_int = 0x1000;
pub const CDF2: c_int = 0x200;
pub const CDF5: c_int = 0x20;
pub const CLASSIC_MODEL: c_int = 0x100;
pub const BYTE: c_int = 1;
pub const CHAR: c_int = 2;
pub const INT: c_int = 4;
pub const FLOAT: c_int = 5;
pub const DOUBLE: c_int = 6;
pub const STRING: c_int = 12;

type Text = *const c_char;
type Sizes = *const usize;
type Steps = *const isize;

// SAFETY: the signatures are those of netCDF's interface. Tests pass pointers to live memory of the right
// size, so the functions are declared as safe.
unsafe extern "C" {
    pub safe fn nc_create(path: Text, cmode: c_int, ncid: &mut c_int) -> c_int;
    pub safe fn nc_open(path: Text, mode: c_int, ncid: &mut c_int) -> c_int;
    pub safe fn nc_close(ncid: c_int) -> c_int;
    pub safe fn nc_abort(ncid: c_int) -> c_int;
    pub safe fn nc_delete(path: Text) -> c_int;
    pub safe fn nc_redef(ncid: c_int) -> c_int;
    pub safe fn nc_enddef(ncid: c_int) -> c_int;
    pub safe fn nc_sync(ncid: c_int) -> c_int;
    pub safe fn nc_set_fill(ncid: c_int, mode: c_int, old: *mut c_int) -> c_int;
    pub safe fn nc_inq_format(ncid: c_int, format: &mut c_int) -> c_int;
    pub safe fn nc_inq_path(ncid: c_int, len: &mut usize, path: *mut c_char) -> c_int;
    pub safe fn nc_inq_libvers() -> Text;
    pub safe fn nc_strerror(code: c_int) -> Text;
    pub safe fn ncz_last_error() -> Text;
    pub safe fn nc_inq_nvars(ncid: c_int, nvars: &mut c_int) -> c_int;

    pub safe fn nc_def_dim(ncid: c_int, name: Text, len: usize, id: &mut c_int) -> c_int;
    pub safe fn nc_inq_dimlen(ncid: c_int, dim: c_int, len: &mut usize) -> c_int;
    pub safe fn nc_rename_dim(ncid: c_int, dim: c_int, name: Text) -> c_int;
    pub safe fn nc_def_grp(ncid: c_int, name: Text, id: &mut c_int) -> c_int;
    pub safe fn nc_inq_ncid(ncid: c_int, name: Text, id: &mut c_int) -> c_int;
    pub safe fn nc_inq_grp_ncid(ncid: c_int, name: Text, id: &mut c_int) -> c_int;
    pub safe fn nc_inq_grp_parent(ncid: c_int, id: &mut c_int) -> c_int;

    pub safe fn nc_def_var(
        ncid: c_int,
        name: Text,
        ty: c_int,
        ndims: c_int,
        dims: *const c_int,
        id: &mut c_int,
    ) -> c_int;
    pub safe fn nc_inq_varid(ncid: c_int, name: Text, id: &mut c_int) -> c_int;
    pub safe fn nc_def_var_fill(ncid: c_int, var: c_int, no_fill: c_int, value: *const c_void) -> c_int;
    pub safe fn nc_inq_var_fill(ncid: c_int, var: c_int, no_fill: &mut c_int, value: *mut c_void) -> c_int;
    pub safe fn nc_def_var_deflate(ncid: c_int, var: c_int, shuffle: c_int, on: c_int, level: c_int)
    -> c_int;
    pub safe fn nc_inq_var_deflate(
        ncid: c_int,
        var: c_int,
        shuffle: &mut c_int,
        on: &mut c_int,
        level: &mut c_int,
    ) -> c_int;
    pub safe fn nc_def_var_chunking(ncid: c_int, var: c_int, storage: c_int, sizes: Sizes) -> c_int;
    pub safe fn nc_inq_var_chunking(ncid: c_int, var: c_int, storage: &mut c_int, sizes: *mut usize)
    -> c_int;
    pub safe fn nc_set_var_chunk_cache(
        ncid: c_int,
        var: c_int,
        bytes: usize,
        slots: usize,
        preemption: f32,
    ) -> c_int;
    pub safe fn nc_get_var_chunk_cache(
        ncid: c_int,
        var: c_int,
        bytes: &mut usize,
        slots: &mut usize,
        preemption: &mut f32,
    ) -> c_int;

    pub safe fn nc_put_att_text(ncid: c_int, var: c_int, name: Text, len: usize, text: Text) -> c_int;
    pub safe fn nc_put_att_int(
        ncid: c_int,
        var: c_int,
        name: Text,
        ty: c_int,
        len: usize,
        values: *const c_int,
    ) -> c_int;
    pub safe fn nc_put_att_string(
        ncid: c_int,
        var: c_int,
        name: Text,
        len: usize,
        text: *const Text,
    ) -> c_int;
    pub safe fn nc_get_att_string(ncid: c_int, var: c_int, name: Text, text: *mut *mut c_char) -> c_int;
    pub safe fn nc_get_att_int(ncid: c_int, var: c_int, name: Text, values: *mut c_int) -> c_int;
    pub safe fn nc_get_att_schar(ncid: c_int, var: c_int, name: Text, values: *mut i8) -> c_int;
    pub safe fn nc_get_att_text(ncid: c_int, var: c_int, name: Text, text: *mut c_char) -> c_int;
    pub safe fn nc_del_att(ncid: c_int, var: c_int, name: Text) -> c_int;
    pub safe fn nc_rename_att(ncid: c_int, var: c_int, name: Text, to: Text) -> c_int;
    pub safe fn nc_inq_attid(ncid: c_int, var: c_int, name: Text, id: &mut c_int) -> c_int;
    pub safe fn nc_free_string(len: usize, text: *mut *mut c_char) -> c_int;

    pub safe fn nc_put_var_int(ncid: c_int, var: c_int, values: *const c_int) -> c_int;
    pub safe fn nc_get_var_int(ncid: c_int, var: c_int, values: *mut c_int) -> c_int;
    pub safe fn nc_get_var_schar(ncid: c_int, var: c_int, values: *mut i8) -> c_int;
    pub safe fn nc_put_var_uchar(ncid: c_int, var: c_int, values: *const u8) -> c_int;
    pub safe fn nc_get_var_text(ncid: c_int, var: c_int, values: *mut c_char) -> c_int;
    pub safe fn nc_put_var_string(ncid: c_int, var: c_int, values: *const Text) -> c_int;
    pub safe fn nc_get_var_string(ncid: c_int, var: c_int, values: *mut *mut c_char) -> c_int;
    pub safe fn nc_get_var1_int(ncid: c_int, var: c_int, index: Sizes, value: *mut c_int) -> c_int;
    pub safe fn nc_put_var1_int(ncid: c_int, var: c_int, index: Sizes, value: *const c_int) -> c_int;
    pub safe fn nc_get_vara_int(
        ncid: c_int,
        var: c_int,
        start: Sizes,
        count: Sizes,
        values: *mut c_int,
    ) -> c_int;
    pub safe fn nc_put_vara_int(
        ncid: c_int,
        var: c_int,
        start: Sizes,
        count: Sizes,
        values: *const c_int,
    ) -> c_int;
    pub safe fn nc_get_vars_int(
        ncid: c_int,
        var: c_int,
        start: Sizes,
        count: Sizes,
        stride: Steps,
        values: *mut c_int,
    ) -> c_int;
    pub safe fn nc_get_varm_int(
        ncid: c_int,
        var: c_int,
        start: Sizes,
        count: Sizes,
        stride: Steps,
        imap: Steps,
        values: *mut c_int,
    ) -> c_int;
    pub safe fn nc_put_varm_int(
        ncid: c_int,
        var: c_int,
        start: Sizes,
        count: Sizes,
        stride: Steps,
        imap: Steps,
        values: *const c_int,
    ) -> c_int;
}

/// A dataset in a folder that is deleted afterwards. It need not be closed.
pub struct Made {
    pub folder: tempfile::TempDir,
    pub path: CString,
    pub id: c_int,
}

pub fn path_in(folder: &Path, name: &str) -> CString {
    CString::new(folder.join(name).to_str().unwrap()).unwrap()
}

/// Creates a dataset.
pub fn create(cmode: c_int) -> Made {
    let folder = tempfile::tempdir().unwrap();
    let path = path_in(folder.path(), "a.nc");
    let mut id = -1;
    ok(nc_create(path.as_ptr(), cmode, &mut id));
    Made { folder, path, id }
}

impl Made {
    pub fn dim(&self, name: &CStr, len: usize) -> c_int {
        let mut id = -1;
        ok(nc_def_dim(self.id, name.as_ptr(), len, &mut id));
        id
    }

    pub fn var(&self, name: &CStr, ty: c_int, dims: &[c_int]) -> c_int {
        let mut id = -1;
        ok(nc_def_var(self.id, name.as_ptr(), ty, dims.len() as c_int, dims.as_ptr(), &mut id));
        id
    }

    /// Closes the dataset and opens it again.
    pub fn reopen(&mut self, mode: c_int) {
        ok(nc_close(self.id));
        ok(nc_open(self.path.as_ptr(), mode, &mut self.id));
    }
}

/// Checks that a call succeeded, and shows the library's message otherwise.
#[track_caller]
pub fn ok(code: c_int) {
    assert_eq!(code, 0, "{}", last_message());
}

/// Returns the message of the last error.
pub fn last_message() -> String {
    text(ncz_last_error())
}

pub fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the library returns text with a zero byte at its end.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned()
}

pub fn no_sizes() -> Sizes {
    null()
}

pub fn no_steps() -> Steps {
    null()
}

pub fn nowhere<T>() -> *mut T {
    null_mut()
}
