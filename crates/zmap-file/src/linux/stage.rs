//! [`StagedFile`]: a complete new file without its final name, and the ways to name it.
//!
//! The best way is an unnamed file that is linked by its descriptor: a crash leaves nothing behind. If the
//! kernel reserves that for privileged processes, it is linked through `/proc`. If the file system has no
//! unnamed files, the file has a temporary name from the start.

use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;

use nczarr_storage::batch::WriteJob;
use nczarr_storage::{Durability, Key};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, fsync, linkat, openat, renameat_with, unlinkat};
use rustix::io::{Errno, retry_on_intr, write};

use super::FileMap;
use super::directory::{MAX_ROUNDS, WriteStop, is_gone};
use crate::names;

const NEW: OFlags = OFlags::WRONLY.union(OFlags::CLOEXEC);

/// The way to name an unnamed file, stored in [`FileMap`]; each is used until the system refuses it.
const BY_DESCRIPTOR: u8 = 0;
const BY_PROC: u8 = 1;
const BY_NAME: u8 = 2;
/// A named file cannot be linked either; it is renamed under the key's lock.
const BY_RENAME: u8 = 3;

/// The bytes of a new object.
#[derive(Clone, Copy)]
pub(super) enum ObjectValue<'v> {
    Bytes(&'v [u8]),
    /// The parts of one value of a job; produced again for each attempt.
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

/// A complete file without its final name.
pub(super) struct StagedFile<'p> {
    pub(super) file: OwnedFd,
    temporary: Option<TemporaryName<'p>>,
}

/// A temporary name, removed when dropped.
struct TemporaryName<'p> {
    dir: BorrowedFd<'p>,
    name: String,
}

impl Drop for TemporaryName<'_> {
    fn drop(&mut self) {
        if !self.name.is_empty() {
            let _ = unlinkat(self.dir, self.name.as_str(), AtFlags::empty());
        }
    }
}

/// The result of naming a file.
#[derive(PartialEq, Eq)]
pub(super) enum LinkOutcome {
    Done,
    /// The name exists.
    Taken,
    /// The system does not support the operation.
    Refused,
}

/// Whether an error means that the system does not support an operation.
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
    /// Writes `value` into a new file in `dir`: with a temporary name if `named`, else unnamed if possible.
    pub(super) fn stage<'p>(
        &self,
        dir: BorrowedFd<'p>,
        key: &Key,
        value: ObjectValue<'_>,
        named: bool,
    ) -> Result<StagedFile<'p>, WriteStop> {
        let fail = |errno| WriteStop::Failed(self.fail(key.as_str(), "write", errno));
        let nameless = if named {
            None
        } else {
            self.open_nameless(dir).map_err(|errno| self.stop(dir, errno, fail))?
        };
        let staged = match nameless {
            Some(file) => StagedFile { file, temporary: None },
            None => self.open_named(dir).map_err(|errno| self.stop(dir, errno, fail))?,
        };
        let put = |bytes: &[u8]| {
            put_all(&staged.file, bytes).map_err(|errno| self.fail(key.as_str(), "write", errno))
        };
        match value {
            ObjectValue::Bytes(bytes) => put(bytes)?,
            ObjectValue::Parts(job, index) => job.parts(index, &mut |part| put(part))?,
        }
        if self.durability == Durability::Fsync {
            fsync(&staged.file).map_err(fail)?;
        }
        Ok(staged)
    }

    fn stop(&self, dir: BorrowedFd<'_>, errno: Errno, fail: impl Fn(Errno) -> WriteStop) -> WriteStop {
        // File systems report a removed directory in different ways.
        if is_gone(dir) { WriteStop::Gone } else { fail(errno) }
    }

    /// Opens an unnamed file; `None` if the file system has none.
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

    fn open_named<'p>(&self, dir: BorrowedFd<'p>) -> Result<StagedFile<'p>, Errno> {
        self.announce();
        let flags = NEW | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let mut refusal = Errno::EXIST;
        for _ in 0..MAX_ROUNDS {
            let name = names::temporary();
            match retry_on_intr(|| openat(dir, name.as_str(), flags, Mode::from_raw_mode(0o666))) {
                Ok(file) => return Ok(StagedFile { file, temporary: Some(TemporaryName { dir, name }) }),
                Err(Errno::EXIST) => {}
                Err(errno) => {
                    refusal = errno;
                    break;
                }
            }
        }
        Err(refusal)
    }

    /// Gives a file its final name, unless that exists.
    pub(super) fn link<'p>(
        &self,
        staged: &mut StagedFile<'p>,
        dir: BorrowedFd<'p>,
        key: &Key,
        value: ObjectValue<'_>,
    ) -> Result<LinkOutcome, WriteStop> {
        let (_, name) = names::split(key);
        let fail = |errno| WriteStop::Failed(self.fail(key.as_str(), "create", errno));
        if staged.temporary.is_none() {
            match self.link_nameless(&staged.file, dir, name).map_err(|errno| self.stop(dir, errno, fail))? {
                Some(linked) => return Ok(linked),
                None => *staged = self.stage(dir, key, value, true)?,
            }
        }
        let Some(temporary) = &staged.temporary else { return Err(fail(Errno::NOENT)) };
        if self.staging.load(Ordering::Relaxed) == BY_RENAME {
            return Ok(LinkOutcome::Refused);
        }
        let old = temporary.name.as_str();
        match linkat(dir, old, dir, name, AtFlags::empty()) {
            Ok(()) => {
                staged.temporary = None;
                return Ok(LinkOutcome::Done);
            }
            Err(Errno::EXIST) => return Ok(LinkOutcome::Taken),
            Err(_) if is_gone(dir) => return Err(WriteStop::Gone),
            Err(Errno::NOENT) => return Err(WriteStop::Gone),
            Err(errno) if is_refusal(errno) => {}
            Err(errno) => return Err(fail(errno)),
        }
        // The file system has no hard links.
        match renameat_with(dir, old, dir, name, RenameFlags::NOREPLACE) {
            Ok(()) => {
                staged.mark_renamed();
                Ok(LinkOutcome::Done)
            }
            Err(Errno::EXIST) => Ok(LinkOutcome::Taken),
            Err(_) if is_gone(dir) => Err(WriteStop::Gone),
            Err(Errno::NOENT) => Err(WriteStop::Gone),
            Err(errno) if is_refusal(errno) => {
                self.staging.store(BY_RENAME, Ordering::Relaxed);
                Ok(LinkOutcome::Refused)
            }
            Err(errno) => Err(fail(errno)),
        }
    }

    /// Links an unnamed file; `None` if the system does not support it.
    fn link_nameless(
        &self,
        file: &OwnedFd,
        dir: BorrowedFd<'_>,
        name: &str,
    ) -> Result<Option<LinkOutcome>, Errno> {
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
                Ok(()) => return Ok(Some(LinkOutcome::Done)),
                Err(Errno::EXIST) => return Ok(Some(LinkOutcome::Taken)),
                Err(errno) if is_gone(dir) => return Err(errno),
                Err(errno) if is_refusal(errno) => self.staging.store(way + 1, Ordering::Relaxed),
                Err(errno) => return Err(errno),
            }
        }
    }

    /// Gives a file a temporary name for a later rename.
    pub(super) fn name<'p>(
        &self,
        staged: &mut StagedFile<'p>,
        dir: BorrowedFd<'p>,
        key: &Key,
        value: ObjectValue<'_>,
    ) -> Result<(), WriteStop> {
        let fail = |errno| WriteStop::Failed(self.fail(key.as_str(), "write", errno));
        if staged.temporary.is_none() {
            self.announce();
        }
        while staged.temporary.is_none() {
            let name = names::temporary();
            match self.link_nameless(&staged.file, dir, &name).map_err(|errno| self.stop(dir, errno, fail))? {
                Some(LinkOutcome::Done) => staged.temporary = Some(TemporaryName { dir, name }),
                Some(_) => {}
                None => *staged = self.stage(dir, key, value, true)?,
            }
        }
        Ok(())
    }
}

