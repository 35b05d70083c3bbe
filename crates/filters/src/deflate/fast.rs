//! libdeflate: whole buffers, in one call, straight into the caller's memory. (C; `unsafe`.)
//!
//! Streams of short matches go through our own decoder, and come here if it declines them. One decompressor and one compressor per level are kept per thread.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use dispatch::OutBuf;
use libdeflate_sys as sys;
use model::{ErrorKind, Result};

use super::Wrap;
use super::joint::Decoder;
use crate::{local, raw};

struct Decompressor(NonNull<sys::libdeflate_decompressor>);

impl Decompressor {
    fn new() -> Result<Self> {
        // SAFETY: allocates, and answers null if it cannot.
        let made = unsafe { sys::libdeflate_alloc_decompressor() };
        NonNull::new(made).map(Self).ok_or_else(|| ErrorKind::NoMem.context("a deflate decompressor"))
    }
}

impl Drop for Decompressor {
    fn drop(&mut self) {
        // SAFETY: it came from `libdeflate_alloc_decompressor` and is freed once.
        unsafe { sys::libdeflate_free_decompressor(self.0.as_ptr()) }
    }
}

thread_local! {
    static DECOMPRESSOR: Cell<Option<Decompressor>> = const { Cell::new(None) };
    static DECODER: Cell<Option<Decoder>> = const { Cell::new(None) };
}

/// Appends one stream and answers how many bytes of `src` it took.
#[cfg(feature = "fast-deflate")]
pub(crate) fn decode(wrap: Wrap, src: &[u8], dst: &mut OutBuf<'_>) -> Result<usize> {
    decode_at_most(wrap, src, usize::MAX, dst)
}

/// As [`decode`]; the stream may yield `limit` bytes at most.
pub(crate) fn decode_at_most(wrap: Wrap, src: &[u8], limit: usize, dst: &mut OutBuf<'_>) -> Result<usize> {
    let decompress = match wrap {
        Wrap::Zlib => sys::libdeflate_zlib_decompress_ex,
        #[cfg(feature = "deflate")]
        Wrap::Gzip => sys::libdeflate_gzip_decompress_ex,
    };
    let mut taken = 0;
    if let Some(whole) = decode_short_matches(wrap, src, limit, dst)? {
        return Ok(whole);
    }
    local::with(&DECOMPRESSOR, Decompressor::new, |context| {
        // SAFETY: libdeflate writes at most `room` bytes from `start`, and has written the first `made` of them.
        unsafe {
            raw::append(dst, limit, |start, room| {
                let mut made = 0;
                // SAFETY: the context is alive and ours alone; lengths are those of the memory.
                let result = decompress(
                    context.0.as_ptr(),
                    src.as_ptr().cast(),
                    src.len(),
                    start.cast(),
                    room,
                    &raw mut taken,
                    &raw mut made,
                );
                match result {
                    sys::libdeflate_result_LIBDEFLATE_SUCCESS => Ok(made),
                    sys::libdeflate_result_LIBDEFLATE_INSUFFICIENT_SPACE => Err(wrap.overrun(room)),
                    _ => Err(wrap.damaged()),
                }
            })
        }
    })?;
    Ok(taken)
}

/// As [`decode_at_most`] where our own decoder is faster; `None`, and nothing appended, where it is not, and where
/// anything is odd.
fn decode_short_matches(wrap: Wrap, src: &[u8], limit: usize, dst: &mut OutBuf<'_>) -> Result<Option<usize>> {
    let Some((body, trailer)) = wrap.frame(src) else { return Ok(None) };
    let mut whole = None;
    local::with(
        &DECODER,
        || Ok(Decoder::new()),
        |decoder| {
            // SAFETY: the decoder has written as many bytes as it says.
            unsafe {
                raw::append(dst, limit, |start, room| {
                    // SAFETY: so much memory is free there.
                    let out = std::slice::from_raw_parts_mut(start.cast::<MaybeUninit<u8>>(), room);
                    let Some((taken, made)) = decoder.decode(&src[body..], out) else { return Ok(0) };
                    let end = body + taken;
                    let sound = src.get(end..end + trailer).is_some_and(|told| {
                        // SAFETY: these bytes were written.
                        let made = out[..made].assume_init_ref();
                        wrap.is_sum(told, made)
                    });
                    whole = sound.then_some(end + trailer);
                    Ok(if sound { made } else { 0 })
                })
            }
        },
    )?;
    Ok(whole)
}

