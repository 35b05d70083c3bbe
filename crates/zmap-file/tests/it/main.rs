//! Tests of the map over directories: the conformance suite for maps, and features that only directories
//! have.
#![cfg(target_os = "linux")]

mod directory_changes;
mod partial_reads;
mod processes;
mod random_operations;
mod special_files;
mod streamed_reads;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nczarr_storage::{Durability, Key, MapOptions, ZMap, ZMapExt};
use nczarr_zmap_file::FileMap;
use tempfile::TempDir;

/// Makes new datasets in one scratch directory.
struct Scratch {
    dir: TempDir,
    count: AtomicUsize,
}

impl Scratch {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), count: AtomicUsize::new(0) }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join(self.count.fetch_add(1, Ordering::Relaxed).to_string())
    }

    fn map(&self, options: &MapOptions) -> FileMap {
        FileMap::create(self.path(), None, options).unwrap()
    }
}

#[test]
fn the_map_passes_the_suite() {
    let scratch = Scratch::new();
    nczarr_conformance::check_map(&|| Arc::new(scratch.map(&MapOptions::default()))).unwrap();
}

#[test]
fn with_syncing_the_same_is_stored() {
    let scratch = Scratch::new();
    let mut options = MapOptions::default();
    options.durability = Durability::Fsync;
    options.exclusive = true;
    let map = scratch.map(&options);
    let key = |text| Key::new(text).unwrap();
    for (text, value) in [("a/b/c", "1"), ("a/b/c", "2"), ("d", "3"), ("e/f", "4")] {
        map.write(&key(text), value.as_bytes()).unwrap();
    }
    map.rename(&key("a/b"), &key("g/h/i")).unwrap();
    assert!(map.delete(&key("e/f")).unwrap());
    // Some of the directories to sync no longer exist.
    map.sync().unwrap();
    map.close().unwrap();
    assert_eq!(map.keys(&Key::root()).unwrap(), [key("d"), key("g/h/i/c")]);
    assert!(!map.path().join(".nczarr-lock").exists(), "an exclusive user needs no lock");
    assert!(map.caps().conditional_write);
}

#[test]
fn a_read_only_map_refuses_writes() {
    let scratch = Scratch::new();
    let options = MapOptions::default();
    nczarr_conformance::check_map(&|| -> Arc<dyn ZMap> {
        let path = scratch.path();
        drop(FileMap::create(&path, None, &options).unwrap());
        Arc::new(FileMap::open(&path, false, &options).unwrap())
    })
    .unwrap();
}
