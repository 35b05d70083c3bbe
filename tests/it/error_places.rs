//! The path, variable and key of errors: programs find the place of a fault without reading messages.

use nczarr::{CreateOptions, Error, ErrorKind, Kind, Result, Variable};

/// Creates a variable `/g/v` with two compressed chunks.
fn create(path: &std::path::Path, kind: Kind) -> Result<()> {
    let file = CreateOptions::new().kind(kind).create(path)?;
    file.add_dimension("x", 8)?;
    let v = file.add_group("g")?.add_variable::<f64>("v", &["x"])?;
    v.set_chunking(&[4])?;
    v.set_deflate(5, false)?;
    v.put(&[1.5f64, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5], ..)?;
    file.close()
}

/// The places of an error.
fn places(error: &Error) -> (Option<&str>, Option<&str>, Option<&str>) {
    (error.path(), error.variable(), error.key())
}

fn variable(path: &std::path::Path) -> Result<Variable> {
    nczarr::open(path)?.variable("g/v")
}

#[test]
fn a_damaged_chunk_is_found_by_its_key() {
    let folder = tempfile::tempdir().unwrap();
    for (kind, chunk) in [(Kind::NcZarrV2, "g/v/1"), (Kind::ZarrV2, "g/v/1"), (Kind::ZarrV3, "g/v/c/1")] {
        let path = folder.path().join(format!("{kind:?}"));
        create(&path, kind).unwrap();
        std::fs::write(path.join(chunk), b"no deflate stream").unwrap();
        let v = variable(&path).unwrap();
        for error in [v.get::<f64>(..).unwrap_err(), v.get_value::<f64>(5).unwrap_err()] {
            assert_eq!(places(&error), (path.to_str(), Some("/g/v"), Some(chunk)), "{kind:?}: {error:#}");
            assert_eq!(error.kind(), ErrorKind::Filter, "{kind:?}: {error:#}");
        }
        assert_eq!(v.get_value::<f64>(1).unwrap(), 2.5, "the other chunk is intact");
    }
}

#[test]
fn a_damaged_document_is_found_by_its_key() {
    let folder = tempfile::tempdir().unwrap();
    for (kind, root, array) in [
        (Kind::ZarrV2, ".zgroup", "g/v/.zarray"),
        (Kind::ZarrV3, "zarr.json", "g/v/zarr.json"),
        (Kind::NcZarrV3, "zarr.json", "g/v/zarr.json"),
    ] {
        let path = folder.path().join(format!("{kind:?}"));
        create(&path, kind).unwrap();
        let consolidated = path.join(".zmetadata");
        if consolidated.exists() {
            std::fs::remove_file(consolidated).unwrap();
        }
        std::fs::write(path.join(array), b"{\"zarr_format\": 1}").unwrap();
        let error = variable(&path).and_then(|v| v.get::<f64>(..)).unwrap_err();
        assert_eq!(error.path(), path.to_str(), "{kind:?}: {error:#}");
        assert_eq!(error.key(), Some(array), "{kind:?}: {error:#}");
        std::fs::write(path.join(root), b"{").unwrap();
        let error = nczarr::open(&path).unwrap_err();
        assert_eq!(places(&error), (path.to_str(), None, Some(root)), "{kind:?}: {error:#}");
    }
}

#[test]
fn wrong_calls_name_dataset_and_variable() {
    let folder = tempfile::tempdir().unwrap();
    for kind in [Kind::ZarrV3, Kind::NcZarrV2, Kind::NetCdf4] {
        let path = folder.path().join(format!("{kind:?}.nc"));
        create(&path, kind).unwrap();
        let file = nczarr::open(&path).unwrap();
        let v = file.variable("g/v").unwrap();
        let here = path.to_str();
        for error in [
            v.get::<f64>(9).unwrap_err(),
            v.get_chars(..).unwrap_err(),
            v.put(&[1.0], 0).unwrap_err(),
            v.get_into(&mut [0f64; 3], ..).unwrap_err(),
            v.get_raw(&mut [0; 3], ..).unwrap_err(),
            v.get_lists::<i32>(..).unwrap_err(),
            v.put_attribute("a", 1).unwrap_err(),
            v.set_deflate(3, false).unwrap_err(),
        ] {
            assert_eq!(places(&error), (here, Some("/g/v"), None), "{kind:?}: {error:#}");
        }
        for error in [
            file.variable("g/w").unwrap_err(),
            file.group("h").unwrap_err(),
            file.dimension("y").unwrap_err(),
            file.add_dimension("z", 3).map(drop).unwrap_err(),
            file.put_attribute("a", 1).unwrap_err(),
        ] {
            assert_eq!(places(&error), (here, None, None), "{kind:?}: {error:#}");
        }
    }
    let absent = folder.path().join("absent");
    assert_eq!(places(&nczarr::open(&absent).unwrap_err()), (absent.to_str(), None, None));
}

#[test]
fn a_closed_dataset_is_named() {
    let file = nczarr::create("memory://error-places-closed").unwrap();
    file.add_dimension("x", 3).unwrap();
    let v = file.add_variable::<i32>("v", &["x"]).unwrap();
    let other = file.clone();
    file.close().unwrap();
    assert_eq!(other.sync().unwrap_err().path(), Some("memory://error-places-closed"));
    assert_eq!(v.put(&[1, 2, 3], ..).unwrap_err().path(), Some("memory://error-places-closed"));
}
