//! Opens the map by its URL through the facade, and runs the conformance suite.

use std::sync::Arc;

use map_alone::SquareMap;
use nczarr::ErrorKind;

#[test]
fn its_crate_depends_on_the_contract_alone() {
    let manifest = include_str!("../Cargo.toml");
    let dependencies = manifest.split("\n[dependencies]\n").nth(1).unwrap().split("\n\n").next().unwrap();
    assert_eq!(dependencies, "nczarr-storage.workspace = true");
}

#[test]
fn the_map_passes_its_suite() {
    nczarr_conformance::check_map(&|| Arc::new(SquareMap)).unwrap();
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
