//! [`Kept`]: descriptors of objects of which a part was read, kept for the next part.
//!
//! Opening and closing a file takes longer than reading a few bytes of it. What is kept is bounded, for a map and
//! for the process, is let go by `sync` and with the map, and is never waited for: whoever finds a set taken opens
//! the object itself. Objects that are read as a whole do not come here, so that a scan evicts nothing; nor does the
//! first part that is read through a map, which may be the only one.
//!
//! The guarantee is that of opening anew: before each use the key is looked up again, and has to lead to the inode
//! the descriptor is open on, whose number nobody else can have meanwhile. So it does not matter who replaced,
//! removed or moved the object or a directory above it, nor how coarse the clock is; who writes in place is seen
//! because it is the same inode. One thing is laxer: a directory that was moved away and replaced by a link to
//! where it is now is only noticed by the next real open. Where looking up a key may be answered from memory that
//! others do not keep up to date (network file systems), nothing is kept.
//!
//! For the same reason a key is remembered as a number made of it: of two keys with one number, the one that leads to
//! another inode is not found here.

use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use nczarr_dispatch::Version;
use rustix::fs::{AtFlags, Stat, fstat, fstatfs, statat};
use rustix::process::{Resource, getrlimit};

use super::version::Mark;

const SETS: usize = 64;
const WAYS: usize = 4;

/// As many descriptors are kept in one process, by all its maps together; never more than a small part of those
/// it may open.
const MOST: usize = 128;
const PART: u64 = 8;

/// File systems of which a name is looked up where the objects are: tmpfs, ext2 to 4, xfs, btrfs, f2fs, zfs.
const LOCAL: [u64; 6] = [0x0102_1994, 0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x2fc1_2fc1];

/// How many are kept now.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// The kept descriptors of one map.
#[derive(Default)]
pub(super) struct Kept {
    /// Whether a part of an object was read before: a map that is opened for one read has nothing to keep.
    used: AtomicBool,
    /// Made for the first that is kept: most maps are open for a short time.
    sets: OnceLock<Vec<Mutex<Set>>>,
    /// The device of the root, if its file system is one of [`LOCAL`].
    device: OnceLock<Option<u64>>,
}

#[derive(Default)]
struct Set {
    slots: [Option<Slot>; WAYS],
    /// The slot to be given away next.
    next: usize,
}

struct Slot {
    /// The key, as [`name_of`] has it.
    name: u64,
    /// The inode of the object, on the device of the root, once it was needed.
    inode: Option<NonZeroU64>,
    held: Held,
}

/// As small as it can be as long as only its slot has the object: most are read by a few bytes, here.
enum Held {
    /// `None` while it is made the other.
    Alone(Option<Object>),
    Shared(Box<Shared>),
}

struct Shared {
    object: Arc<Object>,
    /// Its version, once it was asked for; whoever remembers it relies on its being the same as long as this is kept.
    version: Option<Version>,
}

impl Slot {
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.held {
            Held::Alone(object) => object.as_ref().map(AsFd::as_fd),
            Held::Shared(shared) => Some(shared.object.as_fd()),
        }
    }

    /// The object, to be held by others too from now on.
    fn share(&mut self) -> Option<&mut Shared> {
        if let Held::Alone(object) = &mut self.held {
            let object = Arc::new(object.take()?);
            self.held = Held::Shared(Box::new(Shared { object, version: None }));
        }
        match &mut self.held {
            Held::Alone(_) => None,
            Held::Shared(shared) => Some(shared),
        }
    }

    /// Whether the object is what was looked at, on this device.
    fn is(&mut self, found: &Stat, device: Option<u64>) -> bool {
        if self.inode.is_none() {
            let stat = self.fd().and_then(|file| fstat(file).ok()).filter(|stat| Some(stat.st_dev) == device);
            self.inode = stat.and_then(|stat| NonZeroU64::new(stat.st_ino));
        }
        Some(found.st_dev) == device && self.inode.is_some_and(|inode| inode.get() == found.st_ino)
    }
}

/// An open object that counts.
#[derive(Debug)]
pub(super) struct Object(OwnedFd);

impl Object {
    fn new(file: OwnedFd) -> Option<Self> {
        let object = Self(file);
        // Counted first: dropping it takes it off again.
        (COUNT.fetch_add(1, Ordering::Relaxed) < most()).then_some(object)
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        COUNT.fetch_sub(1, Ordering::Relaxed);
    }
}

impl AsFd for Object {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn most() -> usize {
    static ALLOWED: OnceLock<usize> = OnceLock::new();
    *ALLOWED.get_or_init(|| {
        let allowed = getrlimit(Resource::Nofile).current.map_or(u64::MAX, |limit| limit / PART);
        usize::try_from(allowed).unwrap_or(MOST).min(MOST)
    })
}

/// A number for a key, of which the highest bits choose its set.
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

impl Set {
    /// Where a key is put: in its own slot, in a free one as long as more may be kept, else in that of another.
    fn place(&mut self, name: u64) -> usize {
        let (mut free, mut taken) = (None, None);
        for place in (0..WAYS).map(|step| (self.next + step) % WAYS) {
            match self.slots.get(place).and_then(Option::as_ref) {
                Some(slot) if slot.name == name => return place,
                Some(_) => taken = taken.or(Some(place)),
                None => free = free.or(Some(place)),
            }
        }
        let more = COUNT.load(Ordering::Relaxed) < most();
        let place = free.filter(|_| more).or(taken).unwrap_or(0);
        self.next = (place + 1) % WAYS;
        place
    }
}

impl Kept {
    /// Where the descriptor of a key is kept, or will be. Its set is taken until this is dropped.
    pub(super) fn seat<'k>(&'k self, key: &'k str) -> Seat<'k> {
        let name = name_of(key);
        Seat { kept: self, key, name, set: self.set(name) }
    }

