//! The types of plugins, as C declares them. Names are those of HDF5 and netCDF-C.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// The kind of a plugin that is a filter (`H5PL_TYPE_FILTER`).
pub(super) const H5PL_TYPE_FILTER: c_int = 0;
/// The version of [`H5ZClass`] (`H5Z_CLASS_T_VERS`).
pub(super) const H5Z_CLASS_VERSION: c_int = 1;
/// The flag of a call that decodes (`H5Z_FLAG_REVERSE`).
pub(super) const H5Z_FLAG_REVERSE: c_uint = 0x0100;
/// The version of [`CodecClass`] (`NCZ_CODEC_CLASS_VER`).
pub(super) const CODEC_VERSION: c_int = 1;
/// The kind of a codec that has HDF5 parameters (`NCZ_CODEC_HDF5`).
pub(super) const CODEC_OF_HDF5: c_int = 1;

/// `H5Z_func_t`: flags, parameters, the number of bytes to filter, the size of the buffer, and the buffer,
/// which the filter may replace. Returns the number of bytes in the buffer; 0 is an error.
pub(super) type FilterFunction =
    unsafe extern "C" fn(c_uint, usize, *const c_uint, usize, *mut usize, *mut *mut c_void) -> usize;

/// `H5Z_class2_t`.
#[repr(C)]
pub(super) struct H5ZClass {
    pub(super) version: c_int,
    pub(super) id: c_int,
    pub(super) encoder_present: c_uint,
    pub(super) decoder_present: c_uint,
    pub(super) name: *const c_char,
    /// Checks a dataset; its arguments are ids of the HDF5 library.
    pub(super) can_apply: *const c_void,
    /// Adds parameters for a dataset; its arguments are ids of the HDF5 library.
    pub(super) set_local: *const c_void,
    pub(super) filter: Option<FilterFunction>,
}

/// `NCZ_codec_t`.
#[repr(C)]
pub(super) struct CodecClass {
    pub(super) version: c_int,
    pub(super) sort: c_int,
    pub(super) codecid: *const c_char,
    pub(super) hdf5id: c_uint,
    pub(super) initialize: Option<unsafe extern "C" fn()>,
    pub(super) finalize: Option<unsafe extern "C" fn()>,
    pub(super) to_hdf5: Option<unsafe extern "C" fn(*const c_char, *mut usize, *mut *mut c_uint) -> c_int>,
    pub(super) to_codec: Option<unsafe extern "C" fn(usize, *const c_uint, *mut *mut c_char) -> c_int>,
    /// Changes parameters for a variable; its arguments are ids of netCDF-C.
    pub(super) modify_parameters: *const c_void,
}
