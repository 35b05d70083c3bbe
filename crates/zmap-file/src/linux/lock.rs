//! The locks for replacing and removing objects.
//!
//! Between processes: a byte of a hidden file in the root, chosen by the key, locked for the open file
//! description. Between threads of one map, which share that description: a striped mutex. The lock file is
//! made at the first use, never by opening for reading.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, TryLockError};

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use rustix::fs::{Mode, OFlags, fstat};
use rustix::io::Errno;

use super::{beneath, leftovers};
use crate::names::LOCK;

const STRIPES: usize = 64;
const OPEN: OFlags =
    OFlags::RDWR.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::NOFOLLOW);

/// All locks of one open map.
#[derive(Debug)]
pub(super) struct KeyLocks {
    stripes: [Mutex<()>; STRIPES],
    tree: Mutex<()>,
    file: RwLock<Option<Arc<OwnedFd>>>,
    probed: OnceLock<bool>,
    refused: AtomicBool,
    exclusive: bool,
    announced: Announcement,
}

/// Whether this map has announced temporary files.
#[derive(Debug, Default)]
struct Announcement {
    /// The announcement was made, or is impossible.
    done: AtomicBool,
    /// The lock file with the announcement.
    file: Mutex<Option<Arc<OwnedFd>>>,
}

/// Locks one key until dropped.
#[derive(Debug)]
pub(super) struct KeyGuard<'l> {
    byte: Option<(Arc<OwnedFd>, i64)>,
    _stripe: MutexGuard<'l, ()>,
}

impl Drop for KeyGuard<'_> {
    fn drop(&mut self) {
        if let Some((file, byte)) = &self.byte {
            // Closing the descriptor also releases it.
            let _ = set_lock(file.as_fd(), *byte, libc::F_UNLCK, true);
        }
    }
}

impl KeyLocks {
    /// Makes the locks of a map; `exclusive`: only this process writes.
    pub(super) fn new(exclusive: bool) -> Self {
        Self {
            stripes: [const { Mutex::new(()) }; STRIPES],
            tree: Mutex::new(()),
            file: RwLock::default(),
            probed: OnceLock::new(),
            refused: AtomicBool::new(false),
            exclusive,
            announced: Announcement::default(),
        }
    }

    /// Whether other processes can be locked out. Leaves no file behind.
    pub(super) fn is_supported(&self, root: BorrowedFd<'_>) -> bool {
        self.exclusive || (*self.probed.get_or_init(|| probe(root)) && !self.refused.load(Ordering::Relaxed))
    }

