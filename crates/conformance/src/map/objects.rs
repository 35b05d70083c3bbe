//! Checks single objects: values, ranges, replacing, deleting, prefixes, conditional writes.

use nczarr_model::ErrorKind;
use nczarr_runtime::OutBuf;
use nczarr_storage::{ByteRange, Key, Precondition, Version, WriteOutcome, ZMap, ZMapExt};

use super::{MapMaker, key, value};
use crate::failure::{Outcome, broken, fails, holds, ok, same, same_bytes};

pub(super) fn check(make: MapMaker<'_>) -> Outcome {
    values(&*make())?;
    ranges(&*make())?;
    names(&*make())?;
    prefixes(&*make())?;
    if make().caps().overwrite {
        replacing(&*make())?;
    }
    if make().caps().delete {
        deleting(&*make())?;
    }
    if make().caps().conditional_write {
        conditional(&*make())?;
        updating(&*make())?;
    }
    Ok(())
}

/// Reads the whole object at a key.
pub(super) fn get(map: &dyn ZMap, key: &Key) -> Outcome<Option<Vec<u8>>> {
    let mut out = vec![9; 3];
    let found = ok(format!("read of {key}"), map.read(key, ByteRange::ALL, &mut out))?;
    Ok(found.then_some(out))
}

fn holds_value(map: &dyn ZMap, key: &Key, expected: &[u8]) -> Outcome {
    match get(map, key)? {
        Some(found) => same_bytes(format!("read of {key} returns the written bytes"), expected, &found)?,
        None => return Err(broken(format!("read of {key}"), "the written bytes", "no object")),
    }
    same(format!("len of {key}"), Some(expected.len() as u64), ok("len", map.len(key))?)?;
    same(format!("exists of {key}"), true, ok("exists", map.exists(key))?)
}

fn values(map: &dyn ZMap) -> Outcome {
    for len in [0, 1, 511, 512, 513, 4095, 4096, 4097, 8191, 8192, 8193, 65_536, 100_003, 3 << 20] {
        let key = key(&format!("v/{len}"))?;
        ok(format!("write of {len} bytes"), map.write(&key, &value(len)))?;
        holds_value(map, &key, &value(len))?;
    }
    Ok(())
}

