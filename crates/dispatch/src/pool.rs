//! [`pull_parallel`]: where the threads of a batch come from.
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
