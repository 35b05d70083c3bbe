//! [`Gate`]: any number of writers, or one who moves everything.
//!
//! Who writes may, while it waits for its own pool, come upon another write or even a redefinition. So writers never
//! wait for somebody who waits for writers: only for one who is moving, which needs nobody else; and that one gives up
//! after a while if writers do not go away, since one of them may be itself.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use model::{ErrorKind, Result};

/// How long writers may keep a redefinition waiting.
const PATIENCE: Duration = Duration::from_secs(10);

/// Between two looks.
const PAUSE: Duration = Duration::from_micros(100);

const MOVING: usize = usize::MAX;

/// Who is inside: the number of writers, or [`MOVING`].
#[derive(Debug, Default)]
pub(crate) struct Gate(AtomicUsize);

/// A writer that is inside.
#[derive(Debug)]
pub(crate) struct Writing<'g>(&'g Gate);

/// The one who moves.
#[derive(Debug)]
pub(crate) struct Moving<'g>(&'g Gate);

impl Gate {
    /// Enters as a writer.
    pub(crate) fn write(&self) -> Writing<'_> {
        let more = |inside| (inside != MOVING).then(|| inside + 1);
        while self.0.fetch_update(Ordering::Acquire, Ordering::Relaxed, more).is_err() {
            std::thread::sleep(PAUSE);
        }
        Writing(self)
    }

    /// Enters alone.
    ///
    /// # Errors
    /// `NC_EINDEFINE` if writers stay too long.
    pub(crate) fn alone(&self) -> Result<Moving<'_>> {
        self.alone_within(PATIENCE)
    }

    fn alone_within(&self, patience: Duration) -> Result<Moving<'_>> {
        let start = Instant::now();
        while self.0.compare_exchange(0, MOVING, Ordering::Acquire, Ordering::Relaxed).is_err() {
            if start.elapsed() >= patience {
                let what = "data are being written, so nothing can be moved; the definitions stay as they are";
                return Err(ErrorKind::InDefine.context(what));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(Moving(self))
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Release);
    }
}

impl Drop for Moving<'_> {
    fn drop(&mut self) {
        self.0.0.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_and_movers_exclude_each_other() {
        let gate = Gate::default();
        let first = gate.write();
        let second = gate.write();
        assert_eq!(gate.alone_within(Duration::ZERO).unwrap_err().kind(), ErrorKind::InDefine);
        drop((first, second));
        let alone = gate.alone().unwrap();
        assert_eq!(gate.alone_within(Duration::ZERO).unwrap_err().kind(), ErrorKind::InDefine);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| drop(gate.write()));
            drop(alone);
            writer.join().unwrap();
        });
        drop(gate.alone().unwrap());
    }
}
