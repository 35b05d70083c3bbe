//! LZ4 blocks in the caller's memory. (C; `unsafe`.)
//!
//! Nothing is kept, because the compressor's table is on the stack.

use std::ffi::c_int;

use nczarr_codec::OutBuf;
use nczarr_model::{ErrorKind, Result};

use crate::{lz4_library, raw_out};

/// The library's largest input in bytes.
const LARGEST: usize = 0x7e00_0000;

/// Returns the largest size of a block of `decoded` bytes.
pub(crate) fn bound(decoded: usize) -> Option<usize> {
    (decoded <= LARGEST).then(|| decoded + decoded / 255 + 16)
}

/// Appends the block of `src`.
pub(crate) fn encode(src: &[u8], acceleration: i32, dst: &mut OutBuf<'_>) -> Result<()> {
    let len = match c_int::try_from(src.len()) {
        Ok(len) if src.len() <= LARGEST => len,
        _ => {
            return Err(
                ErrorKind::Filter.context(format!("lz4: {} bytes are more than a block holds", src.len()))
            );
        }
    };
    // SAFETY: it reads `len` bytes of `src`, writes at most `remaining` bytes from `start` on and answers how
    // many.
    unsafe {
        raw_out::append(dst, LARGEST + LARGEST / 128, |start, room| {
            let most = c_int::try_from(room).unwrap_or(c_int::MAX);
            // SAFETY: the lengths are those of the memory.
            let made =
                lz4_library::LZ4_compress_fast(src.as_ptr().cast(), start.cast(), len, most, acceleration);
            match usize::try_from(made) {
                // No block is empty; 0 means that it does not fit.
                Ok(made) if made > 0 => Ok(made),
                _ => Err(ErrorKind::Filter.context(format!("lz4: {len} bytes do not fit {room} encoded"))),
            }
        })
    }
}

/// Appends the data of a block: exactly `size` bytes, for which there must be room.
pub(crate) fn decode(block: &[u8], size: usize, dst: &mut OutBuf<'_>) -> Result<()> {
    let damaged =
        || ErrorKind::Filter.context(format!("lz4: the block is damaged or does not hold {size} bytes"));
    let (len, holds) = match (c_int::try_from(block.len()), c_int::try_from(size)) {
        (Ok(len), Ok(holds)) if size <= dst.remaining() => (len, holds),
        _ => return Err(damaged()),
    };
    // SAFETY: it reads `len` bytes of `block`, writes at most `holds` bytes, all from `start` on, and answers
    // how many.
    unsafe {
        raw_out::append(dst, size, |start, _| {
            // SAFETY: the lengths are those of the memory.
            let made = lz4_library::LZ4_decompress_safe(block.as_ptr().cast(), start.cast(), len, holds);
            if made == holds { Ok(size) } else { Err(damaged()) }
        })
    }
}