fn ranges(map: &dyn ZMap) -> Outcome {
    for len in [0_usize, 1, 1000, 4096, 20_000] {
        let (key, bytes) = (key(&format!("r{len}"))?, value(len));
        ok("write", map.write(&key, &bytes))?;
        let at = [
            0,
            1,
            len as u64 / 2,
            (len as u64).saturating_sub(1),
            len as u64,
            len as u64 + 1,
            1 << 40,
            u64::MAX,
        ];
        let lens = [None, Some(0), Some(1), Some(7), Some(len as u64), Some(len as u64 + 1), Some(u64::MAX)];
        for (offset, len) in at.into_iter().flat_map(|at| lens.map(|len| (at, len))) {
            let from = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
            let want = usize::try_from(len.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
            let expected = &bytes[from..from.saturating_add(want).min(bytes.len())];
            let what = format!("{offset} + {len:?} of {} bytes", bytes.len());
            // Small and large memory to read into, with previous contents.
            for room in [0, 100_000] {
                let mut out = Vec::with_capacity(room);
                out.extend_from_slice(b"before");
                let found = map.read(&key, ByteRange { offset, len }, &mut out);
                holds(format!("read of {what} finds the object"), ok(&what, found)?)?;
                same_bytes(format!("read of {what}"), expected, &out)?;
            }
            if let Some(want) = len.and_then(|len| usize::try_from(len).ok()).filter(|&want| want <= 1 << 20)
            {
                let mut memory = vec![0; want];
                let mut into = OutBuf::from_slice(&mut memory);
                let found = map.read_into(&key, offset, &mut into);
                holds(format!("read_into of {what} finds the object"), ok(&what, found)?)?;
                same_bytes(format!("read_into of {what}"), expected, into.filled())?;
            }
        }
    }
    Ok(())
}

fn names(map: &dyn ZMap) -> Outcome {
    let long = "n".repeat(200);
    let names = [
        ".zgroup",
        "...",
        "a b",
        "ü",
        "日本/語",
        "a\\b",
        "*?[x]",
        "%2F",
        "#frag",
        "~",
        "-rf",
        "c:d",
        "\u{10ffff}",
        "A",
        &long,
        "x/-1/..2/ 3",
        "'\"$(x)`",
    ];
    for (i, name) in names.iter().enumerate() {
        ok(format!("write of {name:?}"), map.write(&key(name)?, &value(i + 1)))?;
    }
    for (i, name) in names.iter().enumerate() {
        holds_value(map, &key(name)?, &value(i + 1))?;
    }
    if map.caps().list {
        let mut expected: Vec<_> = names.iter().map(|name| name.to_string()).collect();
        expected.sort_unstable();
        let found: Vec<_> =
            ok("list", map.keys(&Key::root()))?.iter().map(|key| key.as_str().to_owned()).collect();
        same("list gives every name as it was written", expected, found)?;
    }
    Ok(())
}

fn prefixes(map: &dyn ZMap) -> Outcome {
    for deep in ["p/q/r", "p/q/s", "t/u"] {
        ok("write", map.write(&key(deep)?, b"1"))?;
    }
    if map.caps().remote {
        return remote_prefixes(map);
    }
    let (empty, object) = (&[ErrorKind::Empty], &[ErrorKind::Object]);
    for prefix in ["p", "p/q", "t", ""] {
        let prefix = key(prefix)?;
        fails(format!("len of the prefix {prefix:?}"), empty, map.len(&prefix))?;
        same(format!("exists of the prefix {prefix:?}"), false, ok("exists", map.exists(&prefix))?)?;
        fails(
            format!("read of the prefix {prefix:?}"),
            empty,
            map.read(&prefix, ByteRange::ALL, &mut Vec::new()),
        )?;
        fails(
            format!("read of 0 bytes of the prefix {prefix:?}"),
            empty,
            map.read(&prefix, ByteRange::first(0), &mut Vec::new()),
        )?;
        let mut memory = [0; 3];
        fails(
            format!("read_into of the prefix {prefix:?}"),
            empty,
            map.read_into(&prefix, 0, &mut OutBuf::from_slice(&mut memory)),
        )?;
        fails(format!("write of the prefix {prefix:?}"), object, map.write(&prefix, b"x"))?;
        if map.caps().conditional_write {
            fails(
                format!("creation of the prefix {prefix:?}"),
                object,
                map.write_if(&prefix, b"x", &Precondition::Absent),
            )?;
        }
        if map.caps().delete {
            same(format!("delete of the prefix {prefix:?}"), false, ok("delete", map.delete(&prefix))?)?;
        }
    }
    for below in ["t/u/v", "t/u/v/w/x", "p/q/r/s"] {
        let below = key(below)?;
        fails(format!("write of {below:?} below an object"), object, map.write(&below, b"x"))?;
        same(format!("len of {below:?} below an object"), None, ok("len", map.len(&below))?)?;
        same(format!("read of {below:?} below an object"), None, get(map, &below)?)?;
        if map.caps().delete {
            same(format!("delete of {below:?} below an object"), false, ok("delete", map.delete(&below))?)?;
        }
    }
    for deep in ["p/q/r", "p/q/s", "t/u"] {
        holds_value(map, &key(deep)?, b"1")?;
    }
    Ok(())
}

/// If a check would cost a request, a map may treat a prefix as an absent key.
fn remote_prefixes(map: &dyn ZMap) -> Outcome {
    for prefix in ["p", "p/q", "t", "", "t/u/v", "p/q/r/s"] {
        let prefix = key(prefix)?;
        same(format!("exists of the prefix {prefix:?}"), false, ok("exists", map.exists(&prefix))?)?;
        match map.read(&prefix, ByteRange::ALL, &mut Vec::new()) {
            Err(error) if error.kind() == ErrorKind::Empty => {}
            found => same(format!("read of the prefix {prefix:?}"), false, ok("read", found)?)?,
        }
        if map.caps().delete {
            same(format!("delete of the prefix {prefix:?}"), false, ok("delete", map.delete(&prefix))?)?;
        }
    }
    fails("write of the root", &[ErrorKind::Object], map.write(&Key::root(), b"x"))?;
    for deep in ["p/q/r", "p/q/s", "t/u"] {
        holds_value(map, &key(deep)?, b"1")?;
    }
    Ok(())
}

fn replacing(map: &dyn ZMap) -> Outcome {
    let key = key("g/o")?;
    for len in [10, 100_000, 3, 0, 5000] {
        ok(format!("a write of {len} bytes replaces"), map.write(&key, &value(len)))?;
        holds_value(map, &key, &value(len))?;
    }
    Ok(())
}

fn deleting(map: &dyn ZMap) -> Outcome {
    let (a, b) = (key("d/e/a")?, key("d/b")?);
    same("delete of an absent object", false, ok("delete", map.delete(&a))?)?;
    for _ in 0..2 {
        ok("write", map.write(&a, b"1"))?;
        ok("write", map.write(&b, b"2"))?;
        same("delete of an object", true, ok("delete", map.delete(&a))?)?;
        same("delete of a deleted object", false, ok("delete", map.delete(&a))?)?;
        same("read of a deleted object", None, get(map, &a)?)?;
        same("a prefix without objects is absent", None, ok("len", map.len(&key("d/e")?))?)?;
        holds_value(map, &b, b"2")?;
        if map.caps().list {
            same("search after a delete", vec!["b".to_owned()], ok("search", map.children(&key("d")?))?)?;
        }
        same("delete of the other", true, ok("delete", map.delete(&b))?)?;
        if map.caps().list {
            same("search after the last delete", vec![], ok("search", map.children(&Key::root()))?)?;
        }
    }
    // An object may replace a prefix, and a prefix an object.
    ok("write at a former prefix", map.write(&key("d/e")?, b"3"))?;
    same("delete", true, ok("delete", map.delete(&key("d/e")?))?)?;
    ok("write below a former object", map.write(&a, b"4"))?;
    holds_value(map, &a, b"4")
}

fn versioned(map: &dyn ZMap, key: &Key) -> Outcome<Option<(Vec<u8>, Version)>> {
    let mut out = vec![9; 3];
    let version = ok("read_versioned", map.read_versioned(key, usize::MAX, &mut out))?;
    Ok(version.map(|version| (out, version)))
}

fn won(what: &str, written: nczarr_model::Result<WriteOutcome>) -> Outcome<Option<Version>> {
    match ok(what, written)? {
        WriteOutcome::Done(version) => Ok(version),
        WriteOutcome::Conflict => Err(broken(what, "done", "lost")),
    }
}

fn lost(what: &str, written: nczarr_model::Result<WriteOutcome>) -> Outcome {
    match ok(what, written)? {
        WriteOutcome::Conflict => Ok(()),
        WriteOutcome::Done(_) => Err(broken(what, "lost", "done")),
    }
}

fn conditional(map: &dyn ZMap) -> Outcome {
    let key = key("c/k")?;
    holds("read_versioned of an absent object", versioned(map, &key)?.is_none())?;
    let made = won("creation of an absent object", map.write_if(&key, b"1", &Precondition::Absent))?;
    lost("creation of a present object", map.write_if(&key, b"x", &Precondition::Absent))?;
    holds_value(map, &key, b"1")?;
    let Some((bytes, first)) = versioned(map, &key)? else {
        return Err(broken("read_versioned of a present object", "a version", "none"));
    };
    same("read_versioned reads", b"1".to_vec(), bytes)?;
    if let Some(made) = made {
        won("replacing a created object", map.write_if(&key, b"2", &Precondition::Unchanged(made.clone())))?;
        lost(
            "replacing an outdated version",
            map.write_if(&key, b"x", &Precondition::Unchanged(first.clone())),
        )?;
    } else {
        won("replacing a read version", map.write_if(&key, b"2", &Precondition::Unchanged(first.clone())))?;
    }
    holds_value(map, &key, b"2")?;
    let Some((_, second)) = versioned(map, &key)? else {
        return Err(broken("read_versioned of a present object", "a version", "none"));
    };
    if map.caps().overwrite {
        ok("write", map.write(&key, b"3"))?;
        lost(
            "a plain write changes the version",
            map.write_if(&key, b"x", &Precondition::Unchanged(second.clone())),
        )?;
        ok("write", map.write(&key, b"2"))?;
        holds_value(map, &key, b"2")?;
    }
    if map.caps().delete {
        let Some((_, third)) = versioned(map, &key)? else {
            return Err(broken("read_versioned of a present object", "a version", "none"));
        };
        same("delete", true, ok("delete", map.delete(&key))?)?;
        lost(
            "replacing a deleted object",
            map.write_if(&key, b"x", &Precondition::Unchanged(third.clone())),
        )?;
        same("a lost write stores nothing", None, get(map, &key)?)?;
        won("creation after a delete", map.write_if(&key, b"4", &Precondition::Absent))?;
        lost(
            "a version is not valid again",
            map.write_if(&key, b"x", &Precondition::Unchanged(third.clone())),
        )?;
        holds_value(map, &key, b"4")?;
    }
    let mut out = Vec::new();
    ok("write_if", map.write_if(&self::key("c/long")?, &value(10_000), &Precondition::Absent))?;
    let version = ok("read_versioned", map.read_versioned(&self::key("c/long")?, 100, &mut out))?;
    holds("read_versioned with a limit finds the object", version.is_some())?;
    same("read_versioned reads no more than its limit", &value(10_000)[..100], &out)
}

fn updating(map: &dyn ZMap) -> Outcome {
    let key = key("u/k")?;
    let mut seen = Vec::new();
    for round in 0..3_u8 {
        let update = map.update(&key, 2, &mut |old, new| {
            seen.push(old.map(<[u8]>::to_vec));
            holds("update empties the new value", new.is_empty())
                .map_err(|failure| ErrorKind::Internal.context(failure.to_string()))?;
            new.extend_from_slice(&[round; 2]);
            Ok(())
        });
        ok("update", update)?;
    }
    same("the value passed by update", vec![None, Some(vec![0, 0]), Some(vec![1, 1])], seen)?;
    let stopped = map.update(&key, usize::MAX, &mut |_, new| {
        new.push(7);
        Err(ErrorKind::Range.context("no"))
    });
    fails("update passes on the failure of a change", &[ErrorKind::Range], stopped)?;
    let mut called = false;
    let too_long = map.update(&key, 1, &mut |_, _| {
        called = true;
        Ok(())
    });
    fails("update of an object longer than the limit", &[ErrorKind::Io], too_long)?;
    same("update of an object longer than the limit changes nothing", false, called)?;
    holds_value(map, &key, &[2, 2])
}
