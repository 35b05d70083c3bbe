//! [`OpenFileCache`]: open files of objects that are read in parts.
//!
//! * When it applies: the second and later partial reads through one map, on local file systems. Objects that
//!   are read whole are not cached, so a scan evicts nothing.
//! * Fallback: the object is opened again. This also happens while another thread uses the same set.
//! * Gain: no open and close per part, which take longer than reading a few bytes.
//!
//! *Invariant:* a cached file is as current as a new open. Before each use the key is looked up and must lead
//! to the inode of the cached file; that number cannot be reused while the file is open. One case is weaker:
//! a directory that was moved away and replaced by a link to itself is noticed at the next real open.
//!
//! The number of files is bounded for each map and for the process. `sync` and dropping the map close them. A
//! key is stored as a hash; a collision leads to another inode and is a miss.

use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use nczarr_storage::Version;
use rustix::fs::{AtFlags, Stat, fstat, fstatfs, statat};

use super::open_file::OpenFile;
use super::version::FileVersion;

const SETS: usize = 64;
const WAYS: usize = 4;

/// File systems whose lookups are never stale: tmpfs, ext2 to 4, xfs, btrfs, f2fs, zfs.
const LOCAL: [u64; 6] = [0x0102_1994, 0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x2fc1_2fc1];

/// The cached files of one map.
#[derive(Default)]
pub(super) struct OpenFileCache {
    /// Whether a part of an object was read before. A map that is opened for a single read caches nothing.
    used: AtomicBool,
    /// Allocated for the first cached file: most maps are open for a short time.
    sets: OnceLock<Box<[LazySet]>>,
    /// The device of the root, if its file system is one of [`LOCAL`].
    device: OnceLock<Option<u64>>,
}

/// A set that is allocated for its first file.
type LazySet = OnceLock<Box<Mutex<CacheSet>>>;

#[derive(Default)]
struct CacheSet {
    slots: [Option<CacheSlot>; WAYS],
    /// The next slot to evict.
    next: usize,
}

struct CacheSlot {
    /// The hash of the key, from [`name_of`].
    name: u64,
    /// The inode of the object on the device of the root, once known.
    inode: Option<NonZeroU64>,
    held: SlotFile,
}

/// Stays small while only the slot owns the file, as for most objects.
enum SlotFile {
    /// `None` only during the change to `SharedFile`.
    Alone(Option<OpenFile>),
    SharedFile(Box<SharedFile>),
}

struct SharedFile {
    object: Arc<OpenFile>,
    /// Its version, once requested. Owners of the version rely on it while the file is cached.
    version: Option<Version>,
}

impl CacheSlot {
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.held {
            SlotFile::Alone(object) => object.as_ref().map(AsFd::as_fd),
            SlotFile::SharedFile(shared) => Some(shared.object.as_fd()),
        }
    }

    /// Makes the file shared and returns it.
    fn shared(&mut self) -> Option<&mut SharedFile> {
        if let SlotFile::Alone(object) = &mut self.held {
            let object = Arc::new(object.take()?);
            self.held = SlotFile::SharedFile(Box::new(SharedFile { object, version: None }));
        }
        match &mut self.held {
            SlotFile::Alone(_) => None,
            SlotFile::SharedFile(shared) => Some(shared),
        }
    }

    /// Whether the file is the object of `found` on this device.
    fn matches(&mut self, found: &Stat, device: Option<u64>) -> bool {
        if self.inode.is_none() {
            let stat = self.fd().and_then(|file| fstat(file).ok()).filter(|stat| Some(stat.st_dev) == device);
            self.inode = stat.and_then(|stat| NonZeroU64::new(stat.st_ino));
        }
        Some(found.st_dev) == device && self.inode.is_some_and(|inode| inode.get() == found.st_ino)
    }
}

/// Returns the set of a key.
fn set_of(name: u64) -> usize {
    (name >> (u64::BITS - SETS.ilog2())) as usize
}

/// Hashes a key; the highest bits choose the set.
fn name_of(key: &str) -> u64 {
    let mix = |hash: u64, word: u64| {
        let mixed = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 29)
    };
    let (words, rest) = key.as_bytes().as_chunks();
    let hash = words.iter().fold(key.len() as u64, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    let rest = rest.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
    mix(mix(hash, rest), 0)
}

