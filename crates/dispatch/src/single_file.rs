//! Opens, creates and replaces files of single-file formats. A replacement happens in one step.
//!
//! A process that writes or replaces a file holds its lock.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use nczarr_model::{Error, ErrorKind, Result};

use crate::{Clobber, Magic, Registry};

/// An open file, and its path with all links resolved.
#[derive(Debug)]
pub struct OpenedFile {
    /// The file.
    pub file: File,
    /// Its path.
    pub path: PathBuf,
}

impl OpenedFile {
    /// Reads all bytes, up to the end at the time of the call.
    ///
    /// # Errors
    /// `NC_ENOMEM`; `NC_ETRUNC` if the file was truncated meanwhile; otherwise the system's error.
    pub fn read(&self) -> Result<Vec<u8>> {
        let io = |error| Error::io(self.path.display().to_string(), error);
        let size = self.file.metadata().map_err(io)?.len();
        let no_mem = || ErrorKind::NoMem.context(format!("{}: {size} bytes", self.path.display()));
        let len = usize::try_from(size).map_err(|_| no_mem())?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len).map_err(|error| no_mem().caused_by(error))?;
        (&self.file).take(size).read_to_end(&mut bytes).map_err(io)?;
        if bytes.len() == len {
            Ok(bytes)
        } else {
            Err(ErrorKind::Trunc.context(format!("{}: truncated while it was read", self.path.display())))
        }
    }
}

/// The file of an unfinished dataset. Dropping it removes the file, unless it was kept.
#[derive(Debug)]
pub struct TempFile {
    /// Its path.
    path: PathBuf,
    /// Its final path, if that is another one.
    target: Option<PathBuf>,
    /// The existing file, locked until it is replaced.
    held: Option<File>,
    kept: bool,
}

/// The number of attempts while other processes replace the file.
const TRIES: usize = 100;

/// Opens a file.
///
/// # Errors
/// `NC_ENOTNC` if it is not a regular file; `NC_EACCESS` if another process writes it; otherwise the system's
/// error.
pub fn open(path: &Path, writable: bool) -> Result<OpenedFile> {
    let io = |error| Error::io_at(path, error);
    if !fs::metadata(path).map_err(io)?.is_file() {
        return Err(ErrorKind::NotNc.context(format!("{}: not a regular file", path.display())));
    }
    if !writable {
        let file = File::open(path).map_err(io)?;
        return Ok(OpenedFile { file, path: fs::canonicalize(path).map_err(io)? });
    }
    for _ in 0..TRIES {
        let target = fs::canonicalize(path).map_err(io)?;
        if let Some(file) = open_locked(&target)? {
            remove_stale_temp_files(&target);
            return Ok(OpenedFile { file, path: target });
        }
    }
    Err(replaced_too_often(path.display()))
}

/// Opens a regular file for reading. It follows no link, and a pipe does not block. `None`: the path names no
/// regular file.
///
/// # Errors
/// The system's error.
pub fn open_regular(path: &Path) -> std::io::Result<Option<File>> {
    let is_other = || fs::symlink_metadata(path).is_ok_and(|found| !found.is_file());
    match regular::open(path) {
        // Other kinds of files fail in system-specific ways.
        Err(_) if is_other() => Ok(None),
        opened => opened,
    }
}

#[cfg(unix)]
mod regular {
    use std::fs::{File, OpenOptions};
    use std::io::Result;
    use std::os::unix::fs::OpenOptionsExt as _;
    use std::path::Path;

    use rustix::fs::OFlags;

    pub fn open(path: &Path) -> Result<Option<File>> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
        Ok(file.metadata()?.is_file().then_some(file))
    }
}

/// For systems that cannot open without following links: compares the opened file with the one at the path.
#[cfg(not(unix))]
mod regular {
    use std::fs::{self, File, Metadata};
    use std::io::Result;
    use std::path::Path;

    pub fn open(path: &Path) -> Result<Option<File>> {
        if !fs::symlink_metadata(path)?.is_file() {
            return Ok(None);
        }
        let file = File::open(path)?;
        let (opened, there) = (file.metadata()?, fs::symlink_metadata(path)?);
        let marks =
            |found: &Metadata| (found.is_file(), found.len(), found.created().ok(), found.modified().ok());
        Ok((there.is_file() && marks(&opened) == marks(&there)).then_some(file))
    }
}

/// Opens a file for writing and locks it. `None`: it was replaced or removed meanwhile.
///
/// # Errors
/// `NC_EACCESS` if another process writes it; otherwise the system's error.
pub fn open_locked(path: &Path) -> Result<Option<File>> {
    let file = OpenOptions::new().read(true).write(true).open(path);
    let file = file.map_err(|error| Error::io(path.display().to_string(), error))?;
    lock(&file, path.display())?;
    Ok(is_still_at(&file, path).then_some(file))
}

