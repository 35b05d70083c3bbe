//! A zip archive as a map: each object is a member.
//!
//! [`ZipMap`] is the map, [`ZipMaps`] its factory, [`repack`] shrinks an archive, [`archive`] makes one from
//! objects in memory. Threads read and write uncompressed members directly in the file. The crate `zip` reads
//! compressed members and unusual directories. The C libraries liblzma and zstd read members that are packed
//! with LZMA, xz or Zstandard.
//!
//! *Invariant:* a written archive only grows. New members and a new directory follow the existing bytes, and
//! the old directory stays valid until the new one is complete. Only one process may write.
//!
//! The map does not interpret objects. Read [`nczarr_storage::ZMap`] first for the guarantees.
//!
//! Source: the ZIP file format specification (APPNOTE 6.3).
#![forbid(unsafe_code)]

mod append;
mod archive_file;
mod batch;
mod central;
mod copy_members;
mod directory;
mod factory;
mod index;
mod listing;
#[cfg(feature = "lzma")]
mod lzma;
mod map;
mod member;
mod persist;
mod records;
mod remote;
mod repack;
mod scratch;
mod source;
#[cfg(feature = "zstd")]
mod zstd;

pub use factory::{INFO, ZipMaps};
pub use map::ZipMap;
pub use repack::{Repacked, archive, repack};
