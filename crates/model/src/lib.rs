//! The netCDF-4 enhanced data model, in memory.
//!
//! One tree ([`Model`]) has groups, dimensions, variables, typed attributes and user-defined types. Every
//! change is an [`Edit`]; every error has an [`ErrorKind`] with its netCDF code. Type conversion
//! ([`convert`]) and hyperslab checks ([`Slab`]) are pure functions.
//!
//! This crate does no I/O and knows no JSON, URLs or threads.
//!
//! Plugins use its types. Within one compatible version types only grow, by new methods or where they are
//! `#[non_exhaustive]`; an [`ErrorKind`] keeps its number.
#![forbid(unsafe_code)]

mod apply;
mod apply_types;
mod cell;
pub mod convert;
mod edit;
mod error;
mod error_places;
pub mod fill;
mod ids;
mod io_error;
mod item;
mod lengths;
mod lookup;
mod mapped;
pub mod name;
mod packed;
mod slab;
mod text;
mod time;
mod tree;
mod types;
mod value;

pub use apply::{FILL_VALUE, MAX_VAR_DIMS};
pub use cell::ModelCell;
pub use edit::{Defined, Edit};
pub use error::{Error, ErrorKind, Result};
pub use fill::FillMode;
pub use ids::{DimId, GroupId, TypeId, VarId};
pub use item::Item;
pub use lengths::{DimLengths, DimLengths as Lengths};
pub use mapped::{check_imap, gather_items, gather_mapped, scatter_items, scatter_mapped};
pub use packed::{PackedPart, Packer, Unpacker};
pub use slab::{CheckedSlab, Slab};
pub use text::NcString;
pub use time::{TimeStep, TimeUnit};
pub use tree::{
    Att, Chunking, Dim, Endian, FilterSpec, Group, Model, NameHasher, Named, Quantize, Var, VarFill,
};
pub use types::{EnumMember, Field, NcType, TypeClass, UserType};
pub use value::{Scalar, Values};
