//! Runs the conformance suite for drivers on this driver.

use std::cell::Cell;

use nczarr_driver_classic::ClassicDriver;

use crate::support::{create, enddef, open, place, registry, var};
use nczarr_model::NcType;

#[test]
fn every_kind_passes() {
    for mode in ["classic", "cdf1", "cdf2", "cdf5"] {
        let (_folder, path) = place("x");
        let number = Cell::new(0);
        let next = || {
            number.set(number.get() + 1);
            format!("{}{}.nc#mode={mode}", path.display(), number.get())
        };
        nczarr_conformance::check_driver(&ClassicDriver, &registry(), &next)
            .unwrap_or_else(|broken| panic!("{mode}: {broken}"));
    }
}

#[test]
fn an_opened_file_passes() {
    let (_folder, path) = place("x.nc");
    let ds = create(&path, "cdf1");
    var(&*ds, "v", NcType::Short, &[]);
    enddef(&*ds);
    ds.close().unwrap();
    for writable in [false, true] {
        nczarr_conformance::check_dataset(&*open(&path, writable)).unwrap();
    }
}
