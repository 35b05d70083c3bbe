//! Files: opening them, making new ones, and replacing one by another in one step.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use dispatch::{Clobber, Magic, Registry};
use model::{Error, ErrorKind, Result};

/// An open file, and where it really is: links on the way are followed once.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) file: File,
    pub(crate) path: PathBuf,
}

/// A file of a dataset that is not finished; it goes away with this unless it was kept.
#[derive(Debug)]
pub(crate) struct Unfinished {
    /// Where it is.
    path: PathBuf,
    /// Where it belongs, if that is elsewhere.
    target: Option<PathBuf>,
    /// What is there until then, locked: nobody writes what is about to be replaced.
    replaced: Option<File>,
    kept: bool,
}

/// Opens a file.
///
/// # Errors
/// `NC_ENOTNC` if it is not a regular file, `NC_EACCESS` if somebody else writes it; what the system says.
pub(crate) fn open(path: &str, writable: bool) -> Result<Opened> {
    let io = |error| Error::io(path, error);
    if !fs::metadata(path).map_err(io)?.is_file() {
        return Err(ErrorKind::NotNc.context(format!("{path}: not a regular file")));
    }
    let open = || OpenOptions::new().read(true).write(writable).open(path).map_err(io);
    let mut file = open()?;
    if writable {
        lock(&file, path)?;
        // Whoever had it locked may have put another one in its place before letting go.
        while !is_at(&file, Path::new(path)).map_err(io)? {
            file = open()?;
            lock(&file, path)?;
        }
    }
    let path = fs::canonicalize(path).map_err(io)?;
    if writable {
        clear_away(&path);
    }
    Ok(Opened { file, path })
}

/// Removes what processes that were killed left beside a file that this one has locked. Who is at work holds a lock.
fn clear_away(target: &Path) {
    let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else { return };
    let start = format!(".{}.", name.to_string_lossy());
    // A directory that cannot be read keeps what is in it.
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

/// Whether a name is one of [`beside`]'s: the start, two numbers, the end.
fn is_unfinished(name: &str, start: &str) -> bool {
    let numbers = name.strip_prefix(start).and_then(|rest| rest.strip_suffix(".tmp")?.split_once('-'));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.is_some_and(|(process, number)| digits(process) && digits(number))
}

/// Whether a file is the one that a path leads to, as far as the system tells files apart.
fn is_at(file: &File, path: &Path) -> std::io::Result<bool> {
    Ok(identity(&file.metadata()?) == identity(&fs::metadata(path)?))
}

/// Tells files apart. `None`: the system does not say.
#[cfg(unix)]
pub(crate) fn identity(found: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    Some((found.dev(), found.ino()))
}

#[cfg(not(unix))]
pub(crate) fn identity(_: &Metadata) -> Option<(u64, u64)> {
    None
}

/// Two who write would not see each other's records, and one who redefines would write where nobody looks.
fn lock(file: &File, path: impl std::fmt::Display) -> Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            Err(ErrorKind::Access.context(format!("{path}: it is open for writing elsewhere")))
        }
        // Not every file system has locks.
        Err(TryLockError::Error(error)) => {
            tracing::debug!(%path, %error, "the file could not be locked");
            Ok(())
        }
    }
}

