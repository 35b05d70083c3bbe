//! [`ObjectDirectory`]: the directory of an object, made on demand.
//!
//! It is opened without following links and is the base of all steps of a write, so no step can be
//! redirected. Another process may prune it while it is empty; then the write starts again.
//!
//! The directory of the last write stays open. The next write uses it again if its name in the root still
//! leads to the same inode, which costs less than opening it. This applies only directly below the root, and
//! not to network file systems, where changes may be seen late.

use std::mem;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use nczarr_model::{Error, ErrorKind, Result};
use nczarr_storage::Key;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, mkdirat, openat, statat};
use rustix::io::Errno;

use super::lock::KeyGuard;
use super::{FileMap, beneath, tree};
use crate::names;

/// The most rounds of an operation whose directories vanish between being made and being used.
pub(super) const MAX_ROUNDS: usize = 100;

/// The number of rounds before the directories are locked against removal.
const ROUNDS_BEFORE_LOCK: usize = 3;

/// A directory for objects, reused within a batch.
pub(super) struct ObjectDirectory {
    path: String,
    dir: Option<OwnedFd>,
    /// Device and inode; known only for reused directories.
    identity: Option<(u64, u64)>,
}

impl ObjectDirectory {
    /// Returns its path below the root.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Returns the directory.
    pub(super) fn dir<'p>(&'p self, map: &'p FileMap) -> BorrowedFd<'p> {
        self.dir.as_ref().map_or(map.root(), AsFd::as_fd)
    }
}

/// The directory of the last write.
#[derive(Default)]
pub(super) struct LastDirectory(Mutex<Option<ObjectDirectory>>);

impl LastDirectory {
    /// Takes the directory if it has this path.
    fn take(&self, path: &str) -> Option<ObjectDirectory> {
        self.0.try_lock().ok()?.take_if(|place| place.path == path)
    }

    fn set(&self, place: Option<ObjectDirectory>) {
        // The old one is closed after the lock is released.
        let old = self.0.try_lock().map(|mut last| mem::replace(&mut *last, place));
        drop(old);
    }

    /// Closes it.
    pub(super) fn clear(&self) {
        self.set(None);
    }
}

/// Returns device and inode, which identify an open directory.
fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

/// The reason why a step did not complete.
pub(super) enum WriteStop {
    /// The directory is gone; make it again and start over.
    Gone,
    /// A permanent error.
    Failed(Error),
}

impl From<Error> for WriteStop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Whether a directory has been removed.
pub(super) fn is_gone(dir: BorrowedFd<'_>) -> bool {
    fstat(dir).is_ok_and(|stat| stat.st_nlink == 0)
}

impl FileMap {
    /// Checks that `key` can name an object of this map.
    pub(super) fn want_name(&self, key: &Key) -> Result<()> {
        if key.is_root() {
            return Err(self.collision("", "is the root and cannot hold an object"));
        }
        if names::has_reserved(key) {
            return Err(ErrorKind::Inval.context(format!(
                "{}: key {:?} has a reserved name",
                self.path.display(),
                key.as_str()
            )));
        }
        Ok(())
    }

    /// Returns the directory of `key`, if it exists.
    pub(super) fn find_directory(&self, key: &Key) -> Result<Option<ObjectDirectory>> {
        let (path, _) = names::split(key);
        match self.open_directory(path) {
            Ok(place) => Ok(Some(place)),
            Err(Errno::NOENT | Errno::NOTDIR) => self.want_root().map(|()| None),
            Err(errno) => Err(self.fail(key.as_str(), "look for", errno)),
        }
    }

