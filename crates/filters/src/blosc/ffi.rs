//! The C library's compressor, and the decompressors of single streams. (C; `unsafe`.)

use std::ffi::{c_int, c_void};

use dispatch::OutBuf;
use model::Result;

use super::filter::Compressor;
use super::frame::{Format, MAX_BYTES, OVERHEAD, failed};
use crate::deflate::{Wrap, fast};
use crate::{raw, zstd_ffi};

unsafe extern "C" {
    /// Part of the static library that [`blosc`] builds. Reads `length` bytes, writes at most `maxout`, and answers
    /// how many it has written; 0 if the stream is damaged or holds more.
    fn blosclz_decompress(input: *const c_void, length: c_int, output: *mut c_void, maxout: c_int) -> c_int;
}

/// Appends what a stream holds, at most `holds` bytes.
pub(super) fn decompress(format: Format, stream: &[u8], holds: usize, dst: &mut OutBuf<'_>) -> Result<()> {
    match format {
        Format::Zlib => fast::decode_at_most(Wrap::Zlib, stream, holds, dst).map(drop),
        Format::Zstd => zstd_ffi::decode(stream, holds, dst),
        Format::Snappy => snappy(stream, holds, dst),
        Format::Lz4 => bounded("lz4", stream, holds, dst, |src, len, out, room| {
            // SAFETY: it reads `len` bytes of `src` and writes at most `room` to `out`.
            unsafe { lz4_sys::LZ4_decompress_safe(src.cast(), out.cast(), len, room) }
        }),
        Format::BloscLz => bounded("blosclz", stream, holds, dst, |src, len, out, room| {
            // SAFETY: it reads `len` bytes of `src` and writes at most `room` to `out`.
            unsafe { blosclz_decompress(src.cast(), len, out.cast(), room) }
        }),
    }
}

/// Calls a decompressor that takes its lengths as C integers and answers how many bytes it has written.
fn bounded(
    name: &str,
    stream: &[u8],
    holds: usize,
    dst: &mut OutBuf<'_>,
    decompress: impl FnOnce(*const u8, c_int, *mut u8, c_int) -> c_int,
) -> Result<()> {
    let damaged = || failed(format!("the {name} stream is damaged or holds more than {holds} bytes"));
    let len = c_int::try_from(stream.len()).map_err(|_| damaged())?;
    // SAFETY: the decompressors of this module write at most `room` bytes, all from `start` on, and answer how many.
    unsafe {
        raw::append(dst, holds, |start, room| {
            let room = c_int::try_from(room).map_err(|_| damaged())?;
            usize::try_from(decompress(stream.as_ptr(), len, start, room)).map_err(|_| damaged())
        })
    }
}

#[cfg(feature = "blosc-snappy")]
fn snappy(stream: &[u8], holds: usize, dst: &mut OutBuf<'_>) -> Result<()> {
    let damaged = || failed(format!("the snappy stream is damaged or holds more than {holds} bytes"));
    // SAFETY: snappy refuses a stream that declares more than `made` bytes and writes inside them.
    unsafe {
        raw::append(dst, holds, |start, room| {
            let mut made = room;
            let status =
                snappy_src::snappy_uncompress(stream.as_ptr().cast(), stream.len(), start.cast(), &raw mut made);
            if status == snappy_src::snappy_status_SNAPPY_OK { Ok(made) } else { Err(damaged()) }
        })
    }
}

#[cfg(not(feature = "blosc-snappy"))]
fn snappy(_stream: &[u8], _holds: usize, _dst: &mut OutBuf<'_>) -> Result<()> {
    Err(no_snappy())
}

#[cfg(not(feature = "blosc-snappy"))]
fn no_snappy() -> model::Error {
    model::ErrorKind::NoFilter.context("blosc: snappy is not in this build; the feature blosc-snappy provides it")
}

/// How to compress.
pub(super) struct How {
    pub compressor: Compressor,
    /// 0 to 9.
    pub level: u32,
    /// 0 none, 1 bytes, 2 bits.
    pub shuffle: u32,
    /// 0 counts as 1, and more than 255 as well.
    pub typesize: u32,
    /// 0: the library chooses.
    pub blocksize: u32,
}

/// Appends a frame that holds `src`. Room for [`OVERHEAD`] bytes more than that is required.
pub(super) fn compress(how: &How, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
    #[cfg(not(feature = "blosc-snappy"))]
    if how.compressor == Compressor::Snappy {
        return Err(no_snappy());
    }
    if src.len() > MAX_BYTES {
        return Err(failed(format!("{} bytes are more than a frame can hold", src.len())));
    }
    // The library writes the first entry of its table before it looks at the size of its output.
    if dst.room() < src.len() + OVERHEAD {
        return Err(failed(format!("{} bytes and {OVERHEAD} for the header do not fit {}", src.len(), dst.room())));
    }
    let typesize = if how.typesize > 255 { 1 } else { how.typesize.max(1) };
    let blocksize = how.blocksize.min(MAX_BYTES as u32);
    // SAFETY: the library reads `src.len()` bytes, writes at most `size` bytes from `start` on, and answers how many.
    unsafe {
        raw::append(dst, MAX_BYTES, |start, size| {
            // SAFETY: level, shuffle and type size are in the library's range, the name is one of its own.
            let made = blosc::blosc_compress_ctx(
                how.level.min(9) as c_int,
                how.shuffle.min(2) as c_int,
                typesize as usize,
                src.len(),
                src.as_ptr().cast(),
                start.cast(),
                size,
                how.compressor.c_name().as_ptr(),
                blocksize as usize,
                1,
            );
            match usize::try_from(made) {
                Ok(made) if made >= OVERHEAD => Ok(made),
                _ => Err(failed(format!("compressing {} bytes failed with code {made}", src.len()))),
            }
        })
    }
}
