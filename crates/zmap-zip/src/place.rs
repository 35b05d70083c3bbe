//! Where an archive lies: taking its file for oneself, making a new one, taking one away.
//!
//! Who writes, replaces or removes an archive holds the lock of its file, and has seen that the file is still where it was
//! found: who waits for a lock may get that of a file that was replaced meanwhile. Who only reads takes no lock. On Windows
//! a lock keeps readers out too, and a file that is open cannot be replaced: there they get an error as long as somebody
//! writes.

use std::fs::{File, Metadata, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nczarr_dispatch::{Durability, Options};
use nczarr_model::{Error, ErrorKind, Result};
use tempfile::NamedTempFile;

use crate::records;

/// How often somebody else may come between before it is given up.
const TRIES: usize = 100;

/// A file that is locked.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) file: Arc<File>,
    /// Where it really is: links on the way are followed once.
    pub(crate) path: PathBuf,
}

impl Drop for Held {
    /// Closing it may not do: a process that was just begun has it open for a moment, too.
    fn drop(&mut self) {
        if Arc::strong_count(&self.file) == 1 {
            let _ = self.file.unlock();
        }
    }
}

/// Opens a regular file.
///
/// # Errors
/// `NC_ENOTNC` if it is something else; what the system says.
pub(crate) fn open(path: &Path, writable: bool) -> Result<File> {
    let fail = |error| Error::io(path.display().to_string(), error);
    // Opening something else may never return.
    if !std::fs::metadata(path).map_err(fail)?.is_file() {
        return Err(ErrorKind::NotNc.context(format!("{}: not a regular file", path.display())));
    }
    File::options().read(true).write(writable).open(path).map_err(fail)
}

/// Takes the archive that is there for oneself.
///
/// # Errors
/// As [`open`]; `NC_EPERM` if somebody else writes it.
pub(crate) fn claim(path: &Path) -> Result<Held> {
    for _ in 0..TRIES {
        let path = path.canonicalize().map_err(|error| Error::io(path.display().to_string(), error))?;
        let file = open(&path, true)?;
        lock(&file, &path)?;
        if is_at(&file, &path) {
            return Ok(Held { file: Arc::new(file), path });
        }
    }
    Err(ErrorKind::Perm.context(format!("{}: others replace it again and again", path.display())))
}

/// As [`claim`]; `None` if nothing is there.
pub(crate) fn claim_old(path: &Path) -> Result<Option<Held>> {
    match claim(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        claimed => claimed.map(Some),
    }
}

/// Makes a file with an empty archive, whole from the first moment, and locks it. It takes the place of `old`.
///
/// # Errors
/// `NC_EEXIST` if there is no `old` and yet something is there; what the system says.
pub(crate) fn create(path: &Path, old: Option<Held>, options: &Options) -> Result<File> {
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

/// Puts a file that was made where nothing is.
///
/// # Errors
/// `NC_EEXIST` if something is; what the system says.
pub(crate) fn put_new(made: NamedTempFile, path: &Path, options: &Options) -> Result<File> {
    let fail = |error| Error::io(path.display().to_string(), error);
    sync(&made, options).map_err(fail)?;
    let file = made.persist_noclobber(path).map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => {
            ErrorKind::Exist.context(format!("{}: something is there already", path.display()))
        }
        _ => fail(error.error),
    })?;
    sync_folder(path, options).map_err(fail)?;
    Ok(file)
}

/// Makes a file beside `path`, with the rights of `old` or those a new file has. It is locked, so that nobody takes it for
/// one that a stopped writer left; such ones are removed.
pub(crate) fn beside(path: &Path, old: Option<&File>) -> io::Result<NamedTempFile> {
    clear_leftovers(path);
    for _ in 0..TRIES {
        let made = tempfile::Builder::new()
            .prefix(PREFIX)
            .suffix(SUFFIX)
            .make_in(folder_of(path), |path| File::options().read(true).write(true).create_new(true).open(path))?;
        match made.as_file().try_lock() {
            // Somebody took it for left over before it was locked.
            Err(TryLockError::WouldBlock) => continue,
            Ok(()) if !is_at(made.as_file(), made.path()) => continue,
            Err(TryLockError::Error(error)) if error.kind() != io::ErrorKind::Unsupported => return Err(error),
            _ => {}
        }
        if let Some(old) = old {
            // A file system without such rights has nothing to keep.
            let _ = made.as_file().set_permissions(old.metadata()?.permissions());
        }
        return Ok(made);
    }
    Err(io::Error::other("others remove new files again and again"))
}

/// How the names of files begin and end that are to become archives.
const PREFIX: &str = ".nczarr-";
const SUFFIX: &str = ".tmp";

