//! The C library, for comparison in tests.

use std::ffi::c_int;

use super::encode::BloscSettings;
use super::frame::OVERHEAD;

/// Returns the C library's frame.
pub(super) fn compress(how: &BloscSettings, src: &[u8]) -> Vec<u8> {
    let mut frame = vec![0u8; src.len() + OVERHEAD];
    let typesize = if how.typesize > 255 { 1 } else { how.typesize.max(1) };
    // SAFETY: it reads `src.len()` bytes of `src` and writes at most `frame.len()` to `frame`; the name ends
    // with 0.
    let made = unsafe {
        blosc::blosc_compress_ctx(
            how.level as c_int,
            how.shuffle as c_int,
            typesize as usize,
            src.len(),
            src.as_ptr().cast(),
            frame.as_mut_ptr().cast(),
            frame.len(),
            how.compressor.c_name().as_ptr(),
            how.blocksize as usize,
            1,
        )
    };
    frame.truncate(usize::try_from(made).expect("a frame"));
    frame
}

/// Decodes a frame of `len` bytes of data with the C library.
pub(super) fn decompress(frame: &[u8], len: usize) -> Option<Vec<u8>> {
    let (mut size, mut data) = (0, vec![0u8; len]);
    // SAFETY: the first checks the frame within its bytes; the second is called if that went well, and writes
    // at most `data.len()` bytes. It calls a frame that holds nothing an error.
    let made = unsafe {
        if blosc::blosc_cbuffer_validate(frame.as_ptr().cast(), frame.len(), &raw mut size) != 0
            || size != len
        {
            return None;
        }
        match len {
            0 => 0,
            _ => blosc::blosc_decompress_ctx(frame.as_ptr().cast(), data.as_mut_ptr().cast(), data.len(), 1),
        }
    };
    (usize::try_from(made) == Ok(len)).then_some(data)
}
