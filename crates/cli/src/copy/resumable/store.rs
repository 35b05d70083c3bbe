//! Stores the record of a copy: in a directory by renaming, elsewhere through the map. Each write checks that
//! the stored record is the expected one.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use nczarr::dispatch::Durability;
use nczarr::storage::{ByteRange, Key, ZMap, ZMapExt};
use nczarr::{CreateOptions, OpenOptions, Place};
use nczarr_model::{Error, ErrorKind, Result};

use super::document_hold;
use super::record::{CopyRecord, NAME};
use super::source_check;
use crate::overlap;

/// The prefix of a record's temporary name; the owner's token follows.
const NEW: &str = ".ncz-copy.new-";
/// The error text of a copy that was taken over.
const ANOTHER: &str = "another copy writes there or has taken this one over";
/// The maximum length of a record, in bytes.
const LONGEST: usize = 1 << 26;

/// Decides whether a record may replace the stored one.
pub type ReplaceCheck<'m> = dyn Fn(Option<&[u8]>) -> bool + 'm;

/// Returns the error for an unexpected record.
pub fn another() -> Error {
    ErrorKind::Access.context(ANOTHER)
}

/// Stores a record if the stored one is as expected. The check is atomic where the map supports it; in a
/// directory a lock keeps other copies out.
///
/// # Errors
///
/// `NC_EACCESS` if another record is stored; errors of the storage.
pub fn put(map: &dyn ZMap, folder: Option<&Path>, record: &CopyRecord, may: &ReplaceCheck<'_>) -> Result<()> {
    let check = |there: Option<&[u8]>| if may(there) { Ok(()) } else { Err(another()) };
    let key = Key::new(NAME)?;
    if let Some(folder) = folder {
        let _lock = lock(folder);
        check(read(map, Some(folder))?.as_deref())?;
        return replace(folder, record);
    }
    let bytes = record.to_bytes();
    if map.caps().conditional_write {
        return map.update(&key, LONGEST, &mut |there, new| {
            check(there)?;
            new.extend_from_slice(&bytes);
            Ok(())
        });
    }
    check(read(map, None)?.as_deref())?;
    map.write(&key, &bytes)
}

/// Keeps other copies from changing the records of a directory, until it is dropped. Some file systems have
/// no locks, and some systems cannot lock directories.
fn lock(folder: &Path) -> Option<fs::File> {
    let directory = fs::File::open(folder).ok()?;
    directory.lock().ok()?;
    Some(directory)
}

/// Reads the bytes of the record, if there is one.
///
/// # Errors
///
/// Errors of the storage.
pub fn read(map: &dyn ZMap, folder: Option<&Path>) -> Result<Option<Vec<u8>>> {
    let Some(folder) = folder else {
        let mut bytes = Vec::new();
        let is_there = map.read(&Key::new(NAME)?, ByteRange::ALL, &mut bytes)?;
        return Ok(is_there.then_some(bytes));
    };
    match fs::read(folder.join(NAME)) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io(folder.join(NAME).display().to_string(), error)),
    }
}

/// Deletes the record.
///
/// # Errors
///
/// Errors of the storage.
pub fn remove(map: &dyn ZMap, folder: Option<&Path>) -> Result<()> {
    match folder {
        None => map.delete(&Key::new(NAME)?).map(drop),
        Some(folder) => {
            remove_new(Some(folder))?;
            remove_file(&folder.join(NAME))
        }
    }
}

/// Removes records in a directory that never got their final name.
///
/// # Errors
///
/// Errors of the file system.
pub fn remove_new(folder: Option<&Path>) -> Result<()> {
    let Some(folder) = folder else { return Ok(()) };
    // A temporary record in use belongs to another copy.
    let _lock = lock(folder);
    let entries = fs::read_dir(folder).map_err(|error| Error::io(folder.display().to_string(), error))?;
    for entry in entries.flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(NEW.as_bytes()) {
            remove_file(&entry.path())?;
        }
    }
    Ok(())
}

fn remove_file(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io(path.display().to_string(), error))
        }
        _ => Ok(()),
    }
}

/// Replaces the record of a directory in one step, and syncs it. This bypasses the map, which would need a
/// lock file beside it.
fn replace(folder: &Path, record: &CopyRecord) -> Result<()> {
    let (path, new) = (folder.join(NAME), folder.join(format!("{NEW}{}", record.owner)));
    let write = || {
        let mut file = fs::File::create(&new)?;
        file.write_all(&record.to_bytes())?;
        file.sync_all()?;
        fs::rename(&new, &path)?;
        // Some systems cannot open a directory as a file.
        #[cfg(unix)]
        fs::File::open(folder)?.sync_all()?;
        Ok::<(), std::io::Error>(())
    };
    write().map_err(|error| Error::io(path.display().to_string(), error))
}

