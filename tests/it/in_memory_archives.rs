//! Datasets in archives in memory: opened from bytes, created there, and returned as bytes.

use nczarr::storage::ZMapExt;
use std::fs;
use std::io::{Cursor, Seek as _, SeekFrom, Write as _};

use nczarr::{CreateOptions, ErrorKind, OpenOptions, Place};

fn values(file: &nczarr::File) -> Vec<i32> {
    file.variable("v").unwrap().get_values::<i32>(..).unwrap()
}

#[test]
fn a_dataset_is_made_in_memory_and_is_an_archive_afterwards() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.zip").display().to_string();
    for name in [&path, "x.zip", "x#mode=nczarr,zip", "y#mode=zarr,zip", "y#mode=zarr,zip&zipdir=inside"] {
        let file = CreateOptions::new().create_in_memory(Place::url(name), false).unwrap();
        file.add_dimension("x", 4).unwrap();
        let v = file.add_variable::<i32>("v", &["x"]).unwrap();
        v.set_chunking(&[2]).unwrap();
        v.put(&[1, 2, 3, 4], ..).unwrap();
        v.put(&[9], 3..).unwrap();
        let bytes = file.close_to_bytes().unwrap();
        assert!(!fs::exists(&path).unwrap(), "{name}: nothing is put anywhere");

        // Other programs can read the bytes as a file.
        fs::write(&path, &bytes).unwrap();
        assert_eq!(values(&nczarr::open(&path).unwrap()), [1, 2, 3, 9], "{name}");
        let names: Vec<String> = zip::ZipArchive::new(fs::File::open(&path).unwrap())
            .unwrap()
            .file_names()
            .map(|name| name.unwrap().into_owned())
            .collect();
        assert!(names.iter().all(|key| key.starts_with("inside/") == name.contains("zipdir")), "{names:?}");
        fs::remove_file(&path).unwrap();

        let file = nczarr::open_bytes(bytes.clone()).unwrap();
        assert_eq!((values(&file), file.info().map.as_deref()), (vec![1, 2, 3, 9], Some("zip")));
        assert_eq!(file.variable("v").unwrap().put(&[5], ..1).unwrap_err().kind(), ErrorKind::Perm);
        assert_eq!(file.close_to_bytes().unwrap(), bytes, "an archive that is only read stays unchanged");
    }
}

#[test]
fn writes_to_bytes_change_a_copy() {
    let file = CreateOptions::new().create_in_memory("x.zip", false).unwrap();
    file.add_unlimited_dimension("t").unwrap();
    let v = file.add_variable::<i32>("v", &["t"]).unwrap();
    v.set_chunking(&[1000]).unwrap();
    v.put(&[7; 1000], ..1000).unwrap();
    let first = file.close_to_bytes().unwrap();
    let mut bytes = first.clone();
    for round in 1..=3 {
        let file = OpenOptions::new().writable(true).open_bytes("memory", bytes.clone()).unwrap();
        file.variable("v").unwrap().put(&vec![round; 1000], ..1000).unwrap();
        // The archive contains each object once, even after several writes.
        file.sync().unwrap();
        file.variable("v").unwrap().put_value(0, 5).unwrap();
        bytes = file.close_to_bytes().unwrap();
        let mut expected = vec![round; 1000];
        expected[5] = 0;
        assert_eq!(values(&nczarr::open_bytes(bytes.clone()).unwrap()), expected);
        assert!(bytes.len() < first.len() + 100, "{} bytes, then {}", first.len(), bytes.len());
    }
    assert_eq!(values(&nczarr::open_bytes(first).unwrap()), [7; 1000]);
}

