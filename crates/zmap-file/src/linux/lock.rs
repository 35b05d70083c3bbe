//! The lock under which objects are replaced and removed.
//!
//! Between processes: one byte of a hidden file in the root, locked for the open file description, the byte
//! chosen by the key. Between the threads of one map, which share that description: a striped mutex. The
//! lock file is made when it is first needed, never by an open for reading.

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
pub(super) struct Locks {
    stripes: [Mutex<()>; STRIPES],
    tree: Mutex<()>,
    file: RwLock<Option<Arc<OwnedFd>>>,
    probed: OnceLock<bool>,
    refused: AtomicBool,
    exclusive: bool,
    announced: Announced,
}

/// Whether it is said that temporary files are made here.
#[derive(Debug, Default)]
struct Announced {
    /// It was, or cannot be.
    done: AtomicBool,
    /// The lock file in which it is said.
    file: Mutex<Option<Arc<OwnedFd>>>,
}

/// Holds one key; dropping it lets go.
#[derive(Debug)]
pub(super) struct Guard<'l> {
    byte: Option<(Arc<OwnedFd>, i64)>,
    _stripe: MutexGuard<'l, ()>,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if let Some((file, byte)) = &self.byte {
            // Closing the descriptor, at the latest, lets go too.
            let _ = set(file.as_fd(), *byte, libc::F_UNLCK, true);
        }
    }
}

impl Locks {
    /// Locks for a map that is written by this process alone (`exclusive`) or not.
    pub(super) fn new(exclusive: bool) -> Self {
        Self {
            stripes: [const { Mutex::new(()) }; STRIPES],
            tree: Mutex::new(()),
            file: RwLock::default(),
            probed: OnceLock::new(),
            refused: AtomicBool::new(false),
            exclusive,
            announced: Announced::default(),
        }
    }

    /// Whether other processes can be kept out. Leaves nothing behind.
    pub(super) fn able(&self, root: BorrowedFd<'_>) -> bool {
        self.exclusive || (*self.probed.get_or_init(|| probe(root)) && !self.refused.load(Ordering::Relaxed))
    }

    /// Waits for the key. Where the storage refuses to lock, only the threads of this map are kept out.
    pub(super) fn lock(&self, root: BorrowedFd<'_>, key: &str) -> Result<Guard<'_>, Errno> {
        let byte = byte_of(key);
        let stripe = self.stripes[byte as usize % STRIPES].lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Guard { byte: self.byte(root, byte, true)?, _stripe: stripe })
    }

    /// Waits for the directories: while it is held nobody removes any. To be taken after keys, never before.
    pub(super) fn lock_tree(&self, root: BorrowedFd<'_>) -> Result<Guard<'_>, Errno> {
        let stripe = self.tree.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Guard { byte: self.byte(root, TREE, true)?, _stripe: stripe })
    }

