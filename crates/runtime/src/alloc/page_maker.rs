//! Prepares huge pages on another thread: clearing one takes 0.1 ms or more. A thread that keeps many small
//! results, or fills a cache, would wait for that with every sixteenth result of 128 KiB.
//!
//! Applies to threads outside the pool that take several huge pages and free none, if datasets may use more
//! than one thread. One page is prepared at a time; it counts as empty. Falls back to allocation on demand if
//! the thread cannot start. The thread waits briefly for the next request, then ends.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{EMPTY, HUGE_PAGE, HugePage, lock, populate};

/// The number of huge pages in use since one became empty that predicts another one.
const HABIT: usize = 1;

/// The number of huge pages taken into use since one became empty.
static BEGUN: AtomicUsize = AtomicUsize::new(0);

/// Whether a dataset may use threads.
static ALLOWED: AtomicBool = AtomicBool::new(false);

/// The time that the thread waits for a request: waking it takes a tenth of the time of a new thread.
const PATIENCE: Duration = Duration::from_millis(3);

/// The state of the thread.
static HELPER: Mutex<PageMaker> = Mutex::new(PageMaker::Gone);

/// Wakes the waiting thread.
static CALL: Condvar = Condvar::new();

/// The state of the thread that prepares huge pages.
#[derive(Clone, Copy)]
enum PageMaker {
    /// No thread.
    Gone,
    /// It waits for a request.
    Waits,
    /// It prepares a page for this pool.
    Called(usize),
}

fn helper() -> MutexGuard<'static, PageMaker> {
    HELPER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records that a dataset may use `threads` threads; 0: the number of processors.
pub fn allow(threads: usize) {
    if threads != 1 && !ALLOWED.load(Ordering::Relaxed) {
        ALLOWED.store(true, Ordering::Relaxed);
    }
}

/// Records that a huge page became empty.
pub(super) fn huge_page_freed() {
    BEGUN.store(0, Ordering::Relaxed);
}

/// Records the first allocation in a huge page, and requests another page if that is likely to be needed.
pub(super) fn huge_page_started(pool: usize) {
    let habit = BEGUN.fetch_add(1, Ordering::Relaxed) >= HABIT;
    if habit
        && ALLOWED.load(Ordering::Relaxed)
        && EMPTY.load(Ordering::Relaxed) == 0
        && crate::pool::can_use_second_thread()
    {
        request_huge_page(pool);
    }
}

/// Requests a huge page for a pool, unless one is being prepared.
fn request_huge_page(pool: usize) {
    let mut helper = helper();
    let there = match *helper {
        PageMaker::Called(_) => return,
        PageMaker::Waits => true,
        PageMaker::Gone => false,
    };
    *helper = PageMaker::Called(pool);
    drop(helper);
    if there {
        CALL.notify_one();
    } else if std::thread::Builder::new().spawn(help).is_err() {
        *self::helper() = PageMaker::Gone;
    }
}

/// Prepares huge pages while there are requests.
fn help() {
    loop {
        let PageMaker::Called(pool) = *helper() else { return };
        if let Some(slab) = HugePage::new()
            && populate(slab.start.addr().get(), HUGE_PAGE)
        {
            add(pool, slab);
        }
        let mut helper = helper();
        *helper = PageMaker::Waits;
        let waited = CALL.wait_timeout_while(helper, PATIENCE, |helper| matches!(helper, PageMaker::Waits));
        let (mut helper, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if matches!(*helper, PageMaker::Waits) {
            // No more requests: the next one starts a new thread.
            *helper = PageMaker::Gone;
            return;
        }
    }
}

/// Adds an empty huge page to a pool, unless there is an empty one.
fn add(pool: usize, slab: HugePage) {
    let mut slabs = lock(pool);
    if EMPTY.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        // Pages in use come last, so they are used first.
        slabs.insert(0, slab);
    } else {
        drop(slabs);
        // The system takes its time.
        drop(slab);
    }
}
