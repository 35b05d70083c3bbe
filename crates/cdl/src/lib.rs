//! Printer and parser for CDL, the text form of netCDF datasets.
//!
//! [`print()`] writes the same bytes as netCDF's ncdump, from a [`Model`](nczarr_model::Model), a few
//! [`Facts`] and a [`DataSource`]. The source provides data block by block, so a large variable is never in
//! memory as a whole. [`Cdl`] parses such text, also written by hand, and makes a dataset in a [`CdlTarget`].
//! This crate knows no storage and no format.
//!
//! One deliberate difference: a scalar has no `_ChunkSizes`.
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
mod output;
mod parse;
mod special;
mod text;
mod time;
mod value;

pub use blocks::{Blocks, ChunkGrid};
pub use header::print;
pub use ncml::ncml;
pub use options::{DataSource, Facts, Indices, NoData, Notes, Options, PrintedPart};
pub use parse::{Cdl, CdlError, CdlTarget, SpecialLayout};
pub use text::dataset_name;
pub use time::{Moment, TimeAxis};
