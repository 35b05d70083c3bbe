//! Copies of chunks as stored bytes: where source and target store them in the same form.

use std::fs;
use std::path::{Path, PathBuf};

use super::{failure, out, run, text};

/// Encodes bytes as a zlib stream without compression. No encoder of the library makes such a stream.
fn zlib(bytes: &[u8]) -> Vec<u8> {
    let len = u16::try_from(bytes.len()).unwrap();
    let (mut low, mut high) = (1u32, 0u32);
    for &byte in bytes {
        low = (low + u32::from(byte)) % 65521;
        high = (high + low) % 65521;
    }
    let mut stream = vec![0x78, 0x01, 1];
    stream.extend(len.to_le_bytes());
    stream.extend((!len).to_le_bytes());
    stream.extend(bytes);
    stream.extend((high << 16 | low).to_be_bytes());
    stream
}

/// The same as a gzip stream.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let stream = zlib(bytes);
    let mut gzip = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    gzip.extend(&stream[2..stream.len() - 4]);
    gzip.extend(super::copy::crc32(bytes).to_le_bytes());
    gzip.extend((bytes.len() as u32).to_le_bytes());
    gzip
}

/// A store of Zarr V2 with one array of 5 × 4 numbers in chunks of 2 × 2. The chunk 1.1 is absent.
fn store(folder: &Path, compressor: &str) -> PathBuf {
    let store = folder.join("source.zarr");
    fs::create_dir_all(store.join("v")).unwrap();
    fs::write(store.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    let array = r#"{"zarr_format": 2, "shape": [5, 4], "chunks": [2, 2], "dtype": "<i4", "fill_value": -1,
        "order": "C", "filters": null, "compressor": COMPRESSOR}"#;
    fs::write(store.join("v/.zarray"), array.replace("COMPRESSOR", compressor)).unwrap();
    let attributes = r#"{"_ARRAY_DIMENSIONS": ["y", "x"], "_FillValue": -1}"#;
    fs::write(store.join("v/.zattrs"), attributes).unwrap();
    for chunk in ["0.0", "0.1", "1.0", "2.0", "2.1"] {
        fs::write(store.join("v").join(chunk), stored(chunk, compressor)).unwrap();
    }
    store
}

const ZLIB: &str = r#"{"id": "zlib", "level": 1}"#;

fn stored(chunk: &str, compressor: &str) -> Vec<u8> {
    let first = i32::from(chunk.as_bytes()[0] - b'0') * 100 + i32::from(chunk.as_bytes()[2] - b'0') * 10;
    let bytes: Vec<u8> = (first..first + 4).flat_map(i32::to_le_bytes).collect();
    if compressor == "null" { bytes } else { zlib(&bytes) }
}

/// The values of a dataset as text.
fn values(path: &Path) -> String {
    let text = out(&["dump", "-n", "x", text(path)]);
    text.split("data:").nth(1).unwrap().to_owned()
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Copies the store; returns the path of the copy.
fn copied(source: &Path, name: &str, args: &[&str]) -> PathBuf {
    let target = source.with_file_name(name);
    let url = match name.rsplit_once('-') {
        Some((_, mode)) if !name.ends_with(".nc") => format!("file://{}#mode={mode}", target.display()),
        _ => text(&target).to_owned(),
    };
    let output = run([&["copy", text(source), &url], args].concat());
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(values(&target), values(source), "{name}");
    target
}

#[test]
fn chunks_of_the_same_form_keep_their_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let source = store(folder.path(), ZLIB);
    for (name, chunk, absent) in
        [("a-zarr", "v/2.0", "v/1.1"), ("b-nczarr", "v/2.0", "v/1.1"), ("c.zip", "", "-"), ("d.nc", "", "-")]
    {
        for args in [&[][..], &["--no-verify"]] {
            let target = copied(&source, name, &[args, &["--clobber"]].concat());
            let expected = stored("2.0", ZLIB);
            let found = fs::read(target.join(chunk)).or_else(|_| fs::read(&target)).unwrap();
            assert!(contains(&found, &expected), "{name}");
            assert!(!target.join(absent).exists(), "{name}");
        }
    }
    // Another form: the elements are encoded again.
    for (name, args) in [
        ("e-zarr", &["-d", "1", "-s"][..]),
        ("f-zarr", &["-d", "0"]),
        ("g-zarr", &["-c", "y/3"]),
        ("h-zarr", &["-F", "zstd,1"]),
    ] {
        let target = copied(&source, name, args);
        assert_ne!(fs::read(target.join("v/0.0")).unwrap(), stored("0.0", ZLIB), "{name}");
    }
}

