//! CDL text of a netCDF dataset: the printer and the reader.
//!
//! [`print()`] writes what netCDF's own dump tool writes, byte for byte, from a [`Model`](nczarr_model::Model), a few
//! [`Facts`] and a [`DataSource`] that hands out the data block by block, so a large variable never lies in memory
//! as a whole. [`Cdl`] reads such text, and what people write by hand, and makes a dataset of it in a [`Target`]. This
//! crate knows no storage and no format; it reads nothing but what the caller hands it.
//!
//! One difference is on purpose: a scalar has no `_ChunkSizes`.
#![forbid(unsafe_code)]

mod atts;
mod blocks;
mod cformat;
mod data;
mod header;
mod ncml;
mod notes;
mod number;
mod options;
mod out;
mod parse;
mod special;
mod text;
mod time;
mod value;

pub use blocks::{Blocks, Grid};
pub use header::print;
pub use ncml::ncml;
pub use options::{DataSource, Facts, Indices, NoData, Notes, Options, Part};
pub use parse::{Cdl, Layout, Mistake, Target};
pub use text::dataset_name;
pub use time::{Moment, TimeAxis};
