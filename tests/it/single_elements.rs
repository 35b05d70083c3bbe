//! Reads single elements of an open variable without cached chunks. Each read returns the stored value at
//! that moment, and errors equal those of any other read.

use std::fs;
use std::path::{Path, PathBuf};

use nczarr::{ErrorKind, MissingChunks, OpenOptions, Variable};
use tempfile::TempDir;

const SHAPE: [u64; 2] = [5, 7];

/// A store with a variable of these chunks whose values are its positions. Also returns the folder of the
/// chunks.
fn numbered(format: &str, chunks: &[u64]) -> (TempDir, String, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zarr");
    let url = format!("file://{}#mode={format},file", path.display());
    let file = nczarr::create(&url).unwrap();
    file.add_dimension("y", SHAPE[0]).unwrap();
    file.add_dimension("x", SHAPE[1]).unwrap();
    let v = file.add_variable::<i32>("v", &["y", "x"]).unwrap();
    v.set_chunking(chunks).unwrap();
    v.set_fill(-7).unwrap();
    v.put(&(0..35).collect::<Vec<i32>>(), ..).unwrap();
    drop(v);
    file.close().unwrap();
    (folder, url, path.join("v"))
}

fn open(url: &str, missing: MissingChunks) -> Variable {
    OpenOptions::new().cache_bytes(0).missing_chunks(missing).open_data(url, "v").unwrap()
}

fn element(v: &Variable, y: u64, x: u64) -> i32 {
    let value = v.get_value::<i32>([y, x]).unwrap();
    // Other ways to read the same element.
    let mut into = [0];
    v.get_into(&mut into, [y, x]).unwrap();
    assert_eq!((into, v.get_value::<f64>([y, x]).unwrap()), ([value], f64::from(value)), "{y} {x}");
    value
}

/// Replaces an object as other programs do.
fn replace(chunk: &Path, bytes: &[u8]) {
    let new = chunk.with_extension("new");
    fs::write(&new, bytes).unwrap();
    fs::rename(&new, chunk).unwrap();
}

#[test]
fn single_reads_return_the_stored_element() {
    for format in ["zarr,v2", "nczarr,v2", "zarr,v3"] {
        for chunks in [[2, 4], [5, 7], [1, 1], [1, 7], [5, 1]] {
            let (_folder, url, _) = numbered(format, &chunks);
            let v = open(&url, MissingChunks::Error);
            for _ in 0..3 {
                for at in 0..35 {
                    assert_eq!(element(&v, at / 7, at % 7), at as i32, "{format} {chunks:?}");
                }
            }
            for outside in [[5, 0], [0, 7], [u64::MAX, 0]] {
                let error = v.get_value::<i32>(outside).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalCoords, "{error}");
            }
        }
    }
}

#[test]
fn single_reads_see_the_current_chunk() {
    let (_folder, url, chunks) = numbered("zarr,v2", &[2, 4]);
    let (v, strict) = (open(&url, MissingChunks::Fill), open(&url, MissingChunks::Error));
    let chunk = chunks.join("1.0");
    for round in 0..4 {
        let written = |place: i32| 100 * (round + 1) + place;
        let bytes: Vec<u8> = (0..8).flat_map(|place| written(place).to_le_bytes()).collect();
        replace(&chunk, &bytes);
        for (y, x, place) in [(2, 0, 0), (2, 1, 1), (3, 3, 7)] {
            assert_eq!(element(&v, y, x), written(place));
            assert_eq!(element(&strict, y, x), written(place));
        }
        // The chunk is overwritten in place.
        fs::write(&chunk, [&bytes[..28], &[9, 0, 0, 0]].concat()).unwrap();
        assert_eq!([element(&v, 3, 3), element(&strict, 3, 3)], [9, 9]);
        // The chunk ends before the element.
        replace(&chunk, &bytes[..26]);
        assert_eq!(element(&v, 3, 1), written(5), "all of it is there");
        for v in [&v, &strict] {
            let error = v.get_value::<i32>([3, 2]).unwrap_err().to_string();
            assert!(error.contains("v/1.0") && error.contains("range of the chunk"), "{error}");
        }
        fs::remove_file(&chunk).unwrap();
        assert_eq!(element(&v, 3, 3), -7);
        let error = strict.get_value::<i32>([3, 3]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoObject, "{error}");
        assert!(error.to_string().contains("v/1.0"), "{error}");
        // A folder replaces the chunk.
        fs::create_dir_all(chunk.join("deeper")).unwrap();
        fs::write(chunk.join("deeper/x"), b"x").unwrap();
        for v in [&v, &strict] {
            let error = v.get_value::<i32>([3, 3]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Empty, "{error}");
        }
        fs::remove_dir_all(&chunk).unwrap();
    }
    let root = chunks.parent().unwrap();
    fs::remove_dir_all(root).unwrap();
    let error = v.get_value::<i32>([3, 3]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "a deleted store is an error: {error}");
}

#[test]
fn a_chunk_of_the_wrong_size_is_an_error() {
    // Only one element of the last chunk is within the shape.
    let (_folder, url, chunks) = numbered("zarr,v2", &[2, 3]);
    let v = open(&url, MissingChunks::Fill);
    assert_eq!(element(&v, 4, 6), 34);
    fs::write(chunks.join("2.2"), 34_i32.to_le_bytes()).unwrap();
    let error = v.get_value::<i32>([4, 6]).unwrap_err().to_string();
    assert!(error.contains("v/2.2"), "{error}");
}

#[test]
fn an_element_that_was_written_is_read_where_chunks_may_move() {
    let (_folder, url, _) = numbered("nczarr,v2", &[2, 4]);
    let file = OpenOptions::new().cache_bytes(0).writable(true).open(&url).unwrap();
    let v = file.variable("v").unwrap();
    for round in 0..3 {
        v.put_value(round, [4, 4]).unwrap();
        assert_eq!((element(&v, 4, 4), element(&v, 4, 3)), (round, 31));
        v.rename(&format!("v{round}")).unwrap();
        assert_eq!((element(&v, 4, 4), element(&v, 4, 3)), (round, 31), "under another name");
        file.sync().unwrap();
        assert_eq!((element(&v, 4, 4), element(&v, 4, 3)), (round, 31), "and in another place");
    }
}
