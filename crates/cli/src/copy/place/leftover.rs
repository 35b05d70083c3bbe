//! Directories that copies to the same target left beside it because they were killed, or stopped so that another one goes on.
//!
//! Who works in one holds a lock on it, which ends with the process; the lock is there before anything is in the directory.
//! One in which the only copy of something may be (`REPLACED`) is never removed, nor any where locks cannot tell. Its name begins with
//! a mark of the target's: so an empty one, whose copy was killed before or after there was anything in it, is known, too.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::hash::{DefaultHasher, Hasher as _};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use nczarr_model::Result;

use super::{PREFIX, REPLACED, SUFFIX};
use crate::copy::draft::NAME;

/// Says that a directory is in use, as long as the answer lives. `None` where that cannot be said.
pub fn hold(folder: &Path) -> Option<File> {
    let folder = File::open(folder).ok()?;
    folder.try_lock().ok()?;
    Some(folder)
}

/// The mark of what a copy is called, in the name of the directory in which it is made.
pub fn mark(name: &OsStr) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(name.as_encoded_bytes());
    format!("{:016x}", hasher.finish())
}

/// Removes the directories in `parent` in which a copy called `name` was made and which nobody holds; `all`: also those that can be gone
/// on with. What cannot be removed stays: it is in nobody's way.
pub fn clear(parent: &Path, name: &OsStr, all: bool) {
    let start = format!("{PREFIX}{}", mark(name));
    let is_marked =
        |path: &PathBuf| path.file_name().and_then(OsStr::to_str).is_some_and(|made| made.starts_with(&start));
    for path in all_in(parent).filter(is_marked) {
        if let Some(_held) = hold(&path) {
            // Only an empty directory is removed so. Its maker makes another one if it did not hold this one yet.
            let _ = fs::remove_dir(&path);
        }
    }
    for path in of(parent, name) {
        if let Some(_held) = hold(&path)
            // Only now nobody moves anything into it.
            && !is_there(&path, REPLACED.as_ref())
            && (all || !is_there(&path.join(name), NAME.as_ref()))
        {
            remove(&path, name);
        }
    }
}

/// Removes one, the record first: whoever found that alone would take what is gone for being there.
pub fn remove(path: &Path, name: &OsStr) {
    match fs::remove_file(path.join(name).join(NAME)) {
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
        _ => drop(fs::remove_dir_all(path)),
    }
}

/// A directory in `parent` with half of a copy called `name` that can be gone on with, and in which nobody works.
pub fn kept(parent: &Path, name: &OsStr) -> Option<PathBuf> {
    of(parent, name).find(|path| {
        !is_there(path, REPLACED.as_ref()) && is_there(&path.join(name), NAME.as_ref()) && hold(path).is_some()
    })
}

/// A directory in `parent` in which a copy called `name` is being made, and the process that makes it, if the system tells.
pub fn under_way(parent: &Path, name: &OsStr) -> Option<(PathBuf, Option<u32>)> {
    let is_held = |path: &PathBuf| {
        let folder = File::open(path);
        folder.is_ok_and(|folder| matches!(folder.try_lock(), Err(TryLockError::WouldBlock)))
    };
    let path = of(parent, name).find(is_held)?;
    let holder = holder(&path);
    Some((path, holder))
}

/// The process that holds the lock on a directory.
fn holder(folder: &Path) -> Option<u32> {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::MetadataExt as _;
        let inode = format!(":{}", fs::metadata(folder).ok()?.ino());
        // `1: FLOCK ADVISORY WRITE 4711 00:1b:815 0 EOF`
        let locks = fs::read_to_string("/proc/locks").ok()?;
        let mut fields = locks.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        fields.find_map(|fields| match fields[..] {
            [_, "FLOCK", _, _, id, file, ..] if file.ends_with(&inode) => id.parse().ok(),
            _ => None,
        })
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = folder;
        None
    }
}

/// The directory in `parent` in which a copy called `name` was begun that can be gone on with, and the hold on it: of several the one
/// whose record is the youngest.
///
/// # Errors
/// `NC_EACCESS` if somebody works in it.
pub fn begun(parent: &Path, name: &OsStr) -> Result<Option<(PathBuf, File)>> {
    let record = |path: &Path| fs::metadata(path.join(name).join(NAME)).and_then(|about| about.modified()).ok();
    let begun = of(parent, name).filter(|path| !is_there(path, REPLACED.as_ref()));
    let Some((_, path)) = begun.filter_map(|path| Some((record(&path)?, path))).max() else { return Ok(None) };
    match hold(&path) {
        Some(held) => Ok(Some((path, held))),
        None => {
            let what = format!("{}: a copy to here is under way, or locks do not work there", path.display());
            Err(nczarr_model::ErrorKind::Access.context(what))
        }
    }
}

fn is_there(folder: &Path, name: &OsStr) -> bool {
    folder.join(name).symlink_metadata().is_ok()
}

/// The directories in `parent` in which a copy called `name` is or was made.
fn of(parent: &Path, name: &OsStr) -> impl Iterator<Item = PathBuf> {
    all_in(parent).filter(move |path| is_there(path, name))
}

/// The directories in `parent` in which any copy is or was made.
fn all_in(parent: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(parent).into_iter().flatten().flatten().filter_map(move |entry| {
        let is_ours = entry.file_name().to_str().is_some_and(|name| {
            let random = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
            random.is_some_and(|random| !random.is_empty() && random.bytes().all(|byte| byte.is_ascii_alphanumeric()))
        });
        // A link is no directory here.
        let is_one = is_ours && entry.file_type().is_ok_and(|ty| ty.is_dir());
        is_one.then(|| entry.path())
    })
}
