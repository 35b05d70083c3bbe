//! [`ObjectTable`]: objects by key, in shards, with a sorted index of their keys.
//!
//! Reading and replacing lock only the object's shard. Creating, removing, renaming and searching also lock
//! the index, which prevents keys from being prefixes of one another. Locks are taken in the order index,
//! shard. Values are shared, so no lock is held while they are used.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

const SHARDS: usize = 16;

/// One object.
#[derive(Debug, Clone)]
pub(crate) struct StoredObject {
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) version: u64,
}

/// The state that a write accepts at its key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Intent {
    Replace,
    Create,
    Swap(u64),
}

/// The result of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PutOutcome {
    Done(u64),
    Lost,
    /// The key would be a prefix of another, or the other way round.
    Collision,
}

type Shard = HashMap<Arc<str>, StoredObject, BuildHasherDefault<DefaultHasher>>;

/// The objects of one dataset.
#[derive(Debug)]
pub(crate) struct ObjectTable {
    id: u64,
    index: RwLock<BTreeSet<Arc<str>>>,
    shards: [RwLock<Shard>; SHARDS],
    versions: AtomicU64,
    /// Serialises updates that lose many races.
    pub(crate) updates: Mutex<()>,
}

impl Default for ObjectTable {
    fn default() -> Self {
        static STORES: AtomicU64 = AtomicU64::new(0);
        Self {
            id: STORES.fetch_add(1, Ordering::Relaxed),
            index: RwLock::default(),
            shards: Default::default(),
            versions: AtomicU64::new(0),
            updates: Mutex::default(),
        }
    }
}

impl ObjectTable {
    /// Returns a number that is unique in the process.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Returns the object at `key`.
    pub(crate) fn get(&self, key: &str) -> Option<StoredObject> {
        read(self.shard(key)).get(key).cloned()
    }

    /// Whether an object exists below `prefix`.
    pub(crate) fn leads(&self, prefix: &str) -> bool {
        below(&read(&self.index), prefix).next().is_some()
    }

    /// Whether there are no objects.
    pub(crate) fn is_empty(&self) -> bool {
        read(&self.index).is_empty()
    }

    /// Stores an object if `intent` allows it.
    pub(crate) fn put(&self, key: &str, value: &[u8], intent: Intent) -> PutOutcome {
        let version = self.versions.fetch_add(1, Ordering::Relaxed);
        let entry = StoredObject { bytes: value.into(), version };
        if !matches!(intent, Intent::Create)
            && let Some(there) = write(self.shard(key)).get_mut(key)
        {
            if matches!(intent, Intent::Swap(expected) if expected != there.version) {
                return PutOutcome::Lost;
            }
            *there = entry;
            return PutOutcome::Done(version);
        }
        if let Intent::Swap(_) = intent {
            return PutOutcome::Lost;
        }
        let mut index = write(&self.index);
        let mut shard = write(self.shard(key));
        // Another thread may have created it while this one waited for the index.
        if let Some(there) = shard.get_mut(key) {
            if let Intent::Create = intent {
                return PutOutcome::Lost;
            }
            *there = entry;
            return PutOutcome::Done(version);
        }
        if collides(&index, key) {
            return PutOutcome::Collision;
        }
        let key: Arc<str> = key.into();
        index.insert(Arc::clone(&key));
        shard.insert(key, entry);
        PutOutcome::Done(version)
    }

    /// Removes an object; returns whether it existed.
    pub(crate) fn remove(&self, key: &str) -> bool {
        let mut index = write(&self.index);
        index.remove(key) && write(self.shard(key)).remove(key).is_some()
    }

    /// Removes all objects.
    pub(crate) fn clear(&self) {
        let mut index = write(&self.index);
        index.clear();
        for shard in &self.shards {
            write(shard).clear();
        }
    }

