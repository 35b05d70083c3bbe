//! Runs the conformance suites on the plugins, and uses them through the library like a user.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nczarr::{ErrorKind, OpenOptions};
use nczarr_conformance::{bench_filter, bench_map, check_filter, check_map};
use nczarr_storage::{CreateMap, MapFactory as _, MapOptions, ZMap};
use plugin_template::{MirrorClass, Shelves};

/// Returns a new, empty map.
fn fresh() -> Arc<dyn ZMap> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let path = format!("shelf://suite-{}", COUNT.fetch_add(1, Ordering::Relaxed));
    let (target, options) = (nczarr_url_infer::parse(&path).unwrap(), MapOptions::default());
    Shelves.create(&CreateMap::new(&target, &options)).unwrap()
}

#[test]
fn the_filter_passes_and_is_measured() {
    check_filter(&MirrorClass, &[&[]]).unwrap();
    println!("{}", bench_filter(&MirrorClass, &[&[]]).unwrap());
}

#[test]
fn the_map_passes_and_is_measured() {
    check_map(&fresh).unwrap();
    println!("{}", bench_map(&fresh).unwrap());
}

#[test]
fn a_dataset_uses_both() {
    let path = "shelf://ocean#mode=nczarr";
    let file = nczarr::create(path).unwrap();
    file.add_dimension("x", 1000).unwrap();
    let variable = file.add_variable::<i32>("v", &["x"]).unwrap();
    variable.set_filter("mirror", &[]).unwrap();
    variable.set_deflate(4, false).unwrap();
    let values: Vec<i32> = (0..1000).collect();
    variable.put(&values, ..).unwrap();
    file.close().unwrap();

    let file = nczarr::open(path).unwrap();
    assert_eq!(file.variable("v").unwrap().get_values::<i32>(..).unwrap(), values);
    assert_eq!(file.put_attribute("a", 1).unwrap_err().kind(), ErrorKind::Perm);
    file.close().unwrap();
    let writable = OpenOptions::new().writable(true).open(path).unwrap();
    writable.put_attribute("a", 1).unwrap();
    writable.close().unwrap();

    assert_eq!(nczarr::create(path).map(drop).unwrap_err().kind(), ErrorKind::Object);
    nczarr::delete(path).unwrap();
    assert_eq!(nczarr::open(path).map(drop).unwrap_err().kind(), ErrorKind::NotFound);
}