/// Returns the durability for the objects of a copy.
pub fn durability() -> Durability {
    if cfg!(target_os = "linux") { Durability::Rename } else { Durability::Fsync }
}

/// Returns an empty map in place of a remote dataset. The dataset is deleted only after the record `none` was
/// stored and the source does not show it: one place may have several names.
///
/// # Errors
///
/// `NC_EINVAL` if the source shows it; `NC_EACCESS` if a copy to this place is under way; errors of the
/// storage.
pub fn replaced_map(
    source: &str,
    url: &str,
    options: &CreateOptions,
    none: &CopyRecord,
) -> Result<Arc<dyn ZMap>> {
    let before = found(url)?.map(|(_, bytes)| bytes);
    refuse_running(before.as_deref().unwrap_or_default())?;
    let map = OpenOptions::new().writable(true).durability(durability()).open_map(Place::url(url))?;
    put(&*map, None, none, &|there| there == before.as_deref())?;
    let made = match source_check::shows(source, &*map, none) {
        Ok(true) => Err(overlap::overlap(crate::failure::place(source), crate::failure::place(url))),
        Ok(false) => options.create_map(Place::url(url)),
        Err(error) => Err(error),
    };
    if made.is_err() {
        // Restores the previous state.
        let name = Key::new(NAME)?;
        match before {
            Some(before) => map.write(&name, &before)?,
            None => drop(map.delete(&name)?),
        }
    }
    made
}

/// Returns a map that is empty except for the record `none`, which stands for no data.
///
/// # Errors
///
/// `NC_EEXIST` or `NC_EOBJECT` if an object is there that may not be replaced; `NC_EACCESS` if a copy to this
/// place is under way.
pub fn new_map(
    url: &str,
    options: &CreateOptions,
    clobber: bool,
    folder: Option<&Path>,
    none: &CopyRecord,
) -> Result<Arc<dyn ZMap>> {
    if clobber && let Ok(Some((map, bytes))) = found(url) {
        refuse_running(&bytes)?;
        // The record must change before any chunk is removed: a later process would take removed chunks for
        // stored.
        put(&*map, folder, none, &|there| there == Some(&bytes))?;
    }
    let error = match options.create_map(Place::url(url)) {
        Err(error) if matches!(error.kind(), ErrorKind::Exist | ErrorKind::Object) => error,
        made => return made,
    };
    match found(url) {
        // Not a dataset, which would stay, but an unfinished copy.
        Ok(Some((map, _))) if clobber => {
            document_hold::clear(&*map, NAME)?;
            Ok(map)
        }
        Ok(Some(_)) => {
            let what = "an unfinished copy is there; use --resume to continue it, --clobber to start over";
            Err(error.kind().context(what))
        }
        _ => Err(error),
    }
}

/// A running process keeps its copy.
fn refuse_running(record: &[u8]) -> Result<()> {
    let process = CopyRecord::of(record).ok().and_then(|record| record.process);
    match process.filter(super::process::Process::is_running) {
        Some(process) => {
            let what = format!(
                "a copy to this target is running, by {}; wait for it, or stop it first",
                process.describe()
            );
            Err(ErrorKind::Access.context(what))
        }
        None => Ok(()),
    }
}

/// A map and the bytes of its record.
type StoredRecord = (Arc<dyn ZMap>, Vec<u8>);

/// Opens the map at `url` and reads its record, if both exist.
///
/// # Errors
///
/// Errors of opening and reading it.
pub fn found(url: &str) -> Result<Option<StoredRecord>> {
    let map = match OpenOptions::new().writable(true).durability(durability()).open_map(Place::url(url)) {
        Ok(map) => map,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotNc) => return Ok(None),
        Err(error) => return Err(error),
    };
    let bytes = read(&*map, None)?;
    Ok(bytes.map(|bytes| (map, bytes)))
}

#[cfg(all(test, unix))]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    #[test]
    fn a_record_that_is_about_to_get_its_name_is_not_taken_away() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path();
        let (new, begun) = (folder.join(format!("{NEW}x")), Barrier::new(2));
        thread::scope(|scope| {
            let held = lock(folder);
            fs::write(&new, b"{}").unwrap();
            let other = scope.spawn(|| {
                begun.wait();
                remove_new(Some(folder))
            });
            begun.wait();
            for _ in 0..1000 {
                thread::yield_now();
            }
            fs::rename(&new, folder.join(NAME)).unwrap();
            drop(held);
            other.join().unwrap().unwrap();
        });
        assert!(folder.join(NAME).exists());
        fs::write(&new, b"{}").unwrap();
        remove_new(Some(folder)).unwrap();
        assert!(!new.exists() && folder.join(NAME).exists());
    }
}
