//! Directories that copies to the same target left beside it because they were killed.
//!
//! Who works in one holds a lock on it, which ends with the process; the lock is there before anything is in the directory.
//! One in which the only copy of something may be (`REPLACED`) is never removed, nor any where locks cannot tell.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::Path;

use super::place::{PREFIX, REPLACED, SUFFIX};

/// Says that a directory is in use, as long as the answer lives. `None` where that cannot be said.
pub fn hold(folder: &Path) -> Option<File> {
    let folder = File::open(folder).ok()?;
    folder.try_lock().ok()?;
    Some(folder)
}

/// Removes the directories in `parent` in which a copy called `name` was made and which nobody holds. What cannot be
/// removed stays: it is in nobody's way.
pub fn clear(parent: &Path, name: &OsStr) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|name| {
            let random = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
            random.is_some_and(|random| !random.is_empty() && random.bytes().all(|byte| byte.is_ascii_alphanumeric()))
        });
        let path = entry.path();
        let is_there = |name: &OsStr| path.join(name).symlink_metadata().is_ok();
        // A link is no directory here.
        if is_ours && entry.file_type().is_ok_and(|ty| ty.is_dir()) && is_there(name)
            && let Some(_held) = hold(&path)
            // Only now nobody moves anything into it.
            && !is_there(REPLACED.as_ref())
        {
            let _ = fs::remove_dir_all(&path);
        }
    }
}
