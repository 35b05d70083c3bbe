//! [`Turn`]: one thread at a time calls entries of tables.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

/// The thread that calls entries, and the number of its calls within one another.
static CALLER: Mutex<Option<(ThreadId, usize)>> = Mutex::new(None);
static FREE: Condvar = Condvar::new();

/// The right to call an entry. An entry may call the library, which takes another turn in the same thread.
pub struct Turn(());

impl Turn {
    /// Waits until no other thread has a turn.
    pub fn take() -> Self {
        let me = thread::current().id();
        let mut caller = lock();
        loop {
            match *caller {
                None => *caller = Some((me, 1)),
                Some((other, depth)) if other == me => *caller = Some((me, depth + 1)),
                Some(_) => {
                    caller = FREE.wait(caller).unwrap_or_else(PoisonError::into_inner);
                    continue;
                }
            }
            return Self(());
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut caller = lock();
        *caller = caller.filter(|(_, depth)| *depth > 1).map(|(me, depth)| (me, depth - 1));
        if caller.is_none() {
            FREE.notify_one();
        }
    }
}

fn lock() -> MutexGuard<'static, Option<(ThreadId, usize)>> {
    CALLER.lock().unwrap_or_else(PoisonError::into_inner)
}
