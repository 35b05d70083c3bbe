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

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use dispatch::Version;
use rustix::fs::{AtFlags, Stat, fstat, fstatfs, statat};
use rustix::process::{Resource, getrlimit};

use super::lock::byte_of;
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
    key: String,
    object: Arc<Object>,
    /// Device and inode of the object, once they were needed.
    inode: Option<(u64, u64)>,
    /// Its version, once it was asked for; whoever remembers it relies on its being the same as long as this is kept.
    version: Option<Version>,
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

fn inode(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

impl Set {
    /// Where a key is put: in its own slot, in a free one as long as more may be kept, else in that of another.
    fn place(&mut self, key: &str) -> usize {
        let mut positions = (0..WAYS).map(|step| (self.next + step) % WAYS);
        let slot = |place: &usize| self.slots.get(*place).and_then(Option::as_ref);
        if let Some(own) = positions.clone().find(|place| slot(place).is_some_and(|slot| slot.key == key)) {
            return own;
        }
        let more = COUNT.load(Ordering::Relaxed) < most();
        let free = positions.clone().find(|place| slot(place).is_none()).filter(|_| more);
        let place = free.or_else(|| positions.find(|place| slot(place).is_some())).unwrap_or(0);
        self.next = (place + 1) % WAYS;
        place
    }
}

impl Kept {
    /// The kept descriptor of an object, if the key still leads to it.
    pub(super) fn find(&self, root: BorrowedFd<'_>, key: &str) -> Option<Arc<Object>> {
        self.look(root, key, |slot, _| Arc::clone(&slot.object))
    }

    /// As [`Kept::find`], with the version of the object.
    pub(super) fn find_version(&self, root: BorrowedFd<'_>, key: &str) -> Option<(Arc<Object>, Version)> {
        self.look(root, key, |slot, stat| {
            let unchanged = |version: &Version| version.get::<Mark>().is_some_and(|mark| mark.is_like(&stat));
            let version = match slot.version.take().filter(unchanged) {
                Some(version) => version,
                None => Version::scarce(Mark::kept(Arc::clone(&slot.object), stat)),
            };
            slot.version = Some(version.clone());
            (Arc::clone(&slot.object), version)
        })
    }

    fn look<R>(&self, root: BorrowedFd<'_>, key: &str, found: impl FnOnce(&mut Slot, Stat) -> R) -> Option<R> {
        let mut set = self.set(key)?;
        let place = set.slots.iter_mut().find(|slot| slot.as_ref().is_some_and(|slot| slot.key == key))?;
        let slot = place.as_mut()?;
        let known = match slot.inode {
            Some(known) => Some(known),
            None => {
                fstat(&slot.object).ok().map(|stat| inode(&stat)).filter(|known| Some(known.0) == self.device(root))
            }
        };
        let stat = statat(root, key, AtFlags::SYMLINK_NOFOLLOW).ok();
        let same = stat.as_ref().map(inode) == known;
        let (true, Some(stat), Some(_)) = (same, stat, known) else {
            *place = None;
            return None;
        };
        slot.inode = known;
        Some(found(slot, stat))
    }

    /// Keeps the descriptor of an object, unless it is the first of the map.
    ///
    /// `more`: another part will be read for sure.
    pub(super) fn keep(&self, root: BorrowedFd<'_>, key: &str, file: OwnedFd, more: bool) {
        if !more && !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
            return;
        }
        if self.device(root).is_none() {
            return;
        }
        self.sets.get_or_init(|| (0..SETS).map(|_| Mutex::default()).collect());
        let Some(mut set) = self.set(key) else { return };
        let place = set.place(key);
        let Some(place) = set.slots.get_mut(place) else { return };
        // The old one goes first: one less counts.
        let mut text = place.take().map(|old| old.key).unwrap_or_default();
        let Some(object) = Object::new(file) else { return };
        text.clear();
        text.push_str(key);
        *place = Some(Slot { key: text, object: Arc::new(object), inode: None, version: None });
    }

    /// Lets go of the descriptor of an object that is replaced or removed, whose place on disk it would occupy.
    pub(super) fn forget(&self, key: &str) {
        let Some(mut set) = self.set(key) else { return };
        for place in &mut set.slots {
            place.take_if(|slot| slot.key == key);
        }
    }

    /// Lets go of all.
    pub(super) fn clear(&self) {
        for set in self.sets.get().into_iter().flatten() {
            set.lock().unwrap_or_else(PoisonError::into_inner).slots = Default::default();
        }
    }

    fn set(&self, key: &str) -> Option<MutexGuard<'_, Set>> {
        free(self.sets.get()?.get(byte_of(key) as usize % SETS)?)
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

/// A set, if nobody is at it.
fn free(set: &Mutex<Set>) -> Option<MutexGuard<'_, Set>> {
    match set.try_lock() {
        Ok(set) => Some(set),
        Err(TryLockError::Poisoned(set)) => Some(set.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
