//! [`Cleanup`]: the datasets that a benchmark has written and not yet deleted.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nczarr::{ErrorKind, Place, Registry, Result};

/// The datasets that a running benchmark has written. Another thread uses it to end the run, for example
/// after a signal.
#[derive(Debug, Clone, Default)]
pub struct Cleanup(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    stopped: AtomicBool,
    written: Mutex<BTreeSet<String>>,
}

impl Cleanup {
    /// Ends the run before its next operation. Waits until it has deleted its dataset, but at most this long.
    ///
    /// Returns whether nothing remains.
    pub fn stop(&self, patience: Duration) -> bool {
        self.0.stopped.store(true, Ordering::Release);
        let start = Instant::now();
        while !self.written().is_empty() {
            if start.elapsed() > patience {
                return false;
            }
            thread::sleep(Duration::from_millis(5));
        }
        true
    }

    /// Fails after [`Cleanup::stop`].
    pub(crate) fn check(&self) -> Result<()> {
        if self.0.stopped.load(Ordering::Acquire) {
            return Err(ErrorKind::Cancelled.context("the benchmark was stopped"));
        }
        Ok(())
    }

    /// Notes that a dataset is about to be written. It is deleted when the result is dropped.
    pub(crate) fn dataset(&self, registry: &Arc<Registry>, url: &str) -> TemporaryDataset {
        self.written().insert(url.to_owned());
        let (cleanup, registry) = (self.clone(), Arc::clone(registry));
        TemporaryDataset { cleanup, registry, url: url.to_owned(), is_deleted: false }
    }

    fn written(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A dataset that is deleted at the end.
pub(crate) struct TemporaryDataset {
    cleanup: Cleanup,
    registry: Arc<Registry>,
    url: String,
    is_deleted: bool,
}

impl TemporaryDataset {
    /// Deletes it.
    pub fn delete(mut self) -> Result<()> {
        self.is_deleted = true;
        self.registry.delete(&Place::url(&self.url))
    }
}

impl Drop for TemporaryDataset {
    /// Deletes it after an error.
    fn drop(&mut self) {
        if !self.is_deleted {
            // The first error is the one to report.
            let _ = self.registry.delete(&Place::url(&self.url));
        }
        self.cleanup.written().remove(&self.url);
    }
}
