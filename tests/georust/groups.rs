//! Groups and paths.

use nczarr::NcType;

use crate::samples::{foreign, in_both};

#[test]
fn a_group_of_a_foreign_file_is_read() {
    let file = nczarr::open(foreign("nc4_groups")).unwrap();
    let group = file.group("atmos").expect("netCDF-C wrote it");
    assert_eq!(group.name(), "atmos");
    let mut data = vec![0i32; 5];
    let var = group.variable("data").unwrap();
    var.get_into(&mut data, ..).unwrap();
    assert_eq!(data, [4590, -1526, -2009, -3011, -2061]);
}

#[test]
fn a_group_is_defined_once() {
    in_both(|path| {
        let file = nczarr::create(path).unwrap();
        file.add_group("north").unwrap();
        file.add_group("south").unwrap();
        file.add_group("north").unwrap_err();
    });
}

#[test]
fn the_nearest_dimension_counts() {
    in_both(|path| {
        let file = nczarr::create(path).unwrap();
        file.add_dimension("cell", 11).unwrap();
        let outer = file.add_group("outer").unwrap();
        outer.add_dimension("cell", 22).unwrap();
        outer.add_variable::<u8>("flag", &["cell"]).unwrap();
        let inner = outer.add_group("inner").unwrap();
        inner.add_variable::<i8>("before", &["cell"]).unwrap();
        inner.add_dimension("cell", 33).unwrap();
        inner.add_variable::<i8>("after", &["cell"]).unwrap();

        let outer = file.group("outer").expect("it was defined");
        assert_eq!(outer.variable("flag").unwrap().dimensions()[0].len(), 22);
        let inner = file.group("outer").unwrap().group("inner").expect("it was defined");
        assert_eq!(inner.variable("before").unwrap().dimensions()[0].len(), 22);
        assert_eq!(inner.variable("after").unwrap().dimensions()[0].len(), 33);
    });
}

#[test]
fn groups_are_listed() {
    in_both(|path| {
        let file = nczarr::create(path).unwrap();
        let group = file.add_group("runs").unwrap();
        group.add_group("spring").unwrap();
        group.add_group("summer").unwrap();
        group.add_group("autumn").unwrap();
        assert_eq!(group.groups().len(), 3);
        assert!(group.group("winter").is_err());
        assert!(group.group("summer").is_ok());
        assert!(group.group("autumn").is_ok());
    });
}

#[test]
fn variables_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let file = nczarr::create(dir.path().join("found.nc")).unwrap();
    let group = file.add_group("ship").unwrap();
    group.add_variable::<u8>("code", &[]).unwrap();
    group.add_variable::<u8>("flag", &[]).unwrap();
    group.add_dimension("leg", 4).unwrap();
    group.add_variable::<u8>("speed", &["leg"]).unwrap();
    assert_eq!(group.variables().len(), 3);

    let code = group.variable("code").unwrap();
    assert_eq!(code.dimensions().len(), 0);
    assert_eq!(code.len().unwrap(), 1);
    let speed = group.variable("speed").unwrap();
    assert_eq!(speed.dimensions()[0].len(), 4);
    assert_eq!(speed.nc_type(), NcType::UByte);
    assert_eq!(speed.name(), "speed");
    assert!(group.variable("fuel").is_err());

    for var in group.variables() {
        assert_eq!(var.chunk_shape().unwrap(), None);
        if !var.dimensions().is_empty() {
            var.set_deflate(4, false).unwrap();
        }
        if var.name() == "speed" {
            var.set_chunking(&[2]).unwrap();
            assert_eq!(var.chunk_shape().unwrap(), Some(vec![2]));
        } else {
            var.set_chunking(&[]).unwrap();
            assert_eq!(var.chunk_shape().unwrap(), None);
        }
    }
}

#[test]
fn paths_define_and_find() {
    in_both(|path| {
        {
            let file = nczarr::create(path).unwrap();
            file.add_group("cruise").unwrap().add_group("leg").unwrap();
            file.group("cruise/leg").unwrap().add_dimension("haul", 2).unwrap();
            assert!(file.group("cruise/port").is_err());
            file.group("cruise/leg").unwrap().add_variable::<f64>("catch", &["haul"]).unwrap();
            file.group("cruise/leg").unwrap().put_attribute("ship", "Vega").unwrap();
        }
        let file = nczarr::open(path).unwrap();
        let root = file.root();
        assert_eq!(
            root.group("cruise/leg").unwrap().variable("catch").unwrap().name(),
            root.variable("cruise/leg/catch").unwrap().name(),
        );
        assert!(file.group("nothing/leg").is_err());
        let ship = file.group("cruise/leg").unwrap().attribute("ship").unwrap();
        assert_eq!(ship.get::<String>().unwrap(), "Vega");
    });
}

#[test]
fn paths_find() {
    in_both(|path| {
        {
            let file = nczarr::create(path).unwrap();
            let group = file.add_group("model").unwrap();
            let inner = group.add_group("run").unwrap();
            inner.add_dimension("step", 1).unwrap();
            inner.add_variable::<f64>("energy", &["step"]).unwrap();
            inner.put_attribute("seed", "none").unwrap();
        }
        let file = nczarr::open(path).unwrap();
        assert_eq!(
            file.group("model/run").unwrap().variable("energy").unwrap().name(),
            file.variable("model/run/energy").unwrap().name(),
        );
        let seed = file.group("model/run").unwrap().attribute("seed").unwrap();
        assert_eq!(seed.text(), Some("none"));
    });
}