fn names(dir: &std::path::Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// With `persist` nothing is on disk until the dataset is closed. Then all of it is.
#[test]
fn an_archive_in_memory_is_put_in_its_place_when_it_is_closed() {
    for (durability, fragment) in
        [(nczarr::Durability::Rename, ""), (nczarr::Durability::Fsync, "#mode=nczarr,v3,zip&zipdir=inside")]
    {
        let dir = tempfile::tempdir().unwrap();
        let path = Place::url(format!("{}{fragment}", dir.path().join("x.zip").display()));
        let options = |clobber| CreateOptions::new().durability(durability).clobber(clobber);
        let file = options(false).create_in_memory(&path, true).unwrap();
        file.add_unlimited_dimension("t").unwrap();
        file.add_variable::<i32>("v", &["t"]).unwrap().put(&[1, 2, 3], ..3).unwrap();
        file.sync().unwrap();
        assert!(names(dir.path()).is_empty(), "nothing is put anywhere before");
        file.close().unwrap();
        assert_eq!(names(dir.path()), ["x.zip"]);
        assert_eq!(values(&nczarr::open(&path).unwrap()), [1, 2, 3]);

        // The dataset exists already.
        assert_eq!(options(false).create_in_memory(&path, true).unwrap_err().kind(), ErrorKind::Exist);
        let before = fs::read(dir.path().join("x.zip")).unwrap();
        let open =
            |persist| OpenOptions::new().writable(true).durability(durability).open_in_memory(&path, persist);
        let file = open(false).unwrap();
        file.variable("v").unwrap().put(&[7], 3..4).unwrap();
        assert!(file.close_to_bytes().unwrap().starts_with(b"PK"));
        let file = open(true).unwrap();
        file.variable("v").unwrap().put(&[4, 5], 3..5).unwrap();
        file.sync().unwrap();
        for other in [
            open(true),
            OpenOptions::new().writable(true).open(&path),
            options(true).create_in_memory(&path, true),
        ] {
            assert_eq!(other.unwrap_err().kind(), ErrorKind::Perm, "somebody writes it");
        }
        assert_eq!(fs::read(dir.path().join("x.zip")).unwrap(), before);
        file.close().unwrap();
        assert_eq!(names(dir.path()), ["x.zip"]);
        let file = OpenOptions::new().open_in_memory(&path, true).unwrap();
        assert_eq!(values(&file), [1, 2, 3, 4, 5]);
        assert_eq!(file.variable("v").unwrap().put(&[7], ..1).unwrap_err().kind(), ErrorKind::Perm);
        assert_eq!(file.close_to_bytes().unwrap(), fs::read(dir.path().join("x.zip")).unwrap());

        // An aborted replacement keeps the existing dataset.
        options(true).create_in_memory(&path, true).unwrap().dataset().abort().unwrap();
        assert_eq!(values(&nczarr::open(&path).unwrap()), [1, 2, 3, 4, 5]);
        let file = options(true).create_in_memory(&path, true).unwrap();
        file.put_attribute("a", 1i32).unwrap();
        let bytes = file.close_to_bytes().unwrap();
        assert_eq!(bytes, fs::read(dir.path().join("x.zip")).unwrap());
        assert!(nczarr::open(&path).unwrap().variable("v").is_err());
        assert_eq!(names(dir.path()), ["x.zip"]);
        // The lock is released.
        OpenOptions::new().writable(true).open(&path).unwrap().close().unwrap();
    }
}

#[test]
fn a_file_that_appeared_in_between_is_not_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.zip");
    let name = path.display().to_string();
    let make = || {
        let file = CreateOptions::new().clobber(true).create_in_memory(&name, true).unwrap();
        file.put_attribute("a", 1i32).unwrap();
        file
    };
    let (given_up, late) = (CreateOptions::new().create_in_memory(&name, true).unwrap(), make());
    given_up.dataset().abort().unwrap();
    assert!(!path.exists());
    fs::write(&path, "a text").unwrap();
    assert_eq!(late.close().unwrap_err().kind(), ErrorKind::Exist);
    assert_eq!(fs::read(&path).unwrap(), b"a text");
    // The call never replaces a file that is not a dataset, and it reads only archives.
    let refused = CreateOptions::new().clobber(true).create_in_memory(&name, true).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotNc);
    assert_eq!(OpenOptions::new().open_in_memory(&name, true).unwrap_err().kind(), ErrorKind::NotNc);
    let objects = [(nczarr::storage::Key::new("other").unwrap(), b"x")];
    fs::write(&path, nczarr_zmap_zip::archive(objects).unwrap()).unwrap();
    let refused = CreateOptions::new().clobber(true).create_in_memory(&name, true).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Object);
    fs::remove_file(&path).unwrap();
    make().close().unwrap();
    // A process that ignores locks removes the file.
    let late = make();
    fs::remove_file(&path).unwrap();
    late.close().unwrap();
    nczarr::open(&name).unwrap();
    assert_eq!(names(dir.path()), ["x.zip"]);
}

