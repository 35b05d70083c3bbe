//! [`pull_parallel`] and [`pull_apart`]: where the threads of a batch come from.
//!
//! The pool is rayon's current one, entered here and nowhere else. A worker that waits may run another task:
//! no lock and no borrow of thread-local state may be held by `work` across a call that can end up here.

/// Runs `work` on up to `threads` threads at once and returns when all of them are done.
///
/// `work` is to take pieces from a shared job until there are none. With one thread, or without the feature
/// `parallel`, it runs on the calling thread; otherwise the caller only waits, since one more thread than
/// there are processors would bring one more cold scratch.
pub fn pull_parallel(threads: usize, work: &(dyn Fn() + Sync)) {
    #[cfg(feature = "parallel")]
    if threads > 1 {
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

/// Runs `work` on the calling thread and on up to `threads` - 1 threads made for it; returns when all of them are done.
///
/// For work that is done while a lock is held: it never waits for the pool, whose threads may be waiting for that lock, and
/// no other task runs on the caller's thread meanwhile. Making a thread costs some ten microseconds. Without the feature
/// `parallel`, all is done by the calling thread.
pub fn pull_apart(threads: usize, work: &(dyn Fn() + Sync)) {
    #[cfg(feature = "parallel")]
    if threads > 1 {
        std::thread::scope(|scope| {
            for _ in 1..threads.min(processors()) {
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

/// Whether the calling thread belongs to a pool: another task, begun on any thread, may be waiting for one that comes after
/// this, so it should not wait for others long.
pub fn is_pooled() -> bool {
    #[cfg(feature = "parallel")]
    return rayon::current_thread_index().is_some();
    #[cfg(not(feature = "parallel"))]
    false
}

/// Threads that can work at once: those of the pool this is in, else the machine's. Asking does not make a pool.
#[cfg(feature = "parallel")]
fn processors() -> usize {
    // Asking the system reads files: once per process.
    static SYSTEM: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    match rayon::current_thread_index() {
        Some(_) => rayon::current_num_threads(),
        None => *SYSTEM.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from)),
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
    fn who_waits_works_too() {
        for threads in [0, 1, 2, 5] {
            let (left, seen) = (AtomicUsize::new(1000), Mutex::new(HashSet::new()));
            pull_apart(threads, &|| {
                seen.lock().unwrap().insert(thread::current().id());
                while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {}
            });
            let seen = seen.into_inner().unwrap();
            assert_eq!(left.into_inner(), 0);
            assert!(seen.contains(&thread::current().id()) && seen.len() <= threads.max(1));
        }
    }
}
