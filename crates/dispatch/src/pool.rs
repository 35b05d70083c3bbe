//! Ways to run the work of a batch on several threads: [`run_on_pool`], [`run_with_caller`],
//! [`run_with_helper`], [`run_on_new_threads`] and [`with_executor`]; also [`drop_in_background`].
//!
//! The pool is rayon's current one; only this module enters it. A worker that waits may run another task. So
//! `work` holds no lock and no borrow of thread-local state across a call that may enter the pool.

#[cfg(feature = "parallel")]
mod helper;

#[cfg(feature = "parallel")]
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::OnceLock;
#[cfg(feature = "parallel")]
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(feature = "parallel")]
use std::sync::{Arc, Mutex, PoisonError};

/// Runs `work` on up to `threads` pool threads and returns when all are done.
///
/// `work` takes parts of a shared job until none is left. With one thread, or without the feature `parallel`,
/// it runs on the calling thread. With two it runs as in [`run_with_helper`]. With more the caller only
/// waits, since a thread beyond the number of processors would add one more set of cold buffers.
pub fn run_on_pool(threads: usize, work: &(dyn Fn() + Sync)) {
    #[cfg(feature = "parallel")]
    if threads > 1 {
        if threads == 2 && can_use_second_thread() && helper::try_run(work) {
            return;
        }
        rayon::scope(|scope| {
            for _ in 0..threads.min(rayon::current_num_threads()) {
                scope.spawn(|_| work());
            }
        });
        return;
    }
    let _ = threads;
    work();
}

/// Runs `work` on the calling thread and on up to `threads` - 1 pool threads; returns when all are done.
///
/// As [`run_on_pool`], for short work where waking threads matters, or where the caller's cache holds the
/// data.
pub fn run_with_caller(threads: usize, work: &(dyn Fn() + Sync)) {
    #[cfg(feature = "parallel")]
    if threads > 1 {
        rayon::in_place_scope(|scope| {
            for _ in 1..threads.min(rayon::current_num_threads()) {
                scope.spawn(|_| work());
            }
            work();
        });
        return;
    }
    let _ = threads;
    work();
}

/// Runs `work` on the calling thread and on a helper thread on another processor; returns when both are done.
///
/// Falls back to `run_with_caller(2)` if the helper is busy, the caller is a pool thread, or only one
/// processor is available. For work of a millisecond or less that waits for no other thread.
pub fn run_with_helper(work: &(dyn Fn() + Sync)) {
    #[cfg(feature = "parallel")]
    if can_use_second_thread() && helper::try_run(work) {
        return;
    }
    run_with_caller(2, work);
}

/// Runs `work` on the calling thread and on up to `threads` - 1 new threads; returns when all are done.
///
/// For work under a lock: it never waits for pool threads, which may wait for that lock, and the calling
/// thread runs no other task meanwhile. A new thread costs about ten microseconds. Without the feature
/// `parallel`, the calling thread does all work.
pub fn run_on_new_threads(threads: usize, work: &(dyn Fn() + Sync)) {
    #[cfg(feature = "parallel")]
    if threads > 1 {
        std::thread::scope(|scope| {
            for _ in 1..threads.min(thread_count()) {
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

/// Frees `what` on a new thread that the caller does not wait for.
///
/// For values of very many allocations, whose destructors only free memory. One thread runs at a time. The
/// caller frees the value itself if that thread is busy, if there is only one processor, on a pool thread,
/// and without the feature `parallel`.
pub fn drop_in_background(what: impl Send + 'static) {
    #[cfg(feature = "parallel")]
    if can_use_second_thread() {
        static BUSY: AtomicBool = AtomicBool::new(false);
        if !BUSY.swap(true, Ordering::Acquire) {
            let work = move || {
                drop(what);
                BUSY.store(false, Ordering::Release);
            };
            // If no thread starts, the closure is dropped here, and the value with it.
            if std::thread::Builder::new().spawn(work).is_err() {
                BUSY.store(false, Ordering::Release);
            }
            return;
        }
    }
    drop(what);
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
        return rayon::in_place_scope(|scope| {
            serve(&Executor { scope: Some(scope), threads, waiting: Arc::default(), work: PhantomData })
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
    scope: Option<&'a rayon::Scope<'s>>,
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
                let waiting = Arc::clone(&self.waiting);
                scope.spawn(move |_| run_queued(&waiting));
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
    return rayon::current_thread_index().is_some();
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
    match rayon::current_thread_index() {
        Some(_) => rayon::current_num_threads(),
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
    fn handed_work_is_all_done_and_by_no_more_than_asked_for() {
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

    /// One that waits in the pool for what only the pool can do would wait for ever.
    #[test]
    #[cfg(feature = "parallel")]
    fn in_the_pool_work_is_done_at_once() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        pool.install(|| {
            with_executor(8, |hands| {
                let done = Arc::new(AtomicUsize::new(0));
                let count = Arc::clone(&done);
                hands.run(move || count.store(1, Ordering::SeqCst));
                assert_eq!(done.load(Ordering::SeqCst), 1);
            });
        });
    }

    /// Tells when it goes, and then waits until it may.
    struct Slow(std::sync::mpsc::Sender<&'static str>, std::sync::mpsc::Receiver<()>, &'static str);

    impl Drop for Slow {
        fn drop(&mut self) {
            let _ = self.1.recv();
            let _ = self.0.send(self.2);
        }
    }

    #[test]
    fn what_is_dropped_apart_goes_and_one_at_a_time() {
        let (say, heard) = std::sync::mpsc::channel();
        let (go, wait) = std::sync::mpsc::channel();
        let (gone, at_once) = std::sync::mpsc::channel();
        drop(gone);
        let first = Slow(say.clone(), wait, "first");
        if !can_use_second_thread() {
            go.send(()).unwrap();
        }
        drop_in_background(first);
        if can_use_second_thread() {
            // The second is not left to a thread: it is gone when this returns, before the first may be.
            drop_in_background(Slow(say.clone(), at_once, "second"));
            assert_eq!(heard.try_recv(), Ok("second"));
            go.send(()).unwrap();
        }
        assert_eq!(heard.recv(), Ok("first"));
    }

    #[test]
    fn who_waits_works_too() {
        type Way = fn(usize, &(dyn Fn() + Sync));
        let beside: Way = |threads, work| if threads < 2 { work() } else { run_with_helper(work) };
        let ways = [run_on_new_threads as Way, run_with_caller, beside];
        for (threads, pull) in [0, 1, 2, 5].into_iter().flat_map(|threads| ways.map(|way| (threads, way))) {
            let (left, seen) = (AtomicUsize::new(1000), Mutex::new(HashSet::new()));
            pull(threads, &|| {
                seen.lock().unwrap().insert(thread::current().id());
                while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {}
            });
            let seen = seen.into_inner().unwrap();
            assert_eq!(left.into_inner(), 0);
            assert!(seen.contains(&thread::current().id()) && seen.len() <= threads.max(1));
        }
    }
}
