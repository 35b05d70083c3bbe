//! Names and directories over [`std::fs`].

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::names;

/// Whether the system gives a name a special meaning.
pub(super) fn is_special(segment: &str) -> bool {
    cfg!(windows)
        && (segment.contains(['\\', ':', '*', '?', '"', '<', '>', '|']) || segment.ends_with(['.', ' ']))
}

pub(super) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

pub(super) fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Returns the names in a directory, and whether each is a directory (`None`: a special file). Empty if the
/// directory is gone.
pub(super) fn entries(path: &Path) -> io::Result<Vec<(OsString, Option<bool>)>> {
    let found = match fs::read_dir(path) {
        Err(error) if is_absence(&error) => return Ok(Vec::new()),
        found => found?,
    };
    found
        .map(|entry| {
            let entry = entry?;
            let kind = entry.file_type()?;
            Ok((entry.file_name(), if kind.is_dir() { Some(true) } else { kind.is_file().then_some(false) }))
        })
        .collect()
}

/// Whether an object exists below a directory.
pub(super) fn leads(path: &Path) -> io::Result<bool> {
    for (name, is_dir) in entries(path)? {
        let Some(name) = name.to_str().filter(|name| names::is_segment(name)) else { continue };
        if is_dir != Some(true) || leads(&path.join(name))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes a directory that contains only directories and temporary files.
pub(super) fn remove_hollow(path: &Path) -> io::Result<()> {
    for (name, is_dir) in entries(path)? {
        let below = path.join(&name);
        match is_dir {
            Some(true) => remove_hollow(&below)?,
            Some(false) if name.to_str().is_some_and(names::is_reserved) => gone(fs::remove_file(below))?,
            _ => {}
        }
    }
    gone(fs::remove_dir(path))
}

/// Removes all temporary files below a directory.
pub(super) fn remove_temporaries(path: &Path) -> io::Result<()> {
    for (name, is_dir) in entries(path)? {
        match is_dir {
            Some(true) => remove_temporaries(&path.join(name))?,
            Some(false) if name.to_str().is_some_and(names::is_temporary) => {
                gone(fs::remove_file(path.join(name)))?
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns the first special file below a directory.
pub(super) fn first_special_file(path: &Path) -> io::Result<Option<PathBuf>> {
    for (name, is_dir) in entries(path)? {
        let below = path.join(name);
        match is_dir {
            Some(false) => {}
            Some(true) => {
                if let Some(odd) = first_special_file(&below)? {
                    return Ok(Some(odd));
                }
            }
            None => return Ok(Some(below)),
        }
    }
    Ok(None)
}
