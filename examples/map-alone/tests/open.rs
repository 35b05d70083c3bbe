//! Opens the map by its URL through the facade.

use map_alone::SquareMap;
use nczarr::ErrorKind;
use nczarr::storage::{ByteRange, Key, ZMap as _, ZMapExt};

#[test]
fn its_crate_depends_on_the_contract_alone() {
    let manifest = include_str!("../Cargo.toml");
    let dependencies = manifest.split("\n[dependencies]\n").nth(1).unwrap().split("\n\n").next().unwrap();
    assert_eq!(dependencies, "nczarr-storage.workspace = true");
}

#[test]
fn objects_and_prefixes_differ() {
    let (map, mut bytes) = (SquareMap, Vec::new());
    let key = |path| Key::new(path).unwrap();
    assert!(map.read(&key("square/c/0"), ByteRange::new(8, 4), &mut bytes).unwrap());
    assert_eq!(bytes, 4i32.to_le_bytes());
    assert!(!map.read(&key("square/c/1"), ByteRange::ALL, &mut bytes).unwrap());
    assert_eq!(map.len(&key("square")).unwrap_err().kind(), ErrorKind::Empty);
    let keys: Vec<String> = map.keys(&Key::root()).unwrap().iter().map(Key::to_string).collect();
    assert_eq!(keys, ["square/c/0", "square/zarr.json", "zarr.json"]);
}

#[test]
fn a_linked_map_is_opened_by_its_url() {
    let file = nczarr::open("squares://any#mode=zarr").unwrap();
    let squares = file.variable("square").unwrap().get_values::<i64>(..).unwrap();
    assert_eq!(squares, [0, 1, 4, 9, 16, 25, 36, 49, 64, 81]);
    assert_eq!(file.info().map.as_deref(), Some("squares"));
    let error = nczarr::append("squares://any#mode=zarr").map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Perm);
}
