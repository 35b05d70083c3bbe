//! Special files beside objects, and files that the map must not change.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use nczarr_model::{ErrorKind, Result};
use nczarr_storage::{ByteRange, Key, MapOptions, OutBuf, Precondition, ZMap, ZMapExt};
use nczarr_zmap_file::FileMap;
use rustix::fs::{CWD, Mode, mkfifoat};

use crate::Scratch;

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

/// Runs every operation on one key. Returns the name and result of each.
fn operations(map: &FileMap, key: &Key) -> Vec<(&'static str, Result<()>)> {
    let mut memory = [0; 10];
    vec![
        ("len", map.len(key).map(drop)),
        ("exists", map.exists(key).map(drop)),
        ("read", map.read(key, ByteRange::ALL, &mut Vec::new()).map(drop)),
        ("read a range", map.read(key, ByteRange::new(5, 5), &mut Vec::new()).map(drop)),
        ("read into", map.read_into(key, 0, &mut OutBuf::from_slice(&mut memory)).map(drop)),
        ("read versioned", map.read_versioned(key, 10, &mut Vec::new()).map(drop)),
        ("write", map.write(key, b"w")),
        ("write if absent", map.write_if(key, b"w", &Precondition::Absent).map(drop)),
        ("update", map.update(key, usize::MAX, &mut |_, _| Ok(()))),
        ("delete", map.delete(key).map(drop)),
        ("rename", map.rename(key, &Key::new("elsewhere").unwrap())),
    ]
}

#[test]
fn special_files_are_refused_by_name_and_kept() {
    let scratch = Scratch::new();
    let outside = scratch.path();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), b"secret").unwrap();
    let map = scratch.map(&MapOptions::default());
    let root = map.path().to_owned();
    map.write(&key("v/0"), b"0").unwrap();
    symlink(outside.join("secret"), root.join("v/link")).unwrap();
    symlink("0", root.join("v/inside")).unwrap();
    symlink("nowhere", root.join("v/broken")).unwrap();
    symlink(&outside, root.join("out")).unwrap();
    symlink("v", root.join("w")).unwrap();
    mkfifoat(CWD, root.join("v/fifo"), Mode::from_raw_mode(0o666)).unwrap();
    let _socket = UnixListener::bind(root.join("v/socket")).unwrap();
    for odd in
        ["v/link", "v/inside", "v/broken", "out", "out/secret", "out/new/x", "w", "w/0", "v/fifo", "v/socket"]
    {
        for (doing, done) in operations(&map, &key(odd)) {
            let error = done.expect_err(&format!("{doing} {odd}"));
            assert_eq!(error.kind(), ErrorKind::Access, "{doing} {odd}: {error}");
            assert!(error.to_string().contains(&format!("{odd:?}")), "{doing}: {error}");
            assert!(error.to_string().contains(root.to_str().unwrap()), "{doing}: {error}");
        }
    }
    // No object exists below a file.
    assert_eq!(map.len(&key("v/fifo/x")).unwrap(), None);
    assert_eq!(map.write(&key("v/fifo/x"), b"").unwrap_err().kind(), ErrorKind::Object);
    assert_eq!(map.rename(&key("v/0"), &key("out/x")).unwrap_err().kind(), ErrorKind::Access);
    assert_eq!(map.children(&key("out")).unwrap_err().kind(), ErrorKind::Access);
    assert_eq!(map.keys(&key("out")).unwrap_err().kind(), ErrorKind::Access);
    // A listing includes links, because a link may lead to data. It omits a fifo.
    assert_eq!(map.children(&key("v")).unwrap(), ["0", "broken", "inside", "link"]);
    assert_eq!(map.children(&Key::root()).unwrap(), ["out", "v", "w"]);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    assert_eq!(fs::read(outside.join("secret")).unwrap(), b"secret");
    assert!(root.join("w").is_symlink() && root.join("v/link").is_symlink());
    // A dataset with such files is not deleted.
    drop(map);
    assert_eq!(FileMap::remove(&root).unwrap_err().kind(), ErrorKind::CantRemove);
    let again = FileMap::create(&root, Some(&["w", "v"]), &MapOptions::default());
    assert_eq!(
        again.unwrap_err().kind(),
        ErrorKind::Object,
        "neither a link nor a directory marks a dataset"
    );
    fs::write(root.join("mark"), b"").unwrap();
    let again = FileMap::create(&root, Some(&["mark"]), &MapOptions::default());
    assert_eq!(again.unwrap_err().kind(), ErrorKind::CantRemove);
    assert_eq!(fs::read(root.join("v/0")).unwrap(), b"0");
}

