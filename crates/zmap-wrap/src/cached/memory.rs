//! [`MemoryStore`]: cached answers in memory, evicted by last use.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nczarr_storage::Key;

use super::part::{CachedAnswer, ObjectPart};

/// The approximate cost of an entry beyond its bytes and key.
const OVERHEAD: u64 = 200;

#[derive(Debug)]
pub(super) struct MemoryStore {
    budget: u64,
    state: Mutex<LruState>,
}

#[derive(Debug, Default)]
struct LruState {
    objects: HashMap<Key, HashMap<ObjectPart, LruEntry>>,
    /// Entries by last use.
    used: BTreeMap<u64, (Key, ObjectPart)>,
    clock: u64,
    bytes: u64,
}

#[derive(Debug)]
struct LruEntry {
    kept: CachedAnswer,
    used: u64,
    cost: u64,
}

impl MemoryStore {
    pub(super) fn new(budget: u64) -> Self {
        Self { budget, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, LruState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the approximate memory in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.state().bytes
    }

    pub(super) fn get(&self, key: &Key, part: ObjectPart) -> Option<CachedAnswer> {
        let mut state = self.state();
        let state = &mut *state;
        let entry = state.objects.get_mut(key)?.get_mut(&part)?;
        state.clock += 1;
        if let Some(place) = state.used.remove(&entry.used) {
            state.used.insert(state.clock, place);
        }
        entry.used = state.clock;
        Some(entry.kept.clone())
    }

    pub(super) fn put(&self, key: &Key, part: ObjectPart, kept: CachedAnswer) {
        let cost =
            OVERHEAD + 2 * key.as_str().len() as u64 + kept.as_ref().map_or(0, |bytes| bytes.len() as u64);
        if cost > self.budget {
            return;
        }
        let mut state = self.state();
        let state = &mut *state;
        state.drop_part(key, part);
        if part == ObjectPart::All {
            // All parts can be cut out of the whole object.
            state.drop_key(key);
        }
        state.clock += 1;
        let used = state.clock;
        state.used.insert(used, (key.clone(), part));
        state.objects.entry(key.clone()).or_default().insert(part, LruEntry { kept, used, cost });
        state.bytes += cost;
        while state.bytes > self.budget
            && let Some((_, (key, part))) = state.used.first_key_value()
        {
            let (key, part) = (key.clone(), *part);
            state.drop_part(&key, part);
        }
    }

    pub(super) fn forget(&self, key: &Key) {
        self.state().drop_key(key);
    }

    pub(super) fn clear(&self) {
        let mut state = self.state();
        state.objects.clear();
        state.used.clear();
        state.bytes = 0;
    }
}

impl LruState {
    fn drop_part(&mut self, key: &Key, part: ObjectPart) {
        let Some(parts) = self.objects.get_mut(key) else { return };
        if let Some(entry) = parts.remove(&part) {
            self.used.remove(&entry.used);
            self.bytes -= entry.cost;
        }
        if parts.is_empty() {
            self.objects.remove(key);
        }
    }

    fn drop_key(&mut self, key: &Key) {
        for entry in self.objects.remove(key).into_iter().flat_map(HashMap::into_values) {
            self.used.remove(&entry.used);
            self.bytes -= entry.cost;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_unused_goes_first() {
        let key = |i: usize| Key::new(&format!("{i}")).unwrap();
        let cost = OVERHEAD + 2 + 1000;
        let memory = MemoryStore::new(3 * cost);
        let put = |i| memory.put(&key(i), ObjectPart::All, Some(vec![i as u8; 1000].into()));
        (0..3).for_each(put);
        assert_eq!(memory.bytes(), 3 * cost);
        assert!(memory.get(&key(0), ObjectPart::All).is_some());
        put(3);
        let there: Vec<bool> = (0..4).map(|i| memory.get(&key(i), ObjectPart::All).is_some()).collect();
        assert_eq!(there, [true, false, true, true]);
        // A repeated entry counts once. A too large entry is not kept, and removes no other entry.
        put(3);
        memory.put(&key(9), ObjectPart::All, Some(vec![0; 4000].into()));
        assert_eq!(memory.bytes(), 3 * cost);
        memory.forget(&key(3));
        assert_eq!(memory.bytes(), 2 * cost);
        memory.clear();
        assert_eq!((memory.bytes(), memory.get(&key(0), ObjectPart::All)), (0, None));
    }

    #[test]
    fn a_whole_object_takes_the_place_of_its_parts() {
        let (memory, key) = (MemoryStore::new(10_000), Key::new("a").unwrap());
        memory.put(&key, ObjectPart::Range(0, 2), Some([1, 2].into()));
        memory.put(&key, ObjectPart::Last(1), Some([3].into()));
        memory.put(&key, ObjectPart::All, Some([1, 2, 3].into()));
        assert_eq!(memory.bytes(), OVERHEAD + 2 + 3);
        assert_eq!(memory.get(&key, ObjectPart::Last(1)), None);
        memory.put(&key, ObjectPart::All, None);
        assert_eq!(memory.get(&key, ObjectPart::All), Some(None));
    }
}
