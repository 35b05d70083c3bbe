//! Runs the conformance suite for drivers.

use std::cell::Cell;

use nczarr_driver_hdf5::Hdf5Driver;

use crate::support::registry;

#[test]
fn both_models_pass() {
    for mode in ["nc4", "nc4-classic"] {
        let folder = tempfile::tempdir().unwrap();
        let number = Cell::new(0);
        let next = || {
            number.set(number.get() + 1);
            format!("{}/x{}.nc#mode={mode}", folder.path().display(), number.get())
        };
        nczarr_conformance::check_driver(&Hdf5Driver, &registry(), &next)
            .unwrap_or_else(|broken| panic!("{mode}: {broken}"));
    }
}
