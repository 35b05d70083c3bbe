//! The file of an archive: locking, creating, replacing and removing it.
//!
//! A process that writes, replaces or removes an archive holds the file's lock, and has checked that the path
//! still leads to that file: the file may be replaced while a process waits for the lock. Readers take no
//! lock. On Windows a lock excludes readers too, and an open file cannot be replaced; there they get an error
//! during a write.

use std::fs::{File, Metadata, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nczarr_model::{Error, ErrorKind, Result};
use nczarr_storage::{Durability, MapOptions};
use tempfile::NamedTempFile;

use crate::records;

/// The most attempts while other processes interfere.
const MAX_ATTEMPTS: usize = 100;

/// A locked file.
#[derive(Debug)]
pub(crate) struct LockedArchive {
    pub(crate) file: Arc<File>,
    /// Its real path, with links resolved once.
    pub(crate) path: PathBuf,
}

impl Drop for LockedArchive {
    /// Closing does not suffice: a child process that was just started may share the descriptor for a moment.
    fn drop(&mut self) {
        if Arc::strong_count(&self.file) == 1 {
            let _ = self.file.unlock();
        }
    }
}

/// Opens a regular file.
///
/// # Errors
/// `NC_ENOTNC` if it is not a regular file; errors of the system.
pub(crate) fn open(path: &Path, writable: bool) -> Result<File> {
    let fail = |error| Error::io(path.display().to_string(), error);
    // Opening a special file may block.
    if !std::fs::metadata(path).map_err(fail)?.is_file() {
        return Err(ErrorKind::NotNc.context(format!("{}: not a regular file", path.display())));
    }
    File::options().read(true).write(writable).open(path).map_err(fail)
}

/// Locks an existing archive.
///
/// # Errors
/// As [`open`]; `NC_EPERM` if another process writes it.
pub(crate) fn claim(path: &Path) -> Result<LockedArchive> {
    for _ in 0..MAX_ATTEMPTS {
        let path = path.canonicalize().map_err(|error| Error::io(path.display().to_string(), error))?;
        let file = open(&path, true)?;
        lock(&file, &path)?;
        if is_at(&file, &path) {
            return Ok(LockedArchive { file: Arc::new(file), path });
        }
    }
    Err(ErrorKind::Perm
        .context(format!("{}: other processes replaced the file {MAX_ATTEMPTS} times", path.display())))
}

/// As [`claim`]; `None` if the file does not exist.
pub(crate) fn claim_old(path: &Path) -> Result<Option<LockedArchive>> {
    match claim(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        claimed => claimed.map(Some),
    }
}

/// Creates a file with an empty archive, complete from the start, and locks it. It replaces `old`.
///
/// # Errors
/// `NC_EEXIST` if a file exists and `old` is `None`; errors of the system.
pub(crate) fn create(path: &Path, old: Option<LockedArchive>, options: &MapOptions) -> Result<File> {
    let path = old.as_ref().map_or(path, |old| &*old.path).to_owned();
    let fail = |error| Error::io(path.display().to_string(), error);
    let mut made = beside(&path, old.as_ref().map(|old| &*old.file)).map_err(fail)?;
    let mut empty = Vec::new();
    records::end(0, 0, 0, &mut empty);
    made.write_all(&empty).map_err(fail)?;
    match old {
        Some(old) => put(made, &path, &mut Some(old), options).map_err(fail),
        None => put_new(made, &path, options),
    }
}

/// Moves a new file to a path without a file.
///
/// # Errors
/// `NC_EEXIST` if a file exists; errors of the system.
pub(crate) fn put_new(made: NamedTempFile, path: &Path, options: &MapOptions) -> Result<File> {
    let fail = |error| Error::io(path.display().to_string(), error);
    sync(&made, options).map_err(fail)?;
    let file = made.persist_noclobber(path).map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => {
            ErrorKind::Exist.context(format!("{}: the file already exists", path.display()))
        }
        _ => fail(error.error),
    })?;
    sync_folder(path, options).map_err(fail)?;
    Ok(file)
}

/// Creates a temporary file beside `path`, with the permissions of `old` or of a new file. Its lock
/// distinguishes it from leftovers of crashed writers, which are removed.
pub(crate) fn beside(path: &Path, old: Option<&File>) -> io::Result<NamedTempFile> {
    clear_leftovers(path);
    for _ in 0..MAX_ATTEMPTS {
        let made =
            tempfile::Builder::new().prefix(PREFIX).suffix(SUFFIX).make_in(folder_of(path), |path| {
                File::options().read(true).write(true).create_new(true).open(path)
            })?;
        match made.as_file().try_lock() {
            // Another process removed it as a leftover before it was locked.
            Err(TryLockError::WouldBlock) => continue,
            Ok(()) if !is_at(made.as_file(), made.path()) => continue,
            Err(TryLockError::Error(error)) if error.kind() != io::ErrorKind::Unsupported => {
                return Err(error);
            }
            _ => {}
        }
        if let Some(old) = old {
            // Some file systems have no permissions.
            let _ = made.as_file().set_permissions(old.metadata()?.permissions());
        }
        return Ok(made);
    }
    Err(io::Error::other("other processes removed the new file repeatedly"))
}

/// Prefix and suffix of temporary files.
const PREFIX: &str = ".nczarr-";
const SUFFIX: &str = ".tmp";

