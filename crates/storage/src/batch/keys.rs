//! Lists and moves keys with the single operations of a map.

use nczarr_model::{ErrorKind, Result};

use crate::Key;
use crate::{ByteRange, ZMap, ZMapExt};

/// Returns all keys of objects at or below `prefix`, sorted.
pub(crate) fn walk<M: ZMap + ?Sized>(map: &M, prefix: &Key) -> Result<Vec<Key>> {
    let mut keys = Vec::new();
    let mut open = vec![prefix.clone()];
    while let Some(here) = open.pop() {
        // An object's key is never a prefix of another key.
        if !here.is_root() && map.exists(&here)? {
            keys.push(here);
            continue;
        }
        for name in map.children(&here)? {
            open.push(here.join(&name)?);
        }
    }
    keys.sort_unstable();
    Ok(keys)
}

/// Moves every object at or below `from` to the same place below `to`: copies all of them, then deletes the
/// old ones.
pub(crate) fn copy_then_delete<M: ZMap + ?Sized>(map: &M, from: &Key, to: &Key) -> Result<()> {
    let caps = map.caps();
    if !(caps.write && caps.delete && caps.list) {
        return Err(ErrorKind::Perm.context(format!("this map cannot move keys: {from} to {to}")));
    }
    if from.is_root() || to.is_root() {
        return Err(ErrorKind::Inval.context(format!("the root cannot be moved: {from:?} to {to:?}")));
    }
    if from == to || to.relative_to(from).is_some() || from.relative_to(to).is_some() {
        return Err(
            ErrorKind::Object.context(format!("{from} cannot move to {to}: one key lies below the other"))
        );
    }
    if let Some(there) = map.keys(to)?.first() {
        return Err(
            ErrorKind::Object.context(format!("{from} cannot move to {to}: the object {there} exists"))
        );
    }
    // Remote maps do not check this when they write.
    let mut around = to.parent();
    while let Some(key) = around.filter(|key| !key.is_root()) {
        if map.exists(&key)? {
            return Err(ErrorKind::Object
                .context(format!("{from} cannot move to {to}: it lies below the object {key}")));
        }
        around = key.parent();
    }
    let old = map.keys(from)?;
    let mut new = Vec::with_capacity(old.len());
    let mut bytes = Vec::new();
    for key in &old {
        let copied = (|| {
            let copy = match key.relative_to(from) {
                Some(rest) => to.join(rest)?,
                None => to.clone(),
            };
            if !map.read(key, ByteRange::ALL, &mut bytes)? {
                return Err(
                    ErrorKind::NoObject.context(format!("{key}: vanished while {from} moved to {to}"))
                );
            }
            map.write(&copy, &bytes)?;
            Ok(copy)
        })();
        match copied {
            Ok(copy) => new.push(copy),
            Err(error) => {
                // The target was empty before, so these objects are copies. A failed removal must not hide
                // the first error.
                for copy in &new {
                    let _ = map.delete(copy);
                }
                return Err(error);
            }
        }
    }
    for key in &old {
        map.delete(key)?;
    }
    Ok(())
}
