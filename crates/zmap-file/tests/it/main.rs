//! The map over directories: the suite every map goes through, and what only a directory can do.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dispatch::{Durability, Options, ZMap};
use tempfile::TempDir;
use zmap_file::FileMap;

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

    fn map(&self, options: &Options) -> FileMap {
        FileMap::create(self.path(), None, options).unwrap()
    }
}

#[test]
fn it_is_a_map() {
    let scratch = Scratch::new();
    conformance::check_map(&|| Arc::new(scratch.map(&Options::default()))).unwrap();
}

#[test]
fn synced_it_is_a_map() {
    let scratch = Scratch::new();
    let mut options = Options::default();
    options.durability = Durability::Fsync;
    options.exclusive = true;
    conformance::check_map(&|| Arc::new(scratch.map(&options))).unwrap();
}

#[test]
fn read_only_it_is_a_map_that_refuses() {
    let scratch = Scratch::new();
    let options = Options::default();
    conformance::check_map(&|| -> Arc<dyn ZMap> {
        let path = scratch.path();
        drop(FileMap::create(&path, None, &options).unwrap());
        Arc::new(FileMap::open(&path, false, &options).unwrap())
    })
    .unwrap();
}
