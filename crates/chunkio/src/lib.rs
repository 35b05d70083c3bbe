//! The chunk engine: hyperslabs of an array to chunks of a map and back.
//!
//! It projects a slab on the chunk grid, decodes chunks in parallel straight into the caller's memory (or through
//! one fused scatter: stride, byte order, conversion), keeps decoded chunks in a byte budget and writes partial
//! ones back later. It parses no metadata and knows no storage: see [`ArraySpec`] and [`ChunkedArray`].
//! An array without chunks, one piece of a file or one record after another, is a [`FlatArray`].
#![deny(unsafe_code)]

mod array;
#[allow(unsafe_code)]
mod cache;
mod claims;
mod default_shape;
mod elements;
mod flat;
mod flush;
mod grid;
mod keeper;
#[allow(unsafe_code)]
mod kernel;
mod lot;
mod mask;
#[allow(unsafe_code)]
mod memory;
mod numbers;
mod odometer;
mod outcome;
mod plan;
mod project;
mod quantize;
mod ranges;
mod read;
#[allow(unsafe_code)]
mod scatter;
mod shard;
mod spec;
mod stored;
mod strings;
mod threads;
mod write;

pub use array::ChunkedArray;
pub use default_shape::default_shape;
pub use elements::{pack, unpack};
pub use flat::{ByteStore, FlatArray, FlatSpec, Short};
pub use quantize::{
    ATTRIBUTES as QUANTIZE_ATTRIBUTES, Rounded, Way as QuantizeWay, attribute as quantize_attribute, rounding,
};
pub use spec::{ArrayDim, ArraySpec, ChunkStore, Element, Order, Piece, ShardIndex, ShardSpec};
