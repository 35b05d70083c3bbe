//! [`RenameLock`]: shared by any number of transfers, exclusive for a rename, and safe against a thread
//! waiting for itself.
//!
//! A thread that writes and waits for its pool may run another write, a redefinition or the end of a dataset.
//! So a thread must not wait for writers without limit: one of them may wait for this thread. An exclusive
//! caller blocks newcomers and gives up after a while. A newcomer waits only briefly if another write may
//! depend on it: on a pool thread, or inside a write. The holder of the exclusive lock must not wait for the
//! pool, since newcomers wait for it.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nczarr_model::{ErrorKind, Result};

/// The longest wait of a redefinition for writers, and of writers for a redefinition.
const PATIENCE: Duration = if cfg!(test) { Duration::from_millis(300) } else { Duration::from_secs(10) };

/// The longest wait of a writer that other threads may depend on.
const MOMENT: Duration = Duration::from_millis(100);

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_micros(100);

/// The exclusive lock is held.
const MOVING: usize = 1 << (usize::BITS - 1);

/// A thread waits for the exclusive lock.
const WAITING: usize = MOVING >> 1;

thread_local! {
    /// The number of shared locks that this thread holds, of all datasets.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// A lock for any number of writers, or one thread that moves stored data.
// The number of shared holders or [`MOVING`], and the flag [`WAITING`].
#[derive(Debug, Default)]
pub struct RenameLock(AtomicUsize);

/// A shared lock. It is released on the thread that took it.
#[derive(Debug)]
#[must_use]
pub struct SharedGuard<'g>(&'g RenameLock, PhantomData<*const ()>);

/// The exclusive lock.
#[derive(Debug)]
#[must_use]
pub struct ExclusiveGuard<'g>(&'g RenameLock);

impl RenameLock {
    /// Takes a shared lock.
    pub fn lock_shared(&self) -> SharedGuard<'_> {
        if !self.try_shared(MOVING | WAITING) {
            self.lock_shared_later();
        }
        DEPTH.set(DEPTH.get() + 1);
        SharedGuard(self, PhantomData)
    }

    #[cold]
    fn lock_shared_later(&self) {
        let patience = match DEPTH.get() {
            0 if crate::is_pool_thread() => MOMENT,
            0 => PATIENCE,
            _ => Duration::ZERO,
        };
        let mut start = None;
        while !self.try_shared(if has_elapsed(patience, &mut start) { MOVING } else { MOVING | WAITING }) {
            std::thread::sleep(PAUSE);
        }
    }

    /// Takes a shared lock unless one of the flags `bars` is set.
    fn try_shared(&self, bars: usize) -> bool {
        let more = |inside: usize| (inside & bars == 0).then(|| inside + 1);
        self.0.fetch_update(Ordering::Acquire, Ordering::Relaxed, more).is_ok()
    }

    /// Takes the exclusive lock.
    ///
    /// # Errors
    /// `NC_EINDEFINE` if the shared locks are held too long.
    pub fn lock_exclusive(&self) -> Result<ExclusiveGuard<'_>> {
        // A thread inside a write may have been entered by the work that it waits for.
        let patience = if DEPTH.get() == 0 { PATIENCE } else { MOMENT };
        self.exclusive_within(patience, WAITING).ok_or_else(|| {
            let what = "data are being read or written, so stored data cannot be moved; the definitions are unchanged";
            ErrorKind::InDefine.context(what)
        })
    }

    /// Takes the exclusive lock if the lock is free.
    pub fn try_exclusive(&self) -> Option<ExclusiveGuard<'_>> {
        self.exclusive_within(Duration::ZERO, 0)
    }

    /// Waits until no shared lock is held, while newcomers come and go. Returns `false` if a holder is this
    /// thread or may wait for it.
    pub fn wait_until_free(&self) -> bool {
        let patience = match DEPTH.get() {
            0 if crate::is_pool_thread() => PATIENCE,
            0 => Duration::MAX,
            _ => Duration::ZERO,
        };
        self.exclusive_within(patience, 0).is_some()
    }

    /// `sign`: [`WAITING`] to block newcomers.
    fn exclusive_within(&self, patience: Duration, sign: usize) -> Option<ExclusiveGuard<'_>> {
        let mut start = None;
        // Other waiting threads set the flag again.
        let nobody = |inside: usize| (inside & !WAITING == 0).then_some(MOVING);
        while self.0.fetch_update(Ordering::Acquire, Ordering::Relaxed, nobody).is_err() {
            if has_elapsed(patience, &mut start) {
                self.0.fetch_and(!sign, Ordering::Relaxed);
                return None;
            }
            self.0.fetch_or(sign, Ordering::Relaxed);
            std::thread::sleep(PAUSE);
        }
        Some(ExclusiveGuard(self))
    }
}

/// Whether `patience` has passed since the first call. Only waiting threads read the clock: some systems have
/// none, and these have no threads to wait for.
pub fn has_elapsed(patience: Duration, since: &mut Option<Instant>) -> bool {
    patience.is_zero() || since.get_or_insert_with(Instant::now).elapsed() >= patience
}

impl Drop for SharedGuard<'_> {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        self.0.0.fetch_sub(1, Ordering::Release);
    }
}

impl Drop for ExclusiveGuard<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_and(!MOVING, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn writers_and_movers_exclude_each_other() {
        let gate = RenameLock::default();
        let first = gate.lock_shared();
        let second = gate.lock_shared();
        assert!(gate.exclusive_within(Duration::ZERO, WAITING).is_none());
        assert!(!gate.wait_until_free(), "this thread is one of them");
        drop((first, second));
        let alone = gate.lock_exclusive().unwrap();
        assert!(gate.exclusive_within(Duration::ZERO, WAITING).is_none());
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| drop(gate.lock_shared()));
            drop(alone);
            writer.join().unwrap();
        });
        drop(gate.lock_exclusive().unwrap());
        assert!(gate.wait_until_free());
    }

    #[test]
    fn the_exclusive_lock_is_not_starved_by_writers() {
        const WRITERS: usize = 4;
        let (gate, stop, started) =
            (RenameLock::default(), AtomicBool::new(false), Barrier::new(WRITERS + 1));
        std::thread::scope(|scope| {
            for _ in 0..WRITERS {
                scope.spawn(|| {
                    let mut inside = gate.lock_shared();
                    started.wait();
                    while !stop.load(Ordering::Acquire) {
                        drop(inside);
                        inside = gate.lock_shared();
                        // Most of the time passes inside the lock, as in real writes.
                        (0..1000).for_each(|turn| _ = std::hint::black_box(turn));
                    }
                });
            }
            started.wait();
            for _ in 0..20 {
                drop(gate.lock_exclusive().unwrap());
            }
            stop.store(true, Ordering::Release);
        });
    }

    #[test]
    fn nested_shared_locks_do_not_deadlock() {
        let gate = RenameLock::default();
        let outer = gate.lock_shared();
        std::thread::scope(|scope| {
            let mover = scope.spawn(|| gate.lock_exclusive().is_ok());
            while gate.0.load(Ordering::Relaxed) & WAITING == 0 {
                std::hint::spin_loop();
            }
            drop(gate.lock_shared());
            drop(outer);
            assert!(mover.join().unwrap());
        });
        assert_eq!(gate.0.load(Ordering::Relaxed) & !WAITING, 0);
    }
}
