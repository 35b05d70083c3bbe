//! A loaded plugin, and the calls of its functions.
//!
//! A plugin may do anything. This process exists to contain that, so each safety comment states only the
//! contract that HDF5 and netCDF-C demand of plugins.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_int, c_uint, c_void};
use std::io::{self, Read};
use std::path::Path;
use std::ptr::{self, NonNull};
use std::slice;

use libloading::Library;

use super::library::{
    CODEC_OF_HDF5, CODEC_VERSION, CodecClass, H5PL_TYPE_FILTER, H5Z_CLASS_VERSION, H5Z_FLAG_REVERSE, H5ZClass,
};

/// A plugin. It stays loaded until the process ends.
pub(super) struct Plugin {
    class: &'static H5ZClass,
    codec: Option<&'static CodecClass>,
}

impl Plugin {
    /// Loads a shared library and finds its filter.
    pub(super) fn load(path: &Path) -> Result<Self, String> {
        // SAFETY: loading runs the library's code, which the user asked for.
        let library = unsafe { Library::new(path) }.map_err(|error| error.to_string())?;
        // A plugin may start threads or register functions for the end of the process.
        let library: &'static Library = Box::leak(Box::new(library));
        // SAFETY: HDF5 defines the types of these functions, which have no arguments.
        let class: *const H5ZClass = unsafe {
            let kind = library.get::<unsafe extern "C" fn() -> c_int>("H5PLget_plugin_type");
            let kind = kind.map_err(|error| error.to_string())?();
            if kind != H5PL_TYPE_FILTER {
                return Err(format!("a plugin of another kind (expected {H5PL_TYPE_FILTER}, found {kind})"));
            }
            let info = library.get::<unsafe extern "C" fn() -> *const c_void>("H5PLget_plugin_info");
            info.map_err(|error| error.to_string())?().cast()
        };
        // SAFETY: the function returns null or a class that lives as long as the library.
        let class = unsafe { class.as_ref() }.ok_or("H5PLget_plugin_info returned no class")?;
        if class.version != H5Z_CLASS_VERSION || class.filter.is_none() {
            return Err(format!(
                "the version of the class is {} (expected {H5Z_CLASS_VERSION})",
                class.version
            ));
        }
        let codec = Self::codec_of(library, class.id);
        if let Some(initialize) = codec.and_then(|codec| codec.initialize) {
            // SAFETY: the function has no arguments.
            unsafe { initialize() }
        }
        Ok(Self { class, codec })
    }

