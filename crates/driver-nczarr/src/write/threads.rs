//! The number of threads for work on many nodes, and a lock that ignores panics.

use std::sync::{Mutex, PoisonError};

use nczarr_dispatch::Options;

/// The number of nodes that justifies another thread.
pub(crate) const NODES_PER_THREAD: usize = 32;

/// Returns the number of threads for this many nodes.
pub(crate) fn threads(options: &Options, nodes: usize) -> usize {
    let most = if options.threads == 0 { usize::MAX } else { options.threads };
    most.min(nodes.div_ceil(NODES_PER_THREAD))
}

/// Locks a mutex, also after a panic of another holder.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
