//! Driver for HDF4 files, for reading only: [`Hdf4Driver`]. Scientific datasets are variables, as in
//! netCDF-C.
//!
//! A file is a list of elements, each with a tag and a number (`directory`). An element is contiguous, in
//! linked blocks, compressed or chunked (`element`). Groups (`vgroup`) and tables (`vdata`) form datasets
//! (`sd`); in older files, numeric data groups do (`ndg`). `load` makes the model. `chunkio` moves the data
//! (`data`). Filters of the registry or `coding` decode them.
//!
//! Not supported: images, annotations and other tables, data in external files, JPEG.
//!
//! Source: HDF Specification and Developer's Guide, version 4; otherwise the HDF library and netCDF-C's HDF4
//! dispatch.
#![forbid(unsafe_code)]

mod chunks;
mod coding;
mod cursor;
mod data;
mod dataset;
mod directory;
mod driver;
mod element;
mod file;
mod linked_blocks;
mod load;
mod ndg;
mod number;
mod open;
mod sd;
mod source;
mod vdata;
mod vgroup;

pub use driver::{Hdf4Driver, INFO};
