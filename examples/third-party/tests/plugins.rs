//! Uses the plugins of this crate through the facade, linked and added at run time, and runs the conformance
//! suites.

use std::sync::Arc;

use nczarr::codec::{FilterClass, ItemKind, ItemType};
use nczarr::dispatch::{Driver, Origin, Registry, StoredType};
use nczarr::storage::{CreateMap, MapFactory, MapOptions, ZMap};
use nczarr::{CreateOptions, Endian, ErrorKind, NcType, OpenOptions, Place};
use nczarr_conformance::{ArraySample, CodecSample, DataTypeSample};
use serde_json::json;
use third_party::{Int4, PcodecClass, Ramp, Veils, XorClass};

#[test]
fn every_plugin_is_short() {
    for (name, text, limit) in [
        ("driver.rs", include_str!("../src/driver.rs"), 36),
        ("filter.rs", include_str!("../src/filter.rs"), 28),
        ("map.rs", include_str!("../src/map.rs"), 36),
        ("array_codec.rs", include_str!("../src/array_codec.rs"), 60),
        ("data_type.rs", include_str!("../src/data_type.rs"), 60),
    ] {
        let lines =
            text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count();
        assert!(lines < limit, "{name}: {lines} lines");
    }
}

#[test]
fn linked_plugins_are_in_every_registry() {
    let registry = nczarr::registry().unwrap();
    for (kind, name) in
        [("driver", "ramp"), ("map", "veil"), ("filter", "xor"), ("filter", "pcodec"), ("data type", "int4")]
    {
        let found = registry.plugins().into_iter().find(|plugin| plugin.name == name);
        let found = found.unwrap_or_else(|| panic!("no {name}"));
        assert_eq!((found.kind.name(), found.origin), (kind, Origin::Linked));
    }
    use_all(&registry, "linked");
}

#[test]
fn plugins_added_at_run_time_are_in_their_registry() {
    let empty = Registry::new();
    assert!(empty.driver("ramp").is_err());
    let table: Vec<_> = nczarr::registry().unwrap().drivers().map(Arc::clone).collect();
    let mut registry = empty.with_driver(Ramp).with_map(Veils).with_filter(XorClass);
    registry = registry.with_filter(PcodecClass).with_data_type(Int4);
    for driver in table.into_iter().filter(|driver| driver.info().name != "ramp") {
        registry = registry.with_driver(driver);
    }
    assert!(registry.plugins().iter().all(|plugin| plugin.origin == Origin::Added));
    use_all(&Arc::new(registry), "added");
}

fn use_all(registry: &Arc<Registry>, name: &str) {
    let ramp = OpenOptions::new().registry(Arc::clone(registry)).open(Place::path("5").mode("ramp")).unwrap();
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
    registry.delete(&Place::url(&path)).unwrap();
    assert!(OpenOptions::new().registry(Arc::clone(registry)).open(&path).is_err());
    use_v3(registry, name);
}

