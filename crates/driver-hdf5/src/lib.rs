//! Driver for netCDF-4 files and other HDF5 files: [`Hdf5Driver`].
//!
//! `read` opens files and presents their content as netCDF-C does. `write` creates and changes files. Read
//! `read/mod.rs` and `write/mod.rs` first.
#![forbid(unsafe_code)]

mod driver;
mod lookup3;
mod read;
mod write;

pub use driver::{Hdf5Driver, INFO};
