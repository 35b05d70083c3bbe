//! Parallel work on the pool: [`map_indices`]; and memory for its threads: [`reserve_memory`].

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use nczarr_runtime::{OutBuf, PageRange, run_on_pool};

/// Applies `work` to the indices below `count`; results in order. A thread takes `step` indices at a time;
/// for fewer no thread is started.
pub(crate) fn map_indices<T: Send>(count: usize, step: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
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
            reserve_memory();
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

/// Makes the allocator obtain memory for this thread in one step, and the system map its pages.
///
/// * When it applies: glibc, on all threads but the first. They otherwise get memory page by page, with a
///   system call each.
/// * Fallback: without it, everything works as well.
/// * Gain: no system call and no page fault per page.
pub(crate) fn reserve_memory() {
    const BYTES: usize = 96 << 10;
    let mut memory = std::hint::black_box(Vec::<u8>::with_capacity(BYTES));
    // If it fails, nothing is lost but time.
    PageRange::pages_of(&OutBuf::new(memory.spare_capacity_mut())).populate_range(0, BYTES);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_once_and_in_order() {
        for (count, step) in [(0, 1), (1, 1), (7, 1), (64, 64), (65, 64), (639, 64)] {
            assert!(
                map_indices(count, step, |i| i * 3).into_iter().eq((0..count).map(|i| i * 3)),
                "{count} by {step}"
            );
        }
    }
}
