//! Appending, growth, renames, replacing and deleting, through the facade.

use std::fs;

use nczarr::{CreateOptions, ErrorKind, Extent, NcType, OpenOptions};

fn scratch() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zarr").display().to_string();
    (folder, path)
}

#[test]
fn records_are_appended_session_by_session() {
    let (_folder, path) = scratch();
    let file = nczarr::create(&path).unwrap();
    file.add_unlimited_dimension("time").unwrap();
    file.add_dimension("x", 3).unwrap();
    let t = file.add_variable::<i32>("t", &["time", "x"]).unwrap();
    t.set_chunking(&[4, 2]).unwrap();
    let other = file.add_variable::<f32>("other", &["time"]).unwrap();
    file.close().unwrap();
    drop((t, other));
    for session in 0..5i32 {
        let file = nczarr::append(&path).unwrap();
        let t = file.variable("t").unwrap();
        let before = t.shape().unwrap()[0] as i32;
        assert_eq!(before, session * 3);
        for record in before..before + 3 {
            t.put(&[record, record + 100, record + 200], (record, ..)).unwrap();
        }
        file.close().unwrap();
    }
    let file = nczarr::open(&path).unwrap();
    assert!(file.dimension("time").unwrap().is_unlimited());
    let t = file.variable("t").unwrap();
    let expected: Vec<i32> = (0..15).flat_map(|record| [record, record + 100, record + 200]).collect();
    assert_eq!(t.shape().unwrap(), [15, 3]);
    assert_eq!(t.get_values::<i32>(..).unwrap(), expected);
    // The dimension grew, but this variable's new elements were never written.
    let other = file.variable("other").unwrap();
    assert_eq!(other.get_values::<f32>(..).unwrap(), [nczarr::model::fill::FLOAT; 15]);
}

#[test]
fn a_write_beyond_the_end_leaves_fill_values_between() {
    let (_folder, path) = scratch();
    let file = nczarr::create(&path).unwrap();
    file.add_unlimited_dimension("a").unwrap();
    file.add_unlimited_dimension("b").unwrap();
    let v = file.add_variable::<i16>("v", &["a", "b"]).unwrap();
    v.set_fill(-1i16).unwrap();
    v.set_chunking(&[2, 2]).unwrap();
    v.put(&[7i16], (Extent::count(2, 1), Extent::count(3, 1))).unwrap();
    v.put(&[1i16, 2], (0, 0..2)).unwrap();
    assert_eq!(v.shape().unwrap(), [3, 4]);
    file.close().unwrap();
    let v = nczarr::open(&path).unwrap().variable("v").unwrap();
    assert_eq!(v.get_values::<i16>(..).unwrap(), [1, 2, -1, -1, -1, -1, -1, -1, -1, -1, -1, 7]);
    assert_eq!(v.get_value::<i16>((3, 0)).unwrap_err().kind(), ErrorKind::InvalCoords);
}

#[test]
fn renames_keep_children() {
    let (folder, path) = scratch();
    let file = nczarr::create(&path).unwrap();
    file.put_attribute("old", "kept").unwrap();
    let group = file.add_group("g").unwrap();
    group.add_dimension("x", 4).unwrap();
    let inner = group.add_group("inner").unwrap();
    let v = inner.add_variable::<i32>("v", &["x"]).unwrap();
    v.put_attribute("units", "m").unwrap();
    v.put(&[1, 2, 3, 4], ..).unwrap();
    file.close().unwrap();

    let file = nczarr::append(&path).unwrap();
    file.rename_attribute("old", "new").unwrap();
    let group = file.group("g").unwrap();
    group.rename("größe").unwrap();
    group.dimension("x").unwrap().rename("y").unwrap();
    let v = file.variable("/größe/inner/v").unwrap();
    v.rename("w").unwrap();
    v.rename_attribute("units", "Einheit").unwrap();
    assert_eq!(v.full_name(), "/größe/inner/w");
    // The old handle still refers to the renamed variable.
    v.put(&[40], 3..4).unwrap();
    assert_eq!(file.variable("/g/inner/v").unwrap_err().kind(), ErrorKind::NoGrp);
    file.close().unwrap();

    let file = nczarr::open(&path).unwrap();
    assert_eq!(file.attribute("new").unwrap().text(), Some("kept"));
    assert!(file.attribute("old").is_none());
    let w = file.variable("/größe/inner/w").unwrap();
    assert_eq!(w.get_values::<i32>(..).unwrap(), [1, 2, 3, 40]);
    assert_eq!(w.attribute("Einheit").unwrap().text(), Some("m"));
    assert_eq!(w.dimensions()[0].name(), "y");
    assert_eq!(file.groups().len(), 1);
    assert!(!folder.path().join("x.zarr/g").exists());
}

