//! Uses the plugins of this crate through the facade, linked and added at run time, and runs the conformance
//! suites.

use std::sync::Arc;

use nczarr::codec::FilterClass;
use nczarr::dispatch::{Driver, Origin, Registry};
use nczarr::storage::{CreateMap, MapFactory, MapOptions, ZMap};
use nczarr::{CreateOptions, ErrorKind, OpenOptions};
use third_party::{Ramp, Veils, XorClass};

#[test]
fn each_is_short() {
    for (name, text) in [
        ("driver.rs", include_str!("../src/driver.rs")),
        ("filter.rs", include_str!("../src/filter.rs")),
        ("map.rs", include_str!("../src/map.rs")),
    ] {
        let lines =
            text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count();
        assert!(lines < 40, "{name}: {lines} lines");
    }
}

#[test]
fn linked_they_are_in_every_registry() {
    let registry = nczarr::registry().unwrap();
    for (kind, name) in [("driver", "ramp"), ("map", "veil"), ("filter", "xor")] {
        let found = registry.plugins().into_iter().find(|plugin| plugin.name == name);
        let found = found.unwrap_or_else(|| panic!("no {name}"));
        assert_eq!((found.kind.name(), found.origin), (kind, Origin::Linked));
    }
    use_all(&registry, "linked");
}

#[test]
fn at_run_time_they_are_in_the_registry_they_were_added_to() {
    let empty = Registry::new();
    assert!(empty.driver("ramp").is_err());
    let table: Vec<_> = nczarr::registry().unwrap().drivers().map(Arc::clone).collect();
    let mut registry = empty.with_driver(Ramp).with_map(Veils).with_filter(XorClass);
    for driver in table.into_iter().filter(|driver| driver.info().name != "ramp") {
        registry = registry.with_driver(driver);
    }
    assert!(registry.plugins().iter().all(|plugin| plugin.origin == Origin::Added));
    use_all(&Arc::new(registry), "added");
}

fn use_all(registry: &Arc<Registry>, name: &str) {
    let ramp = OpenOptions::new().registry(Arc::clone(registry)).open("5#mode=ramp").unwrap();
    assert_eq!(ramp.variable("x").unwrap().get_values::<f32>(1..4).unwrap(), [1.0, 2.0, 3.0]);
    assert_eq!(ramp.put_attribute("a", 1).unwrap_err().kind(), ErrorKind::Perm);

    let path = format!("veil://{name}#mode=nczarr");
    let file = CreateOptions::new().registry(Arc::clone(registry)).create(&path).unwrap();
    file.add_dimension("x", 100).unwrap();
    let variable = file.add_variable::<i16>("v", &["x"]).unwrap();
    variable.set_filter("xor", &[85]).unwrap();
    let values: Vec<i16> = (0..100).collect();
    variable.put(&values, ..).unwrap();
    file.close().unwrap();

    let file = OpenOptions::new().registry(Arc::clone(registry)).open(&path).unwrap();
    let variable = file.variable("v").unwrap();
    assert_eq!(variable.get_values::<i16>(..).unwrap(), values);
    assert_eq!((variable.filters()[0].name.as_str(), &variable.filters()[0].params[..]), ("xor", &[85][..]));
    // The map inverts every bit and the filter every other bit. So the stored bytes differ from the data and
    // from the filter's output.
    let stored = file.info().map;
    assert_eq!(stored.as_deref(), Some("veil"));
    registry.delete(&path).unwrap();
    assert!(OpenOptions::new().registry(Arc::clone(registry)).open(&path).is_err());
}

#[test]
fn the_driver_passes_its_suite() {
    let registry = nczarr::registry().unwrap();
    nczarr_conformance::check_driver(&Ramp, &registry, &|| "nothing#mode=ramp".to_owned()).unwrap();
    for len in [0, 1, 1000] {
        let ramp = nczarr::open(&format!("{len}#mode=ramp")).unwrap();
        nczarr_conformance::check_dataset(&**ramp.dataset()).unwrap();
    }
}

#[test]
fn the_filter_passes_its_suite() {
    nczarr_conformance::check_filter(&XorClass, &[&[0], &[1], &[85], &[255]]).unwrap();
}

#[test]
fn the_map_passes_its_suite() {
    let options = MapOptions::default();
    let count = std::sync::atomic::AtomicUsize::new(0);
    let make = || -> Arc<dyn ZMap> {
        let name = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let target = nczarr_url_infer::parse(&format!("veil://suite-{name}")).unwrap();
        Veils.create(&CreateMap::new(&target, &options)).unwrap()
    };
    nczarr_conformance::check_map(&make).unwrap();
}

#[test]
fn a_plugin_says_what_it_is() {
    assert_eq!(Ramp.info().name, "ramp");
    assert_eq!(XorClass.info().hdf5_id, Some(40_001));
}
