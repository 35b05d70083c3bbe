//! [`RecordGrowth`]: how many records of a variable are ready.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::claims::RecordClaims;

/// The progress of a variable's data.
#[derive(Debug)]
pub(crate) struct RecordGrowth {
    /// The value of [`RecordClaims::ready`], for reads without the lock.
    ready: AtomicU64,
    claims: Mutex<RecordClaims>,
}

impl RecordGrowth {
    /// Creates the progress with `ready` filled or written records.
    pub(crate) fn new(ready: u64) -> Self {
        Self { ready: AtomicU64::new(ready), claims: Mutex::new(RecordClaims::new(ready)) }
    }

    pub(crate) fn is_ready(&self, units: u64) -> bool {
        self.ready.load(Ordering::Acquire) >= units
    }

    pub(crate) fn claims(&self) -> MutexGuard<'_, RecordClaims> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Called under the lock.
    pub(crate) fn publish(&self, claims: &RecordClaims) {
        self.ready.store(claims.ready(), Ordering::Release);
    }
}