    /// Moves the objects at or below `from` to `to`; `false` if an object exists there.
    pub(crate) fn rename(&self, from: &str, to: &str) -> bool {
        let mut index = write(&self.index);
        let moving: Vec<Arc<str>> =
            index.get(from).into_iter().chain(below(&index, from)).map(Arc::clone).collect();
        let taken = index.contains(to) || below(&index, to).next().is_some();
        if taken || !moving.is_empty() && lies_below(&index, to) {
            return false;
        }
        for old in moving {
            let new: Arc<str> = format!("{to}{}", &old[from.len()..]).into();
            let entry = read(self.shard(&old)).get(&old).cloned();
            if let Some(entry) = entry {
                // Inserts before removing, so that every reader finds one of them.
                write(self.shard(&new)).insert(Arc::clone(&new), entry);
                index.insert(new);
                index.remove(&old);
                write(self.shard(&old)).remove(&old);
            }
        }
        true
    }

    /// Returns the next segments below `prefix`, sorted.
    pub(crate) fn search(&self, prefix: &str) -> Vec<String> {
        let index = read(&self.index);
        let mut names = Vec::new();
        let mut from = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        let start = from.len();
        while let Some(key) = index.range::<str, _>((Bound::Included(from.as_str()), Bound::Unbounded)).next()
            && key.starts_with(&from[..start])
        {
            let rest = &key[start..];
            let name = rest.split('/').next().unwrap_or(rest);
            names.push(name.to_owned());
            from.truncate(start);
            from.push_str(name);
            // Skips all keys below this name, or the name itself.
            from.push(if name.len() < rest.len() { AFTER_SLASH } else { '\0' });
        }
        names.sort_unstable();
        names
    }

    /// Returns all keys at or below `prefix`, sorted.
    pub(crate) fn list(&self, prefix: &str) -> Vec<Arc<str>> {
        let index = read(&self.index);
        index.get(prefix).into_iter().chain(below(&index, prefix)).map(Arc::clone).collect()
    }

    /// Returns all objects of one moment with respect to creating and removing.
    pub(crate) fn snapshot(&self) -> BTreeMap<String, Arc<[u8]>> {
        let index = read(&self.index);
        index.iter().filter_map(|key| Some((key.to_string(), self.get(key)?.bytes))).collect()
    }

    fn shard(&self, key: &str) -> &RwLock<Shard> {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(key);
        &self.shards[(hash >> 48) as usize % SHARDS]
    }
}

/// The character after `/`.
const AFTER_SLASH: char = '0';

fn below<'i>(index: &'i BTreeSet<Arc<str>>, prefix: &str) -> impl Iterator<Item = &'i Arc<str>> {
    let from = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
    let range = index.range::<str, _>((Bound::Included(from.as_str()), Bound::Unbounded));
    range.take_while(move |key| key.starts_with(&from))
}

/// Whether a key is a prefix of an object's key, or the other way round.
fn collides(index: &BTreeSet<Arc<str>>, key: &str) -> bool {
    lies_below(index, key) || below(index, key).next().is_some()
}

/// Whether an object's key is a prefix of a key.
fn lies_below(index: &BTreeSet<Arc<str>>, key: &str) -> bool {
    key.match_indices('/').any(|(at, _)| index.contains(&key[..at]))
}

fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_order_and_once() {
        let store = ObjectTable::default();
        for key in ["b/c/d", "b-a", "b/c/e", "b!/x", "c", "a/\u{10ffff}/z", "a/y"] {
            assert!(matches!(store.put(key, b"", Intent::Create), PutOutcome::Done(_)), "{key}");
        }
        assert_eq!(store.search(""), ["a", "b", "b!", "b-a", "c"]);
        assert_eq!(store.search("b"), ["c"]);
        assert_eq!(store.search("b/c"), ["d", "e"]);
        assert_eq!(store.search("a"), ["y", "\u{10ffff}"]);
        assert_eq!(store.search("c"), [""; 0]);
        assert!(store.leads("b/c") && !store.leads("b/c/d") && store.leads(""));
    }

    #[test]
    fn a_version_is_never_seen_again() {
        let store = ObjectTable::default();
        let PutOutcome::Done(first) = store.put("k", b"1", Intent::Create) else { panic!() };
        assert!(store.remove("k"));
        assert!(matches!(store.put("k", b"1", Intent::Create), PutOutcome::Done(_)));
        assert_eq!(store.put("k", b"2", Intent::Swap(first)), PutOutcome::Lost);
        assert_eq!(&*store.get("k").unwrap().bytes, b"1");
    }
}
