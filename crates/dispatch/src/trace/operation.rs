//! The event of one map operation.

use std::time::Instant;

use nczarr_model::{Error, Result};
use nczarr_runtime::trace::{MAPS, micros};
use nczarr_storage::Key;

/// Logs an operation: its key, its bytes or its error, and its duration.
pub(super) fn log_operation(op: &'static str, key: &Key, outcome: Result<u64, &Error>, started: Instant) {
    let us = micros(started);
    match outcome {
        Ok(bytes) => tracing::trace!(target: MAPS, op, %key, bytes, us),
        Err(error) => tracing::trace!(target: MAPS, op, %key, us, error = format_args!("{error:#}")),
    }
}