/// A map in memory becomes an archive, and an archive becomes a map in memory.
#[test]
fn a_map_in_memory_is_packed_and_unpacked() {
    let map = nczarr_zmap_mem::MemMap::new();
    let file = CreateOptions::new()
        .map(std::sync::Arc::new(map.clone()))
        .create("memory://a#mode=nczarr,mem")
        .unwrap();
    file.add_dimension("x", 4).unwrap();
    let v = file.add_variable::<i32>("v", &["x"]).unwrap();
    v.put(&[1, 2, 3, 4], ..).unwrap();
    file.sync().unwrap();
    // The snapshot holds the present state and no later writes.
    let snapshot = map.snapshot();
    v.put(&[9; 4], ..).unwrap();
    file.close().unwrap();
    let objects = snapshot.iter().map(|(key, bytes)| (nczarr::storage::Key::new(key).unwrap(), bytes));
    let bytes = nczarr_zmap_zip::archive(objects).unwrap();
    let packed = nczarr::open_bytes(bytes.clone()).unwrap();
    assert_eq!((values(&packed), packed.info().map.as_deref()), (vec![1, 2, 3, 4], Some("zip")));

    let archive = nczarr_zmap_zip::ZipMap::from_bytes(bytes, &[".zgroup"], &Default::default()).unwrap();
    let objects = zmap_objects(&archive);
    assert_eq!(objects.len(), snapshot.len());
    let again = std::sync::Arc::new(nczarr_zmap_mem::MemMap::from_objects(objects).unwrap());
    let file = OpenOptions::new().writable(true).map(again.clone()).open("memory://b").unwrap();
    file.variable("v").unwrap().put_value(7, 0).unwrap();
    file.close().unwrap();
    assert_eq!(values(&OpenOptions::new().map(again).open("memory://b").unwrap()), [7, 2, 3, 4]);
}

fn zmap_objects(map: &dyn nczarr::storage::ZMap) -> Vec<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let keys = map.keys(&nczarr::storage::Key::root()).unwrap();
    let mut read = |key: &nczarr::storage::Key| {
        assert!(map.read(key, nczarr::storage::ByteRange::ALL, &mut bytes).unwrap(), "{key}");
        (key.to_string(), bytes.clone())
    };
    keys.iter().map(&mut read).collect()
}

#[test]
fn formats_that_cannot_lie_in_memory_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("x.zarr").display().to_string();
    let there = dir.path().join("there.zarr").display().to_string();
    nczarr::create(&there).unwrap().close().unwrap();
    let create =
        |path: &str, persist| CreateOptions::new().create_in_memory(path, persist).map(drop).unwrap_err();
    for (error, kind) in [
        (create(&store, false), ErrorKind::Diskless),
        (create(&store, true), ErrorKind::Diskless),
        (OpenOptions::new().open_in_memory(&there, true).map(drop).unwrap_err(), ErrorKind::Diskless),
        (nczarr::open_bytes(*b"PK\x05\x06 and no archive").map(drop).unwrap_err(), ErrorKind::NotNc),
        (nczarr::open_bytes(*b"").map(drop).unwrap_err(), ErrorKind::NotNc),
    ] {
        assert_eq!(error.kind(), kind, "{error}");
    }
    assert!(!fs::exists(&store).unwrap());
    // An archive without a dataset is refused.
    let mut empty = vec![0; 22];
    empty[..4].copy_from_slice(b"PK\x05\x06");
    assert_eq!(nczarr::open_bytes(empty).map(drop).unwrap_err().kind(), ErrorKind::NotNc);
    // A dataset in a directory or in an archive on disk cannot be returned as bytes.
    for name in ["y.zarr", "y.zip"] {
        let path = dir.path().join(name).display().to_string();
        let file = nczarr::create(&path).unwrap();
        assert_eq!(file.close_to_bytes().unwrap_err().kind(), ErrorKind::InMemory);
    }
}

