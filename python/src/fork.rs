//! Threads after a fork. The child has none of its parent's threads, so it works on a pool of its own.

use std::sync::{Arc, PoisonError, RwLock};

use nczarr::{ErrorKind, Result};
use nczarr_runtime::StopSignal;
use pyo3::prelude::*;

/// The pool of a forked child; none in a process that was not forked, which uses rayon's own.
static POOL: RwLock<Option<Arc<rayon_core::ThreadPool>>> = RwLock::new(None);

/// Gives a forked child a new pool. Python calls it in the child, before any other thread exists.
#[pyfunction]
pub fn after_fork() -> PyResult<()> {
    let pool = rayon_core::ThreadPoolBuilder::new().build();
    let pool = pool.map_err(|error| pyo3::exceptions::PyRuntimeError::new_err(error.to_string()))?;
    let mut place = POOL.write().unwrap_or_else(PoisonError::into_inner);
    // The old pool's threads do not exist here, so dropping it would wait for ever.
    std::mem::forget(place.replace(Arc::new(pool)));
    Ok(())
}

/// Runs `work` where the pool's threads exist.
pub fn on_living_pool<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let pool =
        POOL.read().map_err(|_| ErrorKind::Internal.context("the pool of threads is unknown"))?.clone();
    let Some(pool) = pool else { return work() };
    let signal = StopSignal::current();
    pool.install(|| StopSignal::run(signal.as_ref(), work))
}