    /// As [`Locks::lock_tree`], if nobody else has it.
    pub(super) fn try_lock_tree(&self, root: BorrowedFd<'_>) -> Option<Guard<'_>> {
        let stripe = match self.tree.try_lock() {
            Ok(stripe) => stripe,
            Err(TryLockError::Poisoned(stripe)) => stripe.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(Guard { byte: self.byte(root, TREE, false).ok()?, _stripe: stripe })
    }

    /// Says, once, that temporary files are made from here on. Calls `sweep` first if all who did so before were stopped.
    /// What fails here fails nobody's write.
    pub(super) fn announce(&self, root: BorrowedFd<'_>, sweep: &dyn Fn() -> Result<(), Errno>) {
        if self.exclusive || self.announced.done.load(Ordering::Acquire) || self.refused.load(Ordering::Relaxed) {
            return;
        }
        // Whoever else comes here waits until it is swept.
        let mut announced = self.announced.file.lock().unwrap_or_else(PoisonError::into_inner);
        if self.announced.done.load(Ordering::Acquire) {
            return;
        }
        *announced = self.say(root, sweep);
        self.announced.done.store(true, Ordering::Release);
    }

    /// As [`Locks::announce`]: the lock file in which it is said now.
    fn say(&self, root: BorrowedFd<'_>, sweep: &dyn Fn() -> Result<(), Errno>) -> Option<Arc<OwnedFd>> {
        let file = self.file(root).ok()?;
        let alone = set(file.as_fd(), MAKING, libc::F_WRLCK, false).is_ok();
        if alone && leftovers::is_marked(file.as_fd()).unwrap_or(false) && sweep().is_err() {
            // It stays marked for the next.
            let _ = set(file.as_fd(), MAKING, libc::F_UNLCK, false);
            return None;
        }
        let shared = leftovers::mark(file.as_fd(), true).and_then(|()| set(file.as_fd(), MAKING, libc::F_RDLCK, true));
        shared.is_ok().then_some(file)
    }

    /// Lets go of the lock file; the next write opens it again.
    pub(super) fn release(&self) {
        self.renounce();
        *self.file.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Takes back that temporary files are made, when none will be made for now.
    pub(super) fn renounce(&self) {
        let mut announced = self.announced.file.lock().unwrap_or_else(PoisonError::into_inner);
        self.announced.done.store(false, Ordering::Release);
        let Some(file) = announced.take() else { return };
        // If somebody else is at it, the mark is theirs now.
        if set(file.as_fd(), MAKING, libc::F_WRLCK, false).is_ok() {
            let _ = leftovers::mark(file.as_fd(), false);
        }
    }

    /// Locks a byte against other processes; `None` if the storage refuses, or nobody else writes.
    fn byte(&self, root: BorrowedFd<'_>, byte: i64, wait: bool) -> Result<Option<(Arc<OwnedFd>, i64)>, Errno> {
        if self.exclusive {
            return Ok(None);
        }
        while !self.refused.load(Ordering::Relaxed) {
            let file = self.file(root)?;
            match set(file.as_fd(), byte, libc::F_WRLCK, wait) {
                Ok(()) => {}
                Err(errno) if is_refusal(errno) => {
                    self.refused.store(true, Ordering::Relaxed);
                    continue;
                }
                Err(errno) => return Err(errno),
            }
            // Somebody may have removed the file; others then lock its successor.
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
            *slot = Some(Arc::new(beneath::open(root, LOCK, OPEN | OFlags::CREATE, Mode::from_raw_mode(0o666))?));
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

/// Tries a lock on the lock file if it is there, else on a file without a name in the same place.
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
    // What fails otherwise than by a refusal may not fail the next time: whoever locks in earnest is told.
    let file = match file {
        Err(Errno::IO | Errno::NOSPC | Errno::DQUOT | Errno::NOMEM | Errno::MFILE | Errno::NFILE) => return true,
        Err(_) => return false,
        Ok(file) => file,
    };
    set(file.as_fd(), PROBED, libc::F_WRLCK, false).err().is_none_or(|errno| !is_refusal(errno))
}

fn is_refusal(errno: Errno) -> bool {
    matches!(errno, Errno::NOLCK | Errno::OPNOTSUPP | Errno::BADF | Errno::INVAL | Errno::NOSYS)
}

/// Beyond the bytes of keys, so that a probe waits for nobody.
const PROBED: i64 = 1 << 30;

/// Stands for the directories.
const TREE: i64 = PROBED + 1;

/// Held, shared, by all who make temporary files.
const MAKING: i64 = PROBED + 2;

/// The byte that stands for a key: 30 bits of FNV-1a, mixed because its last bytes hardly reach the high bits.
/// Every version of this code must choose the same.
pub(super) fn byte_of(key: &str) -> i64 {
    let hash = key
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let mixed = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed >> 34) as i64
}

fn set(file: BorrowedFd<'_>, byte: i64, kind: libc::c_int, wait: bool) -> Result<(), Errno> {
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

    use nczarr_dispatch::{Key, Options, Precondition, ZMap};
    use nczarr_model::ErrorKind;
    use rustix::fs::open;

    use super::*;
    use crate::FileMap;

    #[test]
    fn the_byte_of_a_key_never_changes() {
        assert_eq!([byte_of(""), byte_of("temp/0.0"), byte_of("temp/0.1")], [1_064_271_275, 428_360_303, 174_412_707]);
        assert!((0..10_000).all(|i| (0..PROBED).contains(&byte_of(&i.to_string()))));
        let stripes: std::collections::HashSet<_> = (0..1000).map(|i| byte_of(&format!("v/{i}")) % 64).collect();
        assert_eq!(stripes.len(), 64);
    }

    #[test]
    fn two_maps_exclude_each_other_even_after_the_file_was_removed() {
        let scratch = tempfile::tempdir().unwrap();
        let root = open(scratch.path(), beneath::LIST, Mode::empty()).unwrap();
        let (one, other) = (Locks::new(false), Locks::new(false));
        assert!(one.able(root.as_fd()));
        assert!(!scratch.path().join(LOCK).exists(), "a probe leaves nothing");
        drop(one.lock(root.as_fd(), "k").unwrap());
        fs::remove_file(scratch.path().join(LOCK)).unwrap();
        let held = other.lock(root.as_fd(), "k").unwrap();
        let (said, heard) = mpsc::channel();
        // The threads of one map share stripes: the other key must have one of its own.
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
        let locks = Locks::new(true);
        assert!(locks.able(root.as_fd()));
        drop(locks.lock(root.as_fd(), "k").unwrap());
        assert!(!scratch.path().join(LOCK).exists());
    }

    #[test]
    fn where_locks_are_refused_objects_are_written_but_not_conditionally() {
        let scratch = tempfile::tempdir().unwrap();
        let map = FileMap::create(scratch.path().join("it"), None, &Options::default()).unwrap();
        assert!(map.caps().conditional_write);
        map.locks.refused.store(true, Ordering::Relaxed);
        assert!(!map.caps().conditional_write);
        let key = Key::new("a/b").unwrap();
        for value in ["1", "2", "3"] {
            map.write(&key, value.as_bytes()).unwrap();
        }
        assert_eq!(map.len(&key).unwrap(), Some(1));
        let perm = |error: nczarr_model::Error| assert_eq!(error.kind(), ErrorKind::Perm, "{error}");
        perm(map.write_if(&key, b"x", Precondition::Absent).unwrap_err());
        perm(map.read_versioned(&key, 1, &mut Vec::new()).unwrap_err());
        perm(map.update(&key, usize::MAX, &mut |_, _| Ok(())).unwrap_err());
        assert!(map.delete(&key).unwrap());
        assert!(!map.path().join("a").exists());
    }
}
