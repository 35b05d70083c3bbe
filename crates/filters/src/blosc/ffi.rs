//! Compresses and decompresses single streams. (C; `unsafe`.)

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

use nczarr_codec::OutBuf;
use nczarr_model::Result;

use super::compressor::Compressor;
use super::frame::{StreamFormat, failed};
use crate::deflate::{Wrap, fast};
use crate::{lz4_library, raw_out, thread_cache, zstd_ffi};

unsafe extern "C" {
    /// Part of the static library that [`blosc`] builds. Reads `length` bytes, writes at most `maxout`, and
    /// returns the number written; 0 if the stream is damaged or holds more.
    fn blosclz_decompress(input: *const c_void, length: c_int, output: *mut c_void, maxout: c_int) -> c_int;

    /// Part of the same library. Returns 0 if the result does not fit.
    fn blosclz_compress(
        level: c_int,
        input: *const c_void,
        length: c_int,
        output: *mut c_void,
        maxout: c_int,
        split_block: c_int,
    ) -> c_int;
}

// Only links the library.
use blosc as _;

/// Appends the data of a stream, at most `holds` bytes.
pub(super) fn decompress(
    format: StreamFormat,
    stream: &[u8],
    holds: usize,
    dst: &mut OutBuf<'_>,
) -> Result<()> {
    match format {
        StreamFormat::Zlib => fast::decode_at_most(Wrap::Zlib, stream, holds, dst).map(drop),
        StreamFormat::Zstd => zstd_ffi::decode(stream, holds, dst),
        StreamFormat::Snappy => snappy(stream, holds, dst),
        StreamFormat::Lz4 => bounded("lz4", stream, holds, dst, |src, len, out, room| {
            // SAFETY: it reads `len` bytes of `src` and writes at most `room` to `out`.
            unsafe { lz4_library::LZ4_decompress_safe(src.cast(), out.cast(), len, room) }
        }),
        StreamFormat::BloscLz => bounded("blosclz", stream, holds, dst, |src, len, out, room| {
            // SAFETY: it reads `len` bytes of `src` and writes at most `room` to `out`.
            unsafe { blosclz_decompress(src.cast(), len, out.cast(), room) }
        }),
    }
}

