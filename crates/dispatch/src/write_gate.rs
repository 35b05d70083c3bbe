//! [`WriteGate`]: who may still write what was handed out of a dataset; [`Closing`]: whether it is closed.
//!
//! Callers keep the data of a variable as long as they like. A layout may change as long as there are no data: what somebody kept of
//! the old one must not write any more then, for nobody would ever store it. The same holds once the dataset is closed, and
//! who closes waits for those who write just now, as long as none of them may be waiting for it ([`Gate`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nczarr_model::{ErrorKind, Result};

use crate::Gate;

/// Whether a dataset is closed; all its variables share it.
#[derive(Debug, Default)]
pub struct Closing {
    closed: AtomicBool,
    /// It was closed by somebody who could not wait for those who wrote.
    hasty: AtomicBool,
    /// Closing began, and a panic interrupted it.
    broken: AtomicBool,
}

impl Closing {
    /// Whether it is closed, or is being closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Closes it: nobody begins to write any more, and those who do are waited for. `gates` are all that somebody may be
    /// writing through, asked for once nobody can begin any more: a gate that is made later lets nobody in. Who closes it from within
    /// a write, or on a thread that one may depend on, cannot wait for ever: whoever still writes then is told that it may be
    /// lost. Answers whether it was closed already.
    pub fn close<G: AsRef<WriteGate>>(&self, gates: impl FnOnce() -> Vec<Arc<G>>) -> bool {
        if self.closed.swap(true, Ordering::SeqCst) {
            return true;
        }
        if !gates().iter().all(|gate| (**gate).as_ref().gate.see_off()) {
            self.hasty.store(true, Ordering::SeqCst);
        }
        false
    }

    /// As [`Closing::close`]; then does once what is left to do, as `work` says. If `work` panics, the next call does it
    /// again: what was not stored is not lost without an error.
    ///
    /// # Errors
    /// What `work` says.
    pub fn close_with<G: AsRef<WriteGate>>(
        &self,
        gates: impl FnOnce() -> Vec<Arc<G>>,
        work: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let was_closed = self.close(gates);
        if was_closed && !self.broken.swap(false, Ordering::SeqCst) {
            return Ok(());
        }
        let unfinished = Unfinished(&self.broken);
        let outcome = work();
        std::mem::forget(unfinished);
        outcome
    }

    fn check(&self) -> Result<()> {
        match self.is_closed() {
            true => Err(ErrorKind::BadId.context("the dataset is closed")),
            false => Ok(()),
        }
    }
}

/// Says on unwinding that work was begun and not done.
struct Unfinished<'a>(&'a AtomicBool);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// The gate of one variable that can be written: shared by those who write, shut by a change of layout or by closing.
#[derive(Debug)]
pub struct WriteGate {
    gate: Gate,
    /// Whether another layout took the place of this one.
    retired: AtomicBool,
    closing: Arc<Closing>,
}

impl AsRef<Self> for WriteGate {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl WriteGate {
    /// A gate that is open as long as the dataset is.
    #[must_use]
    pub fn new(closing: Arc<Closing>) -> Self {
        Self { gate: Gate::default(), retired: AtomicBool::new(false), closing }
    }

    /// Writes. Writes may be within writes.
    ///
    /// # Errors
    /// `NC_EBADID` once the dataset is closed, `NC_ELATEDEF` once the layout is another; what `put` says.
    pub fn write(&self, put: impl FnOnce() -> Result<()>) -> Result<()> {
        // Who comes too late has nothing to wait for.
        self.closing.check()?;
        let writing = self.gate.write();
        // Asked inside as well: who closes is not done before this is over.
        self.closing.check()?;
        if self.retired.load(Ordering::Acquire) {
            let what = "the variable's layout was changed since its data were asked for";
            return Err(ErrorKind::LateDef.context(what));
        }
        let outcome = put();
        if self.closing.hasty.load(Ordering::SeqCst) {
            let what = "the dataset was closed in the middle of a write: what was being written may not be stored";
            return outcome.and(Err(ErrorKind::BadId.context(what)));
        }
        drop(writing);
        outcome
    }

    /// Lets nobody write from now on, unless there are data already, as `written` says, or somebody is about to write some; whether
    /// it did.
    pub fn retire(&self, written: impl FnOnce() -> bool) -> bool {
        // Never waits: who writes may be waiting for other work that came here.
        let Some(_alone) = self.gate.try_alone() else { return false };
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
    fn who_closes_waits_for_those_who_write() {
        let closing = Arc::new(Closing::default());
        let gate = Arc::new(WriteGate::new(Arc::clone(&closing)));
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
        let closing = Closing::default();
        let close = |work: &dyn Fn() -> Result<()>| {
            let close = || closing.close_with(Vec::<Arc<WriteGate>>::new, work);
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(close))
        };
        assert!(close(&|| panic!("on purpose")).is_err() && closing.is_closed());
        assert!(close(&|| panic!("on purpose")).is_err());
        assert!(close(&|| Err(ErrorKind::Io.into())).unwrap().is_err(), "it is done");
        assert!(close(&|| panic!("nothing is left to do")).unwrap().is_ok());
    }

    #[test]
    fn who_closes_within_a_write_is_not_stuck_and_the_write_is_told() {
        let closing = Arc::new(Closing::default());
        let gate = Arc::new(WriteGate::new(Arc::clone(&closing)));
        let other = (Closing::default(), Arc::new(WriteGate::new(Arc::default())));
        let told = gate.write(|| {
            other.0.close(|| vec![Arc::clone(&other.1)]);
            gate.write(|| Ok(()))?;
            assert!(!closing.close(|| vec![Arc::clone(&gate)]));
            Ok(())
        });
        assert_eq!(told.unwrap_err().kind(), ErrorKind::BadId);
    }

    #[test]
    fn who_begins_to_write_while_the_gates_are_gathered_is_waited_for_or_refused() {
        let closing = Arc::new(Closing::default());
        let gate = Arc::new(WriteGate::new(Arc::clone(&closing)));
        let mut told = None;
        closing.close(|| {
            told = Some(gate.write(|| Ok(())));
            Vec::<Arc<WriteGate>>::new()
        });
        assert_eq!(told.unwrap().unwrap_err().kind(), ErrorKind::BadId, "nobody would wait for it");
    }

    /// The thread of a pool that closes has no write of its own, but a write waits for that thread.
    #[test]
    #[cfg(feature = "parallel")]
    fn who_closes_on_a_thread_that_a_write_waits_for_is_not_stuck_and_the_write_is_told() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let closing = Arc::new(Closing::default());
        let gate = Arc::new(WriteGate::new(Arc::clone(&closing)));
        let told = gate.write(|| {
            assert!(!pool.install(|| closing.close(|| vec![Arc::clone(&gate)])));
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
