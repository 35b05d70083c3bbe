//! [`WriteFence`]: stops writes through outdated handles of a variable. [`CloseState`]: whether the dataset
//! is closed.
//!
//! Callers keep the data of a variable for as long as they like. The layout of a variable without data may
//! change; old handles must not write afterwards, since their data would be lost. The same holds after
//! closing. Closing waits for running writes unless one of them may wait for it ([`RenameLock`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nczarr_model::{ErrorKind, Result};

use crate::RenameLock;

/// Whether a dataset is closed; its variables share it.
#[derive(Debug, Default)]
pub struct CloseState {
    closed: AtomicBool,
    /// Whether it was closed without waiting for running writes.
    hasty: AtomicBool,
    /// Whether a panic interrupted closing.
    broken: AtomicBool,
}

impl CloseState {
    /// Whether it is closed or being closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Closes it: no write starts any more, and running ones are waited for. `gates` returns all fences of
    /// the dataset; it is called when no write can start. A fence that is created later admits no write. A
    /// call inside a write, or on a thread that a write may wait for, does not wait: those writes then fail,
    /// since their data may be lost. Returns whether it was closed before.
    pub fn close<G: AsRef<WriteFence>>(&self, gates: impl FnOnce() -> Vec<Arc<G>>) -> bool {
        if self.closed.swap(true, Ordering::SeqCst) {
            return true;
        }
        if !gates().iter().all(|gate| (**gate).as_ref().gate.wait_until_free()) {
            self.hasty.store(true, Ordering::SeqCst);
        }
        false
    }

    /// As [`CloseState::close`]; then runs `work` once. If `work` panics, the next call runs it again, so
    /// that nothing is lost without an error.
    ///
    /// # Errors
    /// The error of `work`.
    pub fn close_with<G: AsRef<WriteFence>>(
        &self,
        gates: impl FnOnce() -> Vec<Arc<G>>,
        work: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let was_closed = self.close(gates);
        if was_closed && !self.broken.swap(false, Ordering::SeqCst) {
            return Ok(());
        }
        let unfinished = BrokenOnUnwind(&self.broken);
        let outcome = work();
        std::mem::forget(unfinished);
        outcome
    }

    fn check(&self) -> Result<()> {
        if self.is_closed() { Err(ErrorKind::BadId.context("the dataset is closed")) } else { Ok(()) }
    }
}

/// Records on unwinding that the work is unfinished.
struct BrokenOnUnwind<'a>(&'a AtomicBool);

impl Drop for BrokenOnUnwind<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// The fence of one variable: shared by its writers, and closed by a change of layout or by closing the
/// dataset.
#[derive(Debug)]
pub struct WriteFence {
    gate: RenameLock,
    /// Whether another layout replaced this one.
    retired: AtomicBool,
    closing: Arc<CloseState>,
}

impl AsRef<Self> for WriteFence {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl WriteFence {
    /// Creates a fence that is open while the dataset is.
    #[must_use]
    pub fn new(closing: Arc<CloseState>) -> Self {
        Self { gate: RenameLock::default(), retired: AtomicBool::new(false), closing }
    }

    /// Runs a write. Writes may be nested.
    ///
    /// # Errors
    /// `NC_EBADID` after closing; `NC_ELATEDEF` after a change of layout; otherwise the error of `put`.
    pub fn write<T>(&self, put: impl FnOnce() -> Result<T>) -> Result<T> {
        // A late write does not wait.
        self.closing.check()?;
        let writing = self.gate.lock_shared();
        // Checked again under the lock, since closing waits for it.
        self.closing.check()?;
        if self.retired.load(Ordering::Acquire) {
            let what = "the variable's layout changed; open its data again";
            return Err(ErrorKind::LateDef.context(what));
        }
        let outcome = put();
        if self.closing.hasty.load(Ordering::SeqCst) {
            let what = "the dataset was closed during a write; the written data may be lost";
            return outcome.and(Err(ErrorKind::BadId.context(what)));
        }
        drop(writing);
        outcome
    }

