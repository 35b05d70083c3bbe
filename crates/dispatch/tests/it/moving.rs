//! Tests that walk, move and conditionally change keys.

use std::sync::atomic::Ordering;

use nczarr_model::ErrorKind;
use nczarr_storage::{Key, ZMap, ZMapExt};

use crate::world::{TestMap, all_caps};

fn key(path: &str) -> Key {
    Key::new(path).unwrap()
}

#[test]
fn all_keys_below_a_prefix_are_listed() {
    let map = TestMap::with(&[("a/b/c", b""), ("a/b/d", b""), ("a/e", b""), ("ab", b""), ("f", b"")]);
    for (prefix, keys) in [
        ("", &["a/b/c", "a/b/d", "a/e", "ab", "f"][..]),
        ("a", &["a/b/c", "a/b/d", "a/e"]),
        ("a/b", &["a/b/c", "a/b/d"]),
        ("f", &["f"]),
        ("g", &[]),
    ] {
        let listed: Vec<_> = ZMapExt::keys(&map, &key(prefix)).unwrap().iter().map(Key::to_string).collect();
        assert_eq!(listed, keys, "{prefix}");
    }
}

#[test]
fn everything_below_a_key_moves() {
    let map = TestMap::with(&[("v/.zarray", b"m"), ("v/0/1", b"c"), ("w", b"w")]);
    map.rename(&key("v"), &key("g/u")).unwrap();
    assert_eq!(map.keys(), ["g/u/.zarray", "g/u/0/1", "w"]);
    map.rename(&key("w"), &key("x")).unwrap();
    assert_eq!(map.keys(), ["g/u/.zarray", "g/u/0/1", "x"]);
    map.rename(&key("nothing"), &key("y")).unwrap();
    assert_eq!(map.keys(), ["g/u/.zarray", "g/u/0/1", "x"]);
}

#[test]
fn a_move_that_cannot_be_changes_nothing() {
    for (from, to, kind) in [
        ("a", "b", ErrorKind::Object),
        ("a", "b/c", ErrorKind::Object),
        ("a", "a", ErrorKind::Object),
        ("a", "a/x", ErrorKind::Object),
        ("b/c", "b", ErrorKind::Object),
        ("", "x", ErrorKind::Inval),
        ("a", "", ErrorKind::Inval),
    ] {
        let map = TestMap::with(&[("a/1", b"1"), ("b/c", b"2")]);
        assert_eq!(map.rename(&key(from), &key(to)).unwrap_err().kind(), kind, "{from} to {to}");
        assert_eq!(map.keys(), ["a/1", "b/c"]);
    }
    let fixed = TestMap::new(all_caps().delete(false));
    fixed.write(&key("a"), b"").unwrap();
    assert_eq!(fixed.rename(&key("a"), &key("b")).unwrap_err().kind(), ErrorKind::Perm);
    assert_eq!(fixed.keys(), ["a"]);
}

#[test]
fn an_update_reruns_on_new_bytes_after_a_lost_race() {
    let map = TestMap::with(&[("n", &[5])]);
    map.losses.store(3, Ordering::Relaxed);
    let mut calls = 0;
    map.update(&key("n"), usize::MAX, &mut |old, new| {
        calls += 1;
        new.push(old.unwrap()[0] + 1);
        Ok(())
    })
    .unwrap();
    assert_eq!(calls, 4);
    assert_eq!(map.objects.lock().unwrap()[&key("n")].1, [6]);
}

#[test]
fn an_update_creates_fails_and_gives_up() {
    let map = TestMap::with(&[]);
    map.update(&key("new"), usize::MAX, &mut |old, new| {
        assert!(old.is_none());
        new.extend(b"made");
        Ok(())
    })
    .unwrap();
    assert_eq!(map.keys(), ["new"]);

    let error =
        map.update(&key("new"), usize::MAX, &mut |_, _| Err(ErrorKind::Filter.context("no"))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Filter);
    assert_eq!(map.objects.lock().unwrap()[&key("new")].1, b"made");

    map.losses.store(usize::MAX, Ordering::Relaxed);
    let error = map.update(&key("new"), usize::MAX, &mut |_, _| Ok(())).unwrap_err();
    assert!(error.to_string().contains("new: other writers changed it"), "{error}");
    assert_eq!(map.objects.lock().unwrap()[&key("new")].1, b"made");
}

#[test]
fn no_addition_is_lost_between_threads() {
    let map = TestMap::with(&[("sum", &[0; 8])]);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    map.update(&key("sum"), usize::MAX, &mut |old, new| {
                        let sum = u64::from_le_bytes(old.unwrap().try_into().unwrap());
                        new.extend((sum + 1).to_le_bytes());
                        Ok(())
                    })
                    .unwrap();
                }
            });
        }
    });
    assert_eq!(map.objects.lock().unwrap()[&key("sum")].1, 200u64.to_le_bytes());
}