    /// Returns the codec for parameters of this filter, if the library has one that needs no dataset.
    fn codec_of(library: &'static Library, id: c_int) -> Option<&'static CodecClass> {
        // SAFETY: netCDF-C defines the type of the function, which returns null or a class that lives as
        // long as the library.
        let codec: &CodecClass = unsafe {
            let info = library.get::<unsafe extern "C" fn() -> *const c_void>("NCZ_get_codec_info").ok()?;
            info().cast::<CodecClass>().as_ref()?
        };
        let is_known = (codec.version, codec.sort) == (CODEC_VERSION, CODEC_OF_HDF5);
        let is_complete =
            codec.to_hdf5.is_some() && codec.to_codec.is_some() && codec.modify_parameters.is_null();
        (is_known && is_complete && i64::from(codec.hdf5id) == i64::from(id)).then_some(codec)
    }

    pub(super) fn id(&self) -> c_int {
        self.class.id
    }

    pub(super) fn name(&self) -> String {
        if self.class.name.is_null() {
            return String::new();
        }
        // SAFETY: a name that is not null is text with a final zero, as long as the library lives.
        unsafe { CStr::from_ptr(self.class.name) }.to_string_lossy().into_owned()
    }

    pub(super) fn codec_id(&self) -> Option<String> {
        let codec = self.codec.filter(|codec| !codec.codecid.is_null())?;
        // SAFETY: as for the name.
        Some(unsafe { CStr::from_ptr(codec.codecid) }.to_string_lossy().into_owned())
    }

    /// Whether it encodes without a dataset of the HDF5 library.
    pub(super) fn can_encode(&self) -> bool {
        let class = self.class;
        class.encoder_present != 0 && class.can_apply.is_null() && class.set_local.is_null()
    }

    pub(super) fn can_decode(&self) -> bool {
        self.class.decoder_present != 0
    }

    /// Encodes or decodes the data.
    pub(super) fn filter(&self, decode: bool, params: &[u32], data: CBuffer) -> Result<CBuffer, String> {
        let function = self.class.filter.ok_or("the class has no filter")?;
        let flags = if decode { H5Z_FLAG_REVERSE } else { 0 };
        let (mut capacity, len) = (data.len.max(1), data.len);
        let mut start = data.into_raw();
        // SAFETY: the buffer is memory of `malloc` with this size. The filter frees what it replaces.
        let len = unsafe { function(flags, params.len(), params.as_ptr(), len, &mut capacity, &mut start) };
        // SAFETY: the buffer is again memory of `malloc`, or null; it has at least `len` bytes of data.
        let result = unsafe { CBuffer::from_raw(start, len.min(capacity)) };
        match (result, len) {
            (Some(_), 0) | (None, _) => {
                Err(format!("the plugin could not {} a chunk", if decode { "decode" } else { "encode" }))
            }
            (Some(_), len) if len > capacity => {
                Err(format!("the plugin returned {len} bytes in a buffer of {capacity}"))
            }
            (Some(result), _) => Ok(result),
        }
    }

    /// Returns the parameters of a codec description.
    pub(super) fn params_of(&self, description: &CStr) -> Result<Vec<u32>, String> {
        let function = self.codec.and_then(|codec| codec.to_hdf5).ok_or("the plugin has no codec")?;
        let (mut count, mut params) = (0, ptr::null_mut());
        // SAFETY: the text has a final zero, and the results have their types.
        let code = unsafe { function(description.as_ptr(), &mut count, &mut params) };
        if code != 0 {
            return Err(format!("the plugin refused the codec description (code {code})"));
        }
        if params.is_null() {
            return Ok(Vec::new());
        }
        // SAFETY: on success there are `count` parameters in memory of `malloc`, which the caller frees.
        let found = unsafe { slice::from_raw_parts(params.cast_const(), count) }.to_vec();
        // SAFETY: as above.
        unsafe { libc::free(params.cast()) }
        Ok(found)
    }

    /// Returns the codec description of parameters.
    pub(super) fn description_of(&self, params: &[c_uint]) -> Result<CString, String> {
        let function = self.codec.and_then(|codec| codec.to_codec).ok_or("the plugin has no codec")?;
        let mut text = ptr::null_mut();
        // SAFETY: the parameters are a slice, and the result has its type.
        let code = unsafe { function(params.len(), params.as_ptr(), &mut text) };
        if code != 0 || text.is_null() {
            return Err(format!("the plugin has no codec description of {params:?} (code {code})"));
        }
        // SAFETY: on success the result is text with a final zero, in memory of `malloc` for the caller.
        let found = unsafe { CStr::from_ptr(text) }.to_owned();
        // SAFETY: as above.
        unsafe { libc::free(text.cast()) }
        Ok(found)
    }
}

/// Bytes in memory of `malloc`, which a plugin may free or enlarge.
pub(super) struct CBuffer {
    start: NonNull<u8>,
    len: usize,
}

impl CBuffer {
    fn zeroed(len: usize) -> Option<Self> {
        // SAFETY: any size is allowed; the memory is zero.
        let start = unsafe { libc::calloc(len.max(1), 1) };
        Some(Self { start: NonNull::new(start.cast())?, len })
    }

    /// Reads exactly `len` bytes.
    pub(super) fn read(from: &mut impl Read, len: usize) -> io::Result<Self> {
        let mut buffer = Self::zeroed(len).ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: the buffer has `len` bytes, all zero.
        from.read_exact(unsafe { slice::from_raw_parts_mut(buffer.start.as_mut(), len) })?;
        Ok(buffer)
    }

    /// Copies bytes.
    pub(super) fn copy(bytes: &[u8]) -> Result<Self, String> {
        Self::read(&mut &*bytes, bytes.len()).map_err(|error| error.to_string())
    }

    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: the buffer has `len` bytes with values.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    fn into_raw(self) -> *mut c_void {
        let start = self.start.as_ptr().cast();
        std::mem::forget(self);
        start
    }

    /// Takes memory of `malloc` with `len` bytes of data; `None` if it is null.
    ///
    /// # Safety
    /// The memory must be that, and nobody else may use it.
    unsafe fn from_raw(start: *mut c_void, len: usize) -> Option<Self> {
        Some(Self { start: NonNull::new(start.cast())?, len })
    }
}

impl Drop for CBuffer {
    fn drop(&mut self) {
        // SAFETY: the memory is that of `malloc`, and this is its owner.
        unsafe { libc::free(self.start.as_ptr().cast()) }
    }
}
