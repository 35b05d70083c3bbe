//! The only way in which C libraries write into an [`OutBuf`].

use nczarr_codec::OutBuf;
use nczarr_model::{ErrorKind, Result};

/// Appends the output of `write`. It gets the start and the size of the free memory, at most `limit` bytes,
/// and returns the number of bytes written.
///
/// # Safety
/// `write` must write only to that memory, and must have initialised as many bytes from its start as it
/// returns.
pub(crate) unsafe fn append(
    dst: &mut OutBuf<'_>,
    limit: usize,
    write: impl FnOnce(*mut u8, usize) -> Result<usize>,
) -> Result<()> {
    let filled = dst.filled().len();
    let room = dst.remaining().min(limit);
    let start = dst.as_mut_ptr();
    // SAFETY: `filled` is at most the capacity of the memory at `start`.
    let outcome = write(unsafe { start.add(filled) }, room);
    let written = outcome.as_ref().map_or(0, |&written| written.min(room));
    // SAFETY: `filled` bytes were initialised before, `written` more by the promise of the caller.
    unsafe { dst.set_filled(filled + written) };
    match outcome {
        Ok(answered) if answered > room => {
            Err(ErrorKind::Internal.context("a codec wrote more than it was given"))
        }
        outcome => outcome.map(|_| ()),
    }
}
