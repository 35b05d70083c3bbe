//! The LZ4 format of HDF5 files (filter 32004): a chunk in blocks, each compressed or stored.
//!
//! Numbers are big-endian: the decoded size in 8 bytes, the block size in 4; then each block with its stored
//! size in 4 bytes before it. The last block may be shorter. A block with its full size is not compressed.
//!
//! Source: HDF5 registered filter 32004, "LZ4 HDF5 filter: file format".

use nczarr_codec::OutBuf;
use nczarr_model::{Error, ErrorKind, Result};

use crate::lz4_ffi;

/// Bytes before the first block, and before each block.
const HEAD: usize = 12;
const EACH: usize = 4;

/// The default block size in bytes, which is also the largest.
const MOST: usize = 1 << 30;

/// Returns the block size in bytes.
fn block_size(asked: u32) -> usize {
    match usize::try_from(asked) {
        Ok(asked @ 1..=MOST) => asked,
        _ => MOST,
    }
}

/// Returns the largest size of `decoded` bytes in blocks of `block` bytes.
pub(crate) fn bound(decoded: usize, block: u32) -> Option<usize> {
    decoded.div_ceil(block_size(block)).checked_mul(EACH)?.checked_add(HEAD)?.checked_add(decoded)
}

/// Appends the blocks of `src`.
pub(crate) fn encode(src: &[u8], block: u32, acceleration: i32, dst: &mut OutBuf<'_>) -> Result<()> {
    // At most the data, so that a reader allocates no more; and never 0.
    let block = block_size(block).min(src.len().max(1));
    dst.put(&(src.len() as u64).to_be_bytes())?;
    dst.put(&(block as u32).to_be_bytes())?;
    for part in src.chunks(block) {
        let at = dst.filled().len();
        dst.put(&[0; EACH])?;
        // A part that does not shrink is stored.
        let limit = (part.len() - 1).min(dst.remaining());
        let made = dst.fill_limited(limit, |dst| lz4_ffi::encode(part, acceleration, dst));
        let stored = match made {
            Ok(stored) => stored,
            Err(_) => {
                dst.put(part)?;
                part.len()
            }
        };
        dst.filled_mut()[at..at + EACH].copy_from_slice(&(stored as u32).to_be_bytes());
    }
    Ok(())
}

/// Appends the data of the blocks.
pub(crate) fn decode(src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
    let damaged = |what: &str| -> Error { ErrorKind::Filter.context(format!("lz4: {what}")) };
    let head =
        src.split_first_chunk::<8>().and_then(|(size, rest)| Some((size, rest.split_first_chunk::<4>()?)));
    let Some((size, (block, mut rest))) = head else {
        return Err(damaged(&format!(
            "expected at least the {HEAD} bytes of the sizes, found {} bytes",
            src.len()
        )));
    };
    let (size, room) = (u64::from_be_bytes(*size), dst.remaining());
    let mut left = match usize::try_from(size) {
        Ok(size) if size <= room => size,
        _ => return Err(damaged(&format!("the blocks hold {size} bytes, more than the {room} expected"))),
    };
    let block = usize::try_from(u32::from_be_bytes(*block)).unwrap_or(usize::MAX);
    if block == 0 && left > 0 {
        return Err(damaged("blocks of 0 bytes"));
    }
    while left > 0 {
        let part = left.min(block);
        let stored = rest.split_first_chunk::<EACH>().and_then(|(stored, after)| {
            after.split_at_checked(usize::try_from(u32::from_be_bytes(*stored)).ok()?)
        });
        let Some((stored, after)) = stored else {
            return Err(damaged(&format!("the stream ends before the last {left} of {size} bytes")));
        };
        if stored.len() == part {
            dst.put(stored)?
        } else {
            lz4_ffi::decode(stored, part, dst)?
        }
        rest = after;
        left -= part;
    }
    Ok(())
}
