//! The same work for many pieces, on the pool of threads: [`each`]; and their memory: [`stock_up`].

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use nczarr_dispatch::{OutBuf, PageRange, run_on_pool};

/// What `work` makes of each of `count` pieces, in order. A thread takes `step` of them at a time; fewer are not worth
/// a thread.
pub(crate) fn each<T: Send>(count: usize, step: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    if count <= step {
        return (0..count).map(work).collect();
    }
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(count.div_ceil(step))));
    run_on_pool(count.div_ceil(step), &|| {
        loop {
            let from = next.fetch_add(step, Ordering::Relaxed);
            if from >= count {
                return;
            }
            stock_up();
            let part: Vec<T> = (from..count.min(from + step)).map(&work).collect();
            done.lock().unwrap_or_else(PoisonError::into_inner).push((from, part));
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(from, _)| *from);
    let mut all = Vec::with_capacity(count);
    all.extend(done.into_iter().flat_map(|(_, part)| part));
    all
}

/// Has the allocator take memory for this thread from the system at once, and the system the pages of it.
///
/// glibc does that page by page, with a system call each, on any thread but the first; a larger piece that was given
/// back stays with the thread. And each page that is first touched without having been asked for is an interruption.
pub(crate) fn stock_up() {
    const BYTES: usize = 96 << 10;
    let mut memory = std::hint::black_box(Vec::<u8>::with_capacity(BYTES));
    // Without them all goes on as well.
    PageRange::pages_of(&OutBuf::new(memory.spare_capacity_mut())).populate_range(0, BYTES);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_once_and_in_order() {
        for (count, step) in [(0, 1), (1, 1), (7, 1), (64, 64), (65, 64), (639, 64)] {
            assert!(each(count, step, |i| i * 3).into_iter().eq((0..count).map(|i| i * 3)), "{count} by {step}");
        }
    }
}
