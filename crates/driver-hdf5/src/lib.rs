//! netCDF-4 files, which are HDF5 files, as a netCDF driver: [`Hdf5Driver`].
//!
//! `read` finds what a file holds and presents it as netCDF-C does; `write` makes files.
#![forbid(unsafe_code)]

mod driver;
mod lookup3;
mod read;
mod write;

pub use driver::{Hdf5Driver, INFO};
