//! [`Gate`]: any number of writers, or one who moves everything.
//!
//! Who writes may, while it waits for its own pool, come upon another write, a redefinition or the end of a dataset. So nobody
//! may wait for ever for writers, since one of them may be waiting for this thread. Who wants to be alone has newcomers wait, and
//! gives up after a while; a newcomer that an earlier write may depend on, that is, a thread of a pool or one that is
//! writing already, waits only a moment or not at all. Who moves must not wait for the pool: whoever comes meanwhile waits.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nczarr_model::{ErrorKind, Result};

/// How long writers may keep a redefinition waiting, and it them.
const PATIENCE: Duration = if cfg!(test) { Duration::from_millis(300) } else { Duration::from_secs(10) };

/// How long a writer that others may depend on lets somebody be first who wants to be alone.
const MOMENT: Duration = Duration::from_millis(100);

/// Between two looks.
const PAUSE: Duration = Duration::from_micros(100);

/// Somebody is moving.
const MOVING: usize = 1 << (usize::BITS - 1);

/// Somebody wants to.
const WAITING: usize = MOVING >> 1;

thread_local! {
    /// In how many writes this thread is, of whatever dataset.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Any number of writers, or one who moves what they write.
// Who is inside: the number of writers, or [`MOVING`]; and whether somebody is [`WAITING`].
#[derive(Debug, Default)]
pub struct Gate(AtomicUsize);

/// A writer that is inside. It leaves on the thread it came on.
#[derive(Debug)]
#[must_use]
pub struct Writing<'g>(&'g Gate, PhantomData<*const ()>);

/// The one who moves.
#[derive(Debug)]
#[must_use]
pub struct Moving<'g>(&'g Gate);

impl Gate {
    /// Enters as a writer.
    pub fn write(&self) -> Writing<'_> {
        if !self.enter(MOVING | WAITING) {
            self.write_later();
        }
        DEPTH.set(DEPTH.get() + 1);
        Writing(self, PhantomData)
    }

    #[cold]
    fn write_later(&self) {
        let patience = match DEPTH.get() {
            0 if crate::is_pooled() => MOMENT,
            0 => PATIENCE,
            _ => Duration::ZERO,
        };
        let mut start = None;
        while !self.enter(if has_passed(patience, &mut start) { MOVING } else { MOVING | WAITING }) {
            std::thread::sleep(PAUSE);
        }
    }

    /// Enters as a writer unless one of `bars` is there.
    fn enter(&self, bars: usize) -> bool {
        let more = |inside: usize| (inside & bars == 0).then(|| inside + 1);
        self.0.fetch_update(Ordering::Acquire, Ordering::Relaxed, more).is_ok()
    }

    /// Enters alone.
    ///
    /// # Errors
    /// `NC_EINDEFINE` if writers stay too long.
    pub fn alone(&self) -> Result<Moving<'_>> {
        // Who is within a write itself may have come upon that which it waits for.
        let patience = if DEPTH.get() == 0 { PATIENCE } else { MOMENT };
        self.alone_within(patience, WAITING).ok_or_else(|| {
            let what = "data are being read or written, so nothing can be moved; the definitions stay as they are";
            ErrorKind::InDefine.context(what)
        })
    }

    /// Enters alone if nobody is inside.
    pub fn try_alone(&self) -> Option<Moving<'_>> {
        self.alone_within(Duration::ZERO, 0)
    }

    /// Waits until nobody is inside; who comes meanwhile has to leave by itself. `false`: one of those who stay is this
    /// thread, or may be waiting for it.
    pub fn see_off(&self) -> bool {
        let patience = match DEPTH.get() {
            0 if crate::is_pooled() => PATIENCE,
            0 => Duration::MAX,
            _ => Duration::ZERO,
        };
        self.alone_within(patience, 0).is_some()
    }

    /// `sign`: [`WAITING`] if newcomers are to wait.
    fn alone_within(&self, patience: Duration, sign: usize) -> Option<Moving<'_>> {
        let mut start = None;
        // Whoever else is waiting says so again.
        let nobody = |inside: usize| (inside & !WAITING == 0).then_some(MOVING);
        while self.0.fetch_update(Ordering::Acquire, Ordering::Relaxed, nobody).is_err() {
            if has_passed(patience, &mut start) {
                self.0.fetch_and(!sign, Ordering::Relaxed);
                return None;
            }
            self.0.fetch_or(sign, Ordering::Relaxed);
            std::thread::sleep(PAUSE);
        }
        Some(Moving(self))
    }
}

/// Whether so much time has passed since this was asked first. The clock is looked at only by those who wait: not every
/// system has one, and those without have no threads to wait for.
pub fn has_passed(patience: Duration, since: &mut Option<Instant>) -> bool {
    patience.is_zero() || since.get_or_insert_with(Instant::now).elapsed() >= patience
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        self.0.0.fetch_sub(1, Ordering::Release);
    }
}

impl Drop for Moving<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_and(!MOVING, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn writers_and_movers_exclude_each_other() {
        let gate = Gate::default();
        let first = gate.write();
        let second = gate.write();
        assert!(gate.alone_within(Duration::ZERO, WAITING).is_none());
        assert!(!gate.see_off(), "this thread is one of them");
        drop((first, second));
        let alone = gate.alone().unwrap();
        assert!(gate.alone_within(Duration::ZERO, WAITING).is_none());
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| drop(gate.write()));
            drop(alone);
            writer.join().unwrap();
        });
        drop(gate.alone().unwrap());
        assert!(gate.see_off());
    }

    #[test]
    fn who_wants_to_be_alone_gets_in_however_many_write() {
        const WRITERS: usize = 4;
        let (gate, stop, started) = (Gate::default(), AtomicBool::new(false), Barrier::new(WRITERS + 1));
        std::thread::scope(|scope| {
            for _ in 0..WRITERS {
                scope.spawn(|| {
                    let mut inside = gate.write();
                    started.wait();
                    while !stop.load(Ordering::Acquire) {
                        drop(inside);
                        inside = gate.write();
                        // Most of the time is spent inside, as with real writes.
                        (0..1000).for_each(|turn| _ = std::hint::black_box(turn));
                    }
                });
            }
            started.wait();
            for _ in 0..20 {
                drop(gate.alone().unwrap());
            }
            stop.store(true, Ordering::Release);
        });
    }

    #[test]
    fn a_write_within_a_write_waits_for_nobody_who_waits_for_it() {
        let gate = Gate::default();
        let outer = gate.write();
        std::thread::scope(|scope| {
            let mover = scope.spawn(|| gate.alone().is_ok());
            while gate.0.load(Ordering::Relaxed) & WAITING == 0 {
                std::hint::spin_loop();
            }
            drop(gate.write());
            drop(outer);
            assert!(mover.join().unwrap());
        });
        assert_eq!(gate.0.load(Ordering::Relaxed) & !WAITING, 0);
    }
}
