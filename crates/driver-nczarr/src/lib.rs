//! NCZarr and Zarr V2 as a netCDF driver: [`NcZarrDriver`].
//!
//! Documents become a raw tree (`tree`), a flavour (`flavour`) gives it a meaning as a netCDF model, and the engine
//! of `chunkio` moves the data. Attribute, fill value and type rules are in `attrs`, `fill` and `dtype`.
//!
//! This driver knows no storage, no filter and no thread: those are the registry's and the map's.
#![forbid(unsafe_code)]

mod attrs;
mod base64;
mod consolidated;
mod dataset;
mod driver;
mod dtype;
mod fetch;
mod fill;
mod flavour;
mod json;
mod layout;
mod lists;
mod meta;
mod open;
mod tree;
mod var;

pub use driver::{INFO, NcZarrDriver};
