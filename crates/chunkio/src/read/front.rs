//! [`Front`]: pages of a large result, asked for shortly before they are written.
//!
//! Fresh memory has to be zeroed by the system. Where chunks are smaller than a huge page, or rows of several lie in one, the
//! threads that read them come to the same page at once; each of them zeroes one then, and all but one are thrown away.
//! So threads divide the pages among themselves, before the chunks that need them; and where chunks come from far away,
//! while nothing of them came.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use nczarr_dispatch::{OutBuf, PageRange};

/// Results of less have too few pages to divide.
const LEAST: usize = 4 << 20;

/// Asked for at once: a huge page.
const STEP: usize = 2 << 20;

/// For so long requests go out before pages are asked for while they are under way: meanwhile nobody in the process gets
/// other memory of the system, and connections need some.
const HEAD_START: Duration = Duration::from_millis(6);

/// So many threads zero memory about as fast as it goes.
const ZEROING: usize = 4;

/// The pages of one result.
pub(super) struct Front {
    pages: PageRange,
    /// Bytes that somebody has asked for, or is about to.
    taken: AtomicUsize,
    /// The system does not do that.
    unable: AtomicBool,
}

impl Front {
    /// Of a result that is written for the first time; `None` if it is not, or is small.
    pub(super) fn of(out: &OutBuf<'_>) -> Option<Self> {
        (out.is_fresh() && out.capacity() >= LEAST).then(|| Self::of_any(out))
    }

    /// Of any result, which may be there already.
    pub(super) fn of_any(out: &OutBuf<'_>) -> Self {
        Self { pages: PageRange::huge_pages_of(out), taken: AtomicUsize::new(0), unable: AtomicBool::new(false) }
    }

    /// Runs `work`, and has other threads ask for pages meanwhile, at most so many, until something `came`.
    pub(super) fn ahead<R>(&self, threads: usize, came: &AtomicBool, work: impl FnOnce() -> R) -> R {
        thread::scope(|scope| {
            let prepare = || {
                thread::park_timeout(HEAD_START);
                while !came.load(Ordering::Relaxed) && self.step(self.pages.bytes()) {}
            };
            // A thread that cannot be had leaves more for the others.
            let preparing =
                (0..threads.min(ZEROING)).map_while(|_| thread::Builder::new().spawn_scoped(scope, prepare).ok());
            let preparing: Vec<_> = preparing.collect();
            let done = work();
            came.store(true, Ordering::Relaxed);
            preparing.iter().for_each(|preparing| preparing.thread().unpark());
            done
        })
    }

    /// Sees that all pages before byte `end` of the result, and those of the next `threads` steps, are there or about to be.
    pub(super) fn reach(&self, end: usize, threads: usize) {
        let end = end.saturating_add(threads.saturating_mul(STEP)).min(self.pages.bytes());
        while self.step(end) {}
    }

    /// Asks for the next pages, if there are some before `end` that nobody asked for. `false`: there are none.
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
    use nczarr_dispatch::Buffer;

    use super::*;

    #[test]
    fn pages_are_taken_as_far_as_they_are_needed() {
        let len = 7 * STEP + 5;
        let buffer = Buffer::<u8>::fill(len, |out| {
            let front = Front::of(out).unwrap();
            let taken = || front.taken.load(Ordering::Relaxed);
            front.reach(1, 1);
            let able = !front.unable.load(Ordering::Relaxed);
            // Not every system is.
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
    fn others_ask_for_pages_until_something_comes() {
        let mut memory = vec![0u8; 9 * STEP];
        let out = OutBuf::from_slice(&mut memory);
        let (front, came) = (Front::of_any(&out), AtomicBool::new(false));
        let taken = || front.taken.load(Ordering::Relaxed);
        let done = front.ahead(3, &came, || {
            while taken() < front.pages.bytes() && !front.unable.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            5
        });
        assert!(done == 5 && came.load(Ordering::Relaxed));
        // What came stops them.
        let front = Front::of_any(&out);
        front.ahead(3, &came, || ());
        assert_eq!(front.taken.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn memory_in_use_and_small_results_have_none() {
        assert!(Front::of(&OutBuf::from_slice(&mut vec![0; LEAST])).is_none());
        assert!(Buffer::<u8>::fill(100, |out| out.put(&[u8::from(Front::of(out).is_some()); 100])).unwrap()[0] == 0);
    }
}