    /// Closes the fence for all later writes, unless `written` returns true or a write is running. Returns
    /// whether it did.
    pub fn retire(&self, written: impl FnOnce() -> bool) -> bool {
        // Never waits: a writer may wait for work that runs here.
        let Some(_alone) = self.gate.try_exclusive() else { return false };
        let retired = !written();
        self.retired.store(retired, Ordering::Release);
        retired
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn closing_waits_for_writers() {
        let closing = Arc::new(CloseState::default());
        let gate = Arc::new(WriteFence::new(Arc::clone(&closing)));
        let (began, begun) = channel();
        let (go_on, goes_on) = channel::<()>();
        std::thread::scope(|scope| {
            let (gate, closing) = (&gate, &*closing);
            let writer = scope.spawn(move || {
                gate.write(|| {
                    began.send(()).unwrap();
                    goes_on.recv().map_err(|_| ErrorKind::Internal.into())
                })
            });
            begun.recv().unwrap();
            let closer = scope.spawn(move || closing.close(|| vec![Arc::clone(gate)]));
            while !closing.is_closed() {
                std::thread::yield_now();
            }
            assert!(!closer.is_finished());
            assert_eq!(gate.write(|| Ok(())).unwrap_err().kind(), ErrorKind::BadId);
            go_on.send(()).unwrap();
            writer.join().unwrap().unwrap();
            assert!(!closer.join().unwrap());
        });
        assert!(closing.close(|| vec![Arc::clone(&gate)]));
    }

    #[test]
    fn closing_that_panics_is_done_by_the_next_call_and_only_once() {
        let closing = CloseState::default();
        let close = |work: &dyn Fn() -> Result<()>| {
            let close = || closing.close_with(Vec::<Arc<WriteFence>>::new, work);
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(close))
        };
        assert!(close(&|| panic!("on purpose")).is_err() && closing.is_closed());
        assert!(close(&|| panic!("on purpose")).is_err());
        assert!(close(&|| Err(ErrorKind::Io.into())).unwrap().is_err(), "it is done");
        assert!(close(&|| panic!("nothing is left to do")).unwrap().is_ok());
    }

    #[test]
    fn closing_within_a_write_fails_the_write() {
        let closing = Arc::new(CloseState::default());
        let gate = Arc::new(WriteFence::new(Arc::clone(&closing)));
        let other = (CloseState::default(), Arc::new(WriteFence::new(Arc::default())));
        let outcome = gate.write(|| {
            other.0.close(|| vec![Arc::clone(&other.1)]);
            gate.write(|| Ok(()))?;
            assert!(!closing.close(|| vec![Arc::clone(&gate)]));
            Ok(())
        });
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::BadId);
    }

    #[test]
    fn a_write_that_begins_during_closing_is_refused() {
        let closing = Arc::new(CloseState::default());
        let gate = Arc::new(WriteFence::new(Arc::clone(&closing)));
        let mut outcome = None;
        closing.close(|| {
            outcome = Some(gate.write(|| Ok(())));
            Vec::<Arc<WriteFence>>::new()
        });
        assert_eq!(outcome.unwrap().unwrap_err().kind(), ErrorKind::BadId, "no close would wait for it");
    }

    /// The pool's thread closes while it runs no write, and a write waits for that thread.
    #[test]
    #[cfg(feature = "parallel")]
    fn closing_on_a_thread_of_a_pool_does_not_deadlock() {
        let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let closing = Arc::new(CloseState::default());
        let gate = Arc::new(WriteFence::new(Arc::clone(&closing)));
        let outcome = gate.write(|| {
            assert!(!pool.install(|| closing.close(|| vec![Arc::clone(&gate)])));
            Ok(())
        });
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::BadId);
    }

    #[test]
    fn a_retired_gate_is_shut_and_one_with_data_is_not_retired() {
        let gate = WriteFence::new(Arc::default());
        assert!(!gate.retire(|| true));
        gate.write(|| {
            assert!(!gate.retire(|| false));
            Ok(())
        })
        .unwrap();
        assert!(gate.retire(|| false));
        assert_eq!(gate.write(|| Ok(())).unwrap_err().kind(), ErrorKind::LateDef);
    }
}
