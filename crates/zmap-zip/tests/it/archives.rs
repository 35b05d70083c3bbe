//! Archives from and for other programs: layouts, compression methods, names, appending, packing again.

use std::io::{Cursor, Read, Write};

use nczarr_model::ErrorKind;
use nczarr_storage::{ByteRange, Durability, Key, MapOptions, ZMap, ZMapExt};
use nczarr_zmap_zip::{ZipMap, archive, repack};
use proptest::prelude::*;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::{MARKERS, Scratch, key, objects, open};

/// An archive by another writer.
fn packed(members: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, bytes) in members {
        if name.ends_with('/') {
            writer.add_directory(*name, options).unwrap();
        } else {
            writer.start_file(*name, options).unwrap();
            writer.write_all(bytes).unwrap();
        }
    }
    writer.finish().unwrap().into_inner()
}

fn of(bytes: &[u8]) -> ZipMap {
    ZipMap::from_bytes(bytes.to_vec(), MARKERS, &Default::default()).unwrap()
}

/// Returns the members as another reader finds them.
fn seen_by_others(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).unwrap();
    assert!(!archive.has_overlapping_files().unwrap());
    let mut all = Vec::new();
    for i in 0..archive.len() {
        let mut member = archive.by_index(i).unwrap();
        let mut bytes = Vec::new();
        member.read_to_end(&mut bytes).unwrap();
        all.push((member.name().unwrap().into_owned(), bytes));
    }
    all.sort();
    all
}

#[test]
fn keys_begin_where_the_markers_are() {
    let table: &[(&[&str], &str)] = &[
        (&[".zgroup", "v/.zarray", "v/0"], ""),
        (&["x/", "x/.zgroup", "x/v/.zarray"], "x"),
        (&["x/.zgroup", "__MACOSX/x/._zgroup", "x/v/0"], "x"),
        (&["a/", "a/b.zarr/", "a/b.zarr/.zgroup", "a/b.zarr/v/0"], "a/b.zarr"),
        // A single array, packed with its directory.
        (&["x/.zarray", "x/0.0"], "x"),
        (&["x/v/.zarray", "y/w/.zarray"], ""),
        (&["x/v/0", "x/w/0"], ""),
        (&["README", "x/.zgroup"], ""),
        (&[], ""),
    ];
    for (names, folder) in table {
        let members: Vec<_> = names.iter().map(|name| (*name, b"1".as_slice())).collect();
        let map = of(&packed(&members, CompressionMethod::Stored));
        assert_eq!(map.folder(), *folder, "{names:?}");
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let mut expected: Vec<&str> = names.iter().filter_map(|name| name.strip_prefix(&*prefix)).collect();
        expected.retain(|name| !name.is_empty() && !name.ends_with('/'));
        expected.sort_unstable();
        let found: Vec<String> = objects(&map).into_iter().map(|(key, _)| key).collect();
        assert_eq!(found, expected, "{names:?}");
    }
}

