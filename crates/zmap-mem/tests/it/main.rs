//! Tests of the map in memory: the conformance suite for maps, and its factory.

use std::sync::Arc;

use nczarr_model::ErrorKind;
use nczarr_storage::{Clobber, CreateMap, Key, MapFactory, MapOptions, OpenMap, ZMapExt};
use nczarr_zmap_mem::{MemMap, MemMaps};

#[test]
fn the_map_passes_the_suite() {
    nczarr_conformance::check_map(&|| Arc::new(MemMap::new())).unwrap();
}

#[test]
fn a_read_only_map_refuses_writes() {
    nczarr_conformance::check_map(&|| Arc::new(MemMap::new().read_only())).unwrap();
}

fn target(path: &str) -> nczarr_storage::Target {
    nczarr_url_infer::parse(path).unwrap()
}

#[test]
fn a_dataset_is_found_by_its_name_until_it_is_deleted() {
    let options = MapOptions::default();
    for name in ["memory://it/a", "it-path#mode=nczarr,mem"] {
        let target = target(name);
        let open = |writable| OpenMap::new(&target, &options).writable(writable);
        let create = |clobber, markers| CreateMap::new(&target, &options).clobber(clobber).markers(markers);
        let key = Key::new(".zgroup").unwrap();
        assert_eq!(MemMaps.open(&open(false)).unwrap_err().kind(), ErrorKind::NotFound);
        let map = MemMaps.create(&create(Clobber::Refuse, &[])).unwrap();
        map.write(&key, b"{}").unwrap();
        map.close().unwrap();
        assert_eq!(
            MemMaps.create(&create(Clobber::Refuse, &[".zgroup"])).unwrap_err().kind(),
            ErrorKind::Object
        );
        assert_eq!(MemMaps.create(&create(Clobber::Replace, &[])).unwrap_err().kind(), ErrorKind::Object);
        assert_eq!(
            MemMaps.create(&create(Clobber::Replace, &["zarr.json"])).unwrap_err().kind(),
            ErrorKind::Object
        );
        let again = MemMaps.open(&open(false)).unwrap();
        assert_eq!(again.len(&key).unwrap(), Some(2));
        assert_eq!(again.write(&key, b"").unwrap_err().kind(), ErrorKind::Perm);
        let writer = MemMaps.open(&open(true)).unwrap();
        writer.write(&key, b"[]").unwrap();
        let replaced = MemMaps.create(&create(Clobber::Replace, &["zarr.json", ".zgroup"])).unwrap();
        assert!(replaced.keys(&Key::root()).unwrap().is_empty());
        MemMaps.delete(&open(true)).unwrap();
        assert_eq!(MemMaps.delete(&open(true)).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(MemMaps.open(&open(false)).unwrap_err().kind(), ErrorKind::NotFound);
    }
}

#[test]
fn a_snapshot_makes_the_same_dataset_again() {
    let map = MemMap::new();
    for (key, value) in [("a/b", "1"), ("c", "")] {
        map.write(&Key::new(key).unwrap(), value.as_bytes()).unwrap();
    }
    let again = MemMap::from_objects(map.snapshot()).unwrap();
    assert_eq!(again.snapshot(), map.snapshot());
    let bad = MemMap::from_objects([("a".to_owned(), "1"), ("a/b".to_owned(), "2")]);
    assert_eq!(bad.unwrap_err().kind(), ErrorKind::Object);
}
