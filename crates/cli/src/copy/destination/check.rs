//! Checks a target: its present contents, and whether they may be replaced. Nothing is changed here.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::sync::Arc;

use nczarr::{Place, Registry};
use nczarr_model::{Error, ErrorKind, Result};

use crate::copy::resumable::NAME;
use crate::foreign;

/// Returns whether the copy can be made in a directory beside the target.
pub fn has_beside(url: &str) -> bool {
    let Ok(target) = nczarr_url_infer::parse(url) else { return false };
    let path = Path::new(&target.path);
    target.scheme.is_local() && !path.join(NAME).is_file() && !is_empty_directory(path).unwrap_or(true)
}

/// Checks, without changes, that a dataset could be made at `url`.
///
/// # Errors
///
/// `NC_EEXIST` if something is there that may not be replaced; errors of the file system.
pub fn check(url: &str, clobber: bool, registry: &Arc<Registry>) -> Result<()> {
    let target = nczarr_url_infer::parse(url)?;
    let path = Path::new(&target.path);
    if target.scheme.is_local() {
        nczarr_url_infer::infer_create(&target)?;
        let io = |error| Error::io_at(&target.path, error);
        if !path.try_exists().map_err(io)? || is_empty_directory(path).map_err(io)? {
            return Ok(());
        }
    }
    match registry.check_dataset(&Place::url(url)) {
        Err(_) if !target.scheme.is_local() => Ok(()),
        Err(_) if clobber && path.join(NAME).is_file() => Ok(()),
        Err(error) => {
            let what = format!(
                "{}: the existing file or directory is not a dataset, and is not replaced",
                target.path.display()
            );
            Err(ErrorKind::Exist.context(what).caused_by(error))
        }
        Ok(()) if clobber && target.scheme.is_local() && path.is_dir() => alone(path),
        Ok(()) if clobber => Ok(()),
        Ok(()) => Err(ErrorKind::Exist.context(format!("{}: a dataset exists", target.path.display()))),
    }
}

/// Checks that a directory contains nothing but the dataset to be replaced.
///
/// # Errors
///
/// `NC_EEXIST`, naming the first foreign object; errors of the file system.
pub(super) fn alone(folder: &Path) -> Result<()> {
    match foreign::first(folder).map_err(|error| Error::io(folder.display().to_string(), error))? {
        None => Ok(()),
        Some(other) => {
            let what = format!("{} is not part of the dataset there, which is not replaced", other.display());
            Err(ErrorKind::Exist.context(what))
        }
    }
}

/// Returns whether a path is an empty directory.
pub(super) fn is_empty_directory(path: &Path) -> io::Result<bool> {
    Ok(path.is_dir() && fs::read_dir(path)?.next().is_none())
}

/// Locks a file that is to be replaced: an open writer would go on writing the replaced file.
pub(super) fn lock(path: &Path) -> Result<File> {
    let io = |error| Error::io(path.display().to_string(), error);
    let file = fs::OpenOptions::new().write(true).open(path).map_err(io)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(ErrorKind::Access.context(
            "the file is locked by another process, for writing, or, if it is netCDF-4, for reading",
        )),
        // Some file systems have no locks.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}
