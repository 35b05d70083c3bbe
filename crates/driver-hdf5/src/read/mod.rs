//! Reading: presents the content of a file as netCDF-C does.
//!
//! * `file_bytes`, `file`, `cursor`: bytes, addresses, numbers.
//! * `superblock`, `header`, `shared_messages`, `messages`, `datatype`, `attributes`, `links`, the heaps, the
//!   B-trees and `index`: one structure of the file format each.
//! * `walk` finds all objects, `paths` resolves paths. `types`, `dims` and `build` make the model.
//!   `unsupported` finds content that netCDF cannot show.
//! * `var`, `remote`, `padded`, `chunks`, `masked_pipeline`, `external`, `widened`, `values`: the data.
//!   `virtual_dataset`: data in other datasets.
//!
//! Sources: the HDF5 File Format Specification 3.0, netCDF-4's conventions for dimension scales, and
//! otherwise the behaviour of netCDF-C 4.10.

mod attributes;
mod btree2;
mod build;
mod chunk_parts;
mod chunks;
mod cursor;
mod dataset;
mod datatype;
mod dims;
mod external;
mod file;
mod file_bytes;
mod fractal_heap;
mod global_heap;
mod header;
mod index;
mod links;
mod local_heap;
mod masked_pipeline;
mod messages;
mod open;
mod padded;
mod paths;
mod raw_chunks;
mod remote;
mod shared_messages;
mod short;
mod superblock;
mod types;
mod unsupported;
mod values;
mod var;
mod virtual_dataset;
mod walk;
mod widened;

#[cfg(test)]
mod limits;

pub(crate) use build::StoredText;
pub(crate) use datatype::{Datatype, DatatypeClass};
pub(crate) use file::HdfFile;
pub(crate) use file_bytes::FileBytes;
pub(crate) use index::ChunkTable;
pub(crate) use messages::{DataLayout, Dataspace};
pub(crate) use open::{lock, open, open_bytes, open_from_source, open_hdf, open_in_memory};
pub(crate) use var::padding;
pub(crate) use walk::DatasetStorage;
