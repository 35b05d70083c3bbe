//! [`check_map`]: the guarantees of [`ZMap`], one group per file.

mod batch;
mod objects;
mod race;
mod tree;

use std::sync::Arc;

use nczarr_model::ErrorKind;
use nczarr_storage::{Key, Precondition, ZMap, ZMapExt};

use crate::failure::{Outcome, broken, fails, ok, same};

/// Makes a new, empty map; called many times.
type MapMaker<'m> = &'m dyn Fn() -> Arc<dyn ZMap>;

/// Checks all guarantees of [`ZMap`] on fresh, empty maps, as far as their capabilities go.
///
/// A read-only map must refuse changes; to check reads, pass a filled map. Threads are used; nothing sleeps
/// or measures time.
///
/// # Errors
///
/// The first guarantee that does not hold.
pub fn check_map(make: &dyn Fn() -> Arc<dyn ZMap>) -> Outcome {
    let map = make();
    let caps = map.caps();
    same("the capabilities of two maps made alike are the same", caps, make().caps())?;
    absence(&*map)?;
    refusals(&*make())?;
    if caps.write {
        objects::check(make)?;
        batch::check(make)?;
        tree::check(make)?;
        race::check(make)?;
    }
    let map = make();
    ok("close succeeds", map.close())?;
    ok("close is idempotent", map.close())
}

/// Makes a key from valid text.
fn key(text: &str) -> Outcome<Key> {
    ok(format!("{text:?} is a key"), Key::new(text))
}

/// Makes a value that encodes its length and each byte's position.
fn value(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i ^ (i >> 8) ^ len) as u8).collect()
}

fn absence(map: &dyn ZMap) -> Outcome {
    let mut out = vec![1, 2, 3];
    for text in ["absent", "a/b/c", ".zgroup", "ü/ñ"] {
        let key = key(text)?;
        same(format!("len of absent {text:?}"), None, ok("len", map.len(&key))?)?;
        same(format!("exists of absent {text:?}"), false, ok("exists", map.exists(&key))?)?;
        out.extend_from_slice(b"x");
        same(
            format!("read of absent {text:?}"),
            false,
            ok("read", map.read(&key, nczarr_storage::ByteRange::ALL, &mut out))?,
        )?;
        let mut memory = [0; 4];
        let mut into = nczarr_runtime::OutBuf::from_slice(&mut memory);
        same(
            format!("read_into of absent {text:?}"),
            false,
            ok("read_into", map.read_into(&key, 0, &mut into))?,
        )?;
        if map.caps().list {
            same(format!("search below absent {text:?}"), vec![], ok("search", map.children(&key))?)?;
            same(format!("list below absent {text:?}"), vec![], ok("list", map.keys(&key))?)?;
        }
    }
    if map.caps().list {
        same("search of an empty map", vec![], ok("search", map.children(&Key::root()))?)?;
        same("list of an empty map", vec![], ok("list", map.keys(&Key::root()))?)?;
    }
    same("len of the root of an empty map", None, ok("len", map.len(&Key::root()))?)
}

/// Checks that missing capabilities give errors.
fn refusals(map: &dyn ZMap) -> Outcome {
    let (caps, key) = (map.caps(), key("k")?);
    let perm = &[ErrorKind::Perm];
    if !caps.write {
        same("a map that cannot write cannot overwrite", false, caps.overwrite)?;
        same("a map that cannot write cannot write conditionally", false, caps.conditional_write)?;
        fails("write without the capability", perm, map.write(&key, b"x"))?;
    }
    if !caps.delete {
        fails("delete without the capability", perm, map.delete(&key))?;
    }
    if !caps.conditional_write {
        fails("write_if without the capability", perm, map.write_if(&key, b"x", &Precondition::Absent))?;
        fails(
            "read_versioned without the capability",
            perm,
            map.read_versioned(&key, usize::MAX, &mut Vec::new()),
        )?;
        let mut called = false;
        let update = map.update(&key, usize::MAX, &mut |_, _| {
            called = true;
            Ok(())
        });
        fails("update without the capability", perm, update)?;
        same("update without the capability changes nothing", false, called)?;
    }
    if !caps.list {
        // Both have an answer without a listing.
        same("invalid names without the capability", vec![], ok("list", map.invalid_names(&Key::root()))?)?;
        same(
            "keys in one request without the capability",
            None,
            ok("list", map.keys_in_one_request(&Key::root()))?,
        )?;
    }
    if !(caps.write && caps.delete) {
        let other = self::key("other")?;
        if caps.write {
            ok("write", map.write(&key, b"x"))?;
            fails("rename without the capability to delete", perm, map.rename(&key, &other))?;
            same("a refused rename leaves the object", true, ok("exists", map.exists(&key))?)?;
        }
        same("a refused rename creates nothing", false, ok("exists", map.exists(&other))?)?;
    }
    if caps.list && !caps.write && !ok("list", map.keys(&Key::root()))?.is_empty() {
        return Err(broken("a map that refused everything", "no object", "some"));
    }
    Ok(())
}