#[test]
fn an_absent_chunk_is_an_error_if_that_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let source = store(folder.path(), ZLIB);
    let url = format!("file://{}#mode=zarr&missing_chunks=error", source.display());
    let (code, message) = failure(&["copy", &url, text(&folder.path().join("target.zarr"))]);
    assert!(code == 1 && message.contains("NC_ENOOBJECT") && message.contains("v/1.1"), "{message}");
}

#[test]
fn chunks_in_shards_keep_their_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let source = copied(&store(folder.path(), ZLIB), "source-zarr,v3", &["-F", "gzip,1"]);
    let own = gzip(&[7; 16]);
    for chunk in ["0/0", "2/1"] {
        assert_ne!(fs::read(source.join("v/c").join(chunk)).unwrap(), own);
        fs::write(source.join("v/c").join(chunk), &own).unwrap();
    }
    let sharded = copied(&source, "a-zarr,v3", &["--shards", "y/4,x/4"]);
    for shard in ["0/0", "1/0"] {
        assert!(contains(&fs::read(sharded.join("v/c").join(shard)).unwrap(), &own), "{shard}");
    }
    let plain = copied(&sharded, "b-zarr,v3", &["--shards", "none"]);
    assert_eq!(fs::read(plain.join("v/c/2/1")).unwrap(), own);
    assert!(!plain.join("v/c/1/1").exists());
}

#[test]
fn records_keep_their_number() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source.nc");
    let file = nczarr::create(text(&source)).unwrap();
    file.add_unlimited_dimension("t").unwrap();
    file.add_dimension("x", 3).unwrap();
    let v = file.add_variable::<i16>("v", &["t", "x"]).unwrap();
    v.set_chunking(&[4, 2]).unwrap();
    v.set_deflate(1, true).unwrap();
    v.put(&(0..21).collect::<Vec<i16>>(), (0..7, ..)).unwrap();
    let empty = file.add_variable::<i16>("w", &["t"]).unwrap();
    empty.set_chunking(&[2]).unwrap();
    file.close().unwrap();
    let store = copied(&source, "a-nczarr", &[]);
    let form = |path: &Path| {
        let variable = nczarr::open(text(path)).unwrap().variable("v").unwrap();
        variable.chunk_encoding().unwrap()
    };
    assert_eq!(form(&source), form(&store));
    let again = copied(&store, "b-nczarr,v3", &[]);
    copied(&again, "c.nc", &[]);
    copied(&again, "d-zarr", &["-u"]);
    let opened = nczarr::open(text(&again)).unwrap();
    assert_eq!(opened.variable("v").unwrap().shape().unwrap(), [7, 3]);
    assert!(opened.variable("w").unwrap().stored_chunks().unwrap().is_empty());
}

#[test]
fn a_damaged_chunk_is_found_by_verification() {
    let folder = tempfile::tempdir().unwrap();
    let source = store(folder.path(), ZLIB);
    fs::write(source.join("v/2.0"), b"no stream").unwrap();
    let target = folder.path().join("target.zarr");
    let (code, message) = failure(&["copy", text(&source), text(&target)]);
    assert!(code == 1 && message.starts_with(&format!("ncz: {}: NC_EFILTER: ", text(&source))), "{message}");
    assert!(message.contains("v/2.0") && !target.exists(), "{message}");
    let skipped = run(["copy", text(&source), text(&target), "--skip-unreadable"]);
    let message = String::from_utf8(skipped.stderr).unwrap();
    assert!(skipped.status.success() && message.contains("elements that cannot be read: /v"), "{message}");
    // Without verification the copy is as damaged as its source.
    let output = run(["copy", text(&source), text(&target), "--clobber", "--no-verify"]);
    assert!(output.status.success());
    assert_eq!(fs::read(target.join("v/2.0")).unwrap(), b"no stream");
    // The size of a chunk without a filter is checked in any case.
    let plain = store(folder.path(), "null");
    fs::write(plain.join("v/2.0"), b"too short").unwrap();
    let (code, message) = failure(&["copy", text(&plain), text(&target), "--clobber", "--no-verify"]);
    assert!(code == 1 && message.starts_with(&format!("ncz: {}: NC_ETRUNC: ", text(&plain))), "{message}");
    assert!(message.contains("v/2.0"), "{message}");
}
