//! The contracts for filters and element codecs: what an author of a codec needs.
//!
//! * [`Filter`]: turns bytes into bytes. [`FilterClass`] builds one from HDF5 parameters or from a codec
//!   description.
//! * [`ElementCodec`]: turns elements of variable length into bytes. [`ElementClass`] builds one.
//! * [`FilterText`]: filters as text.
#![forbid(unsafe_code)]

mod element;
mod filter;
mod filter_text;
mod plugin;

pub use element::{ElementChunk, ElementClass, ElementCodec};
pub use filter::{ChunkInfo, Filter, FilterClass, FilterInfo, ItemKind, ItemType, Json, Stage, ZarrFormat};
pub use filter_text::{FilterName, FilterText};
pub use inventory;
pub use nczarr_model::{Error, ErrorKind, NcString, NcType, Result};
pub use nczarr_runtime::OutBuf;
pub use plugin::{ElementPlugin, FilterPlugin};
