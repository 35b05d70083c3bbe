//! Tests of the map over archives: the conformance suite for maps, and features that only archives have.

mod archives;
mod batches;
mod hostile;
mod killed;
mod places;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nczarr_storage::{ByteRange, Key, MapOptions, ZMap, ZMapExt};
use nczarr_zmap_zip::ZipMap;
use tempfile::TempDir;

/// File names that identify a Zarr store.
const MARKERS: &[&str] = &[".zgroup", ".zarray"];

/// Makes new archives in one scratch directory.
struct Scratch {
    dir: TempDir,
    count: AtomicUsize,
}

impl Scratch {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), count: AtomicUsize::new(0) }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join(format!("{}.zip", self.count.fetch_add(1, Ordering::Relaxed)))
    }
}

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

fn open(path: &std::path::Path, writable: bool) -> nczarr_model::Result<ZipMap> {
    ZipMap::open(path, None, MARKERS, writable, &MapOptions::default())
}

/// Returns all objects of a map.
fn objects(map: &dyn ZMap) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for key in map.keys(&Key::root()).unwrap() {
        let mut bytes = Vec::new();
        assert!(map.read(&key, ByteRange::ALL, &mut bytes).unwrap(), "{key}");
        all.push((key.to_string(), bytes));
    }
    all
}

#[test]
fn the_map_passes_the_suite() {
    let scratch = Scratch::new();
    for folder in ["", "a/b"] {
        let make = || {
            Arc::new(ZipMap::create(&scratch.path(), folder, false, &MapOptions::default()).unwrap())
                as Arc<_>
        };
        nczarr_conformance::check_map(&|| make()).unwrap();
    }
}

#[test]
fn a_read_only_archive_is_a_map() {
    let bytes = nczarr_zmap_zip::archive(std::iter::empty::<(Key, &[u8])>()).unwrap();
    nczarr_conformance::check_map(&|| {
        Arc::new(ZipMap::from_bytes(bytes.clone(), MARKERS, &Default::default()).unwrap())
    })
    .unwrap();
}

#[test]
fn an_archive_in_memory_is_a_map() {
    let nothing = nczarr_zmap_zip::archive(std::iter::empty::<(Key, Vec<u8>)>()).unwrap();
    for writable in [true, false] {
        nczarr_conformance::check_map(&|| {
            let options = MapOptions::default();
            Arc::new(ZipMap::in_memory(nothing.clone(), None, &[], writable, &options).unwrap())
        })
        .unwrap();
    }
}
