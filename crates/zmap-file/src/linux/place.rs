//! [`Place`]: the directory an object lies in, made when it is needed.
//!
//! It is opened without following links and then stays the base of all steps of a write, so that none of
//! them can be led elsewhere. It may vanish meanwhile, because deleting prunes empty directories: then the
//! write starts again.
//!
//! The place of the last write stays open. The next one uses it again if its name in the root still leads to it, to the
//! inode whose number nobody else can have meanwhile: that costs less than opening it. Further down every directory on the
//! way would have to be looked at. Where others' changes may be seen late (network file systems), nothing stays open.

use std::mem;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use nczarr_dispatch::Key;
use nczarr_model::{Error, ErrorKind, Result};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, mkdirat, openat, statat};
use rustix::io::Errno;

use super::lock::Guard;
use super::{FileMap, beneath, tree};
use crate::names;

/// How often an operation starts again because others moved the ground under it: directories that vanish
/// between being made and being used. Far more than chance explains.
pub(super) const TRIES: usize = 100;

/// How often directories may vanish before others are kept from removing them.
const CALM: usize = 3;

/// A directory objects are put in, kept from one write to the next of a batch.
pub(super) struct Place {
    path: String,
    dir: Option<OwnedFd>,
    /// Known of places that were used again.
    identity: Option<(u64, u64)>,
}

impl Place {
    /// Its path beneath the root.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The directory.
    pub(super) fn dir<'p>(&'p self, map: &'p FileMap) -> BorrowedFd<'p> {
        self.dir.as_ref().map_or(map.root(), AsFd::as_fd)
    }
}

/// The place of the last write.
#[derive(Default)]
pub(super) struct Last(Mutex<Option<Place>>);

impl Last {
    /// Takes the place out, if it has this path.
    fn take(&self, path: &str) -> Option<Place> {
        self.0.try_lock().ok()?.take_if(|place| place.path == path)
    }

    fn set(&self, place: Option<Place>) {
        // The old one is closed when nobody waits for it.
        let old = self.0.try_lock().map(|mut last| mem::replace(&mut *last, place));
        drop(old);
    }

    /// Lets go of it.
    pub(super) fn clear(&self) {
        self.set(None);
    }
}

/// What tells a directory that is open from all others: its device and its inode.
fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

/// Why an operation did not come to an end.
pub(super) enum Stop {
    /// Its directory is gone: make it again and start over.
    Gone,
    /// For good.
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Whether a directory has been removed.
pub(super) fn is_gone(dir: BorrowedFd<'_>) -> bool {
    fstat(dir).is_ok_and(|stat| stat.st_nlink == 0)
}

impl FileMap {
    /// Whether `key` can name an object of this map.
    pub(super) fn want_name(&self, key: &Key) -> Result<()> {
        if key.is_root() {
            return Err(self.collision("", "is the prefix of all and cannot hold an object"));
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

    /// The directory `key` lies in, if it is there.
    pub(super) fn find_place(&self, key: &Key) -> Result<Option<Place>> {
        let (path, _) = names::split(key);
        match self.open_place(path) {
            Ok(place) => Ok(Some(place)),
            Err(Errno::NOENT | Errno::NOTDIR) => self.want_root().map(|()| None),
            Err(errno) => Err(self.fail(key.as_str(), "look for", errno)),
        }
    }

    /// The directory `key` lies in: the kept one if it is that, else opened, else made.
    pub(super) fn place<'k>(&self, key: &Key, kept: &'k mut Option<Place>) -> Result<&'k Place, Stop> {
        let (path, _) = names::split(key);
        if kept.as_ref().is_none_or(|place| place.path != path) {
            *kept = Some(match self.last_place(path) {
                Some(place) => place,
                None => self.make_place(key, path)?,
            });
        }
        kept.as_ref().ok_or(Stop::Gone)
    }

