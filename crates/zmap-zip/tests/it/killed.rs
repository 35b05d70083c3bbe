//! A writer that is stopped: at every byte that was written, the last complete directory is found.

use dispatch::{Options, ZMap};
use zmap_zip::ZipMap;

use crate::{Scratch, key, objects, open};

/// The bytes of an archive, and the objects in it.
type State = (Vec<u8>, Vec<(String, Vec<u8>)>);

/// An archive at each sync.
fn states() -> Vec<State> {
    let scratch = Scratch::new();
    let path = scratch.path();
    let inner = zmap_zip::archive([(key("inner"), b"of an archive in a member")]).unwrap();
    let map = ZipMap::create(&path, "", false, &Options::default()).unwrap();
    let mut states = Vec::new();
    let rounds: [&[(&str, &[u8])]; 3] = [
        &[(".zgroup", b"{}"), ("v/0", b"first")],
        // What looks like the end of an archive is none of this one.
        &[("v/0", &inner), ("v/1", b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")],
        &[("v/2", &[7; 300]), (".zgroup", b"{ }")],
    ];
    for round in rounds {
        for (name, value) in round {
            map.write(&key(name), value).unwrap();
        }
        map.sync().unwrap();
        states.push((std::fs::read(&path).unwrap(), objects(&map)));
    }
    states
}

#[test]
fn whatever_was_synced_is_there() {
    let scratch = Scratch::new();
    let states = states();
    let (whole, _) = states.last().unwrap();
    for (bytes, _) in &states {
        assert!(whole.starts_with(bytes), "an archive only grows");
    }
    for len in states[0].0.len()..=whole.len() {
        let path = scratch.path();
        std::fs::write(&path, &whole[..len]).unwrap();
        let (_, expected) = states.iter().rev().find(|(bytes, _)| bytes.len() <= len).unwrap();
        let map = open(&path, false).unwrap_or_else(|error| panic!("{len}: {error}"));
        assert_eq!(&objects(&map), expected, "cut at {len}");
        // And it can go on growing.
        if len % 7 == 0 {
            let map = open(&path, true).unwrap();
            map.write(&key("w"), b"more").unwrap();
            map.close().unwrap();
            let mut expected = expected.clone();
            expected.push(("w".to_owned(), b"more".to_vec()));
            assert_eq!(objects(&open(&path, false).unwrap()), expected, "cut at {len}, then written");
            zip::ZipArchive::new(std::fs::File::open(&path).unwrap()).unwrap();
        }
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn bytes_that_were_not_written_yet_are_no_directory() {
    let scratch = Scratch::new();
    let states = states();
    let (whole, _) = states.last().unwrap();
    let (synced, expected) = &states[1];
    // The end was written, what stands before it was not: a file of the right length with a hole.
    for hole in synced.len()..whole.len() - 22 {
        let path = scratch.path();
        let mut bytes = whole.clone();
        bytes[synced.len()..=hole].fill(0);
        std::fs::write(&path, &bytes).unwrap();
        let found = open(&path, false).map(|map| {
            let mut bytes = Vec::new();
            let keys = map.list(&key("")).unwrap();
            keys.iter()
                .map(|key| map.read(key, dispatch::ByteRange::ALL, &mut bytes).map(|_| bytes.clone()))
                .collect::<Vec<_>>()
        });
        if let Ok(values) = found {
            // An error, or a value that was written, now or before.
            for value in values.into_iter().flatten() {
                let known = states.iter().flat_map(|(_, objects)| objects).any(|(_, known)| *known == value);
                assert!(known, "hole up to {hole}: {value:?}, before it {expected:?}");
            }
        }
        std::fs::remove_file(&path).unwrap();
    }
}