/// The objects of a dataset whose variable has the values 1, 2, 3, 9.
const OBJECTS: [(&str, &[u8]); 3] = [
    (".zgroup", br#"{"zarr_format": 2}"#),
    (
        "v/.zarray",
        br#"{"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "<i4", "fill_value": 0, "order": "C",
            "compressor": null, "filters": null}"#,
    ),
    ("v/0", &[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 9, 0, 0, 0]),
];

/// Makes an archive of these objects after the bytes `before`.
fn archive(before: &[u8], method: zip::CompressionMethod) -> Vec<u8> {
    let mut bytes = Cursor::new(before.to_vec());
    bytes.seek(SeekFrom::End(0)).unwrap();
    let mut writer = zip::ZipWriter::new(bytes);
    for (name, object) in OBJECTS {
        let options = zip::write::SimpleFileOptions::default().compression_method(method);
        writer.start_file(name, options).unwrap();
        writer.write_all(object).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn members_of_every_common_compression_are_read() {
    use zip::CompressionMethod as By;
    let folder = tempfile::tempdir().unwrap();
    for by in [By::Stored, By::Deflated, By::Bzip2, By::Zstd, By::Xz] {
        let path = folder.path().join("a.zip");
        let bytes = archive(b"", by);
        fs::write(&path, &bytes).unwrap();
        assert_eq!(values(&nczarr::open(path.to_str().unwrap()).unwrap()), [1, 2, 3, 9], "{by:?}");
        assert_eq!(values(&nczarr::open_bytes(bytes).unwrap()), [1, 2, 3, 9], "{by:?}");
    }
    // Python's zipfile made this archive, because the crate does not write LZMA.
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus/reports/zip-lzma/a.zip");
    assert_eq!(values(&nczarr::open(path).unwrap()), [1, 2, 3, 9]);
}

/// The checksum of a member is verified, whichever library unpacks it.
#[test]
fn a_wrong_checksum_is_an_error() {
    use zip::CompressionMethod as By;
    let lzma = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus/reports/zip-lzma/a.zip");
    let mut archives = vec![fs::read(lzma).unwrap()];
    archives.extend([By::Deflated, By::Bzip2, By::Zstd, By::Xz].map(|by| archive(b"", by)));
    for (number, mut bytes) in archives.into_iter().enumerate() {
        // The checksums in the local headers and in the directory.
        for (mark, offset) in [(b"PK\x03\x04", 14), (b"PK\x01\x02", 16)] {
            let places = bytes.windows(4).enumerate().filter(|(_, found)| found == mark);
            for at in places.map(|(at, _)| at + offset).collect::<Vec<_>>() {
                bytes[at] ^= 1;
            }
        }
        let read = nczarr::open_bytes(bytes).and_then(|file| {
            let variables = file.variables();
            variables.iter().try_for_each(|v| v.get_values::<f64>(..).map(drop)).map(|()| variables.len())
        });
        assert!(read.is_err(), "archive {number}: {read:?}");
    }
}

#[test]
fn archives_behind_other_bytes_are_found_by_their_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zip");
    let whole = archive(b"", zip::CompressionMethod::Stored);
    for before in [&b"#!/bin/sh\nexit\n"[..], &[0; 100_000]] {
        // Offsets in the archive count from its own start or from the start of the file.
        for bytes in [[before, &whole].concat(), archive(before, zip::CompressionMethod::Deflated)] {
            fs::write(&path, &bytes).unwrap();
            let file = nczarr::open(path.to_str().unwrap()).unwrap();
            assert_eq!((values(&file), file.info().map.as_deref()), (vec![1, 2, 3, 9], Some("zip")));
            assert_eq!(values(&nczarr::open_bytes(bytes.clone()).unwrap()), [1, 2, 3, 9]);
            for cut in [1, 22, 30] {
                fs::write(&path, &bytes[..bytes.len() - cut]).unwrap();
                assert_eq!(nczarr::open(path.to_str().unwrap()).unwrap_err().kind(), ErrorKind::NotNc);
            }
        }
    }
}
