//! Datasets to read.

use std::path::{Path, PathBuf};

use nczarr::{CreateOptions, Kind};

/// The rows and columns of [`plane`].
pub const PLANE: [usize; 2] = [4, 7];

/// The shape of [`levels`]: time, level, latitude, longitude.
pub const LEVELS: [usize; 4] = [2, 3, 4, 5];

/// Runs a test with the path of a netCDF-4 file and with that of a Zarr store.
pub fn in_both(test: impl Fn(&Path)) {
    let dir = tempfile::tempdir().unwrap();
    for name in ["new.nc", "new.zarr"] {
        test(&dir.path().join(name));
    }
}

/// A file that netCDF-C wrote.
pub fn foreign(name: &str) -> PathBuf {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/netcdf-c/hdf5");
    corpus.join(name).join(name).with_extension("nc")
}

/// Writes a classic file: `count` of `row` and `column` has the numbers from 0 on.
pub fn plane(dir: &tempfile::TempDir) -> PathBuf {
    let path = dir.path().join("plane.nc");
    let file = CreateOptions::new().kind(Kind::Cdf1).create(&path).unwrap();
    file.add_dimension("row", 4).unwrap();
    file.add_dimension("column", 7).unwrap();
    let count = file.add_variable::<i32>("count", &["row", "column"]).unwrap();
    count.put(&Vec::from_iter(0..28), ..).unwrap();
    file.close().unwrap();
    path
}

/// Writes a netCDF-4 file: `salinity` of four dimensions.
pub fn levels(dir: &tempfile::TempDir) -> PathBuf {
    let path = dir.path().join("levels.nc");
    let file = nczarr::create(&path).unwrap();
    let names = ["time", "level", "latitude", "longitude"];
    for (name, len) in names.iter().zip(LEVELS) {
        file.add_dimension(name, len as u64).unwrap();
    }
    let salinity = file.add_variable::<f32>("salinity", &names).unwrap();
    salinity.put_attribute("units", "g/kg").unwrap();
    salinity.put(&Vec::from_iter((0..120).map(|i| 34.0 + i as f32 / 128.0)), ..).unwrap();
    file.close().unwrap();
    path
}