impl CacheSet {
    /// Returns the slot for a key: its own, else a free one if the limit allows, else another's.
    fn place(&mut self, name: u64) -> usize {
        let (mut free, mut taken) = (None, None);
        for place in (0..WAYS).map(|step| (self.next + step) % WAYS) {
            match self.slots.get(place).and_then(Option::as_ref) {
                Some(slot) if slot.name == name => return place,
                Some(_) => taken = taken.or(Some(place)),
                None => free = free.or(Some(place)),
            }
        }
        let more = OpenFile::is_allowed();
        let place = free.filter(|_| more).or(taken).unwrap_or(0);
        self.next = (place + 1) % WAYS;
        place
    }

    /// Returns the slot for a key, empty: the old file is closed first, so that the limit has room.
    fn empty_slot(&mut self, name: u64) -> Option<&mut Option<CacheSlot>> {
        let place = self.place(name);
        let slot = self.slots.get_mut(place)?;
        *slot = None;
        Some(slot)
    }
}

impl OpenFileCache {
    /// Locks the set of a key until the result is dropped.
    pub(super) fn lookup<'k>(&'k self, key: &'k str) -> CacheLookup<'k> {
        let name = name_of(key);
        CacheLookup { kept: self, key, name, set: self.set(name) }
    }

    /// Returns the cached file of an object, if the key still leads to it.
    pub(super) fn find(&self, root: BorrowedFd<'_>, key: &str) -> Option<Arc<OpenFile>> {
        self.lookup(key).with_current(root, |slot, _| Some(Arc::clone(&slot.shared()?.object)))
    }

    /// As [`OpenFileCache::find`], with the version of the object.
    pub(super) fn find_version(&self, root: BorrowedFd<'_>, key: &str) -> Option<(Arc<OpenFile>, Version)> {
        self.lookup(key).with_current(root, |slot, stat| {
            let shared = slot.shared()?;
            let unchanged = |version: &Version| {
                version.get::<FileVersion>().is_some_and(|mark| mark.has_same_state(&stat))
            };
            let version = match shared.version.take().filter(unchanged) {
                Some(version) => version,
                None => Version::scarce(FileVersion::kept(Arc::clone(&shared.object), stat)),
            };
            shared.version = Some(version.clone());
            Some((Arc::clone(&shared.object), version))
        })
    }

    /// Caches the file of an object that was just opened, because more parts will be read. Returns it with
    /// its version, whose state is `stat`; `Err` if it is not cached.
    pub(super) fn insert_version(
        &self,
        root: BorrowedFd<'_>,
        key: &str,
        file: OwnedFd,
        stat: Stat,
    ) -> Result<(Arc<OpenFile>, Version), OwnedFd> {
        if self.device(root) != Some(stat.st_dev) {
            return Err(file);
        }
        let (name, inode) = (name_of(key), NonZeroU64::new(stat.st_ino));
        let mut set = self.set_or_new(name);
        let Some(slot) = set.as_mut().and_then(|set| set.empty_slot(name)) else { return Err(file) };
        let object = Arc::new(OpenFile::new(file)?);
        let version = Version::scarce(FileVersion::kept(Arc::clone(&object), stat));
        let shared = SharedFile { object: Arc::clone(&object), version: Some(version.clone()) };
        *slot = Some(CacheSlot { name, inode, held: SlotFile::SharedFile(Box::new(shared)) });
        Ok((object, version))
    }

    /// Closes the file of an object that was replaced or removed, which would keep its disk space.
    pub(super) fn forget(&self, key: &str) {
        let name = name_of(key);
        let Some(mut set) = self.set(name) else { return };
        for place in &mut set.slots {
            place.take_if(|slot| slot.name == name);
        }
    }

    /// Closes all files.
    pub(super) fn clear(&self) {
        for set in self.sets.get().into_iter().flatten().filter_map(OnceLock::get) {
            set.lock().unwrap_or_else(PoisonError::into_inner).slots = Default::default();
        }
    }

    fn set(&self, name: u64) -> Option<MutexGuard<'_, CacheSet>> {
        free(self.sets.get()?.get(set_of(name))?.get()?)
    }

    /// As [`OpenFileCache::set`]; allocates the set.
    fn set_or_new(&self, name: u64) -> Option<MutexGuard<'_, CacheSet>> {
        let sets = self.sets.get_or_init(|| (0..SETS).map(|_| OnceLock::new()).collect());
        free(sets.get(set_of(name))?.get_or_init(Box::default))
    }

    /// Whether lookups of the file system are never stale.
    pub(super) fn is_local(&self, root: BorrowedFd<'_>) -> bool {
        self.device(root).is_some()
    }

    fn device(&self, root: BorrowedFd<'_>) -> Option<u64> {
        *self.device.get_or_init(|| {
            let kind = fstatfs(root).ok()?.f_type as u64;
            if LOCAL.contains(&kind) { fstat(root).ok().map(|stat| stat.st_dev) } else { None }
        })
    }
}

