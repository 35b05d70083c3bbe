//! Directories beside a target from killed or interrupted copies to it.
//!
//! A process holds a lock on its directory from before the first entry until it ends. A directory that may
//! contain the only copy of a dataset (`REPLACED`) is never removed, nor one whose lock state is unknown. The
//! directory's name starts with a mark of the target's name, so empty directories of killed copies are
//! recognised, too.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::hash::{DefaultHasher, Hasher as _};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use nczarr_model::Result;

use super::{PREFIX, REPLACED, SUFFIX};
use crate::copy::resumable::NAME;

/// Marks a directory as in use while the returned lock lives. `None` if it cannot be locked.
pub fn hold(folder: &Path) -> Option<File> {
    let folder = File::open(folder).ok()?;
    folder.try_lock().ok()?;
    Some(folder)
}

/// Returns the mark of a target name for the directory's name.
pub fn mark(name: &OsStr) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(name.as_encoded_bytes());
    format!("{:016x}", hasher.finish())
}

/// Removes the unlocked directories in `parent` of copies to `name`; `all`: also resumable ones. A directory
/// that cannot be removed stays.
pub fn clear(parent: &Path, name: &OsStr, all: bool) {
    let start = format!("{PREFIX}{}", mark(name));
    let is_marked = |path: &PathBuf| {
        path.file_name().and_then(OsStr::to_str).is_some_and(|made| made.starts_with(&start))
    };
    for path in all_in(parent).filter(is_marked) {
        if let Some(_held) = hold(&path) {
            // Removes only an empty directory. A process that has not locked it yet makes another one.
            let _ = fs::remove_dir(&path);
        }
    }
    for path in of(parent, name) {
        if let Some(_held) = hold(&path)
            // Under the lock, no process moves anything into it.
            && !is_there(&path, REPLACED.as_ref())
            && (all || !is_there(&path.join(name), NAME.as_ref()))
        {
            remove(&path, name);
        }
    }
}

/// Removes a directory, the record first: a record without its data would count missing data as complete.
pub fn remove(path: &Path, name: &OsStr) {
    match fs::remove_file(path.join(name).join(NAME)) {
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
        _ => drop(fs::remove_dir_all(path)),
    }
}

/// Returns an unlocked directory in `parent` with a resumable copy to `name`.
pub fn kept(parent: &Path, name: &OsStr) -> Option<PathBuf> {
    of(parent, name).find(|path| {
        !is_there(path, REPLACED.as_ref())
            && is_there(&path.join(name), NAME.as_ref())
            && hold(path).is_some()
    })
}

/// Returns a directory in `parent` with a running copy to `name`, and its process if the system exposes it.
pub fn under_way(parent: &Path, name: &OsStr) -> Option<(PathBuf, Option<u32>)> {
    let is_held = |path: &PathBuf| {
        let folder = File::open(path);
        folder.is_ok_and(|folder| matches!(folder.try_lock(), Err(TryLockError::WouldBlock)))
    };
    let path = of(parent, name).find(is_held)?;
    let holder = holder(&path);
    Some((path, holder))
}

/// Returns the process that holds the lock on a directory.
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

/// Returns the directory in `parent` with a resumable copy to `name`, and its lock. Of several, the one with
/// the newest record.
///
/// # Errors
///
/// `NC_EACCESS` if it is in use.
pub fn begun(parent: &Path, name: &OsStr) -> Result<Option<(PathBuf, File)>> {
    let record =
        |path: &Path| fs::metadata(path.join(name).join(NAME)).and_then(|about| about.modified()).ok();
    let begun = of(parent, name).filter(|path| !is_there(path, REPLACED.as_ref()));
    let Some((_, path)) = begun.filter_map(|path| Some((record(&path)?, path))).max() else {
        return Ok(None);
    };
    match hold(&path) {
        Some(held) => Ok(Some((path, held))),
        None => {
            let what = format!(
                "{}: a copy to this target is running, or its file system has no locks",
                path.display()
            );
            Err(nczarr_model::ErrorKind::Access.context(what))
        }
    }
}

fn is_there(folder: &Path, name: &OsStr) -> bool {
    folder.join(name).symlink_metadata().is_ok()
}

/// Returns the directories in `parent` of copies to `name`.
fn of(parent: &Path, name: &OsStr) -> impl Iterator<Item = PathBuf> {
    all_in(parent).filter(move |path| is_there(path, name))
}

/// Returns the directories in `parent` of all copies.
fn all_in(parent: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(parent).into_iter().flatten().flatten().filter_map(move |entry| {
        let is_ours = entry.file_name().to_str().is_some_and(|name| {
            let random = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
            random.is_some_and(|random| {
                !random.is_empty() && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
            })
        });
        // A link does not count as a directory here.
        let is_one = is_ours && entry.file_type().is_ok_and(|ty| ty.is_dir());
        is_one.then(|| entry.path())
    })
}