impl Wrap {
    /// Where the deflate stream begins, and how many bytes stand after it; `None` for a header with anything special.
    fn frame(self, src: &[u8]) -> Option<(usize, usize)> {
        match (self, src) {
            // Deflate in a window of at most 32 KiB, no dictionary.
            (Self::Zlib, &[method, flags, ..]) => (method & 15 == 8
                && method >> 4 <= 7
                && flags & 32 == 0
                && u16::from_be_bytes([method, flags]).is_multiple_of(31))
            .then_some((2, 4)),
            // Nothing but the fixed part.
            #[cfg(feature = "deflate")]
            (Self::Gzip, [0x1f, 0x8b, 8, 0, ..]) if src.len() > 10 => Some((10, 8)),
            _ => None,
        }
    }

    /// Whether the bytes after a stream tell of what was `made` of it.
    fn is_sum(self, told: &[u8], made: &[u8]) -> bool {
        match self {
            Self::Zlib => {
                // SAFETY: it reads as many bytes as there are.
                let sum = unsafe { sys::libdeflate_adler32(1, made.as_ptr().cast(), made.len()) };
                told == sum.to_be_bytes()
            }
            #[cfg(feature = "deflate")]
            Self::Gzip => {
                // SAFETY: it reads as many bytes as there are.
                let sum = unsafe { sys::libdeflate_crc32(0, made.as_ptr().cast(), made.len()) };
                told[..4] == sum.to_le_bytes() && told[4..] == (made.len() as u32).to_le_bytes()
            }
        }
    }
}

mod encode {
    use super::*;

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

    /// One per level.
    type Compressors = [Option<Compressor>; 10];

    thread_local! {
        static COMPRESSORS: Cell<Option<Compressors>> = const { Cell::new(None) };
    }

    /// The most bytes that `decoded` bytes become.
    #[cfg(feature = "fast-deflate")]
    pub(crate) fn bound(wrap: Wrap, decoded: usize) -> Option<usize> {
        // Beyond this the library's own arithmetic could wrap.
        if decoded > isize::MAX as usize / 2 {
            return None;
        }
        let none = std::ptr::null_mut();
        // SAFETY: without a compressor these are arithmetic that holds for every level.
        Some(unsafe {
            match wrap {
                Wrap::Zlib => sys::libdeflate_zlib_compress_bound(none, decoded),
                Wrap::Gzip => sys::libdeflate_gzip_compress_bound(none, decoded),
            }
        })
    }

    /// Appends the stream of `src`.
    #[cfg(feature = "fast-deflate")]
    pub(crate) fn encode(wrap: Wrap, level: u32, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let room = dst.room();
        if encode_if_it_fits(wrap, level, src, dst)? { Ok(()) } else { Err(wrap.no_room(room)) }
    }

    /// As [`encode`]; false, and nothing appended, if the stream would be larger than the room.
    pub(crate) fn encode_if_it_fits(wrap: Wrap, level: u32, src: &[u8], dst: &mut OutBuf<'_>) -> Result<bool> {
        let compress = match wrap {
            Wrap::Zlib => sys::libdeflate_zlib_compress,
            #[cfg(feature = "deflate")]
            Wrap::Gzip => sys::libdeflate_gzip_compress,
        };
        let level = level.min(9) as usize;
        local::with(
            &COMPRESSORS,
            || Ok(Compressors::default()),
            |compressors| {
                let context = match &mut compressors[level] {
                    Some(context) => context,
                    empty => empty.insert(Compressor::new(level)?),
                };
                let mut written = 0;
                // SAFETY: libdeflate writes at most `room` bytes from `start`, and has written the first `written` of them.
                unsafe {
                    raw::append(dst, usize::MAX, |start, room| {
                        // SAFETY: the context is alive and ours alone; lengths are those of the memory.
                        written = compress(context.0.as_ptr(), src.as_ptr().cast(), src.len(), start.cast(), room);
                        Ok(written)
                    })
                }?;
                // No stream is empty; 0 says that it does not fit.
                Ok(written > 0)
            },
        )
    }
}

#[cfg(feature = "blosc")]
pub(crate) use encode::encode_if_it_fits;
#[cfg(feature = "fast-deflate")]
pub(crate) use encode::{bound, encode};
