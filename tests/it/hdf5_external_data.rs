//! HDF5 content outside its object: shared messages, and data in other files. `make.py` in
//! `tests/corpus/hdf5` makes the files with h5py.

use std::fs;
use std::path::PathBuf;

use nczarr::{ErrorKind, File};
use nczarr_cdl::Options;
use nczarr_tests::dump::dump;

use crate::netcdf_c::same;

fn here(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus/hdf5")).join(name)
}

fn numbers(file: &File, name: &str) -> nczarr::Result<Vec<i32>> {
    Ok(file.variable(name)?.get::<i32>(..)?.to_vec())
}

#[test]
fn shared_messages_are_read() {
    let path = here("shared.h5");
    let expected = fs::read_to_string(here("shared.cdl")).unwrap();
    let options = Options { name: "shared".to_owned(), ..Options::default() };
    for file in
        [nczarr::open(path.to_str().unwrap()).unwrap(), nczarr::open_bytes(fs::read(&path).unwrap()).unwrap()]
    {
        same(&dump(&file, &options).unwrap(), &expected).unwrap();
        // Filters and fill values are shared too.
        let gap = file.variable("gap").unwrap();
        assert_eq!(
            gap.filters().iter().map(|filter| filter.name.as_str()).collect::<Vec<_>>(),
            ["shuffle", "deflate"]
        );
        assert_eq!(numbers(&file, "gap").unwrap()[..12], [3, 3, 3, 3, 3, 3, 7, 7, 7, 7, 7, 7]);
    }
}

/// Damage to shared content is always reported, because all of it has checksums.
#[test]
fn damaged_shared_messages_are_reported() {
    let bytes = fs::read(here("shared.h5")).unwrap();
    let at = bytes.windows(14).position(|part| part == b"metres per sec").unwrap();
    let mut damaged = bytes.clone();
    damaged[at] ^= 1;
    let reports = |bytes: Vec<u8>| -> Vec<String> {
        match nczarr::open_bytes(bytes) {
            Err(error) => vec![format!("{error:#}")],
            Ok(file) => {
                let faults = file.faults().unwrap().into_iter().map(|fault| fault.to_string());
                let model = file.model();
                let problems = model
                    .vars()
                    .filter_map(|(_, var)| var.problem.as_ref().map(|error| format!("{error:#}")));
                faults.chain(problems).collect()
            }
        }
    };
    let found = reports(damaged);
    assert!(found.iter().any(|text| text.contains("checksum")), "{found:?}");
    let table = bytes.windows(4).position(|part| part == b"SMTB").unwrap();
    for change in [4, 6, 20, 30] {
        let mut damaged = bytes.clone();
        damaged[table + change] ^= 3;
        assert!(!reports(damaged).is_empty(), "{change}");
    }
}

#[test]
fn data_in_files_beside_it_are_read() {
    let file = nczarr::open(here("external.h5").to_str().unwrap()).unwrap();
    assert_eq!(numbers(&file, "two").unwrap(), (0..12).collect::<Vec<_>>());
    assert_eq!(file.variable("two").unwrap().get::<i32>((1.., 1..3)).unwrap().to_vec(), [5, 6, 9, 10]);
    assert_eq!(numbers(&file, "here").unwrap(), [0, 1, 2]);
    assert_eq!(numbers(&file, "virtual").unwrap(), [-1, -1, -1, 0, 1, 2]);
    let vars = vec![file.variable("record").unwrap().id()];
    let text = dump(&file, &Options { name: "x".to_owned(), vars, ..Options::default() });
    assert!(text.unwrap().contains("record = {5, 6}, {7, 8} ;"));
    for (name, kind, what) in [
        ("short", ErrorKind::Trunc, "too short (expected 400 bytes from offset 0 on, found 28 in all)"),
        ("absent", ErrorKind::NotFound, "nowhere.raw"),
        ("above", ErrorKind::Storage, "\"../external.raw\""),
        ("root", ErrorKind::Storage, "\"/etc/hostname\""),
    ] {
        let error = numbers(&file, name).unwrap_err();
        let text = error.to_string();
        assert!(
            error.kind() == kind && text.contains(what) && text.contains(name),
            "{:?}: {error}",
            error.kind()
        );
    }
    // A file in memory has no folder.
    let file = nczarr::open_bytes(fs::read(here("external.h5")).unwrap()).unwrap();
    let error = numbers(&file, "two").unwrap_err();
    assert!(error.kind() == ErrorKind::Storage && error.to_string().contains("external.raw"), "{error}");
    assert_eq!(numbers(&file, "here").unwrap(), [0, 1, 2]);
}

