//! The declarations of C, and short forms for tests.

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::atomic::AtomicI32;

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
    pub safe fn nc_create_par_fortran(
        path: Text,
        cmode: c_int,
        comm: c_int,
        info: c_int,
        id: &mut c_int,
    ) -> c_int;
    pub safe fn nc_open_par_fortran(
        path: Text,
        mode: c_int,
        comm: c_int,
        info: c_int,
        id: &mut c_int,
    ) -> c_int;
    pub safe fn nc_var_par_access(ncid: c_int, var: c_int, access: c_int) -> c_int;
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
    pub safe fn nc_inq_dimid(ncid: c_int, name: Text, id: &mut c_int) -> c_int;
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
    pub safe fn nc_rename_var(ncid: c_int, var: c_int, name: Text) -> c_int;
    pub safe fn nc_inq_varname(ncid: c_int, var: c_int, name: *mut c_char) -> c_int;
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
    pub safe fn nc_inq_attname(ncid: c_int, var: c_int, at: c_int, name: *mut c_char) -> c_int;
    pub safe fn nc_inq_attid(ncid: c_int, var: c_int, name: Text, id: &mut c_int) -> c_int;
    pub safe fn nc_free_string(len: usize, text: *mut *mut c_char) -> c_int;

    pub safe fn nc_def_compound(ncid: c_int, size: usize, name: Text, id: &mut c_int) -> c_int;
    pub safe fn nc_insert_compound(ncid: c_int, ty: c_int, name: Text, offset: usize, field: c_int) -> c_int;
    pub safe fn nc_insert_array_compound(
        ncid: c_int,
        ty: c_int,
        name: Text,
        offset: usize,
        field: c_int,
        rank: c_int,
        sizes: *const c_int,
    ) -> c_int;
    pub safe fn nc_def_vlen(ncid: c_int, name: Text, base: c_int, id: &mut c_int) -> c_int;
    pub safe fn nc_def_enum(ncid: c_int, base: c_int, name: Text, id: &mut c_int) -> c_int;
    pub safe fn nc_insert_enum(ncid: c_int, ty: c_int, name: Text, value: *const c_void) -> c_int;
    pub safe fn nc_inq_enum_member(
        ncid: c_int,
        ty: c_int,
        index: c_int,
        name: *mut c_char,
        value: *mut c_void,
    ) -> c_int;
    pub safe fn nc_inq_user_type(
        ncid: c_int,
        ty: c_int,
        name: *mut c_char,
        size: &mut usize,
        base: &mut c_int,
        parts: &mut usize,
        class: &mut c_int,
    ) -> c_int;
    pub safe fn nc_inq_vartype(ncid: c_int, var: c_int, ty: &mut c_int) -> c_int;
    pub safe fn nc_reclaim_data(ncid: c_int, ty: c_int, memory: *mut c_void, count: usize) -> c_int;
    pub safe fn nc_copy_data(
        ncid: c_int,
        ty: c_int,
        memory: *const c_void,
        count: usize,
        copy: *mut c_void,
    ) -> c_int;
    pub safe fn nc_free_vlen(element: *mut c_void) -> c_int;
    pub safe fn nc_put_var(ncid: c_int, var: c_int, values: *const c_void) -> c_int;
    pub safe fn nc_get_var(ncid: c_int, var: c_int, values: *mut c_void) -> c_int;
    pub safe fn nc_put_att(
        ncid: c_int,
        var: c_int,
        name: Text,
        ty: c_int,
        len: usize,
        values: *const c_void,
    ) -> c_int;
    pub safe fn nc_get_att(ncid: c_int, var: c_int, name: Text, values: *mut c_void) -> c_int;

    pub safe static ncerr: AtomicI32;
    pub safe static ncopts: AtomicI32;
    pub safe fn nccreate(path: Text, cmode: c_int) -> c_int;
    pub safe fn ncopen(path: Text, mode: c_int) -> c_int;
    pub safe fn ncclose(ncid: c_int) -> c_int;
    pub safe fn ncendef(ncid: c_int) -> c_int;
    pub safe fn ncdimdef(ncid: c_int, name: Text, len: c_long) -> c_int;
    pub safe fn ncdimid(ncid: c_int, name: Text) -> c_int;
    pub safe fn ncvardef(ncid: c_int, name: Text, ty: c_int, rank: c_int, dims: *const c_int) -> c_int;
    pub safe fn ncattput(
        ncid: c_int,
        var: c_int,
        name: Text,
        ty: c_int,
        len: c_int,
        value: *const c_void,
    ) -> c_int;
    pub safe fn ncattinq(ncid: c_int, var: c_int, name: Text, ty: &mut c_int, len: &mut c_int) -> c_int;
    pub safe fn ncvarput(
        ncid: c_int,
        var: c_int,
        start: *const c_long,
        count: *const c_long,
        values: *const c_void,
    ) -> c_int;
    pub safe fn ncvargetg(
        ncid: c_int,
        var: c_int,
        start: *const c_long,
        count: *const c_long,
        stride: *const c_long,
        imap: *const c_long,
        values: *mut c_void,
    ) -> c_int;
    pub safe fn ncrecinq(ncid: c_int, count: &mut c_int, vars: *mut c_int, sizes: *mut c_long) -> c_int;
    pub safe fn ncrecput(ncid: c_int, record: c_long, values: *const *const c_void) -> c_int;
    pub safe fn ncrecget(ncid: c_int, record: c_long, values: *const *mut c_void) -> c_int;
    pub safe fn nc_inq_rec(ncid: c_int, count: &mut usize, vars: *mut c_int, sizes: *mut usize) -> c_int;
    pub safe fn nc_put_rec(ncid: c_int, record: usize, values: *const *const c_void) -> c_int;
    pub safe fn nc_get_rec(ncid: c_int, record: usize, values: *const *mut c_void) -> c_int;
    pub safe fn nctypelen(ty: c_int) -> c_int;

    pub safe fn nc_open_mem(
        path: Text,
        mode: c_int,
        size: usize,
        memory: *const c_void,
        ncid: &mut c_int,
    ) -> c_int;
    pub safe fn nc_open_memio(path: Text, mode: c_int, info: &MemIo, ncid: &mut c_int) -> c_int;
    pub safe fn nc_create_mem(path: Text, mode: c_int, size: usize, ncid: &mut c_int) -> c_int;
    pub safe fn nc_close_memio(ncid: c_int, info: &mut MemIo) -> c_int;

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

/// Memory of a dataset.
#[repr(C)]
pub struct MemIo {
    pub size: usize,
    pub memory: *mut c_void,
    pub flags: c_int,
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
