//! [`Staged`]: a new file, complete but not yet in its place, and how it gets there.
//!
//! Best is a file without a name that is linked by its descriptor: nothing is left of it if the process
//! dies. Where the kernel allows that to privileged processes only, it is linked through `/proc`; where the
//! file system has no such files, it has a temporary name from the start.

use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;

use nczarr_dispatch::{Durability, Key, WriteJob};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, fsync, linkat, openat, renameat_with, unlinkat};
use rustix::io::{Errno, retry_on_intr, write};

use super::FileMap;
use super::place::{Stop, TRIES, is_gone};
use crate::names;

const NEW: OFlags = OFlags::WRONLY.union(OFlags::CLOEXEC);

/// How a nameless file gets its name, kept in [`FileMap`]; each is tried until the system refuses it.
const BY_DESCRIPTOR: u8 = 0;
const BY_PROC: u8 = 1;
const BY_NAME: u8 = 2;
/// A named file cannot be linked without replacing either: it is renamed, under the key's lock.
const BY_RENAME: u8 = 3;

/// The bytes of a new object.
#[derive(Clone, Copy)]
pub(super) enum Value<'v> {
    Bytes(&'v [u8]),
    /// Those of a piece of a job, part by part; made anew each time.
    Parts(&'v dyn WriteJob, usize),
}

/// Appends bytes to a file.
fn put_all(file: &OwnedFd, mut rest: &[u8]) -> Result<(), Errno> {
    while !rest.is_empty() {
        match retry_on_intr(|| write(file, rest))? {
            0 => return Err(Errno::IO),
            written => rest = &rest[written.min(rest.len())..],
        }
    }
    Ok(())
}

/// A complete file on its way.
pub(super) struct Staged<'p> {
    pub(super) file: OwnedFd,
    temporary: Option<Temporary<'p>>,
}

/// A temporary name, removed when dropped.
struct Temporary<'p> {
    dir: BorrowedFd<'p>,
    name: String,
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.name.is_empty() {
            let _ = unlinkat(self.dir, self.name.as_str(), AtFlags::empty());
        }
    }
}

/// What became of giving a name to a file.
#[derive(PartialEq, Eq)]
pub(super) enum Linked {
    Done,
    /// There is something of that name.
    Taken,
    /// The system does not do it.
    Refused,
}

/// What the system says when it does not do a thing, rather than that it failed.
fn is_refusal(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::NOENT
            | Errno::INVAL
            | Errno::ISDIR
            | Errno::OPNOTSUPP
            | Errno::NOSYS
            | Errno::PERM
            | Errno::ACCESS
            | Errno::XDEV
            | Errno::MLINK
    )
}

