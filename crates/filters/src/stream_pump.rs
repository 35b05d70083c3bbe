//! Moves the output of step-by-step codecs through a block of memory, kept per thread, into an [`OutBuf`].
//!
//! The block has room even when the output is full. So a stream that ends there can say so, and a longer one
//! is detected by its next bytes.

use std::cell::Cell;

use nczarr_codec::OutBuf;
use nczarr_model::Result;

use crate::thread_cache;

/// Size of the block in bytes.
const BLOCK: usize = 32 << 10;

thread_local! {
    static KEPT: Cell<Option<Vec<u8>>> = const { Cell::new(None) };
}

/// The result of a step.
pub(crate) struct PumpStep {
    /// Bytes of output at the start of the block.
    pub made: usize,
    /// Whether they are the last ones.
    pub ended: bool,
}

/// Appends the output of the steps until one is the last.
///
/// Only the step can detect that it neither read nor wrote anything, which is an error.
///
/// # Errors
/// Errors of a step; the error of [`OutBuf::put`] if there is too little room.
pub(crate) fn pump(dst: &mut OutBuf<'_>, mut step: impl FnMut(&mut [u8]) -> Result<PumpStep>) -> Result<()> {
    thread_cache::with(
        &KEPT,
        || Ok(vec![0; BLOCK]),
        |block| {
            loop {
                let PumpStep { made, ended } = step(block)?;
                dst.put(&block[..made])?;
                if ended {
                    return Ok(());
                }
            }
        },
    )
}