/// Stores numbers through the codec of arrays and as the data type, in Zarr V3.
fn use_v3(registry: &Arc<Registry>, name: &str) {
    let path = format!("veil://{name}-v3#mode=zarr,v3");
    let file = CreateOptions::new().registry(Arc::clone(registry)).create(&path).unwrap();
    file.add_dimension("y", 10).unwrap();
    file.add_dimension("x", 30).unwrap();
    let packed = file.add_variable::<f64>("packed", &["y", "x"]).unwrap();
    packed.set_chunking(&[4, 30]).unwrap();
    packed.set_filter("pcodec", &[8]).unwrap();
    packed.set_fill(-1.0).unwrap();
    let values: Vec<f64> = (0..300).map(|i| f64::from(i) / 8.0).collect();
    packed.put(&values[..120], (..4, ..)).unwrap();
    let stored = StoredType { data_type: "\"int4\"".to_owned(), endian: Endian::Native };
    let small = file.add_variable_as_stored("small", NcType::Byte, &["x"], &stored).unwrap();
    // The map has no conditional writes, so only whole chunks are written.
    small.set_chunking(&[5]).unwrap();
    small.set_fill(-8i8).unwrap();
    // As for other types, values out of range do not stop the others.
    assert_eq!(small.put(&[1i8, -8, 7, 8, 2], ..5).unwrap_err().kind(), ErrorKind::Range);
    assert_eq!(small.get_values::<i8>(..6).unwrap(), [1, -8, 7, 7, 2, -8]);
    file.close().unwrap();

    let file = OpenOptions::new().registry(Arc::clone(registry)).open(&path).unwrap();
    let packed = file.variable("packed").unwrap();
    let read = packed.get_values::<f64>(..).unwrap();
    assert_eq!(read[..120], values[..120]);
    assert!(read[120..].iter().all(|&value| value == -1.0));
    assert_eq!(packed.filters()[0].name, "pcodec");
    let small = file.variable("small").unwrap();
    assert_eq!(small.get_values::<i32>(..6).unwrap(), [1, -8, 7, 7, 2, -8]);
    // Without the plugins the variables are listed, and their data are an error.
    let without =
        nczarr::registry().unwrap().drivers().map(Arc::clone).fold(Registry::new(), |registry, driver| {
            if driver.info().name == "nczarr" { registry.with_driver(driver) } else { registry }
        });
    let file = OpenOptions::new().registry(without.with_map(Veils)).open(&path).unwrap();
    for (name, kind) in [("packed", ErrorKind::NoFilter), ("small", ErrorKind::BadType)] {
        let error = file.variable(name).unwrap().get_values::<i32>(..1).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
    }
    registry.delete(&Place::url(&path)).unwrap();
}

#[test]
fn the_driver_passes_its_suite() {
    let registry = nczarr::registry().unwrap();
    nczarr_conformance::check_driver(&Ramp, &registry, &|| "nothing#mode=ramp".to_owned()).unwrap();
    for len in [0, 1, 1000] {
        let ramp = nczarr::open(Place::path(len.to_string()).mode("ramp")).unwrap();
        nczarr_conformance::check_dataset(&**ramp.dataset()).unwrap();
    }
}

#[test]
fn the_filter_passes_its_suite() {
    nczarr_conformance::check_filter(&XorClass, &[&[0], &[1], &[85], &[255]]).unwrap();
}

#[test]
fn the_codec_passes_its_suite() {
    let arrays = |kind, size| {
        let item = ItemType { kind, size, big_endian: false };
        [&[][..], &[1], &[3, 5], &[7, 11, 13]].map(|shape| ArraySample { shape, item })
    };
    let same = <[u8]>::to_vec;
    let mut all = Vec::new();
    for kind in [ItemKind::Int, ItemKind::UInt, ItemKind::Float] {
        all.extend(
            [2, 4, 8]
                .into_iter()
                .filter(|&size| kind != ItemKind::Float || size > 2)
                .flat_map(|size| arrays(kind, size)),
        );
    }
    let sample = |level| CodecSample {
        configuration: json!({"level": level}),
        arrays: &all,
        takes: &same,
        gives: &same,
    };
    nczarr_conformance::check_codec(&PcodecClass, &[sample(0), sample(8)]).unwrap();
}

#[test]
fn the_data_type_passes_its_suite() {
    let (fills, wrong_fills) =
        ([json!(-8), json!(0), json!(7)], [json!(8), json!(-9), json!(1.5), json!("1")]);
    let sample = DataTypeSample { data_type: json!("int4"), fills: &fills, wrong_fills: &wrong_fills };
    nczarr_conformance::check_data_type(&Int4, &[sample]).unwrap();
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
fn a_plugin_describes_itself() {
    assert_eq!(Ramp.info().name, "ramp");
    assert_eq!(XorClass.info().hdf5_id, Some(40_001));
}
