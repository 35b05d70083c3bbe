//! [`ChunkClaims`]: the right of one thread to change a chunk in storage.
//!
//! A writer holds the claim on a chunk from before it reads the stored chunk until the new one is stored. So
//! writes of one chunk are ordered. A claim is never held while waiting for a thread pool. Several claims are
//! taken in grid order, so no cycle of waiting threads arises.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::grid::ChunkIndex;

/// The claims held on the chunks of one array.
#[derive(Debug, Default)]
pub(crate) struct ChunkClaims {
    held: Mutex<HeldClaims>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct HeldClaims {
    chunks: Vec<ChunkIndex>,
    /// The number of waiting threads: a wake-up costs a system call.
    waiting: usize,
}

/// The claim on one chunk; released on drop.
#[derive(Debug)]
pub(crate) struct ChunkClaim<'a> {
    claims: &'a ChunkClaims,
    pub(crate) index: ChunkIndex,
}

impl ChunkClaims {
    /// Waits until no other thread holds the claim, and takes it.
    pub(crate) fn take(&self, index: &ChunkIndex) -> ChunkClaim<'_> {
        let mut held = self.lock();
        while held.chunks.contains(index) {
            held.waiting += 1;
            held = self.freed.wait(held).unwrap_or_else(PoisonError::into_inner);
            held.waiting -= 1;
        }
        held.chunks.push(index.clone());
        ChunkClaim { claims: self, index: index.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, HeldClaims> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ChunkClaim<'_> {
    fn drop(&mut self) {
        let mut held = self.claims.lock();
        if let Some(at) = held.chunks.iter().position(|index| *index == self.index) {
            held.chunks.swap_remove(at);
        }
        let waited_for = held.waiting > 0;
        drop(held);
        if waited_for {
            self.claims.freed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn one_at_a_time_per_chunk() {
        let claims = ChunkClaims::default();
        let inside = [AtomicUsize::new(0), AtomicUsize::new(0)];
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let (claims, inside) = (&claims, &inside);
                scope.spawn(move || {
                    for i in 0..200 {
                        let chunk = (i + thread) % 2;
                        let _claim = claims.take(&ChunkIndex::from(&[chunk, 7][..]));
                        let inside = &inside[chunk as usize];
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        (0..20).for_each(|_| std::thread::yield_now());
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert!(claims.lock().chunks.is_empty());
        assert_eq!(claims.lock().waiting, 0);
    }
}
