//! [`StopSignal`]: stops the work of one call, on all its threads and in all its requests.
//!
//! A call that may be stopped runs inside [`StopSignal::run`]. The signal is then the current one of the
//! thread. The pool passes it on to the threads that work for the call, and [`stoppable`] to requests.
//! Without a signal nothing is checked.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use nczarr_model::{Error, ErrorKind, Result};

thread_local! {
    static CURRENT: RefCell<Option<StopSignal>> = const { RefCell::new(None) };
}

/// Stops the work of one call. All clones are one signal.
#[derive(Debug, Clone, Default)]
pub struct StopSignal(Arc<SignalState>);

#[derive(Debug, Default)]
struct SignalState {
    stopped: AtomicBool,
    waiting: Mutex<WaitingTasks>,
}

/// The tasks to wake when the signal is given.
#[derive(Debug, Default)]
struct WaitingTasks {
    next: u64,
    wakers: BTreeMap<u64, Waker>,
}

impl StopSignal {
    /// Gives the signal. Requests in flight are abandoned, and no new one starts.
    pub fn stop(&self) {
        self.0.stopped.store(true, Ordering::SeqCst);
        let wakers = std::mem::take(&mut self.lock().wakers);
        wakers.into_values().for_each(Waker::wake);
    }

    /// Whether the signal was given.
    pub fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::SeqCst)
    }

    /// Returns the signal of the work on this thread, if it has one.
    pub fn current() -> Option<Self> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Fails if the work on this thread was stopped.
    ///
    /// # Errors
    /// `NCZ_ECANCELLED`.
    pub fn check_current() -> Result<()> {
        let stopped = CURRENT.with_borrow(|current| current.as_ref().is_some_and(Self::is_stopped));
        if stopped { Err(Self::error()) } else { Ok(()) }
    }

    /// The error of work that was stopped.
    pub fn error() -> Error {
        ErrorKind::Cancelled.context("the caller stopped the call")
    }

    /// Runs `work` with `signal` as the thread's current one.
    pub fn run<R>(signal: Option<&Self>, work: impl FnOnce() -> R) -> R {
        let _restore = RestoreOnDrop(CURRENT.replace(signal.cloned()));
        work()
    }

    /// Runs `work`, which passes the signal on to other threads, without a current signal. A pool thread that
    /// waits in `work` may run a task of another call.
    pub fn pass_on<R>(work: impl FnOnce(Option<&Self>) -> R) -> R {
        let restore = RestoreOnDrop(CURRENT.take());
        work(restore.0.as_ref())
    }

    fn lock(&self) -> MutexGuard<'_, WaitingTasks> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Restores the thread's signal, also on panic.
struct RestoreOnDrop(Option<StopSignal>);

impl Drop for RestoreOnDrop {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Makes a future that ends with `NCZ_ECANCELLED`, and drops `work`, when the current signal is given.
///
/// ```
/// use nczarr_runtime::{StopSignal, stoppable};
///
/// let signal = StopSignal::default();
/// let mut request = std::pin::pin!(StopSignal::run(Some(&signal), || stoppable(std::future::pending::<()>())));
/// let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// assert!(request.as_mut().poll(&mut context).is_pending());
/// signal.stop();
/// assert!(request.as_mut().poll(&mut context).is_ready());
/// # use std::future::Future;
/// ```
pub fn stoppable<F: Future>(work: F) -> Stoppable<F> {
    Stoppable { signal: StopSignal::current(), place: None, work: Some(Box::pin(work)) }
}

/// Makes a future whose work has the signal that is current now. It is not dropped when the signal is given:
/// a write finishes, but its client can see that no further attempt is wanted.
pub fn carrying_signal<F: Future>(work: F) -> impl Future<Output = F::Output> {
    let (signal, mut work) = (StopSignal::current(), Box::pin(work));
    std::future::poll_fn(move |context| StopSignal::run(signal.as_ref(), || work.as_mut().poll(context)))
}

/// The future of [`stoppable`].
#[derive(Debug)]
pub struct Stoppable<F> {
    signal: Option<StopSignal>,
    /// Its number among the waiting tasks.
    place: Option<u64>,
    work: Option<Pin<Box<F>>>,
}

impl<F: Future> Future for Stoppable<F> {
    type Output = Result<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Some(signal) = &this.signal {
            // First the waker, then the flag: a signal in between is seen here or wakes the task.
            let mut waiting = signal.lock();
            let place = *this.place.get_or_insert_with(|| {
                waiting.next += 1;
                waiting.next
            });
            waiting.wakers.insert(place, context.waker().clone());
            drop(waiting);
            if signal.is_stopped() {
                this.work = None;
            }
        }
        let Some(work) = &mut this.work else { return Poll::Ready(Err(StopSignal::error())) };
        let done = work.as_mut().poll(context);
        if done.is_ready() {
            this.work = None;
        }
        done.map(Ok)
    }
}