    /// The kept descriptor of an object, if the key still leads to it.
    pub(super) fn find(&self, root: BorrowedFd<'_>, key: &str) -> Option<Arc<Object>> {
        self.seat(key).look(root, |slot, _| Some(Arc::clone(&slot.share()?.object)))
    }

    /// As [`Kept::find`], with the version of the object.
    pub(super) fn find_version(&self, root: BorrowedFd<'_>, key: &str) -> Option<(Arc<Object>, Version)> {
        self.seat(key).look(root, |slot, stat| {
            let shared = slot.share()?;
            let unchanged = |version: &Version| version.get::<Mark>().is_some_and(|mark| mark.is_like(&stat));
            let version = match shared.version.take().filter(unchanged) {
                Some(version) => version,
                None => Version::scarce(Mark::kept(Arc::clone(&shared.object), stat)),
            };
            shared.version = Some(version.clone());
            Some((Arc::clone(&shared.object), version))
        })
    }

    /// Lets go of the descriptor of an object that is replaced or removed, whose place on disk it would occupy.
    pub(super) fn forget(&self, key: &str) {
        let name = name_of(key);
        let Some(mut set) = self.set(name) else { return };
        for place in &mut set.slots {
            place.take_if(|slot| slot.name == name);
        }
    }

    /// Lets go of all.
    pub(super) fn clear(&self) {
        for set in self.sets.get().into_iter().flatten() {
            set.lock().unwrap_or_else(PoisonError::into_inner).slots = Default::default();
        }
    }

    fn set(&self, name: u64) -> Option<MutexGuard<'_, Set>> {
        free(self.sets.get()?.get((name >> (u64::BITS - SETS.ilog2())) as usize)?)
    }

    /// Whether a name is looked up where the objects are, so that what it leads to is what is there.
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

/// A key, and the set its descriptor belongs to.
pub(super) struct Seat<'k> {
    kept: &'k Kept,
    key: &'k str,
    name: u64,
    /// `None` if somebody is at it, or nothing was kept yet.
    set: Option<MutexGuard<'k, Set>>,
}

impl Seat<'_> {
    /// Has a few bytes read of the kept object, if the key still leads to it.
    pub(super) fn read<R>(&mut self, root: BorrowedFd<'_>, read: impl FnOnce(BorrowedFd<'_>) -> R) -> Option<R> {
        self.look(root, |slot, _| slot.fd().map(read))
    }

    fn look<R>(&mut self, root: BorrowedFd<'_>, found: impl FnOnce(&mut Slot, Stat) -> Option<R>) -> Option<R> {
        let (name, slots) = (self.name, &mut self.set.as_mut()?.slots);
        let place = slots.iter_mut().find(|slot| slot.as_ref().is_some_and(|slot| slot.name == name))?;
        let slot = place.as_mut()?;
        if let Ok(stat) = statat(root, self.key, AtFlags::SYMLINK_NOFOLLOW)
            && slot.is(&stat, self.kept.device(root))
        {
            return found(slot, stat);
        }
        *place = None;
        None
    }

    /// Keeps the descriptor of the object, unless it is the first of the map.
    ///
    /// `more`: another part will be read for sure.
    pub(super) fn keep(self, root: BorrowedFd<'_>, file: OwnedFd, more: bool) {
        let kept = self.kept;
        if !more && !kept.used.load(Ordering::Relaxed) {
            kept.used.store(true, Ordering::Relaxed);
            return;
        }
        if kept.device(root).is_none() {
            return;
        }
        kept.sets.get_or_init(|| (0..SETS).map(|_| Mutex::default()).collect());
        let name = self.name;
        let Some(mut set) = self.set.or_else(|| kept.set(name)) else { return };
        let place = set.place(name);
        let Some(place) = set.slots.get_mut(place) else { return };
        // The old one goes first: one less counts.
        *place = None;
        let Some(object) = Object::new(file) else { return };
        *place = Some(Slot { name, inode: None, held: Held::Alone(Some(object)) });
    }
}

/// A set, if nobody is at it.
fn free(set: &Mutex<Set>) -> Option<MutexGuard<'_, Set>> {
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
        let keys: HashSet<String> = (0..4096).map(|i| format!("v/{}.{}.{}", i / 256, i / 16 % 16, i % 16)).collect();
        let more = (0..4096).map(|i| format!("some/longer/variable/c/{i}"));
        for keys in [keys.into_iter().collect::<Vec<_>>(), more.collect()] {
            let names: HashSet<u64> = keys.iter().map(|key| name_of(key)).collect();
            assert_eq!(names.len(), keys.len());
            let mut sets = [0; SETS];
            names.iter().for_each(|name| sets[(name >> 58) as usize] += 1);
            assert!(sets.iter().all(|&count| (4096 / SETS / 2..4096 / SETS * 2).contains(&count)), "{sets:?}");
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
        let kept = Kept::default();
        let keep =
            |key: &str| kept.seat(key).keep(root.as_fd(), File::open(scratch.path().join("a")).unwrap().into(), true);
        keep("a");
        if !kept.is_local(root.as_fd()) {
            return;
        }
        assert!(kept.seat("a").read(root.as_fd(), |_| ()).is_some());
        // As if both had the same number.
        keep("b");
        assert!(kept.seat("b").read(root.as_fd(), |_| ()).is_none());
        assert!(kept.find(root.as_fd(), "b").is_none());
        assert!(kept.find(root.as_fd(), "a").is_some() && kept.find_version(root.as_fd(), "a").is_some());
        assert!(kept.seat("a").read(root.as_fd(), |_| ()).is_some());
    }
}