impl FileMap {
    /// Writes `value` into a new file in `dir`: with a temporary name if `named`, else without one if possible.
    pub(super) fn stage<'p>(
        &self,
        dir: BorrowedFd<'p>,
        key: &Key,
        value: Value<'_>,
        named: bool,
    ) -> Result<Staged<'p>, Stop> {
        let fail = |errno| Stop::Failed(self.fail(key.as_str(), "write", errno));
        let nameless =
            if named { None } else { self.open_nameless(dir).map_err(|errno| self.stop(dir, errno, fail))? };
        let staged = match nameless {
            Some(file) => Staged { file, temporary: None },
            None => self.open_named(dir).map_err(|errno| self.stop(dir, errno, fail))?,
        };
        let put = |bytes: &[u8]| put_all(&staged.file, bytes).map_err(|errno| self.fail(key.as_str(), "write", errno));
        match value {
            Value::Bytes(bytes) => put(bytes)?,
            Value::Parts(job, index) => job.parts(index, &mut |part| put(part))?,
        }
        if self.durability == Durability::Fsync {
            fsync(&staged.file).map_err(fail)?;
        }
        Ok(staged)
    }

    fn stop(&self, dir: BorrowedFd<'_>, errno: Errno, fail: impl Fn(Errno) -> Stop) -> Stop {
        // File systems differ in what they say of a removed directory: some that nothing is there, some that it
        // is not permitted.
        if is_gone(dir) { Stop::Gone } else { fail(errno) }
    }

    /// A file without a name; `None` if there is no such thing here.
    fn open_nameless(&self, dir: BorrowedFd<'_>) -> Result<Option<OwnedFd>, Errno> {
        if self.staging.load(Ordering::Relaxed) >= BY_NAME {
            return Ok(None);
        }
        match retry_on_intr(|| openat(dir, ".", NEW | OFlags::TMPFILE, Mode::from_raw_mode(0o666))) {
            Ok(file) => Ok(Some(file)),
            Err(errno) if is_gone(dir) => Err(errno),
            Err(Errno::NOENT | Errno::INVAL | Errno::ISDIR | Errno::OPNOTSUPP) => {
                self.staging.store(BY_NAME, Ordering::Relaxed);
                Ok(None)
            }
            Err(errno) => Err(errno),
        }
    }

    fn open_named<'p>(&self, dir: BorrowedFd<'p>) -> Result<Staged<'p>, Errno> {
        self.announce();
        let flags = NEW | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let mut refusal = Errno::EXIST;
        for _ in 0..TRIES {
            let name = names::temporary();
            match retry_on_intr(|| openat(dir, name.as_str(), flags, Mode::from_raw_mode(0o666))) {
                Ok(file) => return Ok(Staged { file, temporary: Some(Temporary { dir, name }) }),
                Err(Errno::EXIST) => {}
                Err(errno) => {
                    refusal = errno;
                    break;
                }
            }
        }
        Err(refusal)
    }

    /// Puts a file in its place, if nothing is there.
    pub(super) fn link<'p>(
        &self,
        staged: &mut Staged<'p>,
        dir: BorrowedFd<'p>,
        key: &Key,
        value: Value<'_>,
    ) -> Result<Linked, Stop> {
        let (_, name) = names::split(key);
        let fail = |errno| Stop::Failed(self.fail(key.as_str(), "create", errno));
        if staged.temporary.is_none() {
            match self.link_nameless(&staged.file, dir, name).map_err(|errno| self.stop(dir, errno, fail))? {
                Some(linked) => return Ok(linked),
                None => *staged = self.stage(dir, key, value, true)?,
            }
        }
        let Some(temporary) = &staged.temporary else { return Err(fail(Errno::NOENT)) };
        if self.staging.load(Ordering::Relaxed) == BY_RENAME {
            return Ok(Linked::Refused);
        }
        let old = temporary.name.as_str();
        match linkat(dir, old, dir, name, AtFlags::empty()) {
            Ok(()) => {
                staged.temporary = None;
                return Ok(Linked::Done);
            }
            Err(Errno::EXIST) => return Ok(Linked::Taken),
            Err(_) if is_gone(dir) => return Err(Stop::Gone),
            Err(Errno::NOENT) => return Err(Stop::Gone),
            Err(errno) if is_refusal(errno) => {}
            Err(errno) => return Err(fail(errno)),
        }
        // No hard links here.
        match renameat_with(dir, old, dir, name, RenameFlags::NOREPLACE) {
            Ok(()) => {
                staged.arrived();
                Ok(Linked::Done)
            }
            Err(Errno::EXIST) => Ok(Linked::Taken),
            Err(_) if is_gone(dir) => Err(Stop::Gone),
            Err(Errno::NOENT) => Err(Stop::Gone),
            Err(errno) if is_refusal(errno) => {
                self.staging.store(BY_RENAME, Ordering::Relaxed);
                Ok(Linked::Refused)
            }
            Err(errno) => Err(fail(errno)),
        }
    }

    /// Links a nameless file; `None` if the system does not.
    fn link_nameless(&self, file: &OwnedFd, dir: BorrowedFd<'_>, name: &str) -> Result<Option<Linked>, Errno> {
        loop {
            let way = self.staging.load(Ordering::Relaxed);
            let linked = match way {
                BY_DESCRIPTOR => linkat(file, "", dir, name, AtFlags::EMPTY_PATH),
                BY_PROC => {
                    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
                    linkat(CWD, path, dir, name, AtFlags::SYMLINK_FOLLOW)
                }
                _ => return Ok(None),
            };
            match linked {
                Ok(()) => return Ok(Some(Linked::Done)),
                Err(Errno::EXIST) => return Ok(Some(Linked::Taken)),
                Err(errno) if is_gone(dir) => return Err(errno),
                Err(errno) if is_refusal(errno) => self.staging.store(way + 1, Ordering::Relaxed),
                Err(errno) => return Err(errno),
            }
        }
    }

    /// Gives a file a temporary name, to be renamed from.
    pub(super) fn name<'p>(
        &self,
        staged: &mut Staged<'p>,
        dir: BorrowedFd<'p>,
        key: &Key,
        value: Value<'_>,
    ) -> Result<(), Stop> {
        let fail = |errno| Stop::Failed(self.fail(key.as_str(), "write", errno));
        if staged.temporary.is_none() {
            self.announce();
        }
        while staged.temporary.is_none() {
            let name = names::temporary();
            match self.link_nameless(&staged.file, dir, &name).map_err(|errno| self.stop(dir, errno, fail))? {
                Some(Linked::Done) => staged.temporary = Some(Temporary { dir, name }),
                Some(_) => {}
                None => *staged = self.stage(dir, key, value, true)?,
            }
        }
        Ok(())
    }
}

