//! Things kept per thread: codec contexts and scratch memory.
//!
//! A thing is taken out and put back, never borrowed: a worker of a pool that waits inside may run another
//! task on the same thread, which then makes a second one. It is put back only after a success, so a context
//! that a damaged stream left in some state is never met again.

use std::cell::Cell;
use std::thread::LocalKey;

use nczarr_model::Result;

/// Where a thread keeps one `T`.
pub(crate) type Kept<T> = LocalKey<Cell<Option<T>>>;

/// Runs `work` with the thread's `T`, made by `make` if there is none.
pub(crate) fn with<T, R>(
    kept: &'static Kept<T>,
    make: impl FnOnce() -> Result<T>,
    work: impl FnOnce(&mut T) -> Result<R>,
) -> Result<R> {
    // While a thread ends there may be nothing to take from or put back to.
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
