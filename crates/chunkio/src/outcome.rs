//! [`Outcome`]: how a transfer that many threads work on comes out. The first error wins; it also stops the rest.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use nczarr_dispatch::{Options, Progress};
use nczarr_model::{Error, ErrorKind, Result};

/// Errors, range errors and progress of one transfer.
pub(crate) struct Outcome<'a> {
    stopped: AtomicBool,
    error: Mutex<Option<Error>>,
    out_of_range: AtomicBool,
    progress: Option<&'a dyn Progress>,
    done: AtomicU64,
    total: u64,
}

impl<'a> Outcome<'a> {
    /// Of a transfer of `total` bytes.
    pub(crate) fn new(options: &'a Options, total: usize) -> Self {
        Self { progress: options.progress.as_deref(), total: total as u64, ..Self::unwatched() }
    }

    /// Of work that nobody watches.
    pub(crate) fn unwatched() -> Self {
        Self {
            stopped: AtomicBool::new(false),
            error: Mutex::new(None),
            out_of_range: AtomicBool::new(false),
            progress: None,
            done: AtomicU64::new(0),
            total: 0,
        }
    }

    /// Whether nothing more need be done.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Takes an error, and stops the rest; later errors are dropped.
    pub(crate) fn fail(&self, error: Error) {
        self.note(error);
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Takes an error, and lets the rest go on.
    pub(crate) fn note(&self, error: Error) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// Some value did not fit its type: reported at the end.
    pub(crate) fn range(&self, out_of_range: bool) {
        if out_of_range {
            self.out_of_range.store(true, Ordering::Relaxed);
        }
    }

    /// So many more bytes are done.
    pub(crate) fn advance(&self, bytes: usize) {
        if let Some(progress) = self.progress {
            let done = self.done.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
            if !progress.advance(done, self.total) {
                self.fail(ErrorKind::Cancelled.context("the observer stopped the transfer"));
            }
        }
    }

    /// The first error, if there was one.
    pub(crate) fn failure(&self) -> Result<()> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    /// What the caller of a transfer that went through is told.
    pub(crate) fn finish(&self, name: &str) -> Result<()> {
        self.failure()?;
        match self.out_of_range.load(Ordering::Relaxed) {
            false => Ok(()),
            true => Err(ErrorKind::Range.context(format!("{name}: a value does not fit the type it was converted to"))),
        }
    }
}
