//! [`Call`]: the future of a call that runs on [`Workers`]. [`Canceller`] stops it from elsewhere.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use nczarr_model::{Error, ErrorKind, Result};
use nczarr_runtime::{StopSignal, trace};
use tracing::{Dispatch, Span};

use super::Workers;
use super::deadlines::DeadlineKey;

/// A call of this library as a future. It starts when it is first polled.
///
/// Dropping the future stops the call. The call abandons its reads in flight, and starts no further request.
/// It finishes the write of one object that has begun, because its outcome would be unknown otherwise.
#[must_use = "a call does nothing until it is awaited"]
pub struct Call<T> {
    workers: Workers,
    work: Option<CallWork<T>>,
    state: Arc<CallState<T>>,
    timeout: Option<Duration>,
    /// Its places in the queue and among the deadlines, once it was polled.
    queued: Option<u64>,
    deadline: Option<DeadlineKey>,
}

type CallWork<T> = Box<dyn FnOnce() -> Result<T> + Send>;

/// The state that the future and the thread of a call share.
struct CallState<T> {
    signal: StopSignal,
    /// The object of the call, for errors.
    place: Arc<str>,
    result: Mutex<CallResult<T>>,
}

/// The result of a call.
enum CallResult<T> {
    /// There is none; the waker of the task that waits.
    Awaited(Option<Waker>),
    Here(Result<T>),
    Taken,
}

/// Ends a call, whatever its type.
pub(super) trait EndCall: Send + Sync {
    /// Ends the call with an error, unless it has ended, and stops its work.
    fn end(&self, error: Error);
}

impl<T> CallState<T> {
    fn lock(&self) -> MutexGuard<'_, CallResult<T>> {
        self.result.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores the result, unless there is one, and wakes the task.
    fn finish(&self, result: Result<T>) {
        let mut place = self.lock();
        if let CallResult::Awaited(waker) = &mut *place {
            let waker = waker.take();
            *place = CallResult::Here(result);
            drop(place);
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }
}

impl<T: Send> EndCall for CallState<T> {
    fn end(&self, error: Error) {
        self.finish(Err(error.at(&self.place)));
        self.signal.stop();
    }
}

impl<T: Send + 'static> Call<T> {
    pub(super) fn new(
        workers: Workers,
        place: Arc<str>,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Self {
        let result = Mutex::new(CallResult::Awaited(None));
        Self {
            workers,
            work: Some(Box::new(work)),
            state: Arc::new(CallState { signal: StopSignal::default(), place, result }),
            timeout: None,
            queued: None,
            deadline: None,
        }
    }

    /// Sets the time until the call fails with [`ErrorKind::Timeout`], from the first poll on. The time in
    /// the queue counts.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.timeout = Some(time);
        self
    }

    /// Returns a handle that stops the call from elsewhere.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// use nczarr::ErrorKind;
    /// use nczarr::asynchronous::Workers;
    ///
    /// async fn stopped() {
    ///     let call = Workers::new(1).open("memory://doc-async-canceller");
    ///     let canceller = call.canceller();
    ///     canceller.cancel();
    ///     assert_eq!(call.await.unwrap_err().kind(), ErrorKind::Cancelled);
    /// }
    /// # }
    /// ```
    pub fn canceller(&self) -> Canceller {
        let state: Weak<CallState<T>> = Arc::downgrade(&self.state);
        Canceller(state)
    }

    /// Queues the work.
    fn start(&mut self, work: CallWork<T>) -> Result<()> {
        if let Some(at) = self.timeout.and_then(|time| Instant::now().checked_add(time)) {
            let state: Weak<CallState<T>> = Arc::downgrade(&self.state);
            self.deadline = Some(self.workers.deadlines().add(at, state)?);
        }
        let (state, context) = (Arc::clone(&self.state), CallerContext::of(&self.state.place));
        self.queued = Some(self.workers.submit(Box::new(move || {
            if state.signal.is_stopped() {
                return;
            }
            let run = || context.run(|| StopSignal::run(Some(&state.signal), work));
            let panicked = |panic: Box<dyn Any + Send>| Err(of_panic(&*panic).at(&state.place));
            state.finish(catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(panicked));
        }))?);
        Ok(())
    }
}

/// The span of a call, and the subscriber of the task that began it.
struct CallerContext {
    span: Span,
    subscriber: Dispatch,
}

impl CallerContext {
    fn of(place: &str) -> Self {
        let span = tracing::debug_span!(target: trace::CALLS, "async call", place);
        Self { span, subscriber: tracing::dispatcher::get_default(Dispatch::clone) }
    }

    fn run<R>(&self, work: impl FnOnce() -> R) -> R {
        tracing::dispatcher::with_default(&self.subscriber, || self.span.in_scope(work))
    }
}

/// Makes the error of a panic.
fn of_panic(panic: &(dyn Any + Send)) -> Error {
    let text =
        panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(|text| &**text));
    ErrorKind::Internal.context(format!("the call panicked: {}", text.unwrap_or("no message")))
}

impl<T: Send + 'static> Future for Call<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        let mut result = self.state.lock();
        match &mut *result {
            CallResult::Awaited(waker) => match waker {
                Some(waker) => waker.clone_from(context.waker()),
                None => *waker = Some(context.waker().clone()),
            },
            CallResult::Here(_) => {
                return match std::mem::replace(&mut *result, CallResult::Taken) {
                    CallResult::Here(found) => Poll::Ready(found),
                    _ => Poll::Pending,
                };
            }
            CallResult::Taken => {
                let error = ErrorKind::Internal.context("the call was polled after it had ended");
                return Poll::Ready(Err(error.at(&self.state.place)));
            }
        }
        drop(result);
        if let Some(work) = self.work.take()
            && let Err(error) = self.start(work)
        {
            return Poll::Ready(Err(error));
        }
        Poll::Pending
    }
}

impl<T> Drop for Call<T> {
    fn drop(&mut self) {
        self.state.signal.stop();
        if let Some(number) = self.queued {
            self.workers.withdraw(number);
        }
        if let Some(key) = self.deadline {
            self.workers.deadlines().remove(key);
        }
    }
}

impl<T> fmt::Debug for Call<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("place", &self.state.place).finish_non_exhaustive()
    }
}

/// Stops a [`Call`] from any thread or task. Clones stop the same call.
#[derive(Clone)]
pub struct Canceller(Weak<dyn EndCall>);

impl Canceller {
    /// Stops the call, which fails with [`ErrorKind::Cancelled`]. A call that has ended is unchanged.
    pub fn cancel(&self) {
        if let Some(call) = self.0.upgrade() {
            call.end(StopSignal::error());
        }
    }
}

impl fmt::Debug for Canceller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Canceller")
    }
}