#[test]
fn a_rename_to_a_name_that_is_taken_changes_nothing() {
    let (_folder, path) = scratch();
    let file = nczarr::create(&path).unwrap();
    file.add_dimension("x", 2).unwrap();
    file.add_dimension("y", 2).unwrap();
    for name in ["a", "b"] {
        file.add_variable::<i32>(name, &["x"]).unwrap().put(&[1, 2], ..).unwrap();
    }
    file.add_group("g").unwrap();
    file.put_attribute("p", 1).unwrap();
    file.put_attribute("q", 2).unwrap();
    file.sync().unwrap();
    let kind = |result: nczarr::Result<()>| result.unwrap_err().kind();
    assert_eq!(kind(file.variable("a").unwrap().rename("b")), ErrorKind::NameInUse);
    assert_eq!(kind(file.variable("a").unwrap().rename("g")), ErrorKind::NameInUse);
    assert_eq!(kind(file.variable("a").unwrap().rename("a/b")), ErrorKind::BadName);
    assert_eq!(kind(file.group("g").unwrap().rename("a")), ErrorKind::NameInUse);
    assert_eq!(kind(file.dimension("x").unwrap().rename("y")), ErrorKind::NameInUse);
    assert_eq!(kind(file.rename_attribute("p", "q")), ErrorKind::NameInUse);
    assert_eq!(kind(file.rename_attribute("nosuch", "r")), ErrorKind::NotAtt);
    assert_eq!(kind(file.root().rename("r")), ErrorKind::BadGrpId);
    file.close().unwrap();
    let file = nczarr::open(&path).unwrap();
    assert_eq!(file.variables().iter().map(nczarr::Variable::name).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(file.variable("a").unwrap().get_values::<i32>(..).unwrap(), [1, 2]);
    assert_eq!(kind(file.variable("a").unwrap().rename("c")), ErrorKind::Perm);
}

#[test]
fn only_an_explicit_create_replaces_a_dataset() {
    let (folder, path) = scratch();
    let file = nczarr::create(&path).unwrap();
    file.put_attribute("title", "first").unwrap();
    file.close().unwrap();
    let error = nczarr::create(&path).unwrap_err();
    assert!([ErrorKind::Object, ErrorKind::Exist].contains(&error.kind()), "{error}");
    assert_eq!(nczarr::append(&path).unwrap().attribute("title").unwrap().text(), Some("first"));
    CreateOptions::new().clobber(true).create(&path).unwrap().close().unwrap();
    assert!(nczarr::open(&path).unwrap().attribute("title").is_none());

    // The library never touches a path that is not a dataset.
    let other = folder.path().join("other.zarr");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("notes.txt"), "mine").unwrap();
    let other_path = other.display().to_string();
    assert!(nczarr::create(&other_path).is_err());
    assert!(CreateOptions::new().clobber(true).create(&other_path).is_err());
    assert_eq!(nczarr::delete(&other_path).unwrap_err().kind(), ErrorKind::NotNc);
    assert_eq!(fs::read_to_string(other.join("notes.txt")).unwrap(), "mine");

    nczarr::delete(&path).unwrap();
    assert_eq!(nczarr::open(&path).unwrap_err().kind(), ErrorKind::NotFound);
    assert!(!std::path::Path::new(&path).exists());
}

#[test]
fn a_closed_dataset_says_so_to_all_its_handles() {
    let (_folder, path) = scratch();
    let file = nczarr::create(&path).unwrap();
    let v = file.add_variable_with_type("v", NcType::Int, &[]).unwrap();
    let clone = file.clone();
    file.close().unwrap();
    assert_eq!(v.put_value(1, ()).unwrap_err().kind(), ErrorKind::BadId);
    assert_eq!(v.get_value::<i32>(()).unwrap_err().kind(), ErrorKind::BadId);
    assert_eq!(clone.put_attribute("a", 1).unwrap_err().kind(), ErrorKind::BadId);
    assert_eq!(clone.sync().unwrap_err().kind(), ErrorKind::BadId);
    clone.close().unwrap();
}

#[test]
fn the_last_handle_closes() {
    let (_folder, path) = scratch();
    let v = {
        let file = nczarr::create(&path).unwrap();
        file.add_dimension("x", 2).unwrap();
        file.add_variable::<u8>("v", &["x"]).unwrap()
    };
    v.put(&[1u8, 2], ..).unwrap();
    drop(v);
    assert_eq!(nczarr::open(&path).unwrap().variable("v").unwrap().get_values::<u8>(..).unwrap(), [1, 2]);
}

