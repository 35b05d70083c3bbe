//! Slabs made before they are needed: a huge page takes a tenth of a millisecond and more to be cleared, and who keeps many small
//! results, or fills a cache, would wait for that with every sixteenth result of 128 KiB.
//!
//! Only for who takes one slab after another and gives none back, outside the pool (whose threads have work enough), where
//! more than one thread may be used at all. There is one such slab at a time, and it counts as an empty one. The thread
//! that makes it is its own: nobody waits for it, and where there is none to be had nothing is lost.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::{EMPTY, HUGE_PAGE, Slab, lock, populate};

/// Slabs begun since one became empty, before the one that is begun now, which make another one likely.
const HABIT: usize = 1;

/// Slabs that were begun since one became empty.
static BEGUN: AtomicUsize = AtomicUsize::new(0);

/// Whether some dataset may use threads.
static ALLOWED: AtomicBool = AtomicBool::new(false);

/// Whether one is being made.
static BUSY: AtomicBool = AtomicBool::new(false);

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

/// Makes a slab, and has a thread ask for its pages and add it to the pool.
fn have_made(pool: usize) {
    if BUSY.swap(true, Ordering::Acquire) {
        return;
    }
    let made = Slab::new().is_some_and(|slab| {
        let clear = move || {
            if populate(slab.start.addr().get(), HUGE_PAGE) {
                add(pool, slab);
            }
            BUSY.store(false, Ordering::Release);
        };
        std::thread::Builder::new().spawn(clear).is_ok()
    });
    if !made {
        BUSY.store(false, Ordering::Release);
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
