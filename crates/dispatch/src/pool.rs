//! [`pull_parallel`], [`pull_along`], [`pull_beside`], [`pull_apart`] and [`hand_over`]: where the threads of a batch come from; and
//! [`drop_apart`].
//!
//! The pool is rayon's current one, entered here and nowhere else. A worker that waits may run another task:
//! no lock and no borrow of thread-local state may be held by `work` across a call that can end up here.

#[cfg(feature = "parallel")]
mod beside;

#[cfg(feature = "parallel")]
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::OnceLock;
#[cfg(feature = "parallel")]
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(feature = "parallel")]
use std::sync::{Arc, Mutex, PoisonError};

/// Runs `work` on up to `threads` threads at once and returns when all of them are done.
///
/// `work` is to take pieces from a shared job until there are none. With one thread, or without the feature
/// `parallel`, it runs on the calling thread; with two as in [`pull_beside`]; with more the caller only waits, since one more
/// thread than there are processors would bring one more cold scratch.
pub fn pull_parallel(threads: usize, work: &(dyn Fn() + Sync)) {
    #[cfg(feature = "parallel")]
    if threads > 1 {
        if threads == 2 && can_help() && beside::pull(work) {
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

/// Runs `work` on the calling thread and on up to `threads` - 1 of the pool; returns when all of them are done.
///
/// As [`pull_parallel`], for work so short that waking threads counts, or whose data the caller has at hand.
pub fn pull_along(threads: usize, work: &(dyn Fn() + Sync)) {
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

/// Runs `work` on the calling thread and on one that is kept for this and runs on another processor; returns when both are done.
///
/// As [`pull_along`] with two threads, which it is where that one is not to be had: one caller at a time has it, none that
/// belongs to a pool, and none whose only processor it would share. For work of a millisecond or less that waits for nobody.
pub fn pull_beside(work: &(dyn Fn() + Sync)) {
    #[cfg(feature = "parallel")]
    if can_help() && beside::pull(work) {
        return;
    }
    pull_along(2, work);
}

/// Runs `work` on the calling thread and on up to `threads` - 1 threads made for it; returns when all of them are done.
///
/// For work that is done while a lock is held: it never waits for the pool, whose threads may be waiting for that lock, and
/// no other task runs on the caller's thread meanwhile. Making a thread costs some ten microseconds. Without the feature
/// `parallel`, all is done by the calling thread.
pub fn pull_apart(threads: usize, work: &(dyn Fn() + Sync)) {
    #[cfg(feature = "parallel")]
    if threads > 1 {
        std::thread::scope(|scope| {
            for _ in 1..threads.min(workers()) {
                // A thread that cannot be had leaves more for the others.
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        return;
    }
    let _ = threads;
    work();
}

/// Gives back the memory of `what` on a thread made for it, which the caller does not wait for.
///
/// For what consists of very many pieces and does nothing when it goes but give back memory. One thread does so at a time:
/// what comes meanwhile is dropped by who calls, as is everything where there is no processor for another thread, where the
/// caller belongs to a pool, and without the feature `parallel`.
pub fn drop_apart(what: impl Send + 'static) {
    #[cfg(feature = "parallel")]
    if can_help() {
        static BUSY: AtomicBool = AtomicBool::new(false);
        if !BUSY.swap(true, Ordering::Acquire) {
            let work = move || {
                drop(what);
                BUSY.store(false, Ordering::Release);
            };
            // Without a thread the work is dropped here, and what it holds with it.
            if std::thread::Builder::new().spawn(work).is_err() {
                BUSY.store(false, Ordering::Release);
            }
            return;
        }
    }
    drop(what);
}

/// Runs `serve` on the calling thread, with [`Hands`] to give work to; returns when `serve` is done and all of that work is.
///
/// For who waits for something else, a network say, and wants done by others what comes of it. At most `threads` of the
/// pool work at once. With one thread, in the pool itself, whose threads may all be waiting so, or without the feature
/// `parallel`, work is done where it is given.
pub fn hand_over<'s, R>(threads: usize, serve: impl FnOnce(&Hands<'_, 's>) -> R) -> R {
    #[cfg(feature = "parallel")]
    if threads > 1 && !is_pooled() {
        return rayon::in_place_scope(|scope| {
            serve(&Hands { scope: Some(scope), threads, waiting: Arc::default(), work: PhantomData })
        });
    }
    let _ = threads;
    serve(&Hands {
        #[cfg(feature = "parallel")]
        scope: None,
        #[cfg(feature = "parallel")]
        threads: 1,
        #[cfg(feature = "parallel")]
        waiting: Arc::default(),
        work: PhantomData,
    })
}

/// Something to do once.
type Work<'s> = Box<dyn FnOnce() + Send + 's>;

/// Work that nobody has begun, and how many are at it.
#[cfg(feature = "parallel")]
type Waiting<'s> = Mutex<(VecDeque<Work<'s>>, usize)>;

/// Who takes work in [`hand_over`].
pub struct Hands<'a, 's> {
    #[cfg(feature = "parallel")]
    scope: Option<&'a rayon::Scope<'s>>,
    #[cfg(feature = "parallel")]
    threads: usize,
    #[cfg(feature = "parallel")]
    waiting: Arc<Waiting<'s>>,
    work: PhantomData<(&'a (), Work<'s>)>,
}

impl<'s> Hands<'_, 's> {
    /// Has `work` done, some time before [`hand_over`] returns.
    pub fn run(&self, work: impl FnOnce() + Send + 's) {
        #[cfg(feature = "parallel")]
        if let Some(scope) = self.scope {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.0.push_back(Box::new(work));
            if waiting.1 < self.threads {
                waiting.1 += 1;
                let waiting = Arc::clone(&self.waiting);
                scope.spawn(move |_| work_off(&waiting));
            }
            return;
        }
        work();
    }
}

#[cfg(feature = "parallel")]
fn work_off(waiting: &Waiting<'_>) {
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

/// Whether the calling thread belongs to a pool: another task, begun on any thread, may be waiting for one that comes after
/// this, so it should not wait for others long.
pub fn is_pooled() -> bool {
    #[cfg(feature = "parallel")]
    return rayon::current_thread_index().is_some();
    #[cfg(not(feature = "parallel"))]
    false
}

/// Whether a thread beside this one can do what it would do later: this is none of the pool, whose others are busy as well,
/// and there is a processor for it.
pub(crate) fn can_help() -> bool {
    #[cfg(feature = "parallel")]
    return !is_pooled() && workers() > 1;
    #[cfg(not(feature = "parallel"))]
    false
}

/// Processors this process may use. Asking the system reads files: it is done once.
pub fn processors() -> usize {
    static SYSTEM: OnceLock<usize> = OnceLock::new();
    *SYSTEM.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Threads that can work at once: those of the pool this is in, else the machine's. Asking does not make a pool.
#[cfg(feature = "parallel")]
fn workers() -> usize {
    match rayon::current_thread_index() {
        Some(_) => rayon::current_num_threads(),
        None => processors(),
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
            hand_over(threads, |hands| (0..300).for_each(|_| hands.run(work)));
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
            hand_over(8, |hands| {
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
        if !can_help() {
            go.send(()).unwrap();
        }
        drop_apart(first);
        if can_help() {
            // The second is not left to a thread: it is gone when this returns, before the first may be.
            drop_apart(Slow(say.clone(), at_once, "second"));
            assert_eq!(heard.try_recv(), Ok("second"));
            go.send(()).unwrap();
        }
        assert_eq!(heard.recv(), Ok("first"));
    }

    #[test]
    fn who_waits_works_too() {
        type Way = fn(usize, &(dyn Fn() + Sync));
        let beside: Way = |threads, work| if threads < 2 { work() } else { pull_beside(work) };
        let ways = [pull_apart as Way, pull_along, beside];
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
