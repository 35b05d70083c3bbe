//! What lies elsewhere than in its own object: messages in the table of shared ones, data in other files, virtual datasets.
//! Files by h5py, in `tests/corpus/hdf5`; `make.py` there makes them.

use std::fs;
use std::path::PathBuf;

use cdl::Options;
use nczarr::{ErrorKind, File};
use nczarr_tests::dump::dump;

use crate::netcdf_c::same;

fn here(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus/hdf5")).join(name)
}

fn numbers(file: &File, name: &str) -> nczarr::Result<Vec<i32>> {
    Ok(file.variable(name)?.get::<i32, _>(..)?.to_vec())
}

#[test]
fn shared_messages_are_read() {
    let path = here("shared.h5");
    let expected = fs::read_to_string(here("shared.cdl")).unwrap();
    let options = Options { name: "shared".to_owned(), ..Options::default() };
    for file in [nczarr::open(path.to_str().unwrap()).unwrap(), nczarr::open_bytes(fs::read(&path).unwrap()).unwrap()] {
        same(&dump(&file, &options).unwrap(), &expected).unwrap();
        // Filters and fill values are shared as well.
        let gap = file.variable("gap").unwrap();
        assert_eq!(gap.filters().iter().map(|filter| filter.name.as_str()).collect::<Vec<_>>(), ["shuffle", "deflate"]);
        assert_eq!(numbers(&file, "gap").unwrap()[..12], [3, 3, 3, 3, 3, 3, 7, 7, 7, 7, 7, 7]);
    }
}

/// A flip in what several objects share changes none of them without being told: all of it has check sums.
#[test]
fn damage_of_shared_messages_is_told() {
    let bytes = fs::read(here("shared.h5")).unwrap();
    let at = bytes.windows(14).position(|part| part == b"metres per sec").unwrap();
    let mut damaged = bytes.clone();
    damaged[at] ^= 1;
    let error = nczarr::open_bytes(damaged).unwrap_err();
    assert!(error.kind() == ErrorKind::HdfErr && error.to_string().contains("checksum"), "{error}");
    let table = bytes.windows(4).position(|part| part == b"SMTB").unwrap();
    for change in [4, 6, 20, 30] {
        let mut damaged = bytes.clone();
        damaged[table + change] ^= 3;
        assert_eq!(nczarr::open_bytes(damaged).unwrap_err().kind(), ErrorKind::HdfErr);
    }
}

#[test]
fn data_in_files_beside_it_are_read() {
    let file = nczarr::open(here("external.h5").to_str().unwrap()).unwrap();
    assert_eq!(numbers(&file, "two").unwrap(), (0..12).collect::<Vec<_>>());
    assert_eq!(file.variable("two").unwrap().get::<i32, _>((1.., 1..3)).unwrap().to_vec(), [5, 6, 9, 10]);
    assert_eq!(numbers(&file, "here").unwrap(), [0, 1, 2]);
    let vars = vec![file.variable("record").unwrap().id()];
    let text = dump(&file, &Options { name: "x".to_owned(), vars, ..Options::default() });
    assert!(text.unwrap().contains("record = {5, 6}, {7, 8} ;"));
    for (name, kind, what) in [
        ("short", ErrorKind::Trunc, "has 28 bytes, 400 from 0 on are needed"),
        ("absent", ErrorKind::Io, "nowhere.raw"),
        ("above", ErrorKind::Storage, "\"../external.raw\""),
        ("root", ErrorKind::Storage, "\"/etc/hostname\""),
        ("virtual", ErrorKind::Storage, "virtual one, of which `h5repack -l CONTI`"),
    ] {
        let error = numbers(&file, name).unwrap_err();
        let text = error.to_string();
        assert!(
            (error.kind() == kind || kind == ErrorKind::Io) && text.contains(what) && text.contains(name),
            "{error}"
        );
    }
    // Where there is no folder.
    let file = nczarr::open_bytes(fs::read(here("external.h5")).unwrap()).unwrap();
    let error = numbers(&file, "two").unwrap_err();
    assert!(error.kind() == ErrorKind::Storage && error.to_string().contains("external2.raw"), "{error}");
    assert_eq!(numbers(&file, "here").unwrap(), [0, 1, 2]);
}

/// A link in the folder may lead anywhere.
#[cfg(unix)]
#[test]
fn links_beside_it_are_not_followed() {
    let place = tempfile::tempdir().unwrap();
    for name in ["external.h5", "external.raw"] {
        fs::copy(here(name), place.path().join(name)).unwrap();
    }
    let outside = tempfile::tempdir().unwrap();
    fs::copy(here("external2.raw"), outside.path().join("x")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("x"), place.path().join("external2.raw")).unwrap();
    let file = nczarr::open(place.path().join("external.h5").to_str().unwrap()).unwrap();
    assert_eq!(numbers(&file, "two").unwrap_err().kind(), ErrorKind::Storage);
}

/// Its data would stay behind.
#[test]
fn a_file_with_data_elsewhere_is_not_written_to() {
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("external.h5");
    fs::copy(here("external.h5"), &copy).unwrap();
    let error = nczarr::append(copy.to_str().unwrap()).and_then(File::close).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Perm, "{error}");
}
