//! [`Claims`]: the right to change one chunk in storage, inside this process.
//!
//! Whoever writes a chunk holds its claim from before it reads what it will write until storage has taken it, so
//! that the writes of one chunk are in order. A claim is held over straight work only, never while waiting
//! for a pool of threads; whoever holds several takes them in the order of the grid: nobody waits in a circle.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::grid::ChunkIndex;

/// The claims held on the chunks of one array.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    held: Mutex<Held>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct Held {
    chunks: Vec<ChunkIndex>,
    /// How many threads wait: waking nobody is a system call too.
    waiting: usize,
}

/// The claim on one chunk; given back when dropped.
#[derive(Debug)]
pub(crate) struct Claim<'a> {
    claims: &'a Claims,
    pub(crate) index: ChunkIndex,
}

impl Claims {
    /// Waits until nobody else holds the chunk.
    pub(crate) fn take(&self, index: &ChunkIndex) -> Claim<'_> {
        let mut held = self.lock();
        while held.chunks.contains(index) {
            held.waiting += 1;
            held = self.freed.wait(held).unwrap_or_else(PoisonError::into_inner);
            held.waiting -= 1;
        }
        held.chunks.push(index.clone());
        Claim { claims: self, index: index.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Claim<'_> {
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
        let claims = Claims::default();
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
