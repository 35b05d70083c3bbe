//! [`TransferOutcome`]: collects the result of a transfer by many threads. The first error wins and stops the
//! others.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use nczarr_dispatch::{Options, Progress};
use nczarr_model::{Error, ErrorKind, Result};
use nczarr_runtime::StopSignal;

/// Errors, range errors and progress of one transfer.
pub(crate) struct TransferOutcome<'a> {
    stopped: AtomicBool,
    signal: Option<StopSignal>,
    error: Mutex<Option<Error>>,
    out_of_range: AtomicBool,
    progress: Option<&'a dyn Progress>,
    done: AtomicU64,
    total: u64,
}

impl<'a> TransferOutcome<'a> {
    /// Creates the outcome of a transfer of `total` bytes.
    pub(crate) fn new(options: &'a Options, total: usize) -> Self {
        Self { progress: options.progress.as_deref(), total: total as u64, ..Self::without_progress() }
    }

    /// Creates the outcome of work without an observer.
    pub(crate) fn without_progress() -> Self {
        Self {
            stopped: AtomicBool::new(false),
            signal: StopSignal::current(),
            error: Mutex::new(None),
            out_of_range: AtomicBool::new(false),
            progress: None,
            done: AtomicU64::new(0),
            total: 0,
        }
    }

    /// Whether an error or a cancelled call stopped the transfer.
    pub(crate) fn is_stopped(&self) -> bool {
        if self.signal.as_ref().is_some_and(StopSignal::is_stopped) {
            self.fail(StopSignal::error());
        }
        self.stopped.load(Ordering::Relaxed)
    }

    /// Records an error and stops the transfer; later errors are dropped.
    pub(crate) fn fail(&self, error: Error) {
        self.note(error);
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Records an error; the transfer continues.
    pub(crate) fn note(&self, error: Error) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// Records a value out of range, which is reported at the end.
    pub(crate) fn range(&self, out_of_range: bool) {
        if out_of_range {
            self.out_of_range.store(true, Ordering::Relaxed);
        }
    }

    /// Reports `bytes` more bytes.
    pub(crate) fn advance(&self, bytes: usize) {
        if let Some(progress) = self.progress {
            let done = self.done.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
            if !progress.advance(done, self.total) {
                self.fail(ErrorKind::Cancelled.context("the observer stopped the transfer"));
            }
        }
    }

    /// Returns the first error, if there is one, or that of a stopped call.
    pub(crate) fn failure(&self) -> Result<()> {
        self.is_stopped();
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    /// Returns the result of a finished transfer.
    pub(crate) fn finish(&self, name: &str) -> Result<()> {
        self.failure()?;
        if self.out_of_range.load(Ordering::Relaxed) {
            Err(ErrorKind::Range
                .context(format!("{name}: a value does not fit the type it was converted to")))
        } else {
            Ok(())
        }
    }
}