/// Calls a decompressor that takes C integers as lengths and returns the number of bytes written.
fn bounded(
    name: &str,
    stream: &[u8],
    holds: usize,
    dst: &mut OutBuf<'_>,
    decompress: impl FnOnce(*const u8, c_int, *mut u8, c_int) -> c_int,
) -> Result<()> {
    let damaged = || failed(format!("the {name} stream is damaged or holds more than {holds} bytes"));
    let len = c_int::try_from(stream.len()).map_err(|_| damaged())?;
    // SAFETY: the decompressors of this module write at most `room` bytes, all from `start` on, and answer
    // how many.
    unsafe {
        raw_out::append(dst, holds, |start, room| {
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
        raw_out::append(dst, holds, |start, room| {
            let mut made = room;
            let status = snappy_src::snappy_uncompress(
                stream.as_ptr().cast(),
                stream.len(),
                start.cast(),
                &raw mut made,
            );
            if status == snappy_src::snappy_status_SNAPPY_OK { Ok(made) } else { Err(damaged()) }
        })
    }
}

#[cfg(not(feature = "blosc-snappy"))]
fn snappy(_stream: &[u8], _holds: usize, _dst: &mut OutBuf<'_>) -> Result<()> {
    Err(no_snappy())
}

#[cfg(not(feature = "blosc-snappy"))]
fn no_snappy() -> nczarr_model::Error {
    nczarr_model::ErrorKind::NoFilter
        .context("blosc: snappy is not in this build; the feature blosc-snappy provides it")
}

/// Returns the number of a compressor's format in the flags of a frame.
pub(super) fn format(compressor: Compressor) -> u8 {
    match compressor {
        Compressor::BloscLz => 0,
        Compressor::Lz4 | Compressor::Lz4Hc => 1,
        Compressor::Snappy => 2,
        Compressor::Zlib => 3,
        Compressor::Zstd => 4,
    }
}

/// Returns an error if this build lacks the compressor.
pub(super) fn available(compressor: Compressor) -> Result<()> {
    match compressor {
        #[cfg(not(feature = "blosc-snappy"))]
        Compressor::Snappy => Err(no_snappy()),
        _ => Ok(()),
    }
}

/// Returns the most room that a compressor needs for `len` bytes. A copy needs no more than `len`.
pub(super) fn most(compressor: Compressor, len: usize) -> usize {
    match compressor {
        #[cfg(feature = "blosc-snappy")]
        // SAFETY: arithmetic.
        Compressor::Snappy => unsafe { snappy_src::snappy_max_compressed_length(len) },
        _ => len,
    }
}

/// Appends a stream of `src`. Returns `false` and appends nothing if it does not fit.
///
/// `split`: blocks are split into several streams.
pub(super) fn compress(
    compressor: Compressor,
    level: u32,
    split: bool,
    src: &[u8],
    dst: &mut OutBuf<'_>,
) -> Result<bool> {
    let level = level.min(9).cast_signed();
    match compressor {
        Compressor::Lz4 => fitting(src, dst, |src, len, out, room| {
            // SAFETY: it reads `len` bytes of `src` and writes at most `room` to `out`.
            unsafe { lz4_library::LZ4_compress_fast(src.cast(), out.cast(), len, room, 10 - level) }
        }),
        Compressor::Lz4Hc => thread_cache::with(
            &LZ4HC,
            || Ok(HcState::new()),
            |state| {
                fitting(src, dst, |src, len, out, room| {
                    // SAFETY: as above; the state is as large as the library says, and ours alone.
                    unsafe {
                        lz4_library::LZ4_compress_HC_extStateHC(
                            state.start(),
                            src.cast(),
                            out.cast(),
                            len,
                            room,
                            level,
                        )
                    }
                })
            },
        ),
        Compressor::BloscLz => fitting(src, dst, |src, len, out, room| {
            // SAFETY: it reads `len` bytes of `src` and writes at most `room` to `out`.
            unsafe { blosclz_compress(level, src.cast(), len, out.cast(), room, split.into()) }
        }),
        Compressor::Snappy => snappy_compress(src, dst),
        Compressor::Zlib => fast::encode_if_it_fits(Wrap::Zlib, level.cast_unsigned(), src, dst),
        Compressor::Zstd => {
            let level = if level < 9 { 2 * level - 1 } else { zstd_safe::max_c_level() };
            zstd_ffi::encode_if_it_fits(src, level, false, dst)
        }
    }
}

/// Calls a compressor that takes C integers as lengths and returns the number of bytes written, or 0 if they
/// do not fit.
fn fitting(
    src: &[u8],
    dst: &mut OutBuf<'_>,
    compress: impl FnOnce(*const u8, c_int, *mut u8, c_int) -> c_int,
) -> Result<bool> {
    let len = c_int::try_from(src.len()).map_err(|_| failed(format!("a stream of {} bytes", src.len())))?;
    let mut made = 0;
    // SAFETY: the compressors of this module write at most `room` bytes, all from `start` on, and answer how
    // many.
    unsafe {
        raw_out::append(dst, c_int::MAX as usize, |start, room| {
            // A negative result is an error. There is no stream then either.
            made = usize::try_from(compress(src.as_ptr(), len, start, room as c_int)).unwrap_or(0);
            Ok(made)
        })
    }?;
    Ok(made > 0)
}

/// The state of lz4hc, which is too large to be made for each stream.
struct HcState(Box<[MaybeUninit<u64>]>);

thread_local! {
    static LZ4HC: Cell<Option<HcState>> = const { Cell::new(None) };
}

impl HcState {
    fn new() -> Self {
        // SAFETY: answers a constant.
        let size = unsafe { lz4_library::LZ4_sizeofStateHC() };
        Self(Box::new_uninit_slice(usize::try_from(size).unwrap_or(0).div_ceil(size_of::<u64>())))
    }

    fn start(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }
}

#[cfg(feature = "blosc-snappy")]
fn snappy_compress(src: &[u8], dst: &mut OutBuf<'_>) -> Result<bool> {
    // SAFETY: snappy refuses too little room, writes inside it and says how much.
    let made = unsafe {
        raw_out::append(dst, usize::MAX, |start, room| {
            let mut made = room;
            let status =
                snappy_src::snappy_compress(src.as_ptr().cast(), src.len(), start.cast(), &raw mut made);
            if status == snappy_src::snappy_status_SNAPPY_OK {
                Ok(made)
            } else {
                Err(failed("snappy".into()))
            }
        })
    };
    Ok(made.is_ok())
}

#[cfg(not(feature = "blosc-snappy"))]
fn snappy_compress(_src: &[u8], _dst: &mut OutBuf<'_>) -> Result<bool> {
    Err(no_snappy())
}
