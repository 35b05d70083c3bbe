//! Output of codecs that work step by step: through a block of memory that is kept per thread, into an [`OutBuf`].
//!
//! The block has room when the output is full, so that a stream which ends there can say so, and one which
//! goes on is found out by its next bytes.

use std::cell::Cell;

use nczarr_dispatch::OutBuf;
use nczarr_model::Result;

use crate::local;

/// Bytes of the block.
const BLOCK: usize = 32 << 10;

thread_local! {
    static KEPT: Cell<Option<Vec<u8>>> = const { Cell::new(None) };
}

/// What a step has done.
pub(crate) struct Step {
    /// How many bytes at the start of the block are output.
    pub made: usize,
    /// Whether they are the last ones.
    pub ended: bool,
}

/// Appends what the steps make, until one says that it was the last.
///
/// A step that makes nothing, and has taken nothing either, is an error that only the step itself can tell.
///
/// # Errors
/// What a step answers, and [`OutBuf::put`]'s error if they make more than there is room for.
pub(crate) fn pump(dst: &mut OutBuf<'_>, mut step: impl FnMut(&mut [u8]) -> Result<Step>) -> Result<()> {
    local::with(
        &KEPT,
        || Ok(vec![0; BLOCK]),
        |block| {
            loop {
                let Step { made, ended } = step(block)?;
                dst.put(&block[..made])?;
                if ended {
                    return Ok(());
                }
            }
        },
    )
}
