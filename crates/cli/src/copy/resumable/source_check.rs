//! Finds out whether source and target are one place under two names.
//!
//! One bucket may have several names, such as an address and a configured endpoint. So the record of a copy
//! is put into the target before any deletion, and looked up in the source.

use nczarr::storage::{ByteRange, Key, ZMap, ZMapExt};
use nczarr::{OpenOptions, Place};
use nczarr_model::{ErrorKind, Result};

use super::record::{CopyRecord, NAME};

/// Returns whether the dataset at `source` overlaps `target`. `record`: the record of the target, unique to
/// it.
///
/// # Errors
///
/// Errors of the storage.
pub fn shows(source: &str, target: &dyn ZMap, record: &CopyRecord) -> Result<bool> {
    // A single object has no map; its URL was compared already.
    let Ok(map) = OpenOptions::new().open_map(Place::url(source)) else { return Ok(false) };
    let mut bytes = Vec::new();
    let mut is_ours = |key: &Key| -> Result<bool> {
        let found = match map.read(key, ByteRange::ALL, &mut bytes) {
            // A server that does not allow listing answers so for missing keys.
            Err(error) if error.kind() == ErrorKind::Auth => false,
            found => found?,
        };
        Ok(found && CopyRecord::of(&bytes).is_ok_and(|found| found.owner == record.owner))
    };
    let name = Key::new(NAME)?;
    if is_ours(&name)? {
        return Ok(true);
    }
    if !map.caps().list {
        return Ok(false);
    }
    let keys = match map.keys(&Key::root()) {
        Ok(keys) => keys,
        Err(error) if error.kind() == ErrorKind::Auth => return Ok(false),
        Err(error) => return Err(error),
    };
    for key in keys.iter().filter(|key| key.name() == NAME) {
        if is_ours(key)? {
            return Ok(true);
        }
    }
    // Candidate folders of the target that contain every key of the source.
    let there = target.keys(&Key::root())?;
    let Some(first) = keys.iter().find(|key| key.name() != NAME) else { return Ok(false) };
    let known: std::collections::HashSet<&str> = there.iter().map(Key::as_str).collect();
    let ending = format!("/{first}");
    for folder in there.iter().filter_map(|key| key.as_str().strip_suffix(&ending)) {
        if !keys.iter().all(|key| known.contains(format!("{folder}/{key}").as_str())) {
            continue;
        }
        let mark = Key::new(&format!("{folder}/{NAME}"))?;
        if known.contains(mark.as_str()) {
            continue;
        }
        target.write(&mark, &record.to_bytes())?;
        let seen = is_ours(&name);
        target.delete(&mark)?;
        if seen? {
            return Ok(true);
        }
    }
    Ok(false)
}
