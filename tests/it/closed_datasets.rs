//! A closed dataset keeps no files open and no locks, even while handles to it live on.

use std::path::Path;

use nczarr::{OpenOptions, Result};

/// The files below a folder that this process has open.
#[cfg(target_os = "linux")]
fn opened(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir("/proc/self/fd").unwrap();
    let mut found: Vec<_> = entries.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok()).collect();
    found.retain(|path| path.starts_with(folder) && path != folder);
    found
}

fn fill(url: &str) -> Result<()> {
    let file = nczarr::create(url)?;
    file.add_unlimited_dimension("t")?;
    let v = file.add_variable::<i32>("v", &["t"])?;
    v.put(&[1, 2, 3], 0..3)?;
    file.close()
}

#[test]
fn a_map_that_is_closed_holds_no_files_and_no_locks() {
    for (name, mode) in [("x.zarr", "nczarr"), ("y.zarr", "nczarr,v3"), ("z.zip", "nczarr,zip")] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let url = format!("file://{}#mode={mode}", path.display());
        fill(&url).unwrap();
        let map = OpenOptions::new().writable(true).open_map(&url).unwrap();
        let file = OpenOptions::new().writable(true).map(map.clone()).open(&url).unwrap();
        let v = file.variable("v").unwrap();
        v.put(&[4, 5], 3..5).unwrap();
        assert_eq!(v.get_value::<i32>(0).unwrap(), 1);
        file.close().unwrap();
        #[cfg(target_os = "linux")]
        if path.is_dir() {
            assert_eq!(opened(&path), Vec::<std::path::PathBuf>::new(), "{name}");
        }
        // Another writer can write and delete the dataset while the map and the variable still exist.
        let other = nczarr::append(&url).unwrap();
        other.variable("v").unwrap().put(&[6], 5..6).unwrap();
        other.close().unwrap();
        let values = nczarr::open(&url).unwrap().variable("v").unwrap().get_values::<i32>(..).unwrap();
        assert_eq!(values, [1, 2, 3, 4, 5, 6], "{name}");
        nczarr::delete(&url).unwrap();
        assert!(!path.exists(), "{name}");
        drop((map, v));
    }
}

/// A map that was closed with one dataset can serve the next dataset.
#[test]
fn a_map_that_was_closed_is_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file://{}#mode=nczarr", folder.path().join("x.zarr").display());
    fill(&url).unwrap();
    let map = OpenOptions::new().writable(true).open_map(&url).unwrap();
    for round in 0..3u64 {
        let file = OpenOptions::new().writable(true).map(map.clone()).open(&url).unwrap();
        file.variable("v").unwrap().put(&[round as i32], round..round + 1).unwrap();
        file.close().unwrap();
        map.close().unwrap();
    }
    let values = nczarr::open(&url).unwrap().variable("v").unwrap().get_values::<i32>(..).unwrap();
    assert_eq!(values, [0, 1, 2]);
}

#[test]
fn a_file_that_is_closed_is_unlocked_while_its_variables_live() {
    let folder = tempfile::tempdir().unwrap();
    for (name, mode) in [("x.nc", "cdf5"), ("y.nc", "nc4")] {
        let path = folder.path().join(name);
        let url = format!("file://{}#mode={mode}", path.display());
        fill(&url).unwrap();
        let file = nczarr::append(&url).unwrap();
        let (v, handle) = (file.variable("v").unwrap(), file.clone());
        file.close().unwrap();
        nczarr::append(&url).unwrap().close().unwrap();
        nczarr::delete(&url).unwrap();
        drop((v, handle));
    }
}
