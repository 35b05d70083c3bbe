//! Files of formats that are one file: opening them, making new ones, and replacing one by another in one step.
//!
//! Who writes a file, or is about to replace it, holds its lock.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use nczarr_model::{Error, ErrorKind, Result};

use crate::{Clobber, Magic, Registry};

/// An open file, and where it really is: links on the way are followed once.
#[derive(Debug)]
pub struct Opened {
    /// The file.
    pub file: File,
    /// Its place.
    pub path: PathBuf,
}

impl Opened {
    /// All bytes, from the start to where the file ended when it was asked.
    ///
    /// # Errors
    /// `NC_ENOMEM`; `NC_ETRUNC` if somebody cut it short meanwhile; what the system says.
    pub fn read(&self) -> Result<Vec<u8>> {
        let io = |error| Error::io(self.path.display().to_string(), error);
        let size = self.file.metadata().map_err(io)?.len();
        let no_mem = || ErrorKind::NoMem.context(format!("{}: {size} bytes", self.path.display()));
        let len = usize::try_from(size).map_err(|_| no_mem())?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len).map_err(|error| no_mem().caused_by(error))?;
        (&self.file).take(size).read_to_end(&mut bytes).map_err(io)?;
        match bytes.len() == len {
            true => Ok(bytes),
            false => Err(ErrorKind::Trunc.context(format!("{}: it was cut short meanwhile", self.path.display()))),
        }
    }
}

/// A file of a dataset that is not finished; it goes away with this unless it was kept.
#[derive(Debug)]
pub struct Unfinished {
    /// Where it is.
    path: PathBuf,
    /// Where it belongs, if that is elsewhere.
    target: Option<PathBuf>,
    /// What is there, locked until it is replaced.
    held: Option<File>,
    kept: bool,
}

/// How often somebody else may come between before it is given up.
const TRIES: usize = 100;

/// Opens a file.
///
/// # Errors
/// `NC_ENOTNC` if it is not a regular file, `NC_EACCESS` if somebody else writes it; what the system says.
pub fn open(path: &str, writable: bool) -> Result<Opened> {
    let io = |error| Error::io(path, error);
    if !fs::metadata(path).map_err(io)?.is_file() {
        return Err(ErrorKind::NotNc.context(format!("{path}: not a regular file")));
    }
    if !writable {
        let file = File::open(path).map_err(io)?;
        return Ok(Opened { file, path: fs::canonicalize(path).map_err(io)? });
    }
    for _ in 0..TRIES {
        let target = fs::canonicalize(path).map_err(io)?;
        if let Some(file) = claim(&target)? {
            clear_away(&target);
            return Ok(Opened { file, path: target });
        }
    }
    Err(restless(path))
}

/// Opens the regular file that is at a path itself, to read it: a link there is not followed, and a pipe not waited for.
/// `None`: something else is there.
///
/// # Errors
/// What the system says.
pub fn open_regular(path: &Path) -> std::io::Result<Option<File>> {
    let is_other = || fs::symlink_metadata(path).is_ok_and(|found| !found.is_file());
    match regular::open(path) {
        // What is no file cannot be opened like one; each system says so in another way.
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

/// Where no file can be opened without its links: what was opened must be like what is at the path then.
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
        let marks = |found: &Metadata| (found.is_file(), found.len(), found.created().ok(), found.modified().ok());
        Ok((there.is_file() && marks(&opened) == marks(&there)).then_some(file))
    }
}

/// Opens a file to write it, with its lock. `None`: another one took its place meanwhile, or none.
///
/// # Errors
/// `NC_EACCESS` if somebody else writes it; what the system says.
pub fn claim(path: &Path) -> Result<Option<File>> {
    let file = OpenOptions::new().read(true).write(true).open(path);
    let file = file.map_err(|error| Error::io(path.display().to_string(), error))?;
    lock(&file, path.display())?;
    Ok(is_at(&file, path).then_some(file))
}

/// Whether an open file is the one at a place, as far as the system tells files apart: who waits for a lock may get that
/// of a file that was replaced meanwhile.
pub fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(here), Ok(there)) => identity(&here) == identity(&there),
        _ => false,
    }
}

/// Tells files apart. `None`: the system does not say.
#[cfg(unix)]
pub fn identity(found: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    Some((found.dev(), found.ino()))
}

/// Tells files apart; here nobody can.
#[cfg(not(unix))]
pub fn identity(_: &Metadata) -> Option<(u64, u64)> {
    None
}

fn restless(path: impl std::fmt::Display) -> Error {
    ErrorKind::Access.context(format!("{path}: others replace it again and again"))
}

/// Where a path leads, links followed, whether or not something is there.
///
/// # Errors
/// What the system says; the directory must be there.
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
    Err(ErrorKind::Access.context(format!("{}: links that lead to links without end", path.display())))
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

/// Two who write would not see each other's records, and one who redefines would write where nobody looks.
fn lock(file: &File, path: impl std::fmt::Display) -> Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(ErrorKind::Access
            .context(format!("{path}: it is locked: open for writing elsewhere, or, if it is netCDF-4, for reading"))),
        // Not every file system has locks.
        Err(TryLockError::Error(error)) => {
            tracing::debug!(%path, %error, "the file could not be locked");
            Ok(())
        }
    }
}