#[test]
fn long_strings_are_refused_by_index_or_cut_at_a_character() {
    let (_folder, path) = scratch();
    let file = nczarr::create(&path).unwrap();
    file.add_dimension("x", 2).unwrap();
    let v = file.add_string_variable("v", &["x"]).unwrap();
    v.put_attribute("_nczarr_maxstrlen", 4).unwrap();
    let error = v.put_strings(&["abcd", "größe"], ..).unwrap_err();
    let text = error.to_string();
    assert!(["/v", "1", "7", "4"].iter().all(|part| text.contains(part)), "{text}");
    file.close().unwrap();
    let file = OpenOptions::new().writable(true).truncate_strings(true).open(&path).unwrap();
    let v = file.variable("v").unwrap();
    v.put_strings(&["abcd", "größe"], ..).unwrap();
    assert_eq!(v.get_strings(..).unwrap().as_slice(), ["abcd", "grö"]);
    assert_eq!(v.get_string(1).unwrap(), "grö");
    assert_eq!(v.get_string(..).unwrap_err().kind(), ErrorKind::Inval);
    file.close().unwrap();
}

#[test]
fn a_variable_is_copied_from_one_dataset_to_another() {
    let (folder, path) = scratch();
    let from = nczarr::create(&path).unwrap();
    from.add_unlimited_dimension("t").unwrap();
    let v = from.add_variable::<f64>("v", &["t"]).unwrap();
    v.put_attribute("units", "m").unwrap();
    v.set_deflate(3, true).unwrap();
    v.put(&[1.5, 2.5, f64::NAN], ..).unwrap();
    let to = nczarr::create(folder.path().join("y.zarr").display().to_string()).unwrap();
    assert_eq!(to.copy_variable(&v).unwrap_err().kind(), ErrorKind::BadDim);
    to.add_unlimited_dimension("t").unwrap();
    let copy = to.copy_variable(&v).unwrap();
    assert_eq!(copy.get_values::<f64>(..2).unwrap(), [1.5, 2.5]);
    assert_eq!(copy.attribute("units").unwrap().text(), Some("m"));
    assert_eq!(
        copy.filters().iter().map(|filter| filter.name.as_str()).collect::<Vec<_>>(),
        ["shuffle", "deflate"]
    );
}

/// Each thread appends its own records to shared chunks. No thread may take a chunk as whole because it ends
/// at the length of that moment.
#[test]
fn threads_that_append_to_one_chunk_lose_nothing_without_other_writers() {
    let dir = tempfile::tempdir().unwrap();
    for (name, modes) in [("a.nc", "netcdf-4"), ("a.zip", "nczarr,v2,zip"), ("a.zarr", "nczarr,v2")] {
        for round in 0..20 {
            let path = dir.path().join(format!("{round}-{name}"));
            let place = format!("file://{}#mode={modes}", path.display());
            let file = nczarr::CreateOptions::new().exclusive(true).create(place.as_str()).unwrap();
            file.add_unlimited_dimension("t").unwrap();
            file.add_dimension("x", 2).unwrap();
            let v = file.add_variable::<i32>("v", &["t", "x"]).unwrap();
            v.set_chunking(&[4, 2]).unwrap();
            std::thread::scope(|scope| {
                for thread in 0..6 {
                    let v = &v;
                    scope.spawn(move || {
                        for at in (0..30).map(|turn| turn * 6 + thread) {
                            v.put(&[at, -at], (at as u64, ..)).unwrap();
                        }
                    });
                }
            });
            let expected: Vec<i32> = (0..180).flat_map(|at| [at, -at]).collect();
            assert_eq!(v.get_values::<i32>(..).unwrap(), expected, "{place}");
        }
    }
}

#[test]
fn a_netcdf4_file_stores_later_definitions_at_the_next_sync() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("x.nc"), folder.path().join("copy.nc"));
    let file = nczarr::create(&path).unwrap();
    file.add_dimension("x", 3).unwrap();
    let stored = || {
        fs::copy(&path, &copy).unwrap();
        let names = nczarr::open(&copy).unwrap().variables();
        names.iter().map(nczarr::Variable::name).collect::<Vec<_>>()
    };
    for name in ["a", "b", "c"] {
        file.add_variable::<i32>(name, &["x"]).unwrap().put(&[1i32, 2, 3], ..).unwrap();
    }
    // The first data give the file its name. Later definitions would write all metadata once for each variable.
    assert_eq!(stored(), ["a"]);
    file.sync().unwrap();
    assert_eq!(stored(), ["a", "b", "c"]);
    file.add_variable::<i32>("d", &["x"]).unwrap().put(&[4i32, 5, 6], ..).unwrap();
    file.close().unwrap();
    assert_eq!(stored(), ["a", "b", "c", "d"]);
    let file = nczarr::open(&path).unwrap();
    assert_eq!(file.variable("d").unwrap().get_values::<i32>(..).unwrap(), [4, 5, 6]);
}
