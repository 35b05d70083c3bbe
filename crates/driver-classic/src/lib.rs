//! The netCDF classic formats CDF-1, CDF-2 and CDF-5 as a netCDF driver: [`ClassicDriver`].
//!
//! A file is a header (`parse`, `write`), whose lists become a model (`load`), and data at places that the header and
//! the sizes of the variables decide (`layout`). `chunkio`'s flat arrays move the data; this crate makes room for them
//! (`growth`), keeps the header and the file in step (`commit`), and knows where the bytes are (`store`).
//!
//! It knows no chunk, no map and no filter.
//!
//! Source: the netCDF classic format specification; where that leaves something open, what netCDF-C does.
#![deny(unsafe_code)]

mod admit;
mod claims;
mod commit;
mod copy;
mod create;
mod current;
mod cursor;
mod dataset;
mod driver;
#[cfg(test)]
mod faults;
mod fill;
mod growth;
mod kind;
mod layout;
mod load;
#[cfg(feature = "mmap")]
#[allow(unsafe_code)]
mod mapped;
mod open;
mod parse;
mod refresh;
mod store;
mod var;
mod write;

pub use driver::{ClassicDriver, INFO};