/// Removes leftovers of crashed writers beside `path`: files without a lock. Failures are ignored.
fn clear_leftovers(path: &Path) {
    let Ok(entries) = std::fs::read_dir(folder_of(path)) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_ours =
            name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)).is_some_and(
                |middle| middle.len() == 6 && middle.bytes().all(|byte| byte.is_ascii_alphanumeric()),
            );
        if is_ours && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            clear(&entry.path());
        }
    }
}

fn clear(path: &Path) {
    let Ok(file) = open(path, true) else { return };
    if file.try_lock().is_ok() {
        // It may have become an archive, and another file may have its name.
        if is_at(&file, path) {
            let _ = std::fs::remove_file(path);
        }
        let _ = file.unlock();
    }
}

/// Replaces an old file by a new one. The old lock is held until then, and stays after an error, so that the
/// caller can try again.
pub(crate) fn put<H>(
    made: NamedTempFile,
    path: &Path,
    old: &mut Option<H>,
    options: &MapOptions,
) -> io::Result<File> {
    sync(&made, options)?;
    if cfg!(not(unix)) {
        // On such systems an open file cannot be replaced.
        *old = None;
    }
    let file = made.persist(path).map_err(|error| error.error)?;
    *old = None;
    sync_folder(path, options)?;
    Ok(file)
}

/// Removes an archive.
///
/// # Errors
/// As [`claim`]; `NC_ECANTREMOVE` if the system refuses.
pub(crate) fn remove(path: &Path) -> Result<()> {
    let held = claim(path)?;
    clear_leftovers(&held.path);
    let removed = std::fs::remove_file(path);
    removed.map_err(|error| ErrorKind::CantRemove.context(path.display().to_string()).caused_by(error))
}

/// Locks a file against other writers.
///
/// # Errors
/// `NC_EPERM` if another process has the lock.
fn lock(file: &File, path: &Path) -> Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            Err(ErrorKind::Perm
                .context(format!("{}: another process is writing this archive", path.display())))
        }
        // Without lock support other writers are not excluded.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(error)) => Err(Error::io(format!("{}: locking", path.display()), error)),
    }
}

/// Whether an open file is the one at a path, as far as the system can tell.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(here), Ok(there)) => identity(&here) == identity(&there),
        _ => false,
    }
}

/// Returns the identity of a file; `None` if the system has none.
#[cfg(unix)]
fn identity(found: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    Some((found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Option<(u64, u64)> {
    None
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn sync(made: &NamedTempFile, options: &MapOptions) -> io::Result<()> {
    if options.durability == Durability::Fsync { made.as_file().sync_all() } else { Ok(()) }
}

/// Makes the directory entry of a file durable.
fn sync_folder(path: &Path, options: &MapOptions) -> io::Result<()> {
    if cfg!(unix) && options.durability == Durability::Fsync {
        File::open(folder_of(path))?.sync_all()
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_leftovers_of_stopped_writers_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in [
            ".nczarr-Ab3dEf.tmp",
            ".nczarr-123456.tmp",
            ".nczarr-short.tmp",
            "nczarr-Ab3dEf.tmp",
            ".nczarr-Ab.dEf.tmp",
        ] {
            std::fs::write(path(name), b"x").unwrap();
        }
        std::fs::create_dir(path(".nczarr-folder.tmp")).unwrap();
        let held = beside(&path("other.zip"), None).unwrap();
        let name = held.path().file_name().unwrap().to_owned();
        let names = || {
            let mut names: Vec<_> =
                std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        drop(create(&path("x.zip"), None, &MapOptions::default()).unwrap());
        let mut expected: Vec<std::ffi::OsString> =
            [".nczarr-Ab.dEf.tmp", ".nczarr-folder.tmp", ".nczarr-short.tmp", "nczarr-Ab3dEf.tmp", "x.zip"]
                .map(Into::into)
                .into();
        expected.push(name);
        expected.sort();
        assert_eq!(names(), expected, "whose lock is held stays");
        // Its writer was killed.
        let left = held.keep().unwrap().1;
        remove(&path("x.zip")).unwrap();
        assert!(!left.exists());
        assert_eq!(names().len(), 4);
    }

    #[cfg(unix)]
    #[test]
    fn a_failed_replacement_can_be_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.zip");
        drop(create(&path, None, &MapOptions::default()).unwrap());
        let mut old = claim_old(&path).unwrap();
        let made = beside(&path, None).unwrap();
        std::fs::remove_file(made.path()).unwrap();
        put(made, &path, &mut old, &MapOptions::default()).unwrap_err();
        assert!(old.as_ref().is_some_and(|old| is_at(&old.file, &path)));
        assert_eq!(claim(&path).unwrap_err().kind(), ErrorKind::Perm, "it is held still");
        put(beside(&path, None).unwrap(), &path, &mut old, &MapOptions::default()).unwrap();
        assert!(old.is_none());
    }

    #[cfg(unix)]
    #[test]
    fn a_replaced_file_is_recognised() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.zip");
        let first = create(&path, None, &MapOptions::default()).unwrap();
        assert!(is_at(&first, &path));
        assert_eq!(claim(&path).unwrap_err().kind(), ErrorKind::Perm);
        first.unlock().unwrap();
        let second = create(&path, claim_old(&path).unwrap(), &MapOptions::default()).unwrap();
        assert!(!is_at(&first, &path) && is_at(&second, &path));
        assert_eq!(remove(&path).unwrap_err().kind(), ErrorKind::Perm);
        drop(second);
        remove(&path).unwrap();
        assert!(claim_old(&path).unwrap().is_none());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
