//! Ways to run the work of a batch on several threads: [`run_on_pool`], [`run_with_caller`],
//! [`run_on_new_threads`] and [`with_executor`].
//!
//! All work of a call has the call's [`StopSignal`](crate::StopSignal).
//!
//! The pool is rayon's current one; only this module and `batch::overlap` enter it. A worker that waits may
//! run another task. So `work` holds no lock and no borrow of thread-local state across a call that may enter
//! the pool.

#[cfg(feature = "parallel")]
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::OnceLock;
#[cfg(feature = "parallel")]
use std::sync::{Arc, Mutex, PoisonError};

#[cfg(feature = "parallel")]
use crate::StopSignal;

/// Runs `work` on up to `threads` pool threads and returns when all are done.
///
/// `work` takes parts of a shared job until none is left. With one thread, or without the feature `parallel`,
/// it runs on the calling thread. The caller only waits, since a thread beyond the number of processors would
/// add cold buffers.
pub fn run_on_pool(threads: usize, work: &(dyn Fn() + Sync)) {
    #[cfg(feature = "parallel")]
    if threads > 1 {
        StopSignal::pass_on(|signal| {
            rayon_core::scope(|scope| {
                for _ in 0..threads.min(rayon_core::current_num_threads()) {
                    scope.spawn(|_| StopSignal::run(signal, work));
                }
            });
        });
        return;
    }
    let _ = threads;
    work();
}

/// Runs `work` on the calling thread and on up to `threads` - 1 pool threads; returns when all are done.
///
/// As [`run_on_pool`], for short work where waking threads matters, such as copies, or where the caller's
/// cache holds the data.
pub fn run_with_caller(threads: usize, work: &(dyn Fn() + Sync)) {
    #[cfg(feature = "parallel")]
    if threads > 1 {
        StopSignal::pass_on(|signal| {
            rayon_core::in_place_scope(|scope| {
                for _ in 1..threads.min(rayon_core::current_num_threads()) {
                    scope.spawn(|_| StopSignal::run(signal, work));
                }
                StopSignal::run(signal, work);
            });
        });
        return;
    }
    let _ = threads;
    work();
}

/// Runs `work` on the calling thread and on up to `threads` - 1 new threads; returns when all are done.
///
/// For work under a lock: it never waits for pool threads, which may wait for that lock, and the calling
/// thread runs no other task meanwhile. A new thread costs about ten microseconds. Without the feature
/// `parallel`, the calling thread does all work.
pub fn run_on_new_threads(threads: usize, work: &(dyn Fn() + Sync)) {
    #[cfg(feature = "parallel")]
    if threads > 1 {
        let signal = &StopSignal::current();
        std::thread::scope(|scope| {
            for _ in 1..threads.min(thread_count()) {
                let work = move || StopSignal::run(signal.as_ref(), work);
                // If a thread cannot start, the others do its work.
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        return;
    }
    let _ = threads;
    work();
}

/// Runs `serve` on the calling thread, with an [`Executor`] for other work; returns when `serve` and all that
/// work are done.
///
/// For callers that wait, for example for a network, and hand the results to other threads. At most `threads`
/// pool threads work at once. With one thread, on a pool thread (since all may wait like this), or without
/// the feature `parallel`, work runs at once on the calling thread.
pub fn with_executor<'s, R>(threads: usize, serve: impl FnOnce(&Executor<'_, 's>) -> R) -> R {
    #[cfg(feature = "parallel")]
    if threads > 1 && !is_pool_thread() {
        return StopSignal::pass_on(|signal| {
            rayon_core::in_place_scope(|scope| {
                let executor =
                    Executor { scope: Some(scope), threads, waiting: Arc::default(), work: PhantomData };
                StopSignal::run(signal, || serve(&executor))
            })
        });
    }
    let _ = threads;
    serve(&Executor {
        #[cfg(feature = "parallel")]
        scope: None,
        #[cfg(feature = "parallel")]
        threads: 1,
        #[cfg(feature = "parallel")]
        waiting: Arc::default(),
        work: PhantomData,
    })
}

/// A task that runs once.
type BoxedTask<'s> = Box<dyn FnOnce() + Send + 's>;

/// The queued tasks, and the number of threads that run them.
#[cfg(feature = "parallel")]
type TaskQueue<'s> = Mutex<(VecDeque<BoxedTask<'s>>, usize)>;

/// Runs tasks for [`with_executor`].
pub struct Executor<'a, 's> {
    #[cfg(feature = "parallel")]
    scope: Option<&'a rayon_core::Scope<'s>>,
    #[cfg(feature = "parallel")]
    threads: usize,
    #[cfg(feature = "parallel")]
    waiting: Arc<TaskQueue<'s>>,
    work: PhantomData<(&'a (), BoxedTask<'s>)>,
}

impl<'s> Executor<'_, 's> {
    /// Queues `work`; it runs before [`with_executor`] returns.
    pub fn run(&self, work: impl FnOnce() + Send + 's) {
        #[cfg(feature = "parallel")]
        if let Some(scope) = self.scope {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.0.push_back(Box::new(work));
            if waiting.1 < self.threads {
                waiting.1 += 1;
                let (waiting, signal) = (Arc::clone(&self.waiting), StopSignal::current());
                scope.spawn(move |_| StopSignal::run(signal.as_ref(), || run_queued(&waiting)));
            }
            return;
        }
        work();
    }
}

