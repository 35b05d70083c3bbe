//! Writes objects into a directory that other processes remove, move and replace. Every write goes to the
//! place that its key names at that time.

use std::fs;
use std::os::unix::fs::symlink;

use nczarr_model::ErrorKind;
use nczarr_storage::{Key, MapOptions, Precondition, WriteOutcome, ZMap, ZMapExt};

use super::Scratch;

/// Changes to a directory between two writes.
const CHANGES: [&str; 6] = [
    "nothing",
    "removed",
    "moved",
    "moved, and another made",
    "moved, and an object put there",
    "removed, and made again with what it held",
];

#[test]
fn a_write_goes_where_its_key_leads_now() {
    let scratch = Scratch::new();
    // One directory is in the root, the other is deeper.
    for (dir, change) in ["a", "a/b"].into_iter().flat_map(|dir| CHANGES.map(|change| (dir, change))) {
        let map = scratch.map(&MapOptions::default());
        let key = |name: &str| Key::new(&format!("{dir}/{name}")).unwrap();
        let write = |name: &str, value: &[u8]| map.write(&key(name), value);
        let inside = |name: &str| map.path().join(name);
        write("1", b"one").unwrap();
        write("2", b"two").unwrap();
        match change {
            "removed" => fs::remove_dir_all(inside("a")).unwrap(),
            "moved" => fs::rename(inside("a"), inside("z")).unwrap(),
            "moved, and another made" => {
                fs::rename(inside("a"), inside("z")).unwrap();
                fs::create_dir_all(inside(dir)).unwrap();
            }
            "moved, and an object put there" => {
                fs::rename(inside("a"), inside("z")).unwrap();
                fs::write(inside("a"), b"object").unwrap();
            }
            "removed, and made again with what it held" => {
                fs::remove_dir_all(inside("a")).unwrap();
                fs::create_dir_all(inside(dir)).unwrap();
                fs::write(inside(dir).join("3"), b"old").unwrap();
            }
            _ => {}
        }
        let moved = inside(&dir.replacen('a', "z", 1)).join("3");
        if change == "moved, and an object put there" {
            assert_eq!(write("3", b"three").unwrap_err().kind(), ErrorKind::Object, "{dir}");
            assert_eq!(fs::read(inside("a")).unwrap(), b"object");
        } else {
            write("3", b"three").unwrap();
            let found = fs::read(inside(dir).join("3")).unwrap_or_default();
            assert_eq!(found, b"three", "{dir} {change}");
        }
        assert!(!moved.exists(), "{dir} {change}: written to where the directory was moved");
    }
}

#[test]
fn a_creation_is_not_lost_in_a_directory_that_was_moved() {
    let scratch = Scratch::new();
    let map = scratch.map(&MapOptions::default());
    let key = |name: &str| Key::new(name).unwrap();
    map.write(&key("a/1"), b"one").unwrap();
    map.write(&key("a/2"), b"two").unwrap();
    fs::rename(map.path().join("a"), map.path().join("z")).unwrap();
    fs::create_dir(map.path().join("a")).unwrap();
    fs::write(map.path().join("a/3"), b"theirs").unwrap();
    let written = map.write_if(&key("a/3"), b"ours", &Precondition::Absent).unwrap();
    assert!(matches!(written, WriteOutcome::Conflict), "there is one already");
    assert_eq!(fs::read(map.path().join("a/3")).unwrap(), b"theirs");
}

#[test]
fn a_link_in_the_place_of_a_directory_is_not_followed() {
    let scratch = Scratch::new();
    let map = scratch.map(&MapOptions::default());
    let elsewhere = tempfile::tempdir().unwrap();
    let key = |name: &str| Key::new(name).unwrap();
    map.write(&key("a/1"), b"one").unwrap();
    map.write(&key("a/2"), b"two").unwrap();
    fs::rename(map.path().join("a"), map.path().join("z")).unwrap();
    symlink(elsewhere.path(), map.path().join("a")).unwrap();
    let refused = map.write(&key("a/3"), b"three").unwrap_err().to_string();
    assert!(refused.contains("symbolic link"), "{refused}");
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    assert!(!map.path().join("z/3").exists());
}
