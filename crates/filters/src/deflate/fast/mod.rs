//! libdeflate: decodes and encodes whole buffers in the caller's memory. (C; `unsafe`.)
//!
//! Streams of short matches use our own decoder, unless it declines them. Noise is stored
//! ([`encode`](mod@encode)). One decompressor, and one compressor per level, are kept per thread.

mod encode;

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use libdeflate_sys as sys;
use nczarr_codec::OutBuf;
use nczarr_model::{ErrorKind, Result};

use super::Wrap;
use super::fast_inflate::FastInflate;
use crate::{raw_out, thread_cache};

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
    static DECODER: Cell<Option<FastInflate>> = const { Cell::new(None) };
}

/// Appends one stream. Returns the number of bytes of `src` used.
#[cfg(feature = "fast-deflate")]
pub(crate) fn decode(wrap: Wrap, src: &[u8], dst: &mut OutBuf<'_>) -> Result<usize> {
    decode_at_most(wrap, src, usize::MAX, dst)
}

/// As [`decode`], for a stream of at most `limit` bytes of data.
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
    thread_cache::with(&DECOMPRESSOR, Decompressor::new, |context| {
        // SAFETY: libdeflate writes at most `room` bytes from `start`, and has written the first `made` of
        // them.
        unsafe {
            raw_out::append(dst, limit, |start, room| {
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

/// As [`decode_at_most`], where our own decoder is faster. Returns `None` and appends nothing where it is
/// slower, or where anything is unusual.
fn decode_short_matches(wrap: Wrap, src: &[u8], limit: usize, dst: &mut OutBuf<'_>) -> Result<Option<usize>> {
    let Some((body, trailer)) = wrap.frame(src) else { return Ok(None) };
    let mut whole = None;
    thread_cache::with(
        &DECODER,
        || Ok(FastInflate::new()),
        |decoder| {
            // SAFETY: the decoder has written as many bytes as it says.
            unsafe {
                raw_out::append(dst, limit, |start, room| {
                    // SAFETY: so much memory is free there.
                    let out = std::slice::from_raw_parts_mut(start.cast::<MaybeUninit<u8>>(), room);
                    let Some((taken, made)) = decoder.decode(&src[body..], out) else { return Ok(0) };
                    let end = body + taken;
                    let sound = src.get(end..end + trailer).is_some_and(|stored| {
                        // SAFETY: these bytes were written.
                        let made = out[..made].assume_init_ref();
                        wrap.is_sum(stored, made)
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
    /// Returns the offset of the deflate stream and the length of the trailer; `None` if the header has
    /// optional parts.
    fn frame(self, src: &[u8]) -> Option<(usize, usize)> {
        match (self, src) {
            // Deflate with a window of at most 32 KiB and no dictionary.
            (Self::Zlib, &[method, flags, ..]) => (method & 15 == 8
                && method >> 4 <= 7
                && flags & 32 == 0
                && u16::from_be_bytes([method, flags]).is_multiple_of(31))
            .then_some((2, 4)),
            // Only the fixed part.
            #[cfg(feature = "deflate")]
            (Self::Gzip, [0x1f, 0x8b, 8, 0, ..]) if src.len() > 10 => Some((10, 8)),
            _ => None,
        }
    }

    /// Whether the trailer `stored` matches the data `made`.
    fn is_sum(self, stored: &[u8], made: &[u8]) -> bool {
        let (sum, len) = self.sum(made);
        stored == &sum[..len]
    }

    /// Returns the trailer for these bytes, and its length.
    fn sum(self, bytes: &[u8]) -> ([u8; 8], usize) {
        let mut sum = [0; 8];
        match self {
            Self::Zlib => {
                // SAFETY: it reads as many bytes as there are.
                let adler = unsafe { sys::libdeflate_adler32(1, bytes.as_ptr().cast(), bytes.len()) };
                sum[..4].copy_from_slice(&adler.to_be_bytes());
                (sum, 4)
            }
            #[cfg(feature = "deflate")]
            Self::Gzip => {
                // SAFETY: it reads as many bytes as there are.
                let crc = unsafe { sys::libdeflate_crc32(0, bytes.as_ptr().cast(), bytes.len()) };
                sum[..4].copy_from_slice(&crc.to_le_bytes());
                sum[4..].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
                (sum, 8)
            }
        }
    }

    /// Returns the header for this level, and its length.
    #[cfg(feature = "fast-deflate")]
    fn head(self, level: u32) -> ([u8; 10], usize) {
        let mut head = [0; 10];
        match self {
            Self::Zlib => {
                let effort = [0, 0, 1, 1, 1, 1, 2, 3, 3, 3][level.min(9) as usize];
                let flags = 0x7800_u16 | effort << 6;
                head[..2].copy_from_slice(&(flags + 31 - flags % 31).to_be_bytes());
                (head, 2)
            }
            Self::Gzip => {
                // No name and no time; the level; no operating system.
                let effort = [4, 4, 0, 0, 0, 0, 0, 0, 2, 2][level.min(9) as usize];
                head.copy_from_slice(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, effort, 255]);
                (head, 10)
            }
        }
    }
}

#[cfg(feature = "blosc")]
pub(crate) use encode::encode_if_it_fits;
#[cfg(feature = "fast-deflate")]
pub(crate) use encode::{bound, encode};
