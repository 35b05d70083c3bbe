//! [`InFlightReads`]: keeps answers out of the cache that were read before or during a write.
//!
//! Each key maps to one of a few slots; a collision only costs a cache entry. A reader notes the state of its
//! slot before it asks the inner map. Its answer is cached only if the slot still has that state. Writers
//! change the state when they begin and end, and in between no reader uses the cache.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nczarr_storage::Key;

const SLOTS: usize = 256;

/// The slot for changes of many keys.
const ALL_KEYS: usize = SLOTS;

#[derive(Debug)]
pub(super) struct InFlightReads(Mutex<Vec<KeySlot>>);

#[derive(Debug, Clone, Default)]
struct KeySlot {
    state: u64,
    writers: u32,
}

/// The state of a key's slot at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SlotState(u64, u64);

impl InFlightReads {
    pub(super) fn new() -> Self {
        Self(Mutex::new(vec![KeySlot::default(); SLOTS + 1]))
    }

    fn slots(&self) -> MutexGuard<'_, Vec<KeySlot>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the current state of a key; `None` while it is written.
    pub(super) fn look(&self, key: &Key) -> Option<SlotState> {
        seen(&self.slots(), slot_of(key))
    }

    /// Runs `act` if no writer touched the key since `then`; writers wait meanwhile.
    pub(super) fn if_unchanged(&self, key: &Key, then: SlotState, act: impl FnOnce()) {
        let slots = self.slots();
        if seen(&slots, slot_of(key)) == Some(then) {
            act();
        }
    }

    /// Begins a write: `forget` removes the cached answers while no reader can add any.
    pub(super) fn begin<'g, 'k, E>(
        &'g self,
        keys: impl Iterator<Item = &'k Key>,
        forget: impl FnOnce() -> Result<(), E>,
    ) -> Result<WriterGuard<'g>, E> {
        self.begin_slots(keys.map(slot_of).collect(), forget)
    }

    /// As [`InFlightReads::begin`], for all keys.
    pub(super) fn begin_all<E>(&self, forget: impl FnOnce() -> Result<(), E>) -> Result<WriterGuard<'_>, E> {
        self.begin_slots(vec![ALL_KEYS], forget)
    }

    fn begin_slots<E>(
        &self,
        taken: Vec<usize>,
        forget: impl FnOnce() -> Result<(), E>,
    ) -> Result<WriterGuard<'_>, E> {
        let mut slots = self.slots();
        forget()?;
        for &slot in &taken {
            slots[slot].state += 1;
            slots[slot].writers += 1;
        }
        drop(slots);
        Ok(WriterGuard { gate: self, slots: taken })
    }
}

fn slot_of(key: &Key) -> usize {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    (hasher.finish() % SLOTS as u64) as usize
}

fn seen(slots: &[KeySlot], slot: usize) -> Option<SlotState> {
    let (own, every) = (&slots[slot], &slots[ALL_KEYS]);
    (own.writers == 0 && every.writers == 0).then_some(SlotState(own.state, every.state))
}

/// A write in progress, until dropped.
#[derive(Debug)]
pub(super) struct WriterGuard<'g> {
    gate: &'g InFlightReads,
    slots: Vec<usize>,
}

impl Drop for WriterGuard<'_> {
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

    fn lets_in(gate: &InFlightReads, key: &Key, then: SlotState) -> bool {
        let mut did = false;
        gate.if_unchanged(key, then, || did = true);
        did
    }

    #[test]
    fn reads_that_overlap_a_write_are_not_cached() {
        let (gate, key) = (InFlightReads::new(), Key::new("a/b").unwrap());
        for every in [false, true] {
            let begin = || {
                if every {
                    gate.begin_all(|| Ok::<_, ()>(())).unwrap()
                } else {
                    gate.begin([&key].into_iter(), || Ok::<_, ()>(())).unwrap()
                }
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
            // A write with a failed `forget` does not begin.
            assert!(gate.begin_all(|| Err(())).is_err());
            assert!(lets_in(&gate, &key, after));
        }
    }
}