/// Whether a path still names an open file, as far as the system reports that. After a wait for a lock,
/// another process may have replaced the file.
pub fn is_still_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(here), Ok(there)) => file_identity(&here) == file_identity(&there),
        _ => false,
    }
}

/// Returns the identity of a file. `None`: unknown.
#[cfg(unix)]
pub fn file_identity(found: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    Some((found.dev(), found.ino()))
}

/// Returns the identity of a file, which this system does not supply.
#[cfg(not(unix))]
pub fn identity(_: &Metadata) -> Option<(u64, u64)> {
    None
}

fn replaced_too_often(path: impl std::fmt::Display) -> Error {
    ErrorKind::Access.context(format!("{path}: other processes keep replacing the file"))
}

/// Resolves the links of a path, whether or not the file exists.
///
/// # Errors
/// The system's error; the directory must exist.
pub fn resolve(path: &Path) -> Result<PathBuf> {
    let io = |error| Error::io(path.display().to_string(), error);
    let mut place = std::path::absolute(path).map_err(io)?;
    for _ in 0..40 {
        let (Some(folder), Some(name)) = (place.parent(), place.file_name()) else {
            return fs::canonicalize(&place).map_err(io);
        };
        match fs::read_link(&place) {
            Ok(to) => place = folder.join(to),
            Err(_) => return Ok(fs::canonicalize(folder).map_err(io)?.join(name)),
        }
    }
    Err(ErrorKind::Access.context(format!("{}: too many levels of symbolic links", path.display())))
}

/// Removes temporary files of killed processes beside a locked file. Live processes hold a lock on theirs.
fn remove_stale_temp_files(target: &Path) {
    let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else { return };
    let start = format!(".{}.", name.to_string_lossy());
    // An unreadable directory keeps its files.
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| is_unfinished(&entry.file_name().to_string_lossy(), &start)) {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_file())
            && let Ok(file) = OpenOptions::new().write(true).open(&path)
            && file.try_lock().is_ok()
            && let Err(error) = fs::remove_file(&path)
        {
            tracing::debug!(path = %path.display(), %error, "what another process left could not be removed");
        }
    }
}

/// Whether a name has the form of a temporary file: the start, two numbers, the end.
fn is_unfinished(name: &str, start: &str) -> bool {
    let numbers = name.strip_prefix(start).and_then(|rest| rest.strip_suffix(".tmp")?.split_once('-'));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.is_some_and(|(process, number)| digits(process) && digits(number))
}

/// Two writers would not see each other's records, and a redefinition would write an unreachable file.
fn lock(file: &File, path: impl std::fmt::Display) -> Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(ErrorKind::Access.context(format!(
            "{path}: the file is locked: another process has it open for writing, or for reading if it is netCDF-4"
        ))),
        // Some file systems have no locks.
        Err(TryLockError::Error(error)) => {
            tracing::debug!(%path, %error, "the file could not be locked");
            Ok(())
        }
    }
}

/// Creates the file of a new dataset. An existing file that may be replaced stays until the new one has a
/// header, and is locked meanwhile. `own`: first bytes of the format's files, in addition to those of the
/// registry.
///
/// # Errors
/// `NC_EEXIST` if the path is in use and may not be replaced; `NC_EACCESS` if another process writes or
/// replaces the file; otherwise the system's error.
pub fn create(
    path: &Path,
    clobber: Clobber,
    registry: &Registry,
    own: &'static [Magic],
) -> Result<(OpenedFile, TempFile)> {
    let target = match clobber {
        // A link counts as existing, whatever its target.
        Clobber::Refuse => std::path::absolute(path).map_err(|error| Error::io_at(path, error))?,
        Clobber::Replace => resolve(path)?,
    };
    match claim_path(&target, clobber, registry, own)? {
        ClaimedPath::New(file) => {
            let path = fs::canonicalize(&target).map_err(|error| Error::io_at(path, error))?;
            let unfinished = TempFile { path: path.clone(), target: None, held: None, kept: false };
            Ok((OpenedFile { file, path }, unfinished))
        }
        ClaimedPath::Old(held) => {
            let (opened, mut unfinished) = create_temp_file(&target)?;
            unfinished.held = Some(held);
            Ok((opened, unfinished))
        }
    }
}

/// The locked file of a path.
#[derive(Debug)]
pub enum ClaimedPath {
    /// A new file.
    New(File),
    /// An existing file that may be replaced.
    Old(File),
}