/// Makes a file for a new dataset. Where one may be replaced, it stays until the new one has a header, and nobody else
/// writes or replaces it meanwhile. `own`: first bytes of the format's files, whatever the registry knows.
///
/// # Errors
/// `NC_EEXIST` if something is there that may not be replaced; `NC_EACCESS` if somebody else writes it, or makes a new
/// one in its place; what the system says.
pub fn create(
    path: &str,
    clobber: Clobber,
    registry: &Registry,
    own: &'static [Magic],
) -> Result<(Opened, Unfinished)> {
    let target = match clobber {
        // A link is something that is there, wherever it leads.
        Clobber::Refuse => std::path::absolute(path).map_err(|error| Error::io(path, error))?,
        Clobber::Replace => resolve(Path::new(path))?,
    };
    match take(&target, clobber, registry, own)? {
        Taken::New(file) => {
            let path = fs::canonicalize(&target).map_err(|error| Error::io(path, error))?;
            let unfinished = Unfinished { path: path.clone(), target: None, held: None, kept: false };
            Ok((Opened { file, path }, unfinished))
        }
        Taken::Old(held) => {
            let (opened, mut unfinished) = beside(&target)?;
            unfinished.held = Some(held);
            Ok((opened, unfinished))
        }
    }
}

/// A place that is ours: its file, locked.
#[derive(Debug)]
pub enum Taken {
    /// Nothing was there.
    New(File),
    /// What is there may be replaced.
    Old(File),
}

/// Takes a place for a new dataset.
///
/// # Errors
/// As [`create`].
pub fn take(target: &Path, clobber: Clobber, registry: &Registry, own: &'static [Magic]) -> Result<Taken> {
    let shown = target.display();
    for _ in 0..TRIES {
        match OpenOptions::new().read(true).write(true).create_new(true).open(target) {
            Ok(file) => {
                lock(&file, &shown)?;
                if is_at(&file, target) {
                    return Ok(Taken::New(file));
                }
                continue;
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Error::io(shown.to_string(), error)),
        }
        check_replaceable(target, clobber, registry, own)?;
        match claim(target) {
            Ok(Some(file)) => return Ok(Taken::Old(file)),
            Ok(None) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Err(restless(shown))
}

/// Whether a new dataset may take the place of what is there, if something is.
///
/// # Errors
/// `NC_EEXIST` if not; what the system says.
pub fn check_replaceable(path: &Path, clobber: Clobber, registry: &Registry, own: &'static [Magic]) -> Result<()> {
    let refused = match clobber {
        Clobber::Refuse if path.symlink_metadata().is_ok() => "something is there, and may not be replaced",
        Clobber::Replace if !is_replaceable(path, registry, own)? => {
            "what is there is not a file that any driver knows"
        }
        _ => return Ok(()),
    };
    Err(ErrorKind::Exist.context(format!("{}: {refused}", path.display())))
}

/// Whether a new dataset may take the place of what is there: nothing, an empty file, or a file that is a dataset.
///
/// # Errors
/// What the system says.
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

/// Makes a file beside another one, to take its place later.
///
/// # Errors
/// What the system says.
pub fn beside(target: &Path) -> Result<(Opened, Unfinished)> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // Some systems have no processes, and say so by a panic.
        let process = if cfg!(target_family = "wasm") { 0 } else { std::process::id() };
        let path = target.with_file_name(format!(".{name}.{process}-{number}.tmp"));
        match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
            Ok(file) => {
                // Who clears away takes it for what somebody dead left, until it is locked.
                match lock(&file, path.display()) {
                    Ok(()) if is_at(&file, &path) => {}
                    Err(error) if error.kind() != ErrorKind::Access => return Err(error),
                    _ => continue,
                }
                if let Ok(old) = fs::metadata(target) {
                    // A file system without such rights has nothing to keep.
                    let _ = file.set_permissions(old.permissions());
                }
                let unfinished = Unfinished { path, target: Some(target.to_owned()), held: None, kept: false };
                return Ok((Opened { file, path: target.to_owned() }, unfinished));
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Error::io(path.display().to_string(), error)),
        }
    }
}

impl Unfinished {
    /// Puts the file where it belongs, and answers where that is; whatever was there is gone, all at once.
    ///
    /// # Errors
    /// What the system says; nothing has changed then.
    pub fn keep(&mut self) -> Result<PathBuf> {
        if let Some(target) = &self.target {
            fs::rename(&self.path, target).map_err(|error| Error::io(target.display().to_string(), error))?;
            self.path.clone_from(target);
            self.target = None;
            self.held = None;
        }
        self.kept = true;
        Ok(self.path.clone())
    }

    /// Removes it now instead of when this is dropped.
    ///
    /// # Errors
    /// What the system says.
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
///
/// # Errors
/// What the system says.
#[cfg(unix)]
pub fn sync_directory(path: &Path) -> Result<()> {
    let Some(directory) = path.parent() else { return Ok(()) };
    let io = |error| Error::io(directory.display().to_string(), error);
    File::open(directory).map_err(io)?.sync_all().map_err(io)
}

/// Makes the names in a file's directory survive a failure of power; here nobody can.
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
    fn a_file_that_was_replaced_is_not_where_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.nc");
        fs::write(&path, "old").unwrap();
        let old = File::open(&path).unwrap();
        assert!(is_at(&old, &path));
        beside(&path).unwrap().1.keep().unwrap();
        assert!(!is_at(&old, &path));
        assert!(is_at(&File::open(&path).unwrap(), &path));
    }
}