/// A key and its locked set.
pub(super) struct CacheLookup<'k> {
    kept: &'k OpenFileCache,
    key: &'k str,
    name: u64,
    /// `None` if another thread has it, or if nothing was cached yet.
    set: Option<MutexGuard<'k, CacheSet>>,
}

impl CacheLookup<'_> {
    /// Reads from the cached object, if the key still leads to it.
    pub(super) fn read<R>(
        &mut self,
        root: BorrowedFd<'_>,
        read: impl FnOnce(BorrowedFd<'_>) -> R,
    ) -> Option<R> {
        self.with_current(root, |slot, _| slot.fd().map(read))
    }

    fn with_current<R>(
        &mut self,
        root: BorrowedFd<'_>,
        found: impl FnOnce(&mut CacheSlot, Stat) -> Option<R>,
    ) -> Option<R> {
        let (name, slots) = (self.name, &mut self.set.as_mut()?.slots);
        let place = slots.iter_mut().find(|slot| slot.as_ref().is_some_and(|slot| slot.name == name))?;
        let slot = place.as_mut()?;
        if let Ok(stat) = statat(root, self.key, AtFlags::SYMLINK_NOFOLLOW)
            && slot.matches(&stat, self.kept.device(root))
        {
            return found(slot, stat);
        }
        *place = None;
        None
    }

    /// Caches the file of the object, unless it is the map's first partial read.
    pub(super) fn insert(self, root: BorrowedFd<'_>, file: OwnedFd) {
        let kept = self.kept;
        if !kept.used.load(Ordering::Relaxed) {
            kept.used.store(true, Ordering::Relaxed);
            return;
        }
        if kept.device(root).is_none() {
            return;
        }
        let name = self.name;
        let mut set = self.set.or_else(|| kept.set_or_new(name));
        if let Some(slot) = set.as_mut().and_then(|set| set.empty_slot(name))
            && let Ok(object) = OpenFile::new(file)
        {
            *slot = Some(CacheSlot { name, inode: None, held: SlotFile::Alone(Some(object)) });
        }
    }
}

/// Locks a set, if no other thread has it.
fn free(set: &Mutex<CacheSet>) -> Option<MutexGuard<'_, CacheSet>> {
    match set.try_lock() {
        Ok(set) => Some(set),
        Err(TryLockError::Poisoned(set)) => Some(set.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::fs::{self, File};

    use super::*;

    #[test]
    fn names_of_keys_differ_and_are_spread() {
        let keys: HashSet<String> =
            (0..4096).map(|i| format!("v/{}.{}.{}", i / 256, i / 16 % 16, i % 16)).collect();
        let more = (0..4096).map(|i| format!("some/longer/variable/c/{i}"));
        for keys in [keys.into_iter().collect::<Vec<_>>(), more.collect()] {
            let names: HashSet<u64> = keys.iter().map(|key| name_of(key)).collect();
            assert_eq!(names.len(), keys.len());
            let mut sets = [0; SETS];
            names.iter().for_each(|name| sets[(name >> 58) as usize] += 1);
            assert!(
                sets.iter().all(|&count| (4096 / SETS / 2..4096 / SETS * 2).contains(&count)),
                "{sets:?}"
            );
        }
        assert_eq!(["", "\0", "a", "a\0", "\0a"].map(name_of).into_iter().collect::<HashSet<_>>().len(), 5);
    }

    #[test]
    fn an_object_under_the_number_of_another_key_is_not_found() {
        let scratch = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            fs::write(scratch.path().join(name), name).unwrap();
        }
        let root = File::open(scratch.path()).unwrap();
        let kept = OpenFileCache::default();
        kept.used.store(true, Ordering::Relaxed);
        let insert = |key: &str| {
            kept.lookup(key).insert(root.as_fd(), File::open(scratch.path().join("a")).unwrap().into())
        };
        insert("a");
        if !kept.is_local(root.as_fd()) {
            return;
        }
        assert!(kept.lookup("a").read(root.as_fd(), |_| ()).is_some());
        // Puts the other key into the same slot, like a collision of their hashes.
        insert("b");
        assert!(kept.lookup("b").read(root.as_fd(), |_| ()).is_none());
        assert!(kept.find(root.as_fd(), "b").is_none());
        assert!(kept.find(root.as_fd(), "a").is_some() && kept.find_version(root.as_fd(), "a").is_some());
        assert!(kept.lookup("a").read(root.as_fd(), |_| ()).is_some());
    }
}
