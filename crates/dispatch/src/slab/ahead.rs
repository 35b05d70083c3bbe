//! Slabs made before they are needed: a huge page takes a tenth of a millisecond and more to be cleared, and who keeps many small
//! results, or fills a cache, would wait for that with every sixteenth result of 128 KiB.
//!
//! Only for who takes one slab after another and gives none back, outside the pool (whose threads have work enough), where
//! more than one thread may be used at all. There is one such slab at a time, and it counts as an empty one. The thread
//! that makes it is its own, and stays for a moment: nobody waits for it, and where there is none to be had nothing is lost.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{EMPTY, HUGE_PAGE, Slab, lock, populate};

/// Slabs begun since one became empty, before the one that is begun now, which make another one likely.
const HABIT: usize = 1;

/// Slabs that were begun since one became empty.
static BEGUN: AtomicUsize = AtomicUsize::new(0);

/// Whether some dataset may use threads.
static ALLOWED: AtomicBool = AtomicBool::new(false);

/// So long the thread stays when it has made a slab: one that is there is called in a tenth of the time that a new one takes.
const PATIENCE: Duration = Duration::from_millis(3);

/// The thread that makes slabs.
static HELPER: Mutex<Helper> = Mutex::new(Helper::Gone);

/// Somebody calls the thread that waits.
static CALL: Condvar = Condvar::new();

/// What the thread does that makes slabs.
#[derive(Clone, Copy)]
enum Helper {
    /// There is none.
    Gone,
    /// It waits for a call.
    Waits,
    /// It makes one for this pool, or is about to.
    Called(usize),
}

fn helper() -> MutexGuard<'static, Helper> {
    HELPER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Somebody may use as many threads as `threads` says, 0 for as many as there are processors.
pub(crate) fn allow(threads: usize) {
    if threads != 1 && !ALLOWED.load(Ordering::Relaxed) {
        ALLOWED.store(true, Ordering::Relaxed);
    }
}

/// A slab became empty.
pub(super) fn ended() {
    BEGUN.store(0, Ordering::Relaxed);
}

/// The first piece was cut from a slab. Has the next one made, if it looks as if that will be needed.
pub(super) fn begun(pool: usize) {
    let habit = BEGUN.fetch_add(1, Ordering::Relaxed) >= HABIT;
    if habit && ALLOWED.load(Ordering::Relaxed) && EMPTY.load(Ordering::Relaxed) == 0 && crate::pool::can_help() {
        have_made(pool);
    }
}

/// Has the helper make a slab for a pool, unless it is at one.
fn have_made(pool: usize) {
    let mut helper = helper();
    let there = match *helper {
        Helper::Called(_) => return,
        Helper::Waits => true,
        Helper::Gone => false,
    };
    *helper = Helper::Called(pool);
    drop(helper);
    if there {
        CALL.notify_one();
    } else if std::thread::Builder::new().spawn(help).is_err() {
        *self::helper() = Helper::Gone;
    }
}

/// Makes slabs as long as there is a call for one.
fn help() {
    loop {
        let Helper::Called(pool) = *helper() else { return };
        if let Some(slab) = Slab::new()
            && populate(slab.start.addr().get(), HUGE_PAGE)
        {
            add(pool, slab);
        }
        let mut helper = helper();
        *helper = Helper::Waits;
        let waited = CALL.wait_timeout_while(helper, PATIENCE, |helper| matches!(helper, Helper::Waits));
        let (mut helper, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if matches!(*helper, Helper::Waits) {
            // Nobody calls any more. Another thread is made for who does from now on, so this one looks no further.
            *helper = Helper::Gone;
            return;
        }
    }
}

/// Adds an empty slab to a pool, unless there is another one by now.
fn add(pool: usize, slab: Slab) {
    let mut slabs = lock(pool);
    if EMPTY.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        // Slabs that were begun come first.
        slabs.insert(0, slab);
    } else {
        drop(slabs);
        // The system takes its time.
        drop(slab);
    }
}
