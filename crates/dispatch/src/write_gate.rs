//! [`WriteGate`]: who may still write what was handed out of a dataset.
//!
//! Callers keep the data of a variable as long as they like. A layout may change as long as there are no data: what somebody kept of
//! the old one must not write any more then, for nobody would ever store it. The same holds once the dataset is closed, and
//! who closes waits for those who write just now.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, TryLockError};

use model::{ErrorKind, Result};

/// The gate of one variable that can be written: shared by those who write, shut by a change of layout or by closing.
#[derive(Debug)]
pub struct WriteGate {
    /// Whether another layout took the place of this one.
    retired: RwLock<bool>,
    /// Whether the dataset is closed; all its variables share it.
    closed: Arc<AtomicBool>,
}

/// Somebody writes as long as it is there.
#[derive(Debug)]
#[must_use = "who closes waits only as long as it is kept"]
pub struct Writing<'g>(#[allow(dead_code)] RwLockReadGuard<'g, bool>);

impl WriteGate {
    /// A gate that is open as long as `closed` is not set.
    #[must_use]
    pub fn new(closed: Arc<AtomicBool>) -> Self {
        Self { retired: RwLock::new(false), closed }
    }

    /// Lets somebody write, until what it answers is dropped. Writes may be within writes.
    ///
    /// # Errors
    /// `NC_EBADID` once the dataset is closed, `NC_ELATEDEF` once the layout is another.
    pub fn enter(&self) -> Result<Writing<'_>> {
        let retired = match self.retired.try_read() {
            Ok(retired) => Some(retired),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            // Who closes waits for those who write: nobody who writes may wait then, for it may be within another write.
            Err(TryLockError::WouldBlock) if self.is_closed() => None,
            Err(TryLockError::WouldBlock) => Some(self.retired.read().unwrap_or_else(PoisonError::into_inner)),
        };
        // Asked while it is held: who closes is not done before it is given back.
        let Some(retired) = retired.filter(|_| !self.is_closed()) else {
            return Err(ErrorKind::BadId.context("the dataset is closed"));
        };
        if *retired {
            let what = "the variable's layout was changed since its data were asked for";
            return Err(ErrorKind::LateDef.context(what));
        }
        Ok(Writing(retired))
    }

    /// Lets nobody write from now on, unless there are data already, as `written` says, or somebody is about to write some; whether
    /// it did.
    pub fn retire(&self, written: impl FnOnce() -> bool) -> bool {
        // Never waits: who writes may be waiting for other work that came here.
        let mut retired = match self.retired.try_write() {
            Ok(retired) => retired,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        *retired = !written();
        *retired
    }

    /// Waits until nobody writes any more who began before the dataset was closed.
    pub fn finish(&self) {
        drop(self.retired.write().unwrap_or_else(PoisonError::into_inner));
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }
}