impl Staged<'_> {
    /// The name to rename from.
    pub(super) fn temporary(&self) -> Result<&str, Errno> {
        self.temporary.as_ref().map(|temporary| temporary.name.as_str()).ok_or(Errno::NOENT)
    }

    /// The file was renamed: its temporary name is no more, and must not be removed from whoever has it next.
    pub(super) fn arrived(&mut self) {
        if let Some(mut temporary) = self.temporary.take() {
            temporary.name.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use nczarr_dispatch::{ByteRange, Options, Precondition, WriteOutcome, ZMap};

    use super::*;

    #[test]
    fn every_way_of_naming_a_file_makes_the_same_objects() {
        let scratch = tempfile::tempdir().unwrap();
        for way in [BY_DESCRIPTOR, BY_PROC, BY_NAME, BY_RENAME] {
            let map = FileMap::create(scratch.path().join(way.to_string()), None, &Options::default()).unwrap();
            map.staging.store(way, Ordering::Relaxed);
            let key = Key::new("a/b/c").unwrap();
            map.write(&key, b"1").unwrap();
            map.write(&key, b"22").unwrap();
            assert!(matches!(map.write_if(&key, b"x", Precondition::Absent).unwrap(), WriteOutcome::Conflict));
            let mut found = Vec::new();
            let version = map.read_versioned(&key, 10, &mut found).unwrap().unwrap();
            assert!(matches!(
                map.write_if(&key, b"333", Precondition::Unchanged(&version)).unwrap(),
                WriteOutcome::Done(_)
            ));
            assert!(matches!(
                map.write_if(&key, b"x", Precondition::Unchanged(&version)).unwrap(),
                WriteOutcome::Conflict
            ));
            assert!(map.read(&key, ByteRange::ALL, &mut found).unwrap());
            assert_eq!(found, b"333");
            assert_eq!(map.staging.load(Ordering::Relaxed), way, "nothing was refused here");
            let files = fs::read_dir(map.path().join("a/b")).unwrap().count();
            assert_eq!(files, 1, "no temporary is left");
        }
    }

    #[test]
    fn without_nameless_files_it_is_a_map_all_the_same() {
        it_is_a_map(BY_NAME);
    }

    #[test]
    fn without_links_it_is_a_map_all_the_same() {
        it_is_a_map(BY_RENAME);
    }

    fn it_is_a_map(way: u8) {
        let (scratch, count) = (tempfile::tempdir().unwrap(), AtomicUsize::new(0));
        nczarr_conformance::check_map(&|| {
            let path = scratch.path().join(count.fetch_add(1, Ordering::Relaxed).to_string());
            let map = FileMap::create(path, None, &Options::default()).unwrap();
            map.staging.store(way, Ordering::Relaxed);
            Arc::new(map)
        })
        .unwrap();
    }
}
