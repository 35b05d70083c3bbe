//! Compresses with libdeflate, except incompressible ranges, which are handled here. (C; `unsafe`.)
//!
//! The short streams of blosc go to libdeflate as a whole.

use std::cell::Cell;
#[cfg(feature = "fast-deflate")]
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use libdeflate_sys as sys;
use nczarr_codec::OutBuf;
use nczarr_model::{ErrorKind, Result};

#[cfg(feature = "fast-deflate")]
use super::DECODER;
use crate::deflate::Wrap;
#[cfg(feature = "fast-deflate")]
use crate::deflate::{
    fast_inflate::FastInflate, hybrid_encoder, incompressible::IncompressibleFinder, quicker_level,
    stream::StreamFailure,
};
use crate::{raw_out, thread_cache};

struct Compressor(NonNull<sys::libdeflate_compressor>);

impl Compressor {
    fn new(level: usize) -> Result<Self> {
        // SAFETY: allocates, and answers null if it cannot or knows no such level.
        let made = unsafe { sys::libdeflate_alloc_compressor(level as i32) };
        NonNull::new(made).map(Self).ok_or_else(|| ErrorKind::NoMem.context("a deflate compressor"))
    }
}

impl Drop for Compressor {
    fn drop(&mut self) {
        // SAFETY: it came from `libdeflate_alloc_compressor` and is freed once.
        unsafe { sys::libdeflate_free_compressor(self.0.as_ptr()) }
    }
}

#[cfg(feature = "fast-deflate")]
impl Compressor {
    /// Makes one bare deflate stream; `None` if it does not fit.
    fn deflate<'m>(&mut self, src: &[u8], room: &'m mut [MaybeUninit<u8>]) -> Option<&'m mut [u8]> {
        let (start, len) = (room.as_mut_ptr().cast(), room.len());
        // SAFETY: the context is alive and ours alone; lengths are those of the memory.
        let made = unsafe {
            sys::libdeflate_deflate_compress(self.0.as_ptr(), src.as_ptr().cast(), src.len(), start, len)
        };
        // No stream is empty; 0 means that it does not fit.
        let made = room.get_mut(..made).filter(|made| !made.is_empty())?;
        // SAFETY: libdeflate has written them.
        Some(unsafe { made.assume_init_mut() })
    }
}

/// One compressor per level.
type Compressors = [Option<Compressor>; 10];

thread_local! {
    static COMPRESSORS: Cell<Option<Compressors>> = const { Cell::new(None) };
}

#[cfg(feature = "fast-deflate")]
thread_local! {
    static FINDER: Cell<Option<IncompressibleFinder>> = const { Cell::new(None) };
}

/// Calls `work` with the thread's compressor of a level.
fn with_compressor<R>(level: u32, work: impl FnOnce(&mut Compressor) -> Result<R>) -> Result<R> {
    let level = level.min(9) as usize;
    thread_cache::with(
        &COMPRESSORS,
        || Ok(Compressors::default()),
        |compressors| match &mut compressors[level] {
            Some(compressor) => work(compressor),
            empty => work(empty.insert(Compressor::new(level)?)),
        },
    )
}

/// Bytes that one incompressible range may add to a stream.
#[cfg(feature = "fast-deflate")]
const SEAMS: usize = 64;

/// Returns the largest size of a stream of `decoded` bytes.
#[cfg(feature = "fast-deflate")]
pub(crate) fn bound(wrap: Wrap, decoded: usize) -> Option<usize> {
    // Beyond this the library's arithmetic could overflow.
    if decoded > isize::MAX as usize / 2 {
        return None;
    }
    let none = std::ptr::null_mut();
    // SAFETY: without a compressor these are arithmetic that holds for every level.
    let whole = unsafe {
        match wrap {
            Wrap::Zlib => sys::libdeflate_zlib_compress_bound(none, decoded),
            Wrap::Gzip => sys::libdeflate_gzip_compress_bound(none, decoded),
        }
    };
    // Each piece has its own bound, and a range takes less than its share of this.
    Some(whole + SEAMS)
}