/// A link in the folder can lead to any file.
#[cfg(unix)]
#[test]
fn links_beside_it_are_not_followed() {
    let place = tempfile::tempdir().unwrap();
    for name in ["external.h5", "external.raw"] {
        fs::copy(here(name), place.path().join(name)).unwrap();
    }
    let outside = tempfile::tempdir().unwrap();
    fs::copy(here("external2.raw"), outside.path().join("x")).unwrap();
    let raw = place.path().join("external2.raw");
    std::os::unix::fs::symlink(outside.path().join("x"), &raw).unwrap();
    let file = nczarr::open(place.path().join("external.h5").to_str().unwrap()).unwrap();
    assert_eq!(numbers(&file, "two").unwrap_err().kind(), ErrorKind::Storage);
    fs::remove_file(&raw).unwrap();
    fs::create_dir(&raw).unwrap();
    assert_eq!(numbers(&file, "two").unwrap_err().kind(), ErrorKind::Storage);
    fs::remove_dir(&raw).unwrap();
    fs::copy(here("external2.raw"), &raw).unwrap();
    assert_eq!(numbers(&file, "two").unwrap(), (0..12).collect::<Vec<_>>());
}

/// Reads many ranges from many files, but keeps few files open.
#[test]
fn many_stretches_take_few_open_files() {
    let place = tempfile::tempdir().unwrap();
    fs::copy(here("stretches.h5"), place.path().join("stretches.h5")).unwrap();
    let bytes = |numbers: std::ops::Range<u16>| numbers.flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    fs::write(place.path().join("one.raw"), bytes(0..150)).unwrap();
    for k in 0..100 {
        fs::write(place.path().join(format!("many{k}.raw")), bytes(k + 7..k + 8)).unwrap();
    }
    let file = nczarr::open(place.path().join("stretches.h5").to_str().unwrap()).unwrap();
    assert_eq!(numbers(&file, "one").unwrap(), (0..150).rev().collect::<Vec<_>>());
    #[cfg(target_os = "linux")]
    assert_eq!(open_files(place.path(), "one"), 1);
    for _ in 0..2 {
        assert_eq!(numbers(&file, "many").unwrap(), (7..107).collect::<Vec<_>>());
        #[cfg(target_os = "linux")]
        assert!((1..=64).contains(&open_files(place.path(), "")), "{}", open_files(place.path(), ""));
    }
    let held = nczarr::open_bytes(fs::read(here("stretches.h5")).unwrap()).unwrap();
    let text = numbers(&held, "many").unwrap_err().to_string();
    assert!(
        text.contains("100 ranges") && text.contains("many0.raw") && !text.contains("many1.raw"),
        "{text}"
    );
}

/// Counts the raw files of a folder that this process has open.
#[cfg(target_os = "linux")]
fn open_files(folder: &std::path::Path, start: &str) -> usize {
    let open =
        fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
    let is_raw = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        path.parent() == Some(folder) && name.starts_with(start) && name.ends_with(".raw")
    };
    open.filter(is_raw).count()
}

/// The folder is fixed when the file is opened. A child process runs this test, because it changes its
/// working directory.
#[test]
fn the_folder_is_that_of_the_opening() {
    const FOLDER: &str = "NCZ_TEST_EXTERNAL_FOLDER";
    if let Some(folder) = std::env::var_os(FOLDER) {
        std::env::set_current_dir(folder).unwrap();
        let file = nczarr::open("external.h5").unwrap();
        std::env::set_current_dir("elsewhere").unwrap();
        assert_eq!(numbers(&file, "two").unwrap(), (0..12).collect::<Vec<_>>());
        return;
    }
    let place = tempfile::tempdir().unwrap();
    for name in ["external.h5", "external.raw", "external2.raw"] {
        fs::copy(here(name), place.path().join(name)).unwrap();
    }
    fs::create_dir(place.path().join("elsewhere")).unwrap();
    for name in ["external.raw", "external2.raw"] {
        fs::write(place.path().join("elsewhere").join(name), [1; 100]).unwrap();
    }
    let name = concat!(module_path!(), "::the_folder_is_that_of_the_opening").split_once("::").unwrap().1;
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name])
        .env(FOLDER, place.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
}

/// A writer would lose the external data, so the file opens only for reading.
#[test]
fn a_file_with_data_elsewhere_is_not_written_to() {
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("external.h5");
    fs::copy(here("external.h5"), &copy).unwrap();
    let error = nczarr::append(copy.to_str().unwrap()).and_then(File::close).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Perm, "{error}");
}

/// A program that watches a dataset for changes must also watch these files, even missing ones.
#[test]
fn files_beside_it_are_named() {
    let file = nczarr::open(here("external.h5").to_str().unwrap()).unwrap();
    let names = ["external.raw", "external2.raw", "nowhere.raw", "source.h5"].map(here);
    assert_eq!(file.dataset().external_files(), names);
    assert_eq!(
        nczarr::open(here("shared.h5").to_str().unwrap()).unwrap().dataset().external_files(),
        [] as [PathBuf; 0]
    );
}