#[cfg(feature = "parallel")]
fn run_queued(waiting: &TaskQueue<'_>) {
    loop {
        let work = {
            let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
            match waiting.0.pop_front() {
                Some(work) => work,
                None => {
                    waiting.1 -= 1;
                    return;
                }
            }
        };
        work();
    }
}

/// Whether the calling thread is a pool thread. It should not wait long: a task on another thread may wait
/// for the next task of this one.
pub fn is_pool_thread() -> bool {
    #[cfg(feature = "parallel")]
    return rayon_core::current_thread_index().is_some();
    #[cfg(not(feature = "parallel"))]
    false
}

/// Whether a second thread helps: this is not a pool thread, and there is more than one processor.
pub(crate) fn can_use_second_thread() -> bool {
    #[cfg(feature = "parallel")]
    return !is_pool_thread() && thread_count() > 1;
    #[cfg(not(feature = "parallel"))]
    false
}

/// Returns the number of processors of this process. The system is asked once, since that reads files.
pub fn cpu_count() -> usize {
    static SYSTEM: OnceLock<usize> = OnceLock::new();
    *SYSTEM.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Returns the number of threads that can run at once: those of the current pool, else the processors. It
/// creates no pool.
#[cfg(feature = "parallel")]
fn thread_count() -> usize {
    match rayon_core::current_thread_index() {
        Some(_) => rayon_core::current_num_threads(),
        None => cpu_count(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn all_work_is_done_by_at_most_the_requested_threads() {
        for threads in [0, 1, 2, 5] {
            let (done, at_once, most) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
            let work = || {
                most.fetch_max(at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                thread::yield_now();
                at_once.fetch_sub(1, Ordering::SeqCst);
                done.fetch_add(1, Ordering::SeqCst);
            };
            with_executor(threads, |hands| (0..300).for_each(|_| hands.run(work)));
            assert_eq!(done.into_inner(), 300);
            assert!(most.into_inner() <= threads.max(1));
        }
    }

    /// Work done on a pool thread must not wait for another thread of the pool. It would wait forever.
    #[test]
    #[cfg(feature = "parallel")]
    fn in_the_pool_work_is_done_at_once() {
        let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        pool.install(|| {
            with_executor(8, |hands| {
                let done = Arc::new(AtomicUsize::new(0));
                let count = Arc::clone(&done);
                hands.run(move || count.store(1, Ordering::SeqCst));
                assert_eq!(done.load(Ordering::SeqCst), 1);
            });
        });
    }

    #[test]
    fn the_caller_works_too() {
        type Way = fn(usize, &(dyn Fn() + Sync));
        let ways = [run_on_new_threads as Way, run_with_caller];
        for (threads, pull) in [0, 1, 2, 5].into_iter().flat_map(|threads| ways.map(|way| (threads, way))) {
            let (left, seen) = (AtomicUsize::new(1000), Mutex::new(HashSet::new()));
            pull(threads, &|| {
                seen.lock().unwrap().insert(thread::current().id());
                while left
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
                    .is_ok()
                {}
            });
            let seen = seen.into_inner().unwrap();
            assert_eq!(left.into_inner(), 0);
            assert!(seen.contains(&thread::current().id()) && seen.len() <= threads.max(1));
        }
    }
}
