//! The contracts for codecs, data types and chunk grids. The crate of a codec needs no other crate of this
//! project.
//!
//! * [`Filter`]: turns the bytes of a chunk into other bytes. Filters are compressors, and codecs of arrays
//!   ([`CodecKind`]). [`FilterClass`] builds one from HDF5 parameters or from a codec description.
//! * [`ExtensionType`]: a data type of Zarr V3. [`DataTypeClass`] builds one.
//! * [`ChunkGridClass`]: a chunk grid of Zarr V3.
//! * [`ElementCodec`]: turns elements of variable length into bytes. [`ElementClass`] builds one.
//! * [`FilterText`]: filters as text.
#![forbid(unsafe_code)]

mod array_codec;
mod chunk_grid;
mod data_type;
mod element;
mod filter;
mod filter_json;
mod filter_text;
mod plugin;

pub use array_codec::CodecKind;
pub use chunk_grid::{AxisChunk, AxisEdges, ChunkGridClass};
pub use data_type::{DataTypeClass, ExtensionType, ShownType};
pub use element::{ElementChunk, ElementClass, ElementCodec};
pub use filter::{ChunkInfo, Filter, FilterClass, FilterInfo, ItemKind, ItemType, Json, Stage, ZarrFormat};
pub use filter_text::{FilterName, FilterText};
pub use inventory;
pub use nczarr_model::{Error, ErrorKind, NcString, NcType, Result};
pub use nczarr_runtime::OutBuf;
pub use plugin::{ChunkGridPlugin, DataTypePlugin, ElementPlugin, FilterPlugin};
