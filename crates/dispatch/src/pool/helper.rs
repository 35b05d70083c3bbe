//! A helper thread on another processor, for [`super::run_with_helper`].
//!
//! Applies to work of about half a millisecond in the system, such as creating many small files. Such work
//! gains from a second thread only if that thread starts at once on another processor. Some schedulers leave
//! a woken thread on its waker's processor for longer than the work takes. So on Linux the helper's affinity
//! excludes the caller's processor. Falls back to the pool if the helper is busy.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// A pool of one thread, and that thread.
struct HelperThread {
    pool: ThreadPool,
    thread: place::Thread,
}

/// The helper, created on first use; `None` if the thread could not start.
static HELPER: OnceLock<Option<HelperThread>> = OnceLock::new();

/// Whether the helper is in use.
static BUSY: AtomicBool = AtomicBool::new(false);

/// Exclusive use of the helper.
struct HelperGuard(&'static HelperThread);

impl HelperGuard {
    /// Takes the helper if it is free and can run on another processor.
    fn try_now() -> Option<Self> {
        if BUSY.swap(true, Ordering::Acquire) {
            return None;
        }
        let helper = HELPER.get_or_init(HelperThread::new).as_ref().filter(|helper| helper.thread.is_elsewhere());
        if helper.is_none() {
            BUSY.store(false, Ordering::Release);
        }
        helper.map(Self)
    }
}

impl Drop for HelperGuard {
    fn drop(&mut self) {
        BUSY.store(false, Ordering::Release);
    }
}

impl HelperThread {
    fn new() -> Option<Self> {
        let pool = ThreadPoolBuilder::new().num_threads(1).thread_name(|_| "nczarr-beside".into()).build().ok()?;
        let thread = pool.install(place::Thread::this);
        Some(Self { pool, thread })
    }
}

/// Runs `work` on the calling thread and on the helper. `false`: the helper is not available and nothing ran.
pub(super) fn try_run(work: &(dyn Fn() + Sync)) -> bool {
    // A pool of one thread asks for no second thread.
    if rayon::current_num_threads() < 2 {
        return false;
    }
    let Some(called) = HelperGuard::try_now() else { return false };
    called.0.pool.in_place_scope(|scope| {
        scope.spawn(|_| work());
        work();
    });
    true
}

/// Sets the processors of a thread.
#[cfg(all(target_os = "linux", not(miri)))]
mod place {
    use std::sync::{Mutex, PoisonError};

    use rustix::thread::{CpuSet, Pid, gettid, sched_getaffinity, sched_getcpu, sched_setaffinity};

    /// A thread, and its current processors.
    pub(super) struct Thread(Pid, Mutex<Option<CpuSet>>);

    impl Thread {
        /// The calling thread.
        pub(super) fn this() -> Self {
            Self(gettid(), Mutex::new(None))
        }

        /// Moves the thread to all processors of the caller except its current one. Returns whether there are
        /// any.
        pub(super) fn is_elsewhere(&self) -> bool {
            let Ok(mut others) = sched_getaffinity(None) else { return false };
            others.unset(sched_getcpu());
            let mut given = self.1.lock().unwrap_or_else(PoisonError::into_inner);
            if given.as_ref() == Some(&others) {
                return true;
            }
            let able = others.count() > 0 && sched_setaffinity(Some(self.0), &others).is_ok();
            *given = able.then_some(others);
            able
        }
    }
}

/// For systems where the scheduler decides.
#[cfg(not(all(target_os = "linux", not(miri))))]
mod place {
    pub(super) struct Thread;

    impl Thread {
        pub(super) fn this() -> Self {
            Self
        }

        pub(super) fn is_elsewhere(&self) -> bool {
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// Has both threads do something, once another test is done with the helper.
    fn pull_once(work: &(dyn Fn() + Sync)) {
        let mut tries = 0..50_000_000;
        while !try_run(work) {
            assert!(tries.next().is_some(), "the helper never came back");
            std::thread::yield_now();
        }
    }

    #[test]
    fn both_work_and_nobody_else_has_the_helper_meanwhile() {
        if rayon::current_num_threads() < 2 {
            return;
        }
        let (calls, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
        pull_once(&|| {
            calls.fetch_add(1, Ordering::SeqCst);
            let taken = try_run(&|| panic!("this is not to be run"));
            refused.fetch_add(usize::from(!taken), Ordering::SeqCst);
        });
        assert_eq!((calls.into_inner(), refused.into_inner()), (2, 2));
    }

    #[test]
    fn who_panics_gives_the_helper_back() {
        if rayon::current_num_threads() < 2 {
            return;
        }
        for here in [true, false] {
            let caller = std::thread::current().id();
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                pull_once(&|| assert!((std::thread::current().id() == caller) != here, "on purpose"));
            }));
            assert!(panicked.is_err());
            pull_once(&|| ());
        }
    }

    /// The processors of the helper are those of its caller but one.
    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn the_helper_is_elsewhere() {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

        let mine = sched_getaffinity(None).unwrap();
        let mut one = CpuSet::new();
        one.set((0..CpuSet::MAX_CPU).find(|&at| mine.is_set(at)).unwrap());
        // Threads of tests are not used again.
        sched_setaffinity(None, &one).unwrap();
        assert!(!try_run(&|| panic!("there is no other processor")));
        sched_setaffinity(None, &mine).unwrap();
        if mine.count() < 2 {
            return;
        }
        let caller = std::thread::current().id();
        let given = std::sync::Mutex::new(None);
        pull_once(&|| {
            if std::thread::current().id() != caller {
                *given.lock().unwrap() = sched_getaffinity(None).ok();
            }
        });
        let given = given.into_inner().unwrap().unwrap();
        assert_eq!(given.count() + 1, mine.count());
        assert!((0..CpuSet::MAX_CPU).all(|at| mine.is_set(at) || !given.is_set(at)));
    }
}
