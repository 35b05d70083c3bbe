//! Checks searching, listing and renaming against a plain list of keys.

use std::collections::BTreeMap;

use nczarr_model::ErrorKind;
use nczarr_storage::{Key, ZMap, ZMapExt};

use super::objects::get;
use super::{MapMaker, key, value};
use crate::failure::{Outcome, fails, holds, ok, same};

pub(super) fn check(make: MapMaker<'_>) -> Outcome {
    let caps = make().caps();
    if caps.list {
        searching(&*make())?;
        many(&*make())?;
    }
    if caps.delete {
        moving(&*make(), caps.list)?;
    }
    Ok(())
}

const KEYS: &[&str] = &[
    ".zgroup",
    "a",
    "a-b",
    "a.b/c",
    "b/.zarray",
    "b/0.0",
    "b/0.1",
    "b/10.0",
    "b-c/d/e/f",
    "b.d",
    "c/d",
    "c0",
    "ü/x",
    "日/本/語",
];

/// Computes the expected search result from the list of keys alone.
fn expected_search(keys: &[&str], prefix: &str) -> Vec<String> {
    let below = |key: &str| match prefix {
        "" => Some(key.to_owned()),
        prefix => key.strip_prefix(prefix)?.strip_prefix('/').map(str::to_owned),
    };
    let mut names: Vec<_> =
        keys.iter().filter_map(|key| Some(below(key)?.split('/').next()?.to_owned())).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn expected_list(keys: &[&str], prefix: &str) -> Vec<String> {
    let at_or_below = |key: &&&str| {
        prefix.is_empty()
            || key.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let mut keys: Vec<_> = keys.iter().filter(at_or_below).map(|key| key.to_string()).collect();
    keys.sort_unstable();
    keys
}

fn searching(map: &dyn ZMap) -> Outcome {
    let mut keys: Vec<&str> = KEYS.to_vec();
    for name in &keys {
        ok("write", map.write(&key(name)?, name.as_bytes()))?;
    }
    loop {
        for prefix in
            ["", "a", "a.b", "b", "b-c", "b-c/d", "b-c/d/e", "c", "日", "日/本", "x", "b/0", "a/b", ".z"]
        {
            let at = key(prefix)?;
            same(
                format!("search below {prefix:?} of {keys:?}"),
                expected_search(&keys, prefix),
                ok("search", map.children(&at))?,
            )?;
            naming(map, &at)?;
            let found = ok("list", map.keys(&at))?.iter().map(|key| key.as_str().to_owned()).collect();
            same(format!("list below {prefix:?} of {keys:?}"), expected_list(&keys, prefix), found)?;
        }
        if !map.caps().delete {
            return Ok(());
        }
        let Some(gone) = keys.pop() else { return Ok(()) };
        same(format!("delete of {gone:?}"), true, ok("delete", map.delete(&key(gone)?))?)?;
    }
}

/// Checks that the additional names of `possible_children` are sorted and unique, too.
fn naming(map: &dyn ZMap, prefix: &Key) -> Outcome {
    let (found, names) = (ok("search", map.children(prefix))?, ok("names", map.possible_children(prefix))?);
    let what = format!("names below {:?}", prefix.as_str());
    holds(format!("{what} are sorted, each once: {names:?}"), names.is_sorted_by(|one, next| one < next))?;
    for name in &names {
        let is_segment = !name.contains('/') && Key::root().join(name).is_ok();
        holds(format!("{what}: {name:?} is a segment of a key"), is_segment)?;
    }
    let missing: Vec<_> = found.iter().filter(|name| !names.contains(name)).collect();
    holds(format!("{what} include the search results; {missing:?} are missing"), missing.is_empty())
}

fn many(map: &dyn ZMap) -> Outcome {
    let count = 2000;
    for i in 0..count {
        ok("write", map.write(&key(&format!("m/{i}"))?, &[]))?;
    }
    let mut expected: Vec<_> = (0..count).map(|i| i.to_string()).collect();
    expected.sort_unstable();
    same("search of many names", expected, ok("search", map.children(&key("m")?))?)?;
    naming(map, &key("m")?)?;
    same("list of many keys", count, ok("list", map.keys(&Key::root()))?.len())
}

/// Reads the whole map, as far as the keys are known.
fn contents(map: &dyn ZMap, keys: &[&str]) -> Outcome<BTreeMap<String, Vec<u8>>> {
    let mut all = BTreeMap::new();
    for name in keys {
        if let Some(bytes) = get_object(map, &key(name)?)? {
            all.insert(name.to_string(), bytes);
        }
    }
    Ok(all)
}

fn get_object(map: &dyn ZMap, key: &Key) -> Outcome<Option<Vec<u8>>> {
    if ok("exists", map.exists(key))? { get(map, key) } else { Ok(None) }
}

/// Source, target, expected error, and the renamed objects.
type RenameCase<'m> = (&'m str, &'m str, Option<&'m [ErrorKind]>, &'m [(&'m str, &'m str)]);

fn moving(map: &dyn ZMap, lists: bool) -> Outcome {
    let known = [
        "g/v/.zarray",
        "g/v/0",
        "g/w/.zarray",
        "g/o",
        "h/v/.zarray",
        "h/v/0",
        "h/o",
        "n/e/w/.zarray",
        "n/e/w/0",
        "top",
    ];
    let start = ["g/v/.zarray", "g/v/0", "g/w/.zarray", "g/o"];
    for (i, name) in start.iter().enumerate() {
        ok("write", map.write(&key(name)?, &value(i + 1)))?;
    }
    let mut expected = contents(map, &known)?;
    same("the written bytes", start.len(), expected.len())?;
    let (object, invalid) = (&[ErrorKind::Object][..], &[ErrorKind::Inval][..]);
    let table: &[RenameCase<'_>] = &[
        ("g/v", "g/w", Some(object), &[]),
        ("g/v", "g/o", Some(object), &[]),
        ("g/v", "g/o/x", Some(object), &[]),
        ("g/o", "g/w/.zarray", Some(object), &[]),
        ("g/o", "g/w", Some(object), &[]),
        ("g/o", "g", Some(object), &[]),
        ("g/o", "g/o", Some(object), &[]),
        ("g", "g/x", Some(object), &[]),
        ("g/o", "g/o/x", Some(object), &[]),
        ("g/v/0", "g/v", Some(object), &[]),
        ("", "x", Some(invalid), &[]),
        ("g/o", "", Some(invalid), &[]),
        ("absent", "x", None, &[]),
        ("g/v", "n/e/w", None, &[("g/v/.zarray", "n/e/w/.zarray"), ("g/v/0", "n/e/w/0")]),
        ("g/o", "top", None, &[("g/o", "top")]),
        ("n/e/w", "h/v", None, &[("n/e/w/.zarray", "h/v/.zarray"), ("n/e/w/0", "h/v/0")]),
        ("top", "n", None, &[("top", "n")]),
        ("n", "h/o", None, &[("n", "h/o")]),
    ];
    for (from, to, failure, moves) in table {
        let what = format!("rename of {from:?} to {to:?}");
        let renamed = map.rename(&key(from)?, &key(to)?);
        match failure {
            Some(kinds) => fails(&what, kinds, renamed)?,
            None => ok(&what, renamed)?,
        }
        for (old, new) in *moves {
            if let Some(bytes) = expected.remove(*old) {
                expected.insert(new.to_string(), bytes);
            }
        }
        let mut keys = known.to_vec();
        keys.extend(["n", "x", "g/x", "g/o/x"]);
        same(format!("the objects after the {what}"), &expected, &contents(map, &keys)?)?;
        if lists {
            let found: Vec<_> =
                ok("list", map.keys(&Key::root()))?.iter().map(|key| key.as_str().to_owned()).collect();
            same(format!("the keys after the {what}"), expected.keys().cloned().collect(), found)?;
        }
    }
    Ok(())
}
