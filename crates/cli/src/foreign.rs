//! What lies in the directory of a dataset and is no part of it: it stays where a dataset is deleted or replaced.
//!
//! Told by names alone, of which a directory is listed and nothing read: documents of all generations, chunks below an array, and
//! what this program and other writers leave behind while they write. Which chunks an array can have is `validate`'s to say.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::copy::place::is_ours;

/// Names of documents, of all generations.
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
/// Files that storage and network file systems hold while a dataset is written.
const LEFT: [&str; 2] = [".nczarr-", ".nfs"];

/// The first thing, by its name, that is no part of the dataset in a directory; `None` where there is nothing else.
///
/// # Errors
/// What the system says.
pub fn first(folder: &Path) -> io::Result<Option<PathBuf>> {
    below(folder, None)
}

/// The same below a folder. `array`: the nearest folder around it that may be an array.
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

/// Whether a name is one of a document, or of what is there for a while.
fn is_known(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| {
        DOCUMENTS.contains(&name)
            || is_ours(name)
            || LEFT.iter().any(|prefix| name.starts_with(prefix))
            || is_partial(name)
    })
}

/// Whether zarr-python writes an object by this name before it has its own: `0.0.5f0c….partial`.
fn is_partial(name: &str) -> bool {
    let random = name.strip_suffix(".partial").and_then(|rest| rest.rsplit_once('.'));
    random.is_some_and(|(_, random)| random.len() == 32 && random.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Whether what stands behind an array's folder can be the name of a chunk: indices, with `c` before them or without.
fn is_chunk(rest: &str) -> bool {
    let separators = ['/', '.', '-', '_', '\\'];
    let indices = match rest.strip_prefix('c') {
        Some("") => return true,
        Some(behind) if behind.starts_with(separators) => &behind[1..],
        Some(_) => return false,
        None => rest,
    };
    indices.split(separators).all(|index| !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_told_by_their_names() {
        for name in ["0", "0.0", "12/3", "c", "c/0/1", "c.0.1", "c/0"] {
            assert!(is_chunk(name), "{name}");
        }
        for name in ["", "x", "c0", "0.", ".0", "0/a", "0.nc", "c/", "notes.txt", "0.0~", "copy/0"] {
            assert!(!is_chunk(name), "{name}");
        }
        assert!(is_partial("0.0.5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c.partial") && !is_partial("letter.partial"));
    }
}