#[test]
fn compressed_members_are_read_whole_and_in_parts() {
    let long: Vec<u8> = (0..300_000u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
    let members: &[(&str, &[u8])] = &[(".zgroup", b"{}"), ("v/0", &long), ("v/1", b""), ("v/2", b"xyz")];
    let map = of(&packed(members, CompressionMethod::Deflated));
    let mut out = Vec::new();
    for (name, bytes) in members {
        let len = bytes.len() as u64;
        assert_eq!(map.len(&key(name)).unwrap(), Some(len));
        for (from, count) in [
            (0, None),
            (0, Some(1)),
            (len / 2, Some(9)),
            (len, None),
            (len + 5, Some(1)),
            (3, Some(u64::MAX)),
        ] {
            assert!(map.read(&key(name), ByteRange { offset: from, len: count }, &mut out).unwrap());
            let from = from.min(len) as usize;
            let to = from + (count.unwrap_or(u64::MAX).min(len - from as u64) as usize);
            assert_eq!(out, bytes[from..to], "{name} {from} {count:?}");
        }
    }
}

#[test]
fn an_archive_grows_and_keeps_foreign_members() {
    let scratch = Scratch::new();
    let path = scratch.path();
    let members: &[(&str, &[u8])] =
        &[("x/", b""), ("x/.zgroup", b"{}"), ("README", b"hello"), ("x/v/0", b"old"), ("x/v/1", b"gone")];
    std::fs::write(&path, packed(members, CompressionMethod::Deflated)).unwrap();
    let map = ZipMap::open(&path, Some("x"), MARKERS, true, &MapOptions::default()).unwrap();
    map.write(&key("v/0"), b"new").unwrap();
    map.write(&key("v/2"), b"more").unwrap();
    assert!(map.delete(&key("v/1")).unwrap());
    map.sync().unwrap();
    map.write(&key("v/2"), b"and more").unwrap();
    map.close().unwrap();
    assert_eq!(map.write(&key("v/3"), b"late").unwrap_err().kind(), ErrorKind::BadId);
    let bytes = std::fs::read(&path).unwrap();
    let text = |name: &str, bytes: &[u8]| (name.to_owned(), bytes.to_vec());
    let expected = [
        text("README", b"hello"),
        text("x/", b""),
        text("x/.zgroup", b"{}"),
        text("x/v/0", b"new"),
        text("x/v/2", b"and more"),
    ];
    assert_eq!(seen_by_others(&bytes), expected);
    let again = ZipMap::open(&path, Some("x"), MARKERS, false, &MapOptions::default()).unwrap();
    assert_eq!(objects(&again), [text(".zgroup", b"{}"), text("v/0", b"new"), text("v/2", b"and more")]);
}

#[test]
fn one_writer_at_a_time() {
    let scratch = Scratch::new();
    let path = scratch.path();
    let map = ZipMap::create(&path, "", false, &MapOptions::default()).unwrap();
    map.write(&key(".zgroup"), b"{}").unwrap();
    map.sync().unwrap();
    map.write(&key("v/0"), b"not synced").unwrap();
    assert_eq!(open(&path, true).unwrap_err().kind(), ErrorKind::Perm);
    let error = ZipMap::create(&path, "", true, &MapOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Perm);
    assert_eq!(repack(&path, MARKERS, &MapOptions::default()).unwrap_err().kind(), ErrorKind::Perm);
    assert_eq!(objects(&open(&path, false).unwrap()).len(), 1);
    map.close().unwrap();
    assert_eq!(objects(&open(&path, true).unwrap()).len(), 2);
    let error = ZipMap::create(&path, "", false, &MapOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exist);
    assert_eq!(objects(&open(&path, false).unwrap()).len(), 2);
}

#[test]
fn repacking_drops_dead_bytes() {
    let scratch = Scratch::new();
    let path = scratch.path();
    let mut options = MapOptions::default();
    options.durability = Durability::Fsync;
    let map = ZipMap::create(&path, "top", false, &options).unwrap();
    map.write(&key(".zgroup"), b"{}").unwrap();
    for round in 0..20u8 {
        map.write(&key("v/0"), &vec![round; 10_000]).unwrap();
        map.sync().unwrap();
    }
    drop(map);
    let before = objects(&open(&path, false).unwrap());
    let repacked = repack(&path, MARKERS, &options).unwrap();
    assert!(repacked.before > 200_000 && repacked.after < 11_000, "{repacked:?}");
    assert_eq!(std::fs::metadata(&path).unwrap().len(), repacked.after);
    let map = open(&path, false).unwrap();
    assert_eq!((map.folder(), objects(&map)), ("top", before));
    assert_eq!(seen_by_others(&std::fs::read(&path).unwrap()).len(), 2);
    assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left lying about");
}

/// One dataset of an archive is written in memory and stored again. The other datasets stay unchanged.
#[test]
fn other_datasets_of_an_archive_are_kept() {
    let scratch = Scratch::new();
    let path = scratch.path();
    let long = vec![7; 100_000];
    let members: [(&str, &[u8]); 6] = [
        ("a/.zgroup", b"{}"),
        ("a/v/0", b"old"),
        ("b/.zgroup", b"{}"),
        ("b/empty/", b""),
        ("b/v/0", &long),
        ("README", b"two datasets"),
    ];
    let streamed = || {
        let mut writer = ZipWriter::new_stream(Vec::new());
        for (name, bytes) in members.into_iter().filter(|(name, _)| !name.ends_with('/')) {
            writer.start_file(name, SimpleFileOptions::default()).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    };
    for bytes in [
        packed(&members, CompressionMethod::Stored),
        packed(&members, CompressionMethod::Deflated),
        streamed(),
    ] {
        std::fs::write(&path, &bytes).unwrap();
        let mut expected = seen_by_others(&bytes);
        for (name, bytes) in &mut expected {
            if name == "a/v/0" {
                *bytes = b"new".to_vec();
            }
        }
        for round in 0..2 {
            let options = MapOptions::default();
            let map = ZipMap::open_in_memory(&path, Some("a"), MARKERS, true, true, &options).unwrap();
            map.write(&key("v/0"), b"even newer").unwrap();
            map.write(&key("v/0"), b"new").unwrap();
            let image = map.image().unwrap();
            map.close().unwrap();
            let found = std::fs::read(&path).unwrap();
            assert_eq!(found, image, "round {round}");
            assert_eq!(seen_by_others(&found), expected, "round {round}");
            let b = ZipMap::open(&path, Some("b"), MARKERS, false, &options).unwrap();
            assert_eq!(
                objects(&b),
                [(".zgroup".to_owned(), b"{}".to_vec()), ("v/0".to_owned(), long.clone())]
            );
        }
        repack(&path, MARKERS, &MapOptions::default()).unwrap();
        let found = seen_by_others(&std::fs::read(&path).unwrap());
        assert_eq!(found, expected, "all datasets are there after packing anew");
    }
}

#[test]
fn many_members_and_far_ones() {
    let many = || (0..70_000u32).map(|i| (key(&format!("v/{i}")), i.to_le_bytes()));
    let bytes = archive(many()).unwrap();
    assert_eq!(seen_by_others(&bytes).len(), 70_000);
    let map = of(&bytes);
    assert_eq!(map.children(&Key::root()).unwrap(), ["v"]);
    let mut out = Vec::new();
    for (key, value) in many().step_by(997) {
        assert!(map.read(&key, ByteRange::ALL, &mut out).unwrap() && out == value);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Random writes, deletions, closing and reopening give the same content as a table, for our reader and
    /// another one.
    #[test]
    fn a_map_is_a_table(
        ops in prop::collection::vec((0u8..12, 0usize..40_000, 0u8..8), 1..40),
        folder in prop::sample::select(vec!["", "x", "x/ü"]),
    ) {
        let scratch = Scratch::new();
        let path = scratch.path();
        let mut map = ZipMap::create(&path, folder, false, &MapOptions::default()).unwrap();
        let mut table = std::collections::BTreeMap::new();
        for (name, len, what) in ops {
            let name = format!("g{}/v{name}", name % 3);
            let value: Vec<u8> = (0..len).map(|i| (i * 31 + len) as u8).collect();
            match what {
                0 => prop_assert_eq!(map.delete(&key(&name)).unwrap(), table.remove(&name).is_some()),
                1 => map.sync().unwrap(),
                2 => {
                    drop(map);
                    map = ZipMap::open(&path, Some(folder), MARKERS, true, &MapOptions::default()).unwrap();
                }
                _ => {
                    map.write(&key(&name), &value).unwrap();
                    table.insert(name, value);
                }
            }
        }
        let expected: Vec<_> = table.into_iter().collect();
        prop_assert_eq!(objects(&map), expected.clone());
        drop(map);
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let named: Vec<_> = expected.into_iter().map(|(name, value)| (format!("{prefix}{name}"), value)).collect();
        prop_assert_eq!(seen_by_others(&std::fs::read(&path).unwrap()), named);
    }
}
