//! NCZarr and Zarr, V2 and V3, as a netCDF driver: [`NcZarrDriver`].
//!
//! Documents become a raw tree (`tree`) whose arrays were built where they were read (`nodes`, `var`), a flavour
//! (`flavour`) gives it a meaning as a netCDF model, and the engine of `chunkio` moves the data. Attribute, fill value
//! and type rules are in `attrs`, `fill` and `dtype`.
//!
//! This driver knows no storage, no filter and no thread: those are the registry's, the map's and the pool's.
#![forbid(unsafe_code)]

mod about;
mod admit;
mod alike;
mod annotation;
mod asked;
mod attrs;
mod audit;
mod base64;
mod bridge;
mod codecs;
mod commit;
mod consolidate;
mod consolidated;
mod create;
mod dataset;
mod decide;
mod displaced;
mod driver;
mod dtype;
mod environment;
mod far;
mod fetch;
mod fill;
mod flavour;
mod gate;
mod joined;
mod json;
mod known;
mod layout;
mod light;
mod lists;
mod merge;
mod meta;
mod moves;
mod native;
mod nil;
mod nodes;
mod older;
mod only;
mod open;
mod opening;
mod parallel;
mod plan;
mod record;
mod rectilinear;
mod refused;
mod render;
mod store;
mod told;
mod torn;
mod tree;
mod types;
mod user;
mod v3;
mod var;

pub use driver::{INFO, NcZarrDriver};
