//! [`Gate`]: lets nothing into the cache that was read before or while somebody wrote.
//!
//! Keys are told apart by a slot each, which several may share: that costs an answer its place in the cache, never its
//! truth. A reader notes the state of its slot before it asks the map inside; what it brought counts only if the slot is
//! still in that state. Writers change the state when they begin and when they end, and in between nobody is served.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nczarr_dispatch::Key;

const SLOTS: usize = 256;

/// The slot of all keys, for what changes many.
const EVERY: usize = SLOTS;

#[derive(Debug)]
pub(super) struct Gate(Mutex<Vec<Slot>>);

#[derive(Debug, Clone, Default)]
struct Slot {
    state: u64,
    writers: u32,
}

/// The state of a key's slot at some moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen(u64, u64);

impl Gate {
    pub(super) fn new() -> Self {
        Self(Mutex::new(vec![Slot::default(); SLOTS + 1]))
    }

    fn slots(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state of a key now; `None` while somebody writes it.
    pub(super) fn look(&self, key: &Key) -> Option<Seen> {
        seen(&self.slots(), slot_of(key))
    }

    /// Does `act` if nobody wrote the key since it was seen so, and lets nobody begin meanwhile.
    pub(super) fn if_unchanged(&self, key: &Key, then: Seen, act: impl FnOnce()) {
        let slots = self.slots();
        if seen(&slots, slot_of(key)) == Some(then) {
            act();
        }
    }

    /// Begins writing: `forget` takes what is kept away, while nobody can bring anything.
    pub(super) fn begin<'g, 'k, E>(
        &'g self,
        keys: impl Iterator<Item = &'k Key>,
        forget: impl FnOnce() -> Result<(), E>,
    ) -> Result<Writing<'g>, E> {
        self.begin_slots(keys.map(slot_of).collect(), forget)
    }

    /// As [`Gate::begin`], of all keys.
    pub(super) fn begin_every<E>(&self, forget: impl FnOnce() -> Result<(), E>) -> Result<Writing<'_>, E> {
        self.begin_slots(vec![EVERY], forget)
    }

    fn begin_slots<E>(&self, taken: Vec<usize>, forget: impl FnOnce() -> Result<(), E>) -> Result<Writing<'_>, E> {
        let mut slots = self.slots();
        forget()?;
        for &slot in &taken {
            slots[slot].state += 1;
            slots[slot].writers += 1;
        }
        drop(slots);
        Ok(Writing { gate: self, slots: taken })
    }
}

fn slot_of(key: &Key) -> usize {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    (hasher.finish() % SLOTS as u64) as usize
}

fn seen(slots: &[Slot], slot: usize) -> Option<Seen> {
    let (own, every) = (&slots[slot], &slots[EVERY]);
    (own.writers == 0 && every.writers == 0).then_some(Seen(own.state, every.state))
}

/// Somebody writes, until this goes.
#[derive(Debug)]
pub(super) struct Writing<'g> {
    gate: &'g Gate,
    slots: Vec<usize>,
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        let mut slots = self.gate.slots();
        for &slot in &self.slots {
            slots[slot].state += 1;
            slots[slot].writers -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lets_in(gate: &Gate, key: &Key, then: Seen) -> bool {
        let mut did = false;
        gate.if_unchanged(key, then, || did = true);
        did
    }

    #[test]
    fn what_was_read_around_a_write_does_not_come_in() {
        let (gate, key) = (Gate::new(), Key::new("a/b").unwrap());
        for every in [false, true] {
            let begin = || match every {
                true => gate.begin_every(|| Ok::<_, ()>(())).unwrap(),
                false => gate.begin([&key].into_iter(), || Ok::<_, ()>(())).unwrap(),
            };
            let before = gate.look(&key).unwrap();
            assert!(lets_in(&gate, &key, before));
            let (first, second) = (begin(), begin());
            assert_eq!(gate.look(&key), None);
            assert!(!lets_in(&gate, &key, before));
            drop(first);
            assert_eq!(gate.look(&key), None, "there is another writer");
            drop(second);
            assert!(!lets_in(&gate, &key, before));
            let after = gate.look(&key).unwrap();
            assert!(lets_in(&gate, &key, after));
            // Nothing has begun that could not forget.
            assert!(gate.begin_every(|| Err(())).is_err());
            assert!(lets_in(&gate, &key, after));
        }
    }
}