/// Makes a file for a new dataset. Where one may be replaced, it stays until the new one has a header.
///
/// # Errors
/// `NC_EEXIST` if something is there that may not be replaced; what the system says.
pub(crate) fn create(path: &str, clobber: Clobber, registry: &Registry) -> Result<(Opened, Unfinished)> {
    let io = |error| Error::io(path, error);
    match OpenOptions::new().read(true).write(true).create_new(true).open(path) {
        Ok(file) => {
            lock(&file, path)?;
            let path = fs::canonicalize(path).map_err(io)?;
            let unfinished = Unfinished { path: path.clone(), target: None, replaced: None, kept: false };
            return Ok((Opened { file, path }, unfinished));
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(io(error)),
    }
    if clobber == Clobber::Refuse {
        return Err(ErrorKind::Exist.context(format!("{path}: something is there, and may not be replaced")));
    }
    if !is_replaceable(Path::new(path), registry)? {
        return Err(ErrorKind::Exist.context(format!("{path}: what is there is not a file that any driver knows")));
    }
    let target = fs::canonicalize(path).map_err(io)?;
    // Who writes it now would write on where nobody looks any more.
    let old = OpenOptions::new().write(true).open(&target).map_err(io)?;
    lock(&old, path)?;
    let (opened, mut unfinished) = beside(&target)?;
    unfinished.replaced = Some(old);
    Ok((opened, unfinished))
}

/// Whether a new dataset may take the place of what is there: nothing, an empty file, or a file that is a dataset.
///
/// # Errors
/// What the system says.
pub(crate) fn is_replaceable(path: &Path, registry: &Registry) -> Result<bool> {
    looks_replaceable(path, registry).map_err(|error| Error::io(path.display().to_string(), error))
}

fn looks_replaceable(path: &Path, registry: &Registry) -> std::io::Result<bool> {
    let found = match fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(true),
        found => found?,
    };
    if !found.is_file() {
        return Ok(false);
    }
    let mut magic: Vec<Magic> = registry.drivers().flat_map(|driver| driver.info().magic).copied().collect();
    magic.extend(registry.known().iter().flat_map(|known| known.magic));
    magic.extend_from_slice(crate::INFO.magic);
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

/// Makes a file beside another one, to take its place later.
///
/// # Errors
/// What the system says.
pub(crate) fn beside(target: &Path) -> Result<(Opened, Unfinished)> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = target.with_file_name(format!(".{name}.{}-{number}.tmp", std::process::id()));
        match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
            Ok(file) => {
                lock(&file, path.display())?;
                let unfinished =
                    Unfinished { path: path.clone(), target: Some(target.to_owned()), replaced: None, kept: false };
                if let Ok(old) = fs::metadata(target) {
                    // A file system without such rights has nothing to keep.
                    let _ = file.set_permissions(old.permissions());
                }
                return Ok((Opened { file, path: target.to_owned() }, unfinished));
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Error::io(path.display().to_string(), error)),
        }
    }
}

/// Puts a file of these bytes at a place, in one step.
///
/// # Errors
/// What the system says; what was there is there still.
pub(crate) fn replace(target: &Path, bytes: &[u8]) -> Result<()> {
    let (mut opened, mut unfinished) = beside(target)?;
    let io = |error| Error::io(target.display().to_string(), error);
    opened.file.write_all(bytes).and_then(|()| opened.file.sync_data()).map_err(io)?;
    unfinished.keep().map(|_| ())
}

impl Unfinished {
    /// Puts the file where it belongs, and answers where that is; whatever was there is gone, all at once.
    ///
    /// # Errors
    /// What the system says; nothing has changed then.
    pub(crate) fn keep(&mut self) -> Result<PathBuf> {
        if let Some(target) = &self.target {
            fs::rename(&self.path, target).map_err(|error| Error::io(target.display().to_string(), error))?;
            self.path.clone_from(target);
            self.target = None;
        }
        self.kept = true;
        Ok(self.path.clone())
    }

    /// Removes it now instead of when this is dropped.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn discard(mut self) -> Result<()> {
        self.kept = true;
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(ErrorKind::CantRemove.context(self.path.display().to_string()).caused_by(error))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.kept
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::warn!(path = %self.path.display(), %error, "an unfinished file could not be removed");
        }
    }
}

/// Makes the names in a file's directory survive a failure of power.
#[cfg(unix)]
pub(crate) fn sync_directory(path: &Path) -> Result<()> {
    let Some(directory) = path.parent() else { return Ok(()) };
    let io = |error| Error::io(directory.display().to_string(), error);
    File::open(directory).map_err(io)?.sync_all().map_err(io)
}

#[cfg(not(unix))]
pub(crate) fn sync_directory(_: &Path) -> Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_file_that_was_replaced_is_not_where_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.nc");
        fs::write(&path, "old").unwrap();
        let old = File::open(&path).unwrap();
        assert!(is_at(&old, &path).unwrap());
        replace(&path, b"new").unwrap();
        assert!(!is_at(&old, &path).unwrap());
        assert!(is_at(&File::open(&path).unwrap(), &path).unwrap());
    }
}
