//! Finds foreign files in a dataset's directory. They block deleting or replacing the dataset.
//!
//! Only names decide; directories are listed and no file is read. Documents of all versions, chunks below an
//! array, and temporary files of this program and other writers belong to the dataset. `validate` checks
//! which chunks an array can have.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::copy::resumable;

/// Names of documents, of all versions.
const DOCUMENTS: [&str; 11] = [
    ".zgroup",
    ".zarray",
    ".zattrs",
    ".zmetadata",
    "zarr.json",
    ".nczarr",
    ".nczgroup",
    ".nczarray",
    ".nczvar",
    ".nczattr",
    ".nczattrs",
];
/// Documents that make a folder an array, or may.
const ARRAYS: [&str; 3] = [".zarray", ".nczarray", "zarr.json"];
/// Temporary files that storage and network file systems add while a dataset is written.
const LEFT: [&str; 2] = [".nczarr-", ".nfs"];

/// Returns the first foreign file by name; `None` if there is none.
///
/// # Errors
///
/// Errors of the file system.
pub fn first(folder: &Path) -> io::Result<Option<PathBuf>> {
    below(folder, None)
}

/// The same below a folder. `array`: the nearest enclosing folder that may be an array.
fn below(folder: &Path, array: Option<&Path>) -> io::Result<Option<PathBuf>> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    let is_array = entries.iter().any(|entry| ARRAYS.iter().any(|name| entry.file_name() == *name));
    let array = if is_array { Some(folder) } else { array };
    for entry in entries {
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            if let Some(found) = below(&path, array)? {
                return Ok(Some(found));
            }
        } else {
            let chunk = array.and_then(|array| path.strip_prefix(array).ok()?.to_str());
            if !is_known(&entry.file_name()) && !chunk.is_some_and(is_chunk) {
                return Ok(Some(path));
            }
        }
    }
    Ok(None)
}

/// Returns whether a name is that of a document or a temporary file.
fn is_known(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| {
        DOCUMENTS.contains(&name)
            || name == resumable::NAME
            || LEFT.iter().any(|prefix| name.starts_with(prefix))
            || is_partial(name)
    })
}

/// Returns whether it is a temporary name of zarr-python: `0.0.5f0c….partial`.
fn is_partial(name: &str) -> bool {
    let random = name.strip_suffix(".partial").and_then(|rest| rest.rsplit_once('.'));
    random
        .is_some_and(|(_, random)| random.len() == 32 && random.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Returns whether a path below an array's folder can be a chunk: indices, with or without a leading `c`.
fn is_chunk(rest: &str) -> bool {
    let separators = ['/', '.', '-', '_', '\\'];
    let indices = match rest.strip_prefix('c') {
        Some("") => return true,
        Some(behind) if behind.starts_with(separators) => &behind[1..],
        Some(_) => return false,
        None => rest,
    };
    indices
        .split(separators)
        .all(|index| !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_names_are_recognised() {
        for name in ["0", "0.0", "12/3", "c", "c/0/1", "c.0.1", "c/0"] {
            assert!(is_chunk(name), "{name}");
        }
        for name in ["", "x", "c0", "0.", ".0", "0/a", "0.nc", "c/", "notes.txt", "0.0~", "copy/0"] {
            assert!(!is_chunk(name), "{name}");
        }
        assert!(is_partial("0.0.5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c.partial") && !is_partial("letter.partial"));
    }
}
