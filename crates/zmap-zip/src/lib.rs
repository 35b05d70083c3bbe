//! A zip archive as a map: each object is a member.
//!
//! [`ZipMap`] is the map, [`ZipMaps`] its factory, [`repack`] makes an archive as small as it can be, [`archive`] makes one
//! of objects in memory. Members that are stored as they are, are read and written at their places in the file, by any
//! number of threads; what is compressed is read through the crate `zip`, which also reads directories that are unusual.
//!
//! An archive that is written only ever grows: new members and then a new directory come after what is there, and the
//! old directory stays the valid one until the new one is complete. One process at a time may write.
//!
//! What it does not know: what the objects mean. Read [`nczarr_dispatch::ZMap`] first: its guarantees are the rules here.
//!
//! Source: the ZIP file format specification (APPNOTE 6.3).
#![forbid(unsafe_code)]

mod append;
mod batch;
mod carried;
mod central;
mod directory;
mod elsewhere;
mod factory;
mod index;
mod listing;
mod map;
mod member;
mod persist;
mod place;
mod records;
mod repack;
mod source;

pub use factory::{INFO, ZipMaps};
pub use map::ZipMap;
pub use repack::{Repacked, archive, repack};
