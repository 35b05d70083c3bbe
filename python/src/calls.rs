//! Calls that may touch storage. They run without the interpreter, and Ctrl-C ends them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use nczarr::{ErrorKind, Result};
use nczarr_runtime::StopSignal;
use pyo3::prelude::*;

use crate::error::IntoPython;
use crate::fork;

/// The time between two looks for a signal, such as that of Ctrl-C.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);
/// A transfer of fewer bytes from local storage ends before anybody presses Ctrl-C.
const SHORT_TRANSFER: usize = 8 << 20;

/// Runs a short call without the interpreter.
pub fn run<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    py.detach(|| guarded(work)).into_python(py)
}

/// Runs a transfer of this many bytes without the interpreter. A long one runs on another thread, while this
/// one looks for signals; an exception of a signal handler stops the transfer and is raised after its end.
pub fn transfer<T: Send>(
    py: Python<'_>,
    bytes: usize,
    remote: bool,
    work: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    if bytes < SHORT_TRANSFER && !remote {
        return run(py, work);
    }
    let signal = StopSignal::default();
    let mut raised = None;
    let result = std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        let of_work = &signal;
        scope.spawn(move || {
            let result = StopSignal::run(Some(of_work), || guarded(work));
            // The receiver waits for this result.
            let _ = sender.send(result);
        });
        // A channel's receiver is not `Sync`, so each wait borrows it mutably.
        let mut receiver = receiver;
        loop {
            match py.detach(|| wait(&mut receiver)) {
                Ok(result) => return result,
                Err(RecvTimeoutError::Timeout) if raised.is_none() => {
                    if let Err(exception) = py.check_signals() {
                        raised = Some(exception);
                        signal.stop();
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(ErrorKind::Internal.context("a call ended without a result"));
                }
            }
        }
    });
    match raised {
        Some(exception) => Err(exception),
        None => result.into_python(py),
    }
}

fn wait<T: Send>(receiver: &mut std::sync::mpsc::Receiver<T>) -> std::result::Result<T, RecvTimeoutError> {
    receiver.recv_timeout(SIGNAL_INTERVAL)
}

/// Turns a panic into an error, so that the dataset can still be closed.
fn guarded<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let outcome = catch_unwind(AssertUnwindSafe(|| fork::on_living_pool(work)));
    outcome.unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<&str>()
            .map(ToString::to_string)
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_default();
        Err(ErrorKind::Internal.context(format!("the library panicked: {text}")))
    })
}
