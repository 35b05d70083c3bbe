//! HDF4 files as a netCDF driver, for reading: [`Hdf4Driver`]. Scientific datasets are variables, as netCDF-C shows them.
//!
//! A file is a list of elements, each known by a tag and a number (`directory`); an element's bytes lie in one piece, in
//! linked blocks, compressed, or as chunks (`element`). Groups (`vgroup`) and tables (`vdata`) say which elements are a
//! dataset (`sd`), or, in older files, numeric data groups do (`ndg`); that becomes a model (`load`). `chunkio` moves the data
//! (`data`); what is compressed goes through the registry's filters where they fit, else through codings of this
//! format (`coding`).
//!
//! Not here: images, annotations and tables for their own sake, data in external files, JPEG.
//!
//! Source: HDF Specification and Developer's Guide, version 4; where it leaves something open, what the HDF library writes
//! and what netCDF-C's dispatch for HDF4 shows.
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
mod linked;
mod load;
mod ndg;
mod number;
mod open;
mod sd;
mod store;
mod vdata;
mod vgroup;

pub use driver::{Hdf4Driver, INFO};