/// Appends the stream of `src`.
#[cfg(feature = "fast-deflate")]
pub(crate) fn encode(wrap: Wrap, level: u32, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
    let room = dst.remaining();
    let fits = match encode_in_parts(wrap, level, src, dst)? {
        Some(fits) => fits,
        None => encode_if_it_fits(wrap, quickest(wrap, level, src), src, dst)?,
    };
    if fits { Ok(()) } else { Err(wrap.no_room(room)) }
}

/// Returns the fastest level that compresses `src` about as well as `level`.
#[cfg(feature = "fast-deflate")]
fn quickest(wrap: Wrap, level: u32, src: &[u8]) -> u32 {
    let mut memory = Vec::new();
    quicker_level::level(level, src, |level, sample| {
        memory.resize(sample.len(), 0);
        let mut out = OutBuf::from_slice(&mut memory);
        encode_if_it_fits(wrap, level, sample, &mut out).ok().filter(|fits| *fits)?;
        Some(out.filled().len())
    })
}

/// Appends the stream of `src` with its incompressible ranges stored. Returns whether it fits; if not,
/// nothing is appended. `None` if there are no such ranges.
#[cfg(feature = "fast-deflate")]
fn encode_in_parts(wrap: Wrap, level: u32, src: &[u8], dst: &mut OutBuf<'_>) -> Result<Option<bool>> {
    if level == 0 {
        return Ok(None);
    }
    let stretches =
        thread_cache::with(&FINDER, || Ok(IncompressibleFinder::new()), |finder| Ok(finder.find(src)))?;
    if stretches.is_empty() {
        return Ok(None);
    }
    let ((head, begin), (sum, end)) = (wrap.head(level), wrap.sum(src));
    let mut outcome = Err(StreamFailure::Room);
    with_compressor(level, |compressor| {
        let make = || Ok(FastInflate::new());
        thread_cache::with(&DECODER, make, |seams| {
            // SAFETY: as many bytes are written as are answered.
            unsafe {
                raw_out::append(dst, usize::MAX, |start, room| {
                    // SAFETY: so much memory is free there.
                    let out = std::slice::from_raw_parts_mut(start.cast::<MaybeUninit<u8>>(), room);
                    let Some((before, body)) = out.split_at_mut_checked(begin) else { return Ok(0) };
                    before.write_copy_of_slice(&head[..begin]);
                    outcome = hybrid_encoder::encode(src, &stretches, body, seams, |part, room| {
                        compressor.deflate(part, room)
                    });
                    let Ok(made) = outcome else { return Ok(0) };
                    let Some(after) = body.get_mut(made..made + end) else {
                        outcome = Err(StreamFailure::Room);
                        return Ok(0);
                    };
                    after.write_copy_of_slice(&sum[..end]);
                    Ok(begin + made + end)
                })
            }
        })
    })?;
    Ok(match outcome {
        Ok(_) => Some(true),
        Err(StreamFailure::Room) => Some(false),
        Err(StreamFailure::Odd) => None,
    })
}

/// As [`encode`]. Returns `false` and appends nothing if the stream does not fit.
pub(crate) fn encode_if_it_fits(wrap: Wrap, level: u32, src: &[u8], dst: &mut OutBuf<'_>) -> Result<bool> {
    let compress = match wrap {
        Wrap::Zlib => sys::libdeflate_zlib_compress,
        #[cfg(feature = "deflate")]
        Wrap::Gzip => sys::libdeflate_gzip_compress,
    };
    with_compressor(level, |compressor| {
        let mut written = 0;
        // SAFETY: libdeflate writes at most `remaining` bytes from `start`, and has written the first
        // `written` of them.
        unsafe {
            raw_out::append(dst, usize::MAX, |start, room| {
                // SAFETY: the context is alive and ours alone; lengths are those of the memory.
                written = compress(compressor.0.as_ptr(), src.as_ptr().cast(), src.len(), start.cast(), room);
                Ok(written)
            })
        }?;
        // No stream is empty; 0 means that it does not fit.
        Ok(written > 0)
    })
}
