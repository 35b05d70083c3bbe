//! [`Memory`]: what is kept, in memory, the longest unused given up first.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nczarr_dispatch::Key;

use super::part::Part;
use super::shelf::Kept;

/// What an entry costs beside its bytes and its key, about.
const OVERHEAD: u64 = 200;

#[derive(Debug)]
pub(super) struct Memory {
    budget: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    objects: HashMap<Key, HashMap<Part, Entry>>,
    /// Entries by when they were used.
    used: BTreeMap<u64, (Key, Part)>,
    clock: u64,
    bytes: u64,
}

#[derive(Debug)]
struct Entry {
    kept: Kept,
    used: u64,
    cost: u64,
}

impl Memory {
    pub(super) fn new(budget: u64) -> Self {
        Self { budget, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes that it takes, about.
    pub(super) fn bytes(&self) -> u64 {
        self.state().bytes
    }

    pub(super) fn get(&self, key: &Key, part: Part) -> Option<Kept> {
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

    pub(super) fn put(&self, key: &Key, part: Part, kept: Kept) {
        let cost = OVERHEAD + 2 * key.as_str().len() as u64 + kept.as_ref().map_or(0, |bytes| bytes.len() as u64);
        if cost > self.budget {
            return;
        }
        let mut state = self.state();
        let state = &mut *state;
        state.drop_part(key, part);
        if part == Part::All {
            // All else can be cut out of it.
            state.drop_key(key);
        }
        state.clock += 1;
        let used = state.clock;
        state.used.insert(used, (key.clone(), part));
        state.objects.entry(key.clone()).or_default().insert(part, Entry { kept, used, cost });
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

impl State {
    fn drop_part(&mut self, key: &Key, part: Part) {
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
        let memory = Memory::new(3 * cost);
        let put = |i| memory.put(&key(i), Part::All, Some(vec![i as u8; 1000].into()));
        (0..3).for_each(put);
        assert_eq!(memory.bytes(), 3 * cost);
        assert!(memory.get(&key(0), Part::All).is_some());
        put(3);
        let there: Vec<bool> = (0..4).map(|i| memory.get(&key(i), Part::All).is_some()).collect();
        assert_eq!(there, [true, false, true, true]);
        // What is put again counts once; what is too big is not kept and drives nothing out.
        put(3);
        memory.put(&key(9), Part::All, Some(vec![0; 4000].into()));
        assert_eq!(memory.bytes(), 3 * cost);
        memory.forget(&key(3));
        assert_eq!(memory.bytes(), 2 * cost);
        memory.clear();
        assert_eq!((memory.bytes(), memory.get(&key(0), Part::All)), (0, None));
    }

    #[test]
    fn a_whole_object_takes_the_place_of_its_parts() {
        let (memory, key) = (Memory::new(10_000), Key::new("a").unwrap());
        memory.put(&key, Part::Range(0, 2), Some([1, 2].into()));
        memory.put(&key, Part::Last(1), Some([3].into()));
        memory.put(&key, Part::All, Some([1, 2, 3].into()));
        assert_eq!(memory.bytes(), OVERHEAD + 2 + 3);
        assert_eq!(memory.get(&key, Part::Last(1)), None);
        memory.put(&key, Part::All, None);
        assert_eq!(memory.get(&key, Part::All), Some(None));
    }
}