/// Claims a path for a new dataset.
///
/// # Errors
/// As [`create`].
pub fn claim_path(
    target: &Path,
    clobber: Clobber,
    registry: &Registry,
    own: &'static [Magic],
) -> Result<ClaimedPath> {
    let shown = target.display();
    for _ in 0..TRIES {
        match OpenOptions::new().read(true).write(true).create_new(true).open(target) {
            Ok(file) => {
                lock(&file, &shown)?;
                if is_still_at(&file, target) {
                    return Ok(ClaimedPath::New(file));
                }
                continue;
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Error::io(shown.to_string(), error)),
        }
        check_replaceable(target, clobber, registry, own)?;
        match open_locked(target) {
            Ok(Some(file)) => return Ok(ClaimedPath::Old(file)),
            Ok(None) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Err(replaced_too_often(shown))
}

/// Checks that a new dataset may use a path.
///
/// # Errors
/// `NC_EEXIST` if not; otherwise the system's error.
pub fn check_replaceable(
    path: &Path,
    clobber: Clobber,
    registry: &Registry,
    own: &'static [Magic],
) -> Result<()> {
    let refused = match clobber {
        Clobber::Refuse if path.symlink_metadata().is_ok() => "the path is in use and may not be replaced",
        Clobber::Replace if !is_replaceable(path, registry, own)? => {
            "the existing file is not a dataset of a known driver"
        }
        _ => return Ok(()),
    };
    Err(ErrorKind::Exist.context(format!("{}: {refused}", path.display())))
}

/// Whether a new dataset may use a path: it is free, or has an empty file or a dataset.
///
/// # Errors
/// The system's error.
fn is_replaceable(path: &Path, registry: &Registry, own: &'static [Magic]) -> Result<bool> {
    looks_replaceable(path, registry, own).map_err(|error| Error::io(path.display().to_string(), error))
}

fn looks_replaceable(path: &Path, registry: &Registry, own: &'static [Magic]) -> std::io::Result<bool> {
    let found = match fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(true),
        found => found?,
    };
    if !found.is_file() {
        return Ok(false);
    }
    let mut magic: Vec<Magic> = registry.drivers().flat_map(|driver| driver.info().magic).copied().collect();
    magic.extend(registry.known().iter().flat_map(|known| known.magic));
    magic.extend_from_slice(own);
    for magic in magic {
        let (mut file, mut bytes) = (File::open(path)?, Vec::new());
        file.seek(SeekFrom::Start(magic.offset))?;
        file.take(magic.bytes.len() as u64).read_to_end(&mut bytes)?;
        if bytes == magic.bytes {
            return Ok(true);
        }
    }
    Ok(found.len() == 0)
}

/// Creates a temporary file beside a target, to replace it later.
///
/// # Errors
/// The system's error.
pub fn create_temp_file(target: &Path) -> Result<(OpenedFile, TempFile)> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // Some systems have no processes, and panic here.
        let process = if cfg!(target_family = "wasm") { 0 } else { std::process::id() };
        let path = target.with_file_name(format!(".{name}.{process}-{number}.tmp"));
        match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
            Ok(file) => {
                // Until it is locked, another process may remove it as stale.
                match lock(&file, path.display()) {
                    Ok(()) if is_still_at(&file, &path) => {}
                    Err(error) if error.kind() != ErrorKind::Access => return Err(error),
                    _ => continue,
                }
                if let Ok(old) = fs::metadata(target) {
                    // Some file systems have no permissions.
                    let _ = file.set_permissions(old.permissions());
                }
                let unfinished = TempFile { path, target: Some(target.to_owned()), held: None, kept: false };
                return Ok((OpenedFile { file, path: target.to_owned() }, unfinished));
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Error::io(path.display().to_string(), error)),
        }
    }
}

impl TempFile {
    /// Moves the file to its final path, replacing any old file in one step. Returns the path.
    ///
    /// # Errors
    /// The system's error; nothing has changed then.
    pub fn persist(&mut self) -> Result<PathBuf> {
        if let Some(target) = &self.target {
            fs::rename(&self.path, target).map_err(|error| Error::io(target.display().to_string(), error))?;
            self.path.clone_from(target);
            self.target = None;
            self.held = None;
        }
        self.kept = true;
        Ok(self.path.clone())
    }

    /// Removes the file now.
    ///
    /// # Errors
    /// The system's error.
    pub fn discard(mut self) -> Result<()> {
        self.kept = true;
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(ErrorKind::CantRemove.context(self.path.display().to_string()).caused_by(error))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        if !self.kept
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::warn!(path = %self.path.display(), %error, "an unfinished file could not be removed");
        }
    }
}

/// Makes the entries of a file's directory durable.
///
/// # Errors
/// The system's error.
#[cfg(unix)]
pub fn sync_directory(path: &Path) -> Result<()> {
    let Some(directory) = path.parent() else { return Ok(()) };
    let io = |error| Error::io(directory.display().to_string(), error);
    File::open(directory).map_err(io)?.sync_all().map_err(io)
}

/// Does nothing: this system cannot sync directories.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn sync_directory(_: &Path) -> Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_replaced_file_is_recognised() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.nc");
        fs::write(&path, "old").unwrap();
        let old = File::open(&path).unwrap();
        assert!(is_still_at(&old, &path));
        create_temp_file(&path).unwrap().1.persist().unwrap();
        assert!(!is_still_at(&old, &path));
        assert!(is_still_at(&File::open(&path).unwrap(), &path));
    }
}
