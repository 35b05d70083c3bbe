//! A killed writer: after every written byte, readers find the last complete directory.

use nczarr_storage::{MapOptions, ZMap, ZMapExt};
use nczarr_zmap_zip::ZipMap;

use crate::{Scratch, key, objects, open};

/// The bytes of an archive, and the objects in it.
type State = (Vec<u8>, Vec<(String, Vec<u8>)>);

/// Returns an archive's state at each sync.
fn states() -> Vec<State> {
    let scratch = Scratch::new();
    let path = scratch.path();
    let inner = nczarr_zmap_zip::archive([(key("inner"), b"of an archive in a member")]).unwrap();
    let map = ZipMap::create(&path, "", false, &MapOptions::default()).unwrap();
    let mut states = Vec::new();
    let rounds: [&[(&str, &[u8])]; 3] = [
        &[(".zgroup", b"{}"), ("v/0", b"first")],
        // The values look like the end of an archive, but are not the end of this one.
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
fn synced_objects_survive_a_kill() {
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
        // A writer can append to it again.
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
fn unwritten_bytes_are_no_directory() {
    let scratch = Scratch::new();
    let states = states();
    let (whole, _) = states.last().unwrap();
    let (synced, expected) = &states[1];
    // The end was written, but the bytes before it were not. So the file has the right length and a hole.
    for hole in synced.len()..whole.len() - 22 {
        let path = scratch.path();
        let mut bytes = whole.clone();
        bytes[synced.len()..=hole].fill(0);
        std::fs::write(&path, &bytes).unwrap();
        let found = open(&path, false).map(|map| {
            let mut bytes = Vec::new();
            let keys = map.keys(&key("")).unwrap();
            keys.iter()
                .map(|key| map.read(key, nczarr_storage::ByteRange::ALL, &mut bytes).map(|_| bytes.clone()))
                .collect::<Vec<_>>()
        });
        if let Ok(values) = found {
            // A read gives an error, or a value of this or an earlier state.
            for value in values.into_iter().flatten() {
                let known = states.iter().flat_map(|(_, objects)| objects).any(|(_, known)| *known == value);
                assert!(known, "hole up to {hole}: {value:?}, before it {expected:?}");
            }
        }
        std::fs::remove_file(&path).unwrap();
    }
}

/// After a power failure, a directory may have its end but a hole in the middle.
#[test]
fn the_directory_before_a_torn_one_is_found() {
    let scratch = Scratch::new();
    let path = scratch.path();
    let map = ZipMap::create(&path, "", false, &MapOptions::default()).unwrap();
    let fill = |from: usize| {
        for i in from..from + 20 {
            map.write(&key(&format!("v/{i}")), &[i as u8; 9]).unwrap();
        }
        map.sync().unwrap();
        (std::fs::metadata(&path).unwrap().len() as usize, objects(&map))
    };
    let ((synced, expected), (len, _)) = (fill(0), fill(20));
    drop(map);
    let whole = std::fs::read(&path).unwrap();
    let start = synced + whole[synced..].windows(4).position(|at| at == b"PK\x01\x02").unwrap();
    for from in (start..len - 150).step_by(64) {
        let mut torn = whole.clone();
        torn[from..from + 100].fill(0);
        std::fs::write(&path, &torn).unwrap();
        assert_eq!(objects(&open(&path, false).unwrap()), expected, "a hole at {from} of {start}..{len}");
    }
}

/// An archive by another program, with a comment at its end, is found before the bytes of a killed writer.
#[test]
fn an_archive_with_a_comment_survives_a_stopped_writer() {
    let mut bytes = nczarr_zmap_zip::archive([(key(".zgroup"), b"{}")]).unwrap();
    let at = bytes.len() - 2;
    bytes[at..].copy_from_slice(&5u16.to_le_bytes());
    bytes.extend_from_slice(b"hello");
    for rest in [0, 1, 100, 100_000, 3_000_000] {
        let scratch = Scratch::new();
        let path = scratch.path();
        let mut longer = bytes.clone();
        longer.resize(bytes.len() + rest, 0);
        std::fs::write(&path, &longer).unwrap();
        assert_eq!(objects(&open(&path, false).unwrap()), [(".zgroup".to_owned(), b"{}".to_vec())], "{rest}");
        drop(open(&path, true).unwrap());
        assert_eq!(
            std::fs::read(&path).unwrap(),
            bytes,
            "only the bytes behind the archive are cut off: {rest}"
        );
    }
}

#[test]
fn an_archive_in_the_first_member_is_not_the_archive() {
    let scratch = Scratch::new();
    let path = scratch.path();
    let inner = nczarr_zmap_zip::archive([(key(".zgroup"), b"of an archive in a member")]).unwrap();
    let map = ZipMap::create(&path, "", false, &MapOptions::default()).unwrap();
    map.write(&key("v/0"), &inner).unwrap();
    // This is the state after a kill of the writer.
    assert_eq!(open(&path, false).unwrap_err().kind(), nczarr_model::ErrorKind::NotNc);
    drop(map);
    assert_eq!(objects(&open(&path, false).unwrap()), [("v/0".to_owned(), inner)]);
}