#[test]
fn the_dataset_itself_may_be_behind_a_link() {
    let scratch = Scratch::new();
    let map = scratch.map(&MapOptions::default());
    map.write(&key("a/b"), b"1").unwrap();
    let link = scratch.path();
    symlink(map.path(), &link).unwrap();
    let linked = FileMap::open(&link, true, &MapOptions::default()).unwrap();
    assert_eq!(linked.len(&key("a/b")).unwrap(), Some(1));
    FileMap::remove(&link).unwrap();
    assert!(!map.path().exists());
    // A removed dataset has no absent objects, only errors.
    assert_eq!(linked.len(&key("a/b")).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(
        linked.read(&key("x"), ByteRange::ALL, &mut Vec::new()).unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert_eq!(linked.children(&key("x")).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(linked.write(&key("x/y"), b"").unwrap_err().kind(), ErrorKind::NotFound);
    assert!(linked.write(&key("x"), b"").is_err());
}

#[test]
fn our_own_files_and_foreign_names_are_no_objects() {
    let scratch = Scratch::new();
    let map = scratch.map(&MapOptions::default());
    let root = map.path().to_owned();
    map.write(&key("v/0"), b"0").unwrap();
    map.write(&key("v/0"), b"1").unwrap();
    assert!(root.join(".nczarr-lock").exists(), "replacing takes a lock");
    fs::write(root.join(".nczarr-tmp-1-1"), b"stale").unwrap();
    fs::write(root.join("v/.nczarr-tmp-1-2"), b"stale").unwrap();
    fs::write(root.join("bad\nname"), b"x").unwrap();
    fs::create_dir_all(root.join("hollow/a/b")).unwrap();
    fs::create_dir_all(root.join("left/c")).unwrap();
    fs::write(root.join("left/c/.nczarr-tmp-1-3"), b"stale").unwrap();
    {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        fs::write(root.join(OsStr::from_bytes(b"\xff")), b"x").unwrap();
    }
    assert_eq!(map.children(&Key::root()).unwrap(), ["v"]);
    assert_eq!(map.keys(&Key::root()).unwrap(), [key("v/0")]);
    for reserved in [".nczarr-lock", ".nczarr-tmp-1-1", "v/.nczarr-tmp-1-2", "v/.nczarr-lock/x"] {
        let reserved = key(reserved);
        assert_eq!(map.len(&reserved).unwrap(), None);
        assert!(!map.read(&reserved, ByteRange::ALL, &mut Vec::new()).unwrap());
        assert!(!map.delete(&reserved).unwrap());
        assert_eq!(map.write(&reserved, b"").unwrap_err().kind(), ErrorKind::Inval);
        assert_eq!(map.rename(&key("v/0"), &reserved).unwrap_err().kind(), ErrorKind::Inval);
        assert_eq!(map.rename(&reserved, &key("x")).unwrap_err().kind(), ErrorKind::Inval);
    }
    // Empty directories and those with leftovers only count as absent, and do not prevent writes.
    for hollow in ["hollow", "hollow/a", "left", "left/c"] {
        assert_eq!(map.len(&key(hollow)).unwrap(), None, "{hollow}");
        assert!(!map.delete(&key(hollow)).unwrap());
    }
    assert_eq!(
        map.possible_children(&Key::root()).unwrap(),
        ["hollow", "left", "v"],
        "the targets of links are not examined"
    );
    map.rename(&key("v"), &key("hollow")).unwrap();
    map.write(&key("left"), b"object").unwrap();
    map.update(&key("hollow/a/x"), usize::MAX, &mut |old, new| {
        assert!(old.is_none());
        new.push(1);
        Ok(())
    })
    .unwrap();
    assert_eq!(map.keys(&Key::root()).unwrap(), [key("hollow/0"), key("hollow/a/x"), key("left")]);
}

#[test]
fn creating_replaces_only_recognised_directories() {
    let scratch = Scratch::new();
    let options = MapOptions::default();
    let (file, dir) = (scratch.path(), scratch.path());
    fs::write(&file, b"x").unwrap();
    let create = |path: &Path, markers: Option<&[&str]>| FileMap::create(path, markers, &options);
    for markers in [None, Some(&["x"][..])] {
        assert_eq!(create(&file, markers).unwrap_err().kind(), ErrorKind::Exist);
        assert_eq!(create(&dir.join("a/b"), markers).unwrap_err().kind(), ErrorKind::NotFound);
    }
    assert_eq!(fs::read(&file).unwrap(), b"x");
    assert_eq!(FileMap::open(&file, false, &options).unwrap_err().kind(), ErrorKind::NotNc);
    assert_eq!(FileMap::open(&dir, false, &options).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(FileMap::remove(&dir).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(FileMap::remove(&file).unwrap_err().kind(), ErrorKind::NotNc);
    fs::create_dir(&dir).unwrap();
    create(&dir, None).unwrap().write(&key(".zgroup"), b"{}").unwrap();
    fs::create_dir_all(dir.join("v/w")).unwrap();
    fs::write(dir.join("v/w/0"), b"0").unwrap();
    assert_eq!(create(&dir, None).unwrap_err().kind(), ErrorKind::Object);
    assert_eq!(create(&dir, Some(&[])).unwrap_err().kind(), ErrorKind::Object);
    assert_eq!(create(&dir, Some(&["zarr.json"])).unwrap_err().kind(), ErrorKind::Object);
    assert_eq!(fs::read(dir.join("v/w/0")).unwrap(), b"0");
    let map = create(&dir, Some(&["zarr.json", ".zgroup"])).unwrap();
    assert!(map.keys(&Key::root()).unwrap().is_empty());
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
    map.write(&key("a"), b"1").unwrap();
    map.write(&key("a"), b"2").unwrap();
    assert!(map.delete(&key("a")).unwrap());
    drop(map);
    create(&dir, None).unwrap();
    FileMap::remove(&dir).unwrap();
    assert!(!dir.exists());
}

#[test]
fn opening_and_reading_change_nothing() {
    let scratch = Scratch::new();
    let map = scratch.map(&MapOptions::default());
    map.write(&key("a/b"), b"1").unwrap();
    let tree = |path: &Path| {
        let mut names: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = tree(map.path());
    for writable in [false, true] {
        let again = FileMap::open(map.path(), writable, &MapOptions::default()).unwrap();
        assert_eq!(again.caps().conditional_write, writable);
        assert_eq!(again.len(&key("a/b")).unwrap(), Some(1));
        let _ = again.read_versioned(&key("a/b"), 10, &mut Vec::new());
        again.keys(&Key::root()).unwrap();
        again.close().unwrap();
    }
    assert_eq!(tree(map.path()), before);
}

#[test]
fn failures_of_the_system_keep_their_cause() {
    let scratch = Scratch::new();
    let map = scratch.map(&MapOptions::default());
    let long = key(&"n".repeat(300));
    for (doing, done) in operations(&map, &long) {
        let error = done.expect_err(doing);
        assert_eq!(error.kind(), ErrorKind::Io, "{doing}: {error}");
        let source = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<io::Error>());
        assert_eq!(
            source.and_then(io::Error::raw_os_error),
            Some(rustix::io::Errno::NAMETOOLONG.raw_os_error())
        );
    }
    assert_eq!(fs::read_dir(map.path()).unwrap().count(), 0, "nothing is left of failed writes");
}

#[test]
fn unreadable_objects_are_not_absent() {
    let scratch = Scratch::new();
    let map = scratch.map(&MapOptions::default());
    map.write(&key("v/0"), b"1").unwrap();
    let dir = map.path().join("v");
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o000)).unwrap();
    let found = (map.len(&key("v/0")), map.children(&key("v")), map.write(&key("v/1"), b"x"));
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
    // The root user has access to everything.
    if !rustix::process::geteuid().is_root() {
        assert_eq!(found.0.unwrap_err().kind(), ErrorKind::Access);
        assert_eq!(found.1.unwrap_err().kind(), ErrorKind::Access);
        assert_eq!(found.2.unwrap_err().kind(), ErrorKind::Access);
    }
}