    /// The place of the last write, if it has this path, which still leads there and through no link.
    fn last_place(&self, path: &str) -> Option<Place> {
        let place = self.last.take(path)?;
        let found = statat(self.root(), path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        (place.identity == Some(identity(&found))).then_some(place)
    }

    /// Keeps a place open for the next write.
    pub(super) fn leave(&self, place: Option<Place>) {
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

    fn make_place(&self, key: &Key, path: &str) -> Result<Place, Stop> {
        for round in 0..CALM {
            // Whoever needed a new directory mostly needs another: the attempt to open it can be spared.
            let sure = round == 0 && !path.is_empty() && self.spreading.load(Ordering::Relaxed);
            match if sure { Err(Errno::NOENT) } else { self.open_place(path) } {
                Ok(place) => {
                    self.spreading.store(false, Ordering::Relaxed);
                    return Ok(place);
                }
                Err(Errno::NOENT) => {
                    if let Some(dir) = self.make_dirs(key, path)? {
                        return Ok(Place { path: path.to_owned(), dir: Some(dir), identity: None });
                    }
                }
                Err(Errno::NOTDIR) => return Err(self.collision(key.as_str(), "lies below an object").into()),
                Err(errno) => return Err(self.fail(key.as_str(), "open the directory of", errno).into()),
            }
        }
        Err(Stop::Gone)
    }

    /// After some rounds in which directories vanished: keeps others from removing them.
    pub(super) fn calm(&self, key: &Key, round: usize) -> Result<Option<Guard<'_>>> {
        if round < CALM { Ok(None) } else { self.hold_tree(key).map(Some) }
    }

    fn hold_tree(&self, key: &Key) -> Result<Guard<'_>> {
        let guard = self.locks.lock_tree(self.root());
        guard.map_err(|errno| self.fail(key.as_str(), "lock the directories of", errno))
    }

    fn open_place(&self, path: &str) -> Result<Place, Errno> {
        let dir = match path {
            "" => None,
            path => Some(beneath::open(self.root(), path, beneath::PLACE, Mode::empty())?),
        };
        Ok(Place { path: path.to_owned(), dir, identity: None })
    }

    /// Makes the directories of `path` one by one, as far as nobody interferes; answers the last one.
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
                // Pruned by somebody else: the caller begins again.
                Err(Errno::NOENT) => return self.want_root().map(|()| None),
                Err(errno) => return Err(self.fail(key.as_str(), "make the directories of", errno)),
            }
            end += name.len() + 1;
            match openat(dir, name, beneath::PLACE | OFlags::NOFOLLOW, Mode::empty()) {
                Ok(next) => here = Some(next),
                // Whatever stands there instead: opening the whole path tells.
                Err(_) => return Ok(None),
            }
        }
        self.spreading.store(made, Ordering::Relaxed);
        Ok(here)
    }

    /// Makes sure that an object may stand at `key`: removes an empty directory from its place.
    ///
    /// `false` if an object stands there already. With `calm` the caller holds the directories.
    pub(super) fn clear_way(&self, dir: BorrowedFd<'_>, key: &Key, calm: bool) -> Result<bool> {
        let (_, name) = names::split(key);
        for _ in 0..TRIES {
            let stat = match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => return Ok(true),
                Err(errno) => return Err(self.fail(key.as_str(), "look at", errno)),
            };
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => return Ok(false),
                FileType::Directory => {
                    // Whoever puts an object below, and lost its directory before, is let through.
                    let _guard = if calm { None } else { Some(self.hold_tree(key)?) };
                    match tree::remove_hollow(dir, name) {
                        Ok(()) => return Ok(true),
                        Err(Errno::NOTEMPTY) => return Err(self.collision(key.as_str(), "is a prefix of objects")),
                        // Something else took its place meanwhile.
                        Err(Errno::NOTDIR) => {}
                        Err(errno) => return Err(self.fail(key.as_str(), "clear the place of", errno)),
                    }
                }
                FileType::Symlink => return Err(self.fail(key.as_str(), "write", Errno::LOOP)),
                _ => return Err(self.refuse(key.as_str(), "is not a regular file")),
            }
        }
        Err(self.restless(key))
    }

    /// The failure of an operation that others would not let come to an end.
    pub(super) fn restless(&self, key: &Key) -> Error {
        ErrorKind::Io.context(format!(
            "{}: key {:?}: others changed its place {TRIES} times in a row",
            self.path.display(),
            key.as_str()
        ))
    }
}
