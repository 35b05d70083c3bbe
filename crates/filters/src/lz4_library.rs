//! The functions of the C library LZ4, which the crate `lzzzz` builds. (C; `unsafe`.)
//!
//! That crate wraps them in functions for initialised memory. Filters also write to memory that is not.
//!
//! Source: `lz4.h` and `lz4hc.h`.

#[cfg(feature = "blosc")]
use std::ffi::c_void;
use std::ffi::{c_char, c_int};

// Only links the library.
use lzzzz as _;

unsafe extern "C" {
    /// Reads `length` bytes, writes at most `maxout`, and returns the number written. It is negative if the
    /// block is damaged or holds more.
    pub(crate) fn LZ4_decompress_safe(
        source: *const c_char,
        dest: *mut c_char,
        length: c_int,
        maxout: c_int,
    ) -> c_int;

    /// As above; returns 0 if the block does not fit.
    pub(crate) fn LZ4_compress_fast(
        source: *const c_char,
        dest: *mut c_char,
        length: c_int,
        maxout: c_int,
        acceleration: c_int,
    ) -> c_int;

    /// As above, with the state in the caller's memory.
    #[cfg(feature = "blosc")]
    pub(crate) fn LZ4_compress_HC_extStateHC(
        state: *mut c_void,
        source: *const c_char,
        dest: *mut c_char,
        length: c_int,
        maxout: c_int,
        level: c_int,
    ) -> c_int;

    /// Returns the size of that state in bytes. It needs the alignment of a pointer.
    #[cfg(feature = "blosc")]
    pub(crate) fn LZ4_sizeofStateHC() -> c_int;
}
