//! Reads and writes netCDF datasets in NCZarr, Zarr V2 and V3, netCDF classic and netCDF-4 (HDF5) form. Reads
//! HDF4 files.
//!
//! A dataset is a tree of groups with shared dimensions, variables and typed attributes. [`open`] returns a
//! [`File`], and the file gives handles: [`Group`], [`Dimension`], [`Variable`]. Handles are cheap to clone.
//! All methods take `&self`, and all types are `Send + Sync`. So any number of threads may read at once, or
//! write to different parts at once.
//!
//! ```
//! # #[cfg(not(all(feature = "nczarr", feature = "file", feature = "shuffle", feature = "deflate")))]
//! # fn main() {}
//! # #[cfg(all(feature = "nczarr", feature = "file", feature = "shuffle", feature = "deflate"))]
//! # fn main() -> nczarr::Result<()> {
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path().join("ocean.zarr").display().to_string();
//! let file = nczarr::create(&path)?;
//! file.add_unlimited_dimension("time")?;
//! file.add_dimension("x", 3)?;
//! let t = file.add_variable::<f32>("t", &["time", "x"])?;
//! t.set_deflate(5, true)?;
//! t.put_attribute("units", "K")?;
//! t.put(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], ..)?;
//! file.close()?;
//!
//! let file = nczarr::open(&path)?;
//! let t = file.variable("t")?;
//! assert_eq!(t.shape()?, [2, 3]);
//! let row = t.get::<f64>((1, ..))?;
//! assert_eq!(row.as_slice(), [4.0, 5.0, 6.0]);
//! # Ok(())
//! # }
//! ```
//!
//! A [`Registry`] has the formats, storage and filters: the plugins of this crate's features, linked plugins,
//! and plugins that a program adds ([`OpenOptions::registry`]).
//!
//! This crate has handles, options and features; drivers implement the formats.
#![deny(unsafe_code)]

mod array;
#[cfg(feature = "async")]
pub mod asynchronous;
mod attribute;
mod builtin;
mod chunks;
mod codecs;
mod dimension;
mod extent;
mod file;
#[cfg(all(feature = "filter-plugins", unix))]
mod filter_plugins;
mod from_values;
mod group;
#[cfg(all(
    any(doc, doctest),
    feature = "nczarr",
    feature = "classic",
    feature = "file",
    feature = "mem",
    feature = "zip"
))]
pub mod guide;
mod json_attribute;
mod kind;
mod number;
mod options;
#[cfg(feature = "zip")]
mod repack;
mod transfer;
mod user_type;
pub mod value;
mod variable;
#[cfg(feature = "wrap")]
pub mod wrap;
mod zarr_type;

pub use array::{Array, ArrayItem};
pub use attribute::{Attribute, IntoValues};
pub use builtin::registry;
pub use chunks::{Chunk, Chunks};
pub use codecs::{Blosc, Codec, SzipCoding};
pub use dimension::Dimension;
pub use extent::{Extent, Extents, IntoExtent, Selection};
pub use file::File;
#[cfg(all(feature = "filter-plugins", unix))]
pub use filter_plugins::load_filter_plugins;
pub use from_values::FromValues;
pub use group::Group;
pub use kind::Kind;
pub use nczarr_codec as codec;
#[cfg(feature = "derive")]
pub use nczarr_derive::NcType;
pub use nczarr_dispatch::{
    self as dispatch, CacheConfig, ChunkEncoding, Clobber, DatasetInfo, Durability, EncodedChunk,
    Explanation, ForbiddenKeys, Limits, MemMut, MemRef, MissingChunks, Place, Progress, Registry,
};
pub use nczarr_filters::{HDF5_FILTERS, Hdf5Filter};
pub use nczarr_model::{
    self as model, Chunking, Endian, Error, ErrorKind, FillMode, FilterSpec, NcString, NcType, Quantize,
    Result, Slab, TimeStep, Values, VarFill,
};
pub use nczarr_nc_table as nc_table;
pub use nczarr_runtime::{Buffer, DimVec, OutBuf};
pub use nczarr_storage as storage;
pub use number::{Number, Real};
pub use options::{
    CreateOptions, OpenOptions, append, create, delete, explain, open, open_bytes, open_variable,
};
#[cfg(feature = "zip")]
pub use repack::{Repacked, repack};
pub use user_type::UserType;
pub use value::NcValue;
pub use variable::Variable;
pub use zarr_type::ZarrType;
