//! Keeps codec contexts and scratch memory per thread.
//!
//! A value is taken out and put back, never borrowed. So a pool worker that waits inside may run another task
//! on the same thread, which then makes a second value. A value is put back only after success, so a context
//! damaged by a bad stream is never reused.

use std::cell::Cell;
use std::thread::LocalKey;

use nczarr_model::Result;

/// The place of a thread's `T`.
pub(crate) type ThreadCache<T> = LocalKey<Cell<Option<T>>>;

/// Calls `work` with the thread's `T`, or with a new one from `make`.
pub(crate) fn with<T, R>(
    kept: &'static ThreadCache<T>,
    make: impl FnOnce() -> Result<T>,
    work: impl FnOnce(&mut T) -> Result<R>,
) -> Result<R> {
    // While a thread ends, its values may be gone.
    let taken = kept.try_with(Cell::take).ok().flatten();
    let mut thing = match taken {
        Some(thing) => thing,
        None => make()?,
    };
    let outcome = work(&mut thing);
    if outcome.is_ok() {
        let _ = kept.try_with(|cell| cell.set(Some(thing)));
    }
    outcome
}
