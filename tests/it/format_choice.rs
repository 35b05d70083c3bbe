//! The format of a path through the facade: opening by content, creating by extension, and features that this
//! build lacks.

use std::fs;

use nczarr::{ErrorKind, OpenOptions, Place};

fn folder() -> (tempfile::TempDir, impl Fn(&str) -> String) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_owned();
    (folder, move |name: &str| root.join(name).display().to_string())
}

#[test]
fn errors_name_the_missing_feature() {
    let (_folder, at) = folder();
    for (name, bytes) in
        [("a.zip", &b"PK\x03\x04.."[..]), ("empty.zip", b"PK\x05\x06"), ("text", b"netcdf x {}")]
    {
        fs::write(at(name), bytes).unwrap();
    }
    fs::create_dir(at("dir")).unwrap();
    // Only `cdl` is tested, because the availability of the other maps depends on the build.
    let path = Place::path(at("text")).mode("cdl");
    for error in
        [nczarr::open(&path).unwrap_err(), OpenOptions::new().writable(true).open(&path).unwrap_err()]
    {
        assert_eq!(error.kind(), ErrorKind::NotBuilt, "{error}");
        assert!(error.to_string().contains("feature \"cdl\" of a later release"), "{error}");
    }
    let problem = nczarr::explain(&path).unwrap().problem.unwrap();
    assert_eq!(problem.kind(), ErrorKind::NotBuilt, "{problem}");
    let error = nczarr::create(at("x.cdl")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotBuilt, "{error}");
    assert!(error.to_string().contains("feature \"cdl\""), "{error}");
    let error = nczarr::create(Place::url(at("x.zarr#mode=zar"))).unwrap_err();
    assert!(
        error.kind() == ErrorKind::Inval
            && error.to_string().contains("unknown mode `zar`; did you mean `zarr`?"),
        "{error}"
    );
    // Files that begin like an archive but are not archives.
    for name in ["a.zip", "a.zip#mode=zarr", "empty.zip"] {
        let place = Place::url(at(name));
        assert_eq!(nczarr::open(&place).unwrap_err().kind(), ErrorKind::NotNc, "{name}");
        assert_eq!(nczarr::delete(place).unwrap_err().kind(), ErrorKind::NotNc, "{name}");
    }
    assert!(fs::exists(at("a.zip")).unwrap() && fs::exists(at("empty.zip")).unwrap());
}

#[test]
fn a_root_without_documents_opens_by_its_children_and_is_not_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("stores");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.to_str().unwrap();
    assert_eq!(nczarr::open(path).unwrap_err().kind(), ErrorKind::NotNc, "an empty folder");
    let lonely = folder.join("lonely.zarr");
    let file = nczarr::create(format!("file://{}#mode=zarr", lonely.display())).unwrap();
    file.add_dimension("x", 2).unwrap();
    file.add_variable::<i32>("v", &["x"]).unwrap().put(&[7, 8], ..).unwrap();
    file.close().unwrap();
    std::fs::write(folder.join("notes.txt"), "no dataset").unwrap();
    let file = nczarr::open(path).unwrap();
    assert_eq!(file.variable("/lonely.zarr/v").unwrap().get_values::<i32>(..).unwrap(), [7, 8]);
    drop(file);
    // `delete` checks only the root, and this root has no documents.
    assert_eq!(nczarr::delete(path).unwrap_err().kind(), ErrorKind::NotNc);
    assert_eq!(
        nczarr::CreateOptions::new().clobber(true).create(format!("{path}/")).unwrap_err().kind(),
        ErrorKind::Object
    );
    assert!(lonely.join("v/.zarray").exists());
}