impl StagedFile<'_> {
    /// Returns the temporary name.
    pub(super) fn temporary(&self) -> Result<&str, Errno> {
        self.temporary.as_ref().map(|temporary| temporary.name.as_str()).ok_or(Errno::NOENT)
    }

    /// Records that the file was renamed. Its temporary name may belong to another file now and must not be
    /// removed.
    pub(super) fn mark_renamed(&mut self) {
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

    use nczarr_storage::{ByteRange, MapOptions, Precondition, WriteOutcome, ZMap, ZMapExt};

    use super::*;

    #[test]
    fn every_way_of_naming_a_file_makes_the_same_objects() {
        let scratch = tempfile::tempdir().unwrap();
        for way in [BY_DESCRIPTOR, BY_PROC, BY_NAME, BY_RENAME] {
            let map =
                FileMap::create(scratch.path().join(way.to_string()), None, &MapOptions::default()).unwrap();
            map.staging.store(way, Ordering::Relaxed);
            let key = Key::new("a/b/c").unwrap();
            map.write(&key, b"1").unwrap();
            map.write(&key, b"22").unwrap();
            assert!(matches!(
                map.write_if(&key, b"x", &Precondition::Absent).unwrap(),
                WriteOutcome::Conflict
            ));
            let mut found = Vec::new();
            let version = map.read_versioned(&key, 10, &mut found).unwrap().unwrap();
            assert!(matches!(
                map.write_if(&key, b"333", &Precondition::Unchanged(version.clone())).unwrap(),
                WriteOutcome::Done(_)
            ));
            assert!(matches!(
                map.write_if(&key, b"x", &Precondition::Unchanged(version.clone())).unwrap(),
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
    fn without_unnamed_files_the_map_passes_the_suite() {
        the_map_passes_the_suite(BY_NAME);
    }

    #[test]
    fn without_links_the_map_passes_the_suite() {
        the_map_passes_the_suite(BY_RENAME);
    }

    fn the_map_passes_the_suite(way: u8) {
        let (scratch, count) = (tempfile::tempdir().unwrap(), AtomicUsize::new(0));
        nczarr_conformance::check_map(&|| {
            let path = scratch.path().join(count.fetch_add(1, Ordering::Relaxed).to_string());
            let map = FileMap::create(path, None, &MapOptions::default()).unwrap();
            map.staging.store(way, Ordering::Relaxed);
            Arc::new(map)
        })
        .unwrap();
    }
}