impl<F> Drop for Stoppable<F> {
    fn drop(&mut self) {
        if let (Some(signal), Some(place)) = (&self.signal, self.place) {
            signal.lock().wakers.remove(&place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{run_on_new_threads, run_on_pool, run_with_caller, with_executor};

    fn is_current(signal: &StopSignal) -> bool {
        StopSignal::current().is_some_and(|current| Arc::ptr_eq(&current.0, &signal.0))
    }

    #[test]
    fn every_thread_that_works_for_a_call_has_its_signal() {
        let signal = StopSignal::default();
        StopSignal::run(Some(&signal), || {
            let work = || assert!(is_current(&signal));
            run_on_pool(4, &work);
            run_with_caller(4, &work);
            run_on_new_threads(4, &work);
            with_executor(4, |executor| {
                work();
                (0..20).for_each(|_| executor.run(work));
            });
            work();
            let none = || assert!(StopSignal::current().is_none());
            StopSignal::run(None, || {
                run_on_pool(4, &none);
                with_executor(4, |executor| (0..20).for_each(|_| executor.run(none)));
            });
            work();
        });
        assert!(StopSignal::current().is_none());
        run_on_pool(4, &|| assert!(StopSignal::current().is_none()));
    }

    /// A pool thread that waits for its call may run a task of another one.
    #[test]
    #[cfg(feature = "parallel")]
    fn the_task_of_another_call_has_no_foreign_signal() {
        let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let signal = StopSignal::default();
        pool.install(|| {
            rayon_core::scope(|scope| {
                scope.spawn(|_| assert!(StopSignal::current().is_none()));
                StopSignal::run(Some(&signal), || {
                    run_on_pool(2, &|| assert!(is_current(&signal)));
                    run_with_caller(2, &|| assert!(is_current(&signal)));
                });
            });
        });
    }

    #[test]
    fn a_signal_stops_only_its_own_tasks() {
        struct SetOnDrop<'a>(&'a AtomicBool);
        impl Drop for SetOnDrop<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
        let (signal, other, dropped) = (StopSignal::default(), StopSignal::default(), AtomicBool::new(false));
        let request = |signal| {
            StopSignal::run(signal, || {
                let held = SetOnDrop(&dropped);
                Box::pin(stoppable(async move {
                    let _held = held;
                    std::future::pending::<()>().await;
                }))
            })
        };
        let mut context = Context::from_waker(Waker::noop());
        let mut requests = [request(Some(&signal)), request(Some(&other)), request(None)];
        assert!(requests.iter_mut().all(|request| request.as_mut().poll(&mut context).is_pending()));
        signal.stop();
        let ended = requests.each_mut().map(|request| match request.as_mut().poll(&mut context) {
            Poll::Ready(found) => Some(found.unwrap_err().kind()),
            Poll::Pending => None,
        });
        assert_eq!(ended, [Some(ErrorKind::Cancelled), None, None]);
        assert!(dropped.load(Ordering::SeqCst), "the connection of the request is not held");
        assert!(StopSignal::run(Some(&signal), StopSignal::check_current).is_err());
        assert!(StopSignal::run(Some(&other), StopSignal::check_current).is_ok());
        assert!(StopSignal::check_current().is_ok());
        drop(requests);
        assert!(other.lock().wakers.is_empty());
    }
}
