//! Reading: what a file holds, as netCDF-C presents it.
//!
//! * `store`, `file`, `cursor`: bytes, addresses, numbers.
//! * `superblock`, `header`, `shared`, `messages`, `datatype`, `attributes`, `links`, the heaps, the B-trees and `index`: one structure
//!   of the file format each.
//! * `walk` finds all objects, `paths` those that paths mean, `types`, `dims` and `build` make netCDF's model of them, `unshown` finds what that has no place for.
//! * `var`, `far`, `beyond`, `chunks`, `masked`, `external`, `partial`, `values`: the data; `sources`: those that lie in other datasets.
//!
//! Source: the HDF5 file format specification, version 3; the netCDF-4 conventions for dimension scales; where these leave
//! something open, what netCDF-C 4.10 does.

mod attributes;
mod beyond;
mod btree2;
mod build;
mod chunks;
mod cursor;
mod dataset;
mod datatype;
mod dims;
mod external;
mod far;
mod file;
mod fractal_heap;
mod global_heap;
mod header;
mod index;
mod links;
mod local_heap;
mod masked;
mod messages;
mod open;
mod partial;
mod parts;
mod paths;
mod shared;
mod sources;
mod store;
mod superblock;
mod types;
mod unshown;
mod values;
mod var;
mod walk;

#[cfg(test)]
mod limits;

pub(crate) use datatype::Datatype;
pub(crate) use file::Hdf;
pub(crate) use index::Table;
pub(crate) use messages::{Layout, Space};
pub(crate) use open::{lock, open, open_bytes, open_from, open_hdf, open_in_memory};
pub(crate) use store::Store;
pub(crate) use var::beyond;
pub(crate) use walk::Stored;
