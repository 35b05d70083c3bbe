//! What is at a target, and whether it may be replaced: nothing is changed here.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::sync::Arc;

use nczarr::Registry;
use nczarr_model::{Error, ErrorKind, Result};

use crate::copy::draft::NAME;
use crate::foreign;

/// Whether there is a place beside a target.
pub fn has_beside(url: &str) -> bool {
    let Ok(target) = nczarr_url_infer::parse(url) else { return false };
    let path = Path::new(&target.path);
    target.scheme.is_local() && !path.join(NAME).is_file() && !is_empty_directory(path).unwrap_or(true)
}

/// Whether a dataset could be made at `url`, as far as can be seen without changing anything.
///
/// # Errors
/// `NC_EEXIST` if something is there that may not be replaced; what the system says.
pub fn check(url: &str, clobber: bool, registry: &Arc<Registry>) -> Result<()> {
    let target = nczarr_url_infer::parse(url)?;
    let path = Path::new(&target.path);
    if target.scheme.is_local() {
        nczarr_url_infer::infer_create(&target)?;
        let io = |error| Error::io(target.path.clone(), error);
        if !path.try_exists().map_err(io)? || is_empty_directory(path).map_err(io)? {
            return Ok(());
        }
    }
    match registry.check_dataset(url) {
        Err(_) if !target.scheme.is_local() => Ok(()),
        Err(_) if clobber && path.join(NAME).is_file() => Ok(()),
        Err(error) => {
            let what = format!("{}: what is there is no dataset, and is not replaced", target.path);
            Err(ErrorKind::Exist.context(what).caused_by(error))
        }
        Ok(()) if clobber && target.scheme.is_local() && path.is_dir() => alone(path),
        Ok(()) if clobber => Ok(()),
        Ok(()) => Err(ErrorKind::Exist.context(format!("{}: a dataset is there", target.path))),
    }
}

/// That nothing lies in a directory but the dataset that is to be replaced.
///
/// # Errors
/// `NC_EEXIST` naming what does; what the system says.
pub(super) fn alone(folder: &Path) -> Result<()> {
    match foreign::first(folder).map_err(|error| Error::io(folder.display().to_string(), error))? {
        None => Ok(()),
        Some(other) => {
            let what = format!("{} is no part of the dataset there, which is not replaced", other.display());
            Err(ErrorKind::Exist.context(what))
        }
    }
}

/// Whether a path is a directory with nothing in it.
pub(super) fn is_empty_directory(path: &Path) -> io::Result<bool> {
    Ok(path.is_dir() && fs::read_dir(path)?.next().is_none())
}

/// Locks a file that is to be replaced: who writes it now would write on where nobody looks any more.
pub(super) fn lock(path: &Path) -> Result<File> {
    let io = |error| Error::io(path.display().to_string(), error);
    let file = fs::OpenOptions::new().write(true).open(path).map_err(io)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(ErrorKind::Access
                .context("it is locked: open for writing elsewhere, or, if it is netCDF-4, for reading"))
        }
        // Not every file system has locks.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}