    /// Returns the directory of `key`: the kept one if it fits, else opened or made.
    pub(super) fn place<'k>(
        &self,
        key: &Key,
        kept: &'k mut Option<ObjectDirectory>,
    ) -> Result<&'k ObjectDirectory, WriteStop> {
        let (path, _) = names::split(key);
        if kept.as_ref().is_none_or(|place| place.path != path) {
            *kept = Some(match self.last_directory(path) {
                Some(place) => place,
                None => self.make_directory(key, path)?,
            });
        }
        kept.as_ref().ok_or(WriteStop::Gone)
    }

    /// Returns the directory of the last write, if it has this path and the path still leads to it.
    fn last_directory(&self, path: &str) -> Option<ObjectDirectory> {
        let place = self.last.take(path)?;
        let found = statat(self.root(), path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        (place.identity == Some(identity(&found))).then_some(place)
    }

    /// Keeps a directory open for the next write.
    pub(super) fn leave(&self, place: Option<ObjectDirectory>) {
        let Some(mut place) = place.filter(|place| !place.path.contains('/')) else { return };
        let Some(dir) = &place.dir else { return };
        if !self.kept.is_local(self.root()) {
            return;
        }
        if place.identity.is_none() {
            place.identity = fstat(dir).ok().map(|stat| identity(&stat));
        }
        self.last.set(Some(place));
    }

    fn make_directory(&self, key: &Key, path: &str) -> Result<ObjectDirectory, WriteStop> {
        for round in 0..ROUNDS_BEFORE_LOCK {
            // After a new directory the next one is usually new as well, so the attempt to open it is
            // skipped.
            let sure = round == 0 && !path.is_empty() && self.spreading.load(Ordering::Relaxed);
            match if sure { Err(Errno::NOENT) } else { self.open_directory(path) } {
                Ok(place) => {
                    self.spreading.store(false, Ordering::Relaxed);
                    return Ok(place);
                }
                Err(Errno::NOENT) => {
                    if let Some(dir) = self.make_dirs(key, path)? {
                        return Ok(ObjectDirectory { path: path.to_owned(), dir: Some(dir), identity: None });
                    }
                }
                Err(Errno::NOTDIR) => {
                    return Err(self.collision(key.as_str(), "lies below an object").into());
                }
                Err(errno) => return Err(self.fail(key.as_str(), "open the directory of", errno).into()),
            }
        }
        Err(WriteStop::Gone)
    }

    /// Locks the directories against removal after some rounds in which they vanished.
    pub(super) fn directories_lock(&self, key: &Key, round: usize) -> Result<Option<KeyGuard<'_>>> {
        if round < ROUNDS_BEFORE_LOCK { Ok(None) } else { self.hold_tree(key).map(Some) }
    }

    fn hold_tree(&self, key: &Key) -> Result<KeyGuard<'_>> {
        let guard = self.locks.lock_tree(self.root());
        guard.map_err(|errno| self.fail(key.as_str(), "lock the directories of", errno))
    }

    fn open_directory(&self, path: &str) -> Result<ObjectDirectory, Errno> {
        let dir = match path {
            "" => None,
            path => Some(beneath::open(self.root(), path, beneath::PLACE, Mode::empty())?),
        };
        Ok(ObjectDirectory { path: path.to_owned(), dir, identity: None })
    }

    /// Makes the directories of `path` one by one; returns the last one, or `None` if another process
    /// interfered.
    fn make_dirs(&self, key: &Key, path: &str) -> Result<Option<OwnedFd>> {
        let (mut here, mut end, mut made) = (None::<OwnedFd>, 0, false);
        for name in path.split('/') {
            let dir = here.as_ref().map_or(self.root(), AsFd::as_fd);
            match mkdirat(dir, name, Mode::from_raw_mode(0o777)) {
                Ok(()) => {
                    self.touched(path[..end].trim_end_matches('/'));
                    made = true;
                }
                Err(Errno::EXIST) => made = false,
                // Another process pruned it; the caller starts again.
                Err(Errno::NOENT) => return self.want_root().map(|()| None),
                Err(errno) => return Err(self.fail(key.as_str(), "make the directories of", errno)),
            }
            end += name.len() + 1;
            match openat(dir, name, beneath::PLACE | OFlags::NOFOLLOW, Mode::empty()) {
                Ok(next) => here = Some(next),
                // Opening the whole path reports the obstacle.
                Err(_) => return Ok(None),
            }
        }
        self.spreading.store(made, Ordering::Relaxed);
        Ok(here)
    }

    /// Makes room for an object at `key`: removes an empty directory of that name.
    ///
    /// `false` if an object exists. With `directories_lock` the caller holds the lock of the directories.
    pub(super) fn clear_target(
        &self,
        dir: BorrowedFd<'_>,
        key: &Key,
        directories_lock: bool,
    ) -> Result<bool> {
        let (_, name) = names::split(key);
        for _ in 0..MAX_ROUNDS {
            let stat = match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => return Ok(true),
                Err(errno) => return Err(self.fail(key.as_str(), "look at", errno)),
            };
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => return Ok(false),
                FileType::Directory => {
                    // A writer below it that lost its directory can continue.
                    let _guard = if directories_lock { None } else { Some(self.hold_tree(key)?) };
                    match tree::remove_hollow(dir, name) {
                        Ok(()) => return Ok(true),
                        Err(Errno::NOTEMPTY) => {
                            return Err(self.collision(key.as_str(), "is a prefix of objects"));
                        }
                        // Another file replaced it.
                        Err(Errno::NOTDIR) => {}
                        Err(errno) => return Err(self.fail(key.as_str(), "clear the place of", errno)),
                    }
                }
                FileType::Symlink => return Err(self.fail(key.as_str(), "write", Errno::LOOP)),
                _ => return Err(self.refuse(key.as_str(), "is not a regular file")),
            }
        }
        Err(self.too_many_races(key))
    }

    /// Returns the error of an operation that lost every round to other processes.
    pub(super) fn too_many_races(&self, key: &Key) -> Error {
        ErrorKind::Io.context(format!(
            "{}: key {:?}: other processes interfered {MAX_ROUNDS} times in a row",
            self.path.display(),
            key.as_str()
        ))
    }
}
