//! Open, create, append, close.

use std::path::PathBuf;

use nczarr::{CreateOptions, ErrorKind, Kind, OpenOptions};

use crate::samples::{in_both, plane};

#[test]
fn a_path_opens_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let path: PathBuf = plane(&dir);
    let _file = nczarr::open(path).unwrap();
}

#[test]
fn a_string_opens_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let path: String = plane(&dir).to_str().unwrap().to_owned();
    let _file = nczarr::open(path).unwrap();
}

#[test]
fn a_missing_file_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let error = nczarr::open(dir.path().join("nowhere.nc")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn errors_are_printed_and_made() {
    use std::error::Error as _;

    let dir = tempfile::tempdir().unwrap();
    let error = nczarr::open(dir.path()).unwrap_err();
    assert!(!error.to_string().is_empty());
    let _ = error.source();
    let own: nczarr::Error = ErrorKind::Inval.context("a reason of my own");
    assert!(own.to_string().contains("a reason of my own"));
    let own: nczarr::Error = ErrorKind::Inval.context(String::from("another reason"));
    assert!(own.to_string().contains("another reason"));

    let file = nczarr::create(dir.path().join("errors.nc")).unwrap();
    file.add_variable::<i16>("depth", &["site"]).unwrap_err();
    file.add_dimension("site", 4).unwrap();
    file.add_variable::<i16>("depth", &["site"]).unwrap();
    file.add_variable::<i16>("depth", &["site"]).unwrap_err();
    file.add_dimension("site", 5).unwrap_err();
    file.add_unlimited_dimension("site").unwrap_err();
}

#[test]
fn a_new_file_knows_its_path() {
    in_both(|path| {
        let file = nczarr::create(path).unwrap();
        assert_eq!(file.place().as_path(), Some(path));
    });
}

#[cfg(unix)]
#[test]
fn a_path_need_not_be_utf8() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(OsStr::from_bytes(b"caf\xe9.nc"));
    let file = nczarr::create(&path).unwrap();
    assert_eq!(file.place().as_path(), Some(path.as_path()));
}

#[test]
fn definitions_follow_data() {
    in_both(|path| {
        let file = nczarr::create(path).unwrap();
        let first = file.add_variable::<i16>("first", &[]).unwrap();
        first.put_value(-3i16, ..).unwrap();
        let second = file.add_variable::<i16>("second", &[]).unwrap();
        second.put_value(5i16, ..).unwrap();
        assert_eq!(first.get_value::<i16>(()).unwrap() + second.get_value::<i16>(()).unwrap(), 2);
    });
}

#[test]
fn another_session_adds_a_variable() {
    in_both(|path| {
        {
            let file = nczarr::create(path).unwrap();
            file.add_dimension("site", 3).unwrap();
            let var = file.add_variable::<i32>("old", &["site"]).unwrap();
            var.put::<i32>(&[7, 8, 9], ..).unwrap();
        }
        {
            let file = nczarr::append(path).unwrap();
            let var = file.add_variable::<i32>("added", &["site"]).unwrap();
            var.put::<i32>(&[17, 18, 19], ..).unwrap();
        }
        let file = nczarr::open(path).unwrap();
        assert!(file.variables().iter().any(|var| var.name() == "old"));
        assert!(file.variables().iter().any(|var| var.name() == "added"));
        assert_eq!(file.variable("added").unwrap().get_values::<i32>(..).unwrap(), [17, 18, 19]);
    });
}

#[test]
fn a_file_is_read_from_memory() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = std::fs::read(plane(&dir)).unwrap();
    let file = nczarr::open_bytes(bytes).unwrap();
    assert_eq!(file.dimension("row").unwrap().len(), 4);
    assert_eq!(file.dimension("column").unwrap().len(), 7);
    let mut count = vec![0i32; 28];
    file.variable("count").expect("it was written").get_into(&mut count, ..).unwrap();
    assert!(count.iter().copied().eq(0..28));
}

#[test]
fn a_file_is_synchronised() {
    in_both(|path| {
        let file = nczarr::create(path).unwrap();
        file.add_unlimited_dimension("record").unwrap();
        file.sync().unwrap();
        drop(file);
        assert!(nczarr::open(path).unwrap().dimension("record").unwrap().is_unlimited());
    });
}

#[test]
fn a_file_is_closed() {
    in_both(|path| {
        let file = nczarr::create(path).unwrap();
        file.add_unlimited_dimension("record").unwrap();
        file.close().unwrap();
        let file = nczarr::open(path).unwrap();
        file.close().unwrap();
    });
}

#[test]
fn the_classic_model_has_no_groups() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model.nc");
    let file = CreateOptions::new().kind(Kind::Cdf1).create(path).unwrap();
    file.add_group("inner").unwrap_err();
}

#[test]
fn other_classic_kinds_have_no_groups() {
    let dir = tempfile::tempdir().unwrap();
    for kind in [Kind::Cdf5, Kind::Cdf2] {
        let file = CreateOptions::new().kind(kind).create(dir.path().join(format!("{kind:?}.nc"))).unwrap();
        file.add_group("inner").unwrap_err();
    }
}

#[test]
fn an_existing_file_is_not_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("once.nc");
    {
        let file = CreateOptions::new().kind(Kind::Cdf5).create(&path).unwrap();
        file.add_dimension("record", 1).unwrap();
    }
    CreateOptions::new().create(&path).unwrap_err();
    assert_eq!(nczarr::open(path).unwrap().dimension("record").unwrap().len(), 1);
}

#[test]
fn a_file_is_appended_to_in_memory() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("memory.nc");
    {
        let file = CreateOptions::new().kind(Kind::NetCdf4).create(&path).unwrap();
        file.add_dimension("record", 1).unwrap();
    }
    let file = OpenOptions::new().writable(true).open_in_memory(&path, false).unwrap();
    assert_eq!(file.dimension("record").unwrap().len(), 1);
}
