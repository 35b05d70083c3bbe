//! The netCDF classic formats CDF-1, CDF-2 and CDF-5 as a netCDF driver: [`ClassicDriver`].
//!
//! A file is a header (`parse`, `write`), whose lists become a model (`load`), and data at offsets that
//! follow from header and sizes (`offsets`). The flat arrays of `chunkio` move data. This crate prepares the
//! file (`growth`), keeps header and data consistent (`commit`), and has the storage (`store`).
//!
//! It knows no chunks, maps or filters.
//!
//! Source: the netCDF classic format specification; netCDF-C in open cases.
#![deny(unsafe_code)]

mod admit;
mod claims;
mod commit;
mod committed;
mod copy;
mod create;
mod cursor;
mod dataset;
mod driver;
mod encoding;
#[cfg(test)]
mod faults;
mod file_state;
mod fill;
mod growth;
mod kind;
mod layout;
mod load;
#[cfg(feature = "mmap")]
#[allow(unsafe_code)]
mod mapped;
mod name_rooms;
mod offsets;
mod open;
mod parse;
mod record_growth;
mod refresh;
mod shared;
mod store;
mod var;
mod write;

pub use driver::{ClassicDriver, INFO};