    /// Waits for the lock of a key. If the storage refuses locks, only threads of this map are locked out.
    pub(super) fn lock(&self, root: BorrowedFd<'_>, key: &str) -> Result<KeyGuard<'_>, Errno> {
        let byte = byte_of(key);
        let stripe = self.stripes[byte as usize % STRIPES].lock().unwrap_or_else(PoisonError::into_inner);
        Ok(KeyGuard { byte: self.byte(root, byte, true)?, _stripe: stripe })
    }

    /// Waits for the lock of all directories, under which no directory is removed. Take it after locks of
    /// keys.
    pub(super) fn lock_tree(&self, root: BorrowedFd<'_>) -> Result<KeyGuard<'_>, Errno> {
        let stripe = self.tree.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(KeyGuard { byte: self.byte(root, TREE_BYTE, true)?, _stripe: stripe })
    }

    /// As [`KeyLocks::lock_tree`], but returns `None` instead of waiting.
    pub(super) fn try_lock_tree(&self, root: BorrowedFd<'_>) -> Option<KeyGuard<'_>> {
        let stripe = match self.tree.try_lock() {
            Ok(stripe) => stripe,
            Err(TryLockError::Poisoned(stripe)) => stripe.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(KeyGuard { byte: self.byte(root, TREE_BYTE, false).ok()?, _stripe: stripe })
    }

    /// Announces, once, that temporary files are made. Calls `sweep` first if all earlier writers crashed.
    /// Errors here fail no write.
    pub(super) fn announce(&self, root: BorrowedFd<'_>, sweep: &dyn Fn() -> Result<(), Errno>) {
        if self.exclusive
            || self.announced.done.load(Ordering::Acquire)
            || self.refused.load(Ordering::Relaxed)
        {
            return;
        }
        // Other threads wait here until the sweep is over.
        let mut announced = self.announced.file.lock().unwrap_or_else(PoisonError::into_inner);
        if self.announced.done.load(Ordering::Acquire) {
            return;
        }
        *announced = self.try_announce(root, sweep);
        self.announced.done.store(true, Ordering::Release);
    }

    /// Announces in the lock file and returns it.
    fn try_announce(
        &self,
        root: BorrowedFd<'_>,
        sweep: &dyn Fn() -> Result<(), Errno>,
    ) -> Option<Arc<OwnedFd>> {
        let file = self.file(root).ok()?;
        let alone = set_lock(file.as_fd(), TEMPORARIES_BYTE, libc::F_WRLCK, false).is_ok();
        if alone && leftovers::is_marked(file.as_fd()).unwrap_or(false) && sweep().is_err() {
            // The mark stays for the next writer.
            let _ = set_lock(file.as_fd(), TEMPORARIES_BYTE, libc::F_UNLCK, false);
            return None;
        }
        let shared = leftovers::mark(file.as_fd(), true)
            .and_then(|()| set_lock(file.as_fd(), TEMPORARIES_BYTE, libc::F_RDLCK, true));
        shared.is_ok().then_some(file)
    }

    /// Releases the lock file; the next write opens it again.
    pub(super) fn release(&self) {
        self.withdraw();
        *self.file.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Withdraws the announcement while no temporary files are made.
    pub(super) fn withdraw(&self) {
        let mut announced = self.announced.file.lock().unwrap_or_else(PoisonError::into_inner);
        self.announced.done.store(false, Ordering::Release);
        let Some(file) = announced.take() else { return };
        // If another writer has the lock, it owns the mark now.
        if set_lock(file.as_fd(), TEMPORARIES_BYTE, libc::F_WRLCK, false).is_ok() {
            let _ = leftovers::mark(file.as_fd(), false);
        }
    }

    /// Locks a byte against other processes; `None` if the storage refuses locks or the map is exclusive.
    fn byte(
        &self,
        root: BorrowedFd<'_>,
        byte: i64,
        wait: bool,
    ) -> Result<Option<(Arc<OwnedFd>, i64)>, Errno> {
        if self.exclusive {
            return Ok(None);
        }
        while !self.refused.load(Ordering::Relaxed) {
            let file = self.file(root)?;
            match set_lock(file.as_fd(), byte, libc::F_WRLCK, wait) {
                Ok(()) => {}
                Err(errno) if is_refusal(errno) => {
                    self.refused.store(true, Ordering::Relaxed);
                    continue;
                }
                Err(errno) => return Err(errno),
            }
            // If the file was deleted, other writers lock its successor.
            if fstat(&file)?.st_nlink > 0 {
                return Ok(Some((file, byte)));
            }
            self.forget(&file);
        }
        Ok(None)
    }

    fn file(&self, root: BorrowedFd<'_>) -> Result<Arc<OwnedFd>, Errno> {
        if let Some(file) = &*self.file.read().unwrap_or_else(PoisonError::into_inner) {
            return Ok(Arc::clone(file));
        }
        let mut slot = self.file.write().unwrap_or_else(PoisonError::into_inner);
        if slot.is_none() {
            *slot =
                Some(Arc::new(beneath::open(root, LOCK, OPEN | OFlags::CREATE, Mode::from_raw_mode(0o666))?));
        }
        slot.as_ref().map(Arc::clone).ok_or(Errno::NOLCK)
    }

    fn forget(&self, file: &Arc<OwnedFd>) {
        let mut slot = self.file.write().unwrap_or_else(PoisonError::into_inner);
        if slot.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, file)) {
            *slot = None;
        }
    }
}

/// Tries a lock on the lock file if it exists, else on an unnamed file in the same directory.
fn probe(root: BorrowedFd<'_>) -> bool {
    let mode = Mode::from_raw_mode(0o666);
    let nameless = || beneath::open(root, "", OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, mode);
    let file = match beneath::open(root, LOCK, OPEN, Mode::empty()) {
        Err(Errno::NOENT) => match nameless() {
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
                beneath::open(root, LOCK, OPEN | OFlags::CREATE, mode)
            }
            file => file,
        },
        file => file,
    };
    // Other errors may be temporary; the real lock reports them.
    let file = match file {
        Err(Errno::IO | Errno::NOSPC | Errno::DQUOT | Errno::NOMEM | Errno::MFILE | Errno::NFILE) => {
            return true;
        }
        Err(_) => return false,
        Ok(file) => file,
    };
    set_lock(file.as_fd(), PROBE_BYTE, libc::F_WRLCK, false).err().is_none_or(|errno| !is_refusal(errno))
}

fn is_refusal(errno: Errno) -> bool {
    matches!(errno, Errno::NOLCK | Errno::OPNOTSUPP | Errno::BADF | Errno::INVAL | Errno::NOSYS)
}

/// The byte of the probe, beyond those of keys, so that it never waits.
const PROBE_BYTE: i64 = 1 << 30;

/// The byte of the directories.
const TREE_BYTE: i64 = PROBE_BYTE + 1;

/// The byte that all makers of temporary files share.
const TEMPORARIES_BYTE: i64 = PROBE_BYTE + 2;

/// Returns the byte of a key: 30 bits of FNV-1a, mixed because its last bytes hardly affect the high bits.
/// *Invariant:* all versions of this code choose the same byte.
pub(super) fn byte_of(key: &str) -> i64 {
    let hash = key.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mixed = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed >> 34) as i64
}

fn set_lock(file: BorrowedFd<'_>, byte: i64, kind: libc::c_int, wait: bool) -> Result<(), Errno> {
    let lock = libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: byte as libc::off_t,
        l_len: 1,
        l_pid: 0,
    };
    loop {
        let how = if wait { FcntlArg::F_OFD_SETLKW(&lock) } else { FcntlArg::F_OFD_SETLK(&lock) };
        match fcntl(file, how) {
            Ok(_) => return Ok(()),
            Err(nix::errno::Errno::EINTR) => {}
            Err(errno) => return Err(Errno::from_raw_os_error(errno as i32)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::mpsc;
    use std::thread;

    use nczarr_model::ErrorKind;
    use nczarr_storage::{Key, MapOptions, Precondition, ZMap, ZMapExt};
    use rustix::fs::open;

    use super::*;
    use crate::FileMap;

    #[test]
    fn the_byte_of_a_key_never_changes() {
        assert_eq!(
            [byte_of(""), byte_of("temp/0.0"), byte_of("temp/0.1")],
            [1_064_271_275, 428_360_303, 174_412_707]
        );
        assert!((0..10_000).all(|i| (0..PROBE_BYTE).contains(&byte_of(&i.to_string()))));
        let stripes: std::collections::HashSet<_> =
            (0..1000).map(|i| byte_of(&format!("v/{i}")) % 64).collect();
        assert_eq!(stripes.len(), 64);
    }

    #[test]
    fn two_maps_exclude_each_other_even_after_the_file_was_removed() {
        let scratch = tempfile::tempdir().unwrap();
        let root = open(scratch.path(), beneath::LIST, Mode::empty()).unwrap();
        let (one, other) = (KeyLocks::new(false), KeyLocks::new(false));
        assert!(one.is_supported(root.as_fd()));
        assert!(!scratch.path().join(LOCK).exists(), "a probe leaves nothing");
        drop(one.lock(root.as_fd(), "k").unwrap());
        fs::remove_file(scratch.path().join(LOCK)).unwrap();
        let held = other.lock(root.as_fd(), "k").unwrap();
        let (said, heard) = mpsc::channel();
        // The threads of one map share stripes, so the other key must have another stripe.
        assert_ne!(byte_of("k") % STRIPES as i64, byte_of("l") % STRIPES as i64);
        thread::scope(|scope| {
            scope.spawn(|| {
                let guard = one.lock(root.as_fd(), "k").unwrap();
                said.send(()).unwrap();
                drop(guard);
            });
            drop(one.lock(root.as_fd(), "l").unwrap());
            assert!(heard.try_recv().is_err());
            drop(held);
            heard.recv().unwrap();
        });
    }

    #[test]
    fn an_exclusive_map_makes_no_lock_file() {
        let scratch = tempfile::tempdir().unwrap();
        let root = open(scratch.path(), beneath::LIST, Mode::empty()).unwrap();
        let locks = KeyLocks::new(true);
        assert!(locks.is_supported(root.as_fd()));
        drop(locks.lock(root.as_fd(), "k").unwrap());
        assert!(!scratch.path().join(LOCK).exists());
    }

    #[test]
    fn where_locks_are_refused_objects_are_written_but_not_conditionally() {
        let scratch = tempfile::tempdir().unwrap();
        let map = FileMap::create(scratch.path().join("it"), None, &MapOptions::default()).unwrap();
        assert!(map.caps().conditional_write);
        map.locks.refused.store(true, Ordering::Relaxed);
        assert!(!map.caps().conditional_write);
        let key = Key::new("a/b").unwrap();
        for value in ["1", "2", "3"] {
            map.write(&key, value.as_bytes()).unwrap();
        }
        assert_eq!(map.len(&key).unwrap(), Some(1));
        let perm = |error: nczarr_model::Error| assert_eq!(error.kind(), ErrorKind::Perm, "{error}");
        perm(map.write_if(&key, b"x", &Precondition::Absent).unwrap_err());
        perm(map.read_versioned(&key, 1, &mut Vec::new()).unwrap_err());
        perm(map.update(&key, usize::MAX, &mut |_, _| Ok(())).unwrap_err());
        assert!(map.delete(&key).unwrap());
        assert!(!map.path().join("a").exists());
    }
}