/// Removes files beside `path` that stopped writers left: nobody holds their locks. What cannot be removed stays.
fn clear_leftovers(path: &Path) {
    let Ok(entries) = std::fs::read_dir(folder_of(path)) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_ours = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX))
            .is_some_and(|middle| middle.len() == 6 && middle.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        if is_ours && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            clear(&entry.path());
        }
    }
}

fn clear(path: &Path) {
    let Ok(file) = open(path, true) else { return };
    if file.try_lock().is_ok() {
        // It may have become an archive meanwhile, and another one have its name.
        if is_at(&file, path) {
            let _ = std::fs::remove_file(path);
        }
        let _ = file.unlock();
    }
}

/// Puts a file that was made in the place of an old one, whose lock is held until then; and further on if that fails, so
/// that it can be tried again.
pub(crate) fn put<H>(made: NamedTempFile, path: &Path, old: &mut Option<H>, options: &Options) -> io::Result<File> {
    sync(&made, options)?;
    if cfg!(not(unix)) {
        // There no file can take the place of one that is open.
        *old = None;
    }
    let file = made.persist(path).map_err(|error| error.error)?;
    *old = None;
    sync_folder(path, options)?;
    Ok(file)
}

/// Takes an archive away.
///
/// # Errors
/// As [`claim`]; `NC_ECANTREMOVE` if the system does not let it go.
pub(crate) fn remove(path: &Path) -> Result<()> {
    let held = claim(path)?;
    clear_leftovers(&held.path);
    let removed = std::fs::remove_file(path);
    removed.map_err(|error| ErrorKind::CantRemove.context(path.display().to_string()).caused_by(error))
}

/// Keeps others from writing a file.
///
/// # Errors
/// `NC_EPERM` if somebody does.
fn lock(file: &File, path: &Path) -> Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            Err(ErrorKind::Perm.context(format!("{}: somebody else is writing this archive", path.display())))
        }
        // Where there are no locks, nobody is kept out.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(error)) => Err(Error::io(format!("{}: locking", path.display()), error)),
    }
}

/// Whether an open file is the one at a place, as far as the system tells files apart.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(here), Ok(there)) => identity(&here) == identity(&there),
        _ => false,
    }
}

/// Tells files apart. `None`: the system does not say.
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

fn sync(made: &NamedTempFile, options: &Options) -> io::Result<()> {
    if options.durability == Durability::Fsync { made.as_file().sync_all() } else { Ok(()) }
}

/// Makes it last that a file is in its folder.
fn sync_folder(path: &Path, options: &Options) -> io::Result<()> {
    if cfg!(unix) && options.durability == Durability::Fsync { File::open(folder_of(path))?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stopped_writers_left_is_cleared_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in
            [".nczarr-Ab3dEf.tmp", ".nczarr-123456.tmp", ".nczarr-short.tmp", "nczarr-Ab3dEf.tmp", ".nczarr-Ab.dEf.tmp"]
        {
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
        drop(create(&path("x.zip"), None, &Options::default()).unwrap());
        let mut expected: Vec<std::ffi::OsString> =
            [".nczarr-Ab.dEf.tmp", ".nczarr-folder.tmp", ".nczarr-short.tmp", "nczarr-Ab3dEf.tmp", "x.zip"]
                .map(Into::into)
                .into();
        expected.push(name);
        expected.sort();
        assert_eq!(names(), expected, "whose lock is held stays");
        // Its maker was stopped.
        let left = held.keep().unwrap().1;
        remove(&path("x.zip")).unwrap();
        assert!(!left.exists());
        assert_eq!(names().len(), 4);
    }

    #[cfg(unix)]
    #[test]
    fn what_could_not_be_put_in_a_place_can_be_put_there_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.zip");
        drop(create(&path, None, &Options::default()).unwrap());
        let mut old = claim_old(&path).unwrap();
        let made = beside(&path, None).unwrap();
        std::fs::remove_file(made.path()).unwrap();
        put(made, &path, &mut old, &Options::default()).unwrap_err();
        assert!(old.as_ref().is_some_and(|old| is_at(&old.file, &path)));
        assert_eq!(claim(&path).unwrap_err().kind(), ErrorKind::Perm, "it is held still");
        put(beside(&path, None).unwrap(), &path, &mut old, &Options::default()).unwrap();
        assert!(old.is_none());
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_was_replaced_is_not_where_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.zip");
        let first = create(&path, None, &Options::default()).unwrap();
        assert!(is_at(&first, &path));
        assert_eq!(claim(&path).unwrap_err().kind(), ErrorKind::Perm);
        first.unlock().unwrap();
        let second = create(&path, claim_old(&path).unwrap(), &Options::default()).unwrap();
        assert!(!is_at(&first, &path) && is_at(&second, &path));
        assert_eq!(remove(&path).unwrap_err().kind(), ErrorKind::Perm);
        drop(second);
        remove(&path).unwrap();
        assert!(claim_old(&path).unwrap().is_none());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
