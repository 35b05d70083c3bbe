//! [`Prefault`]: populates pages of a large result shortly before they are written.
//!
//! Applies to large new results that several threads fill. If several threads fault on one huge page, each
//! zeroes a page, and the system discards all but one. So the threads divide the pages among themselves. For
//! remote maps, the pages are populated while requests are pending. Falls back to page faults if the system
//! lacks the operation.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use nczarr_runtime::{OutBuf, PageRange};

/// The smallest result, in bytes, with enough pages to divide.
const LEAST: usize = 4 << 20;

/// The step of population: one huge page.
const STEP: usize = 2 << 20;

/// The delay before pages are populated during requests. Populating blocks other allocations of the process,
/// and connections allocate memory when they start.
const HEAD_START: Duration = Duration::from_millis(6);

/// This number of threads saturates the memory bandwidth.
const ZEROING: usize = 4;

/// The pages of one result.
pub(crate) struct Prefault {
    pages: PageRange,
    /// The bytes that are populated or about to be.
    taken: AtomicUsize,
    /// Whether the system lacks the operation.
    unable: AtomicBool,
}

impl Prefault {
    /// Creates it for a new, large result; `None` otherwise.
    pub(crate) fn of(out: &OutBuf<'_>) -> Option<Self> {
        (out.is_fresh() && out.capacity() >= LEAST).then(|| Self::of_any(out))
    }

    /// Creates it for any result, whose pages may exist.
    pub(crate) fn of_any(out: &OutBuf<'_>) -> Self {
        Self {
            pages: PageRange::huge_pages_of(out),
            taken: AtomicUsize::new(0),
            unable: AtomicBool::new(false),
        }
    }

    /// Runs `work`, while up to `threads` other threads populate pages until `came` is set.
    pub(crate) fn ahead<R>(&self, threads: usize, came: &AtomicBool, work: impl FnOnce() -> R) -> R {
        thread::scope(|scope| {
            let prepare = || {
                thread::park_timeout(HEAD_START);
                while !came.load(Ordering::Relaxed) && self.step(self.pages.bytes()) {}
            };
            // If a thread cannot start, the others do its work.
            let preparing = (0..threads.min(ZEROING))
                .map_while(|_| thread::Builder::new().spawn_scoped(scope, prepare).ok());
            let preparing: Vec<_> = preparing.collect();
            let done = work();
            came.store(true, Ordering::Relaxed);
            preparing.iter().for_each(|preparing| preparing.thread().unpark());
            done
        })
    }

    /// Populates all pages before byte `end` of the result, and those of the next `threads` steps.
    pub(crate) fn reach(&self, end: usize, threads: usize) {
        let end = end.saturating_add(threads.saturating_mul(STEP)).min(self.pages.bytes());
        while self.step(end) {}
    }

    /// Populates the next pages before `end`. `false`: there are none.
    fn step(&self, end: usize) -> bool {
        if self.taken.load(Ordering::Relaxed) >= end || self.unable.load(Ordering::Relaxed) {
            return false;
        }
        let from = self.taken.fetch_add(STEP, Ordering::Relaxed);
        if !self.pages.populate_range(from, STEP) {
            self.unable.store(true, Ordering::Relaxed);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use nczarr_runtime::Buffer;

    use super::*;

    #[test]
    fn only_needed_pages_are_prefaulted() {
        let len = 7 * STEP + 5;
        let buffer = Buffer::<u8>::fill(len, |out| {
            let front = Prefault::of(out).unwrap();
            let taken = || front.taken.load(Ordering::Relaxed);
            front.reach(1, 1);
            let able = !front.unable.load(Ordering::Relaxed);
            // Some systems cannot prefault memory.
            assert!(!able || taken() == 2 * STEP);
            front.reach(STEP, 1);
            assert!(!able || taken() == 2 * STEP, "that was far enough");
            front.reach(STEP + 1, 2);
            assert!(!able || taken() == 4 * STEP);
            out.put(&vec![7; len])?;
            front.reach(usize::MAX, usize::MAX);
            assert!(!able || taken() >= front.pages.bytes());
            Ok(())
        });
        assert!(buffer.unwrap().iter().all(|&byte| byte == 7));
    }

    #[test]
    fn helpers_prefault_pages_until_the_work_ends() {
        let mut memory = vec![0u8; 9 * STEP];
        let out = OutBuf::from_slice(&mut memory);
        let (front, came) = (Prefault::of_any(&out), AtomicBool::new(false));
        let taken = || front.taken.load(Ordering::Relaxed);
        let done = front.ahead(3, &came, || {
            while taken() < front.pages.bytes() && !front.unable.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            5
        });
        assert!(done == 5 && came.load(Ordering::Relaxed));
        // The event has already come, so nothing is prefaulted.
        let front = Prefault::of_any(&out);
        front.ahead(3, &came, || ());
        assert_eq!(front.taken.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn memory_in_use_and_small_results_have_none() {
        assert!(Prefault::of(&OutBuf::from_slice(&mut vec![0; LEAST])).is_none());
        assert!(
            Buffer::<u8>::fill(100, |out| out.put(&[u8::from(Prefault::of(out).is_some()); 100])).unwrap()[0]
                == 0
        );
    }
}
