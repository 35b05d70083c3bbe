//! [`WriteGate`]: who may still write what was handed out of a dataset; [`Closing`]: whether it is closed.
//!
//! Callers keep the data of a variable as long as they like. A layout may change as long as there are no data: what somebody kept of
//! the old one must not write any more then, for nobody would ever store it. The same holds once the dataset is closed, and
//! who closes waits for those who write just now.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, TryLockError};

use model::{ErrorKind, Result};

thread_local! {
    /// Writes this thread is within. While it waits for other threads in one it may do other work, such as closing something.
    static WITHIN: Cell<usize> = const { Cell::new(0) };
}

/// Whether a dataset is closed; all its variables share it.
#[derive(Debug, Default)]
pub struct Closing {
    closed: AtomicBool,
    /// It was closed by somebody who could not wait for those who wrote.
    hasty: AtomicBool,
}

impl Closing {
    /// Whether it is closed, or is being closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Closes it: nobody begins to write through these gates any more, and those who do are waited for. Who closes it from within
    /// a write cannot wait: whoever still writes then is told that it may be lost. Answers whether it was closed already.
    pub fn close<'g>(&self, gates: impl IntoIterator<Item = &'g WriteGate>) -> bool {
        if self.closed.swap(true, Ordering::SeqCst) {
            return true;
        }
        if WITHIN.get() > 0 {
            self.hasty.store(true, Ordering::SeqCst);
        } else {
            gates.into_iter().for_each(WriteGate::finish);
        }
        false
    }
}

/// The gate of one variable that can be written: shared by those who write, shut by a change of layout or by closing.
#[derive(Debug)]
pub struct WriteGate {
    /// Whether another layout took the place of this one.
    retired: RwLock<bool>,
    closing: Arc<Closing>,
}

/// This thread is within a write as long as it is there.
struct Within;

impl Within {
    fn new() -> Self {
        WITHIN.set(WITHIN.get() + 1);
        Self
    }
}

impl Drop for Within {
    fn drop(&mut self) {
        WITHIN.set(WITHIN.get() - 1);
    }
}

impl WriteGate {
    /// A gate that is open as long as the dataset is.
    #[must_use]
    pub fn new(closing: Arc<Closing>) -> Self {
        Self { retired: RwLock::new(false), closing }
    }

    /// Writes. Writes may be within writes.
    ///
    /// # Errors
    /// `NC_EBADID` once the dataset is closed, `NC_ELATEDEF` once the layout is another; what `put` says.
    pub fn write(&self, put: impl FnOnce() -> Result<()>) -> Result<()> {
        let retired = match self.retired.try_read() {
            Ok(retired) => Some(retired),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            // Who closes waits for those who write: nobody who writes may wait then, for it may be within another write.
            Err(TryLockError::WouldBlock) if self.closing.is_closed() => None,
            Err(TryLockError::WouldBlock) => Some(self.retired.read().unwrap_or_else(PoisonError::into_inner)),
        };
        // Asked while it is held: who closes is not done before it is given back.
        let Some(retired) = retired.filter(|_| !self.closing.is_closed()) else {
            return Err(ErrorKind::BadId.context("the dataset is closed"));
        };
        if *retired {
            let what = "the variable's layout was changed since its data were asked for";
            return Err(ErrorKind::LateDef.context(what));
        }
        let within = Within::new();
        let outcome = put();
        drop(within);
        if self.closing.hasty.load(Ordering::SeqCst) {
            let what = "the dataset was closed from within a write: what was being written may not be stored";
            return outcome.and(Err(ErrorKind::BadId.context(what)));
        }
        outcome
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
    fn finish(&self) {
        drop(self.retired.write().unwrap_or_else(PoisonError::into_inner));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn who_closes_waits_for_those_who_write() {
        let closing = Arc::new(Closing::default());
        let gate = WriteGate::new(Arc::clone(&closing));
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
            let closer = scope.spawn(move || closing.close([gate]));
            while !closing.is_closed() {
                std::thread::yield_now();
            }
            assert!(!closer.is_finished());
            assert_eq!(gate.write(|| Ok(())).unwrap_err().kind(), ErrorKind::BadId);
            go_on.send(()).unwrap();
            writer.join().unwrap().unwrap();
            assert!(!closer.join().unwrap());
        });
        assert!(closing.close([&gate]));
    }

    #[test]
    fn who_closes_within_a_write_is_not_stuck_and_the_write_is_told() {
        let closing = Arc::new(Closing::default());
        let gate = WriteGate::new(Arc::clone(&closing));
        let other = (Arc::new(Closing::default()), WriteGate::new(Arc::default()));
        let told = gate.write(|| {
            other.0.close([&other.1]);
            gate.write(|| Ok(()))?;
            assert!(!closing.close([&gate]));
            Ok(())
        });
        assert_eq!(told.unwrap_err().kind(), ErrorKind::BadId);
    }

    #[test]
    fn a_retired_gate_is_shut_and_one_with_data_is_not_retired() {
        let gate = WriteGate::new(Arc::default());
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
