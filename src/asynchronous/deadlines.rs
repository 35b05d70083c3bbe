//! [`Deadlines`]: ends calls when their time is over, on one thread that starts with the first deadline.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use nczarr_model::{Error, ErrorKind, Result};

use super::call::EndCall;

/// The deadlines of all running calls.
#[derive(Default)]
pub(super) struct Deadlines {
    state: Mutex<DeadlineState>,
    changed: Condvar,
}

#[derive(Default)]
struct DeadlineState {
    calls: BTreeMap<DeadlineKey, Weak<dyn EndCall>>,
    next: u64,
    runs: bool,
    closed: bool,
}

/// A time, and a number that distinguishes calls with equal times.
pub(super) type DeadlineKey = (Instant, u64);

impl Deadlines {
    /// Adds the deadline of a call.
    ///
    /// # Errors
    /// The system's error if it provides no thread.
    pub(super) fn add(self: &Arc<Self>, at: Instant, call: Weak<dyn EndCall>) -> Result<DeadlineKey> {
        let mut state = self.lock();
        if !state.runs {
            let theirs = Arc::clone(self);
            let thread = std::thread::Builder::new().name("nczarr-deadline".into());
            thread
                .spawn(move || theirs.serve())
                .map_err(|error| Error::io("a thread for deadlines", error))?;
            state.runs = true;
        }
        state.next += 1;
        let key = (at, state.next);
        state.calls.insert(key, call);
        let is_first = state.calls.first_key_value().is_some_and(|(first, _)| *first == key);
        drop(state);
        if is_first {
            self.changed.notify_one();
        }
        Ok(key)
    }

    /// Removes the deadline of a call that has ended.
    pub(super) fn remove(&self, key: DeadlineKey) {
        self.lock().calls.remove(&key);
    }

    /// Ends the thread.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_one();
    }

    fn serve(&self) {
        let mut state = self.lock();
        while !state.closed {
            let Some((&(at, number), _)) = state.calls.first_key_value() else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = at.saturating_duration_since(Instant::now());
            if !left.is_zero() {
                let waited = self.changed.wait_timeout(state, left);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            let call = state.calls.remove(&(at, number));
            drop(state);
            if let Some(call) = call.and_then(|call| call.upgrade()) {
                call.end(ErrorKind::Timeout.context("the call did not end in time"));
            }
            state = self.lock();
        }
    }

    fn lock(&self) -> MutexGuard<'_, DeadlineState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
