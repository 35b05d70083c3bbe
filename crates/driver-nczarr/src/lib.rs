//! NCZarr and Zarr, V2 and V3, as a netCDF driver: [`NcZarrDriver`].
//!
//! `nodes` and `var` build arrays from metadata documents as they arrive. `tree` joins them into a raw tree.
//! A flavour (`flavour`) turns the tree into a netCDF model, and the engine of `chunkio` moves the data. The
//! rules of attributes, fill values and types are in `attrs`, `fill` and `dtype`.
//!
//! The driver does not know storages, filters or threads; it gets them from the registry, the map and the
//! pool. Read `dataset` for an open dataset, `open` for reading metadata, and `commit` for writing it.
#![forbid(unsafe_code)]

mod admit;
mod annotation;
mod array_document;
mod array_meta;
mod attrs;
mod audit;
mod base64;
mod codecs;
mod commit;
mod compound;
mod consolidated;
mod context;
mod create;
mod dataset;
mod driver;
mod dtype;
mod environment;
mod fill;
mod flavour;
mod fragment;
mod guarded_array;
mod info;
mod json;
mod legacy;
mod merge;
mod merge_v3;
mod metadata_reader;
mod native_order;
mod nczarr_lists;
mod nodes;
mod null_string;
mod one_variable;
mod open;
mod parallel;
mod parallel_layouts;
mod plan;
mod prefetch;
mod preserved_json;
mod recover;
mod rectilinear;
mod refused_documents;
mod rename;
mod rename_dims;
mod render;
mod shared_layout;
mod store;
mod torn_nodes;
mod tree;
mod types;
mod user;
mod v3;
mod var;
mod variable_chunks;
mod write_consolidated;

pub use driver::{INFO, NcZarrDriver};
