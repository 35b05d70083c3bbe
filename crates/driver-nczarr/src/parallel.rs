//! The same work for many pieces, on the pool of threads: [`each`].

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use dispatch::pull_parallel;

/// A thread takes this many pieces at a time; fewer are not worth a thread.
const STEP: usize = 64;

/// What `work` makes of each of `count` pieces, in order.
pub(crate) fn each<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    if count <= STEP {
        return (0..count).map(work).collect();
    }
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(count.div_ceil(STEP))));
    pull_parallel(count.div_ceil(STEP), &|| {
        loop {
            let from = next.fetch_add(STEP, Ordering::Relaxed);
            if from >= count {
                return;
            }
            let part: Vec<T> = (from..count.min(from + STEP)).map(&work).collect();
            done.lock().unwrap_or_else(PoisonError::into_inner).push((from, part));
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(from, _)| *from);
    let mut all = Vec::with_capacity(count);
    all.extend(done.into_iter().flat_map(|(_, part)| part));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_once_and_in_order() {
        for count in [0, 1, STEP, STEP + 1, 10 * STEP - 1] {
            assert!(each(count, |i| i * 3).into_iter().eq((0..count).map(|i| i * 3)), "{count}");
        }
    }
}
