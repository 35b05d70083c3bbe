//! Dimensions: lengths, lookups, identity.

use nczarr::ErrorKind;

use crate::samples::{in_both, plane};

#[test]
fn the_root_has_dimensions() {
    let dir = tempfile::tempdir().unwrap();
    let path = plane(&dir);
    let file = nczarr::open(&path).unwrap();
    assert_eq!(file.place().as_path(), Some(path.as_path()));
    assert_eq!(file.dimension("row").unwrap().len(), 4);
    assert_eq!(file.dimension("column").unwrap().len(), 7);
}

#[test]
fn a_file_is_its_root_group() {
    let dir = tempfile::tempdir().unwrap();
    let file = nczarr::open(plane(&dir)).unwrap();
    assert_eq!(file.dimension("row").unwrap().len(), 4);
    let file = nczarr::create(dir.path().join("new.nc")).unwrap();
    file.add_dimension("station", 25).unwrap();
    assert_eq!(file.dimension("station").expect("it was defined").len(), 25);
}

#[test]
fn dimensions_have_lengths() {
    in_both(|path| {
        let file = nczarr::create(path).expect("a new dataset");
        file.add_unlimited_dimension("open").expect("a new name");
        file.add_dimension("fixed", 12).expect("a new name");
        let open = file.dimension("open").expect("it was defined");
        assert_eq!(open.len(), 0);
        let fixed = file.dimension("fixed").expect("it was defined");
        assert_eq!(fixed.len(), 12);
        for dimension in file.dimensions() {
            assert!([0, 12].contains(&dimension.len()));
        }
    });
}

#[test]
fn a_dimension_is_defined_once() {
    in_both(|path| {
        let file = nczarr::create(path).unwrap();
        file.add_dimension("lat", 18).unwrap();
        let error = file.add_dimension("lat", 19).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NameInUse);
        assert_eq!(file.dimension("lat").unwrap().len(), 18);
    });
}

#[test]
fn dimensions_are_counted() {
    in_both(|path| {
        let file = nczarr::create(path).unwrap();
        file.add_dimension("lat", 18).unwrap();
        file.add_unlimited_dimension("run").unwrap();
        file.add_dimension("lon", 36).unwrap();
        file.add_unlimited_dimension("time").unwrap();
        file.add_dimension("level", 36).unwrap();
        assert_eq!(file.dimensions().len(), 5);
    });
}

#[test]
fn an_unlimited_dimension_is_found_again() {
    in_both(|path| {
        {
            let file = nczarr::create(path).unwrap();
            file.add_unlimited_dimension("time").unwrap();
            let rain = file.add_variable::<i32>("rain", &["time"]).unwrap();
            rain.put(&[4, 0, 0, 2], ..).unwrap();
        }
        let file = nczarr::open(path).unwrap();
        let time = file.dimension("time").unwrap();
        assert_eq!(time.len(), 4);
        assert!(time.is_unlimited());
        let time = file.dimensions().into_iter().next().unwrap();
        assert_eq!(time.len(), 4);
        assert!(time.is_unlimited());
        let rain = file.variable("rain").unwrap();
        assert_eq!(rain.dimensions().len(), 1);
        let time = &rain.dimensions()[0];
        assert_eq!(time.len(), 4);
        assert!(time.is_unlimited());
    });
}

#[test]
fn a_group_has_dimensions() {
    in_both(|path| {
        let file = nczarr::create(path).unwrap();
        let group = file.add_group("buoys").unwrap();
        group.add_dimension("buoy", 8).unwrap();
        group.add_dimension("sensor", 3).unwrap();
        group.add_unlimited_dimension("time").unwrap();
        assert_eq!(group.dimension("buoy").unwrap().len(), 8);
        assert_eq!(group.dimension("sensor").unwrap().len(), 3);
        assert_eq!(group.dimension("time").unwrap().len(), 0);
        assert!(group.dimension("depth").is_err());
    });
}

/// Three groups, one inside the other, define dimensions of one name.
#[test]
fn a_dimension_identifies_itself() {
    in_both(|path| {
        {
            let file = nczarr::create(path).unwrap();
            let outer = file.add_dimension("cell", 12).unwrap();
            let region = file.add_group("region").unwrap();
            let middle = region.add_dimension("cell", 6).unwrap();
            let inner = {
                let region = file.group("region").unwrap();
                let nested = region.add_group("region").unwrap();
                nested.add_dimension("cell", 2).unwrap()
            };
            file.add_variable_along::<i16>("own", &[&outer]).unwrap();
            let region = file.group("region").unwrap();
            region.add_variable_along::<i16>("from_root", &[&outer]).unwrap();
            region.add_variable_along::<i16>("own", &[&middle]).unwrap();
            let nested = region.group("region").unwrap();
            nested.add_variable_along::<i16>("from_root", &[&outer]).unwrap();
            nested.add_variable_along::<i16>("from_parent", &[&middle]).unwrap();
            nested.add_variable_along::<i16>("own", &[&inner]).unwrap();
        }
        let file = nczarr::open(path).unwrap();
        let len = |path: &str| file.variable(path).unwrap().len().unwrap();
        assert_eq!(file.variable("own").unwrap().len().unwrap(), 12);
        assert_eq!(file.group("region").unwrap().variable("from_root").unwrap().len().unwrap(), 12);
        assert_eq!(file.group("region").unwrap().variable("own").unwrap().len().unwrap(), 6);
        assert_eq!(len("region/region/own"), 2);
        assert_eq!(len("region/region/from_parent"), 6);
        assert_eq!(len("region/region/from_root"), 12);
    });
}

#[test]
fn a_dimension_belongs_to_one_dataset() {
    let dir = tempfile::tempdir().unwrap();
    let here = nczarr::create(dir.path().join("here.nc")).unwrap();
    let there = nczarr::create(dir.path().join("there.nc")).unwrap();
    here.add_dimension("site", 3).unwrap();
    let group = there.add_group("south").unwrap();
    let foreign = group.add_dimension("site", 5).unwrap();
    let error = here.add_variable_along::<u8>("flag", &[&foreign]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadDim);
    assert!(error.to_string().contains("another open dataset"), "{error}");
    assert!(here.variable("flag").is_err());

    let level = here.add_dimension("level", 9).unwrap();
    here.add_variable_along::<u8>("flag", &[&level]).unwrap();
    let group = here.add_group("north").unwrap();
    let band = group.add_dimension("band", 4).unwrap();
    let both = group.add_variable_along::<u8>("both", &[&level, &band]).unwrap();
    assert_eq!(both.shape().unwrap(), [9, 4]);
}
