//! Where the record of a copy is stored: in a directory by renaming, elsewhere through the map, each time only if what is there is
//! what it should be.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use nczarr::dispatch::{ByteRange, Durability, Key, ZMap};
use nczarr::{CreateOptions, OpenOptions};
use nczarr_model::{Error, ErrorKind, Result};

use super::hold;
use super::record::{NAME, Record};
use crate::copy::overlap;

/// How the next record is called until it has that name, with the word of who writes it.
const NEW: &str = ".ncz-copy.new-";
/// Why a copy goes no further.
const ANOTHER: &str = "another copy writes there, or took this one over";
/// No record is longer.
const LONGEST: usize = 1 << 26;

/// Whether a record may come in the place of what is there.
pub type May<'m> = dyn Fn(Option<&[u8]>) -> bool + 'm;

/// The error of finding something else.
pub fn another() -> Error {
    ErrorKind::Access.context(ANOTHER)
}

/// Stores a record, if what is there is as it should be: where the map can, nobody comes between; in a directory no other copy does.
///
/// # Errors
/// `NC_EACCESS` if something else is there; what the storage says.
pub fn put(map: &dyn ZMap, folder: Option<&Path>, record: &Record, may: &May<'_>) -> Result<()> {
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

/// Keeps other copies from changing what records there are in a directory, until it is dropped. Not every file system has locks, nor
/// every system those of directories.
fn lock(folder: &Path) -> Option<fs::File> {
    let directory = fs::File::open(folder).ok()?;
    directory.lock().ok()?;
    Some(directory)
}

/// The bytes of the record, if there is one.
///
/// # Errors
/// What the storage says.
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

/// Takes the record away.
///
/// # Errors
/// What the storage says.
pub fn remove(map: &dyn ZMap, folder: Option<&Path>) -> Result<()> {
    match folder {
        None => map.delete(&Key::new(NAME)?).map(drop),
        Some(folder) => {
            remove_new(Some(folder))?;
            remove_file(&folder.join(NAME))
        }
    }
}

/// Removes records in a directory that never got their name.
///
/// # Errors
/// What the system says.
pub fn remove_new(folder: Option<&Path>) -> Result<()> {
    let Some(folder) = folder else { return Ok(()) };
    // One that is about to get its name is another copy's.
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
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io(path.display().to_string(), error)),
        _ => Ok(()),
    }
}

/// Puts a record in the place of the one in a directory, in one step and on disk; not through the map, which for that would need a lock
/// file beside it.
fn replace(folder: &Path, record: &Record) -> Result<()> {
    let (path, new) = (folder.join(NAME), folder.join(format!("{NEW}{}", record.owner)));
    let write = || {
        let mut file = fs::File::create(&new)?;
        file.write_all(&record.to_bytes())?;
        file.sync_all()?;
        fs::rename(&new, &path)?;
        // Elsewhere a directory is no file that can be opened.
        #[cfg(unix)]
        fs::File::open(folder)?.sync_all()?;
        Ok::<(), std::io::Error>(())
    };
    write().map_err(|error| Error::io(path.display().to_string(), error))
}

/// When objects of a copy count as written.
pub fn durability() -> Durability {
    if cfg!(target_os = "linux") { Durability::Rename } else { Durability::Fsync }
}

/// A map with nothing in it where a dataset was, far away. That goes only once the record `none` was put there and the source does not
/// show it: one place may have several names.
///
/// # Errors
/// `NC_EINVAL` if it does; `NC_EACCESS` if a copy to there is under way; what the storage says.
pub fn replaced_map((source, url): (&str, &str), options: &CreateOptions, none: &Record) -> Result<Arc<dyn ZMap>> {
    let before = found(url)?.map(|(_, bytes)| bytes);
    refuse_running(before.as_deref().unwrap_or_default())?;
    let map = OpenOptions::new().writable(true).durability(durability()).open_map(url)?;
    put(&*map, None, none, &|there| there == before.as_deref())?;
    let made = match overlap::shows(source, &*map, none) {
        Ok(true) => Err(overlap::overlap(crate::failure::place(source), crate::failure::place(url))),
        Ok(false) => options.create_map(url),
        Err(error) => Err(error),
    };
    if made.is_err() {
        // As it was.
        let name = Key::new(NAME)?;
        match before {
            Some(before) => map.write(&name, &before)?,
            None => drop(map.delete(&name)?),
        }
    }
    made
}

/// A map with nothing in it but, perhaps, the record `none`, which says that nothing is.
///
/// # Errors
/// `NC_EEXIST` or `NC_EOBJECT` if something is there that may not be replaced; `NC_EACCESS` if a copy to there is under way.
pub fn new_map(
    url: &str,
    options: &CreateOptions,
    clobber: bool,
    (folder, none): (Option<&Path>, &Record),
) -> Result<Arc<dyn ZMap>> {
    if clobber && let Ok(Some((map, bytes))) = found(url) {
        refuse_running(&bytes)?;
        // Before anything goes: whoever goes on from there would take it for being there.
        put(&*map, folder, none, &|there| there == Some(&bytes))?;
    }
    let error = match options.create_map(url) {
        Err(error) if matches!(error.kind(), ErrorKind::Exist | ErrorKind::Object) => error,
        made => return made,
    };
    match found(url) {
        // No dataset, which is not replaced, but ours.
        Ok(Some((map, _))) if clobber => {
            hold::clear(&*map, NAME)?;
            Ok(map)
        }
        Ok(Some(_)) => {
            let what = "half of a copy is there; --resume goes on with it, --clobber begins anew";
            Err(error.kind().context(what))
        }
        _ => Err(error),
    }
}

/// Nothing is taken from a process that is still there.
fn refuse_running(record: &[u8]) -> Result<()> {
    let process = Record::of(record).ok().and_then(|record| record.process);
    match process.filter(super::process::Process::is_running) {
        Some(process) => {
            let what = format!("a copy to here is under way, by {}; --clobber waits for nobody", process.told());
            Err(ErrorKind::Access.context(what))
        }
        None => Ok(()),
    }
}

/// A map and the bytes of the record in it.
type Found = (Arc<dyn ZMap>, Vec<u8>);

/// The map at `url` and the record in it, if there are both.
///
/// # Errors
/// What opening and reading it say.
pub fn found(url: &str) -> Result<Option<Found>> {
    let map = match OpenOptions::new().writable(true).durability(durability()).open_map(url) {
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
