//! The chunk engine: transfers hyperslabs between the caller's memory and the chunks of a map.
//!
//! It projects a slab on the chunk grid and decodes chunks in parallel. It decodes into the caller's memory,
//! or through one kernel for stride, byte order and conversion. It caches decoded chunks within a byte
//! budget, and stores partial chunks later. It parses no metadata and knows no storage: see [`ArraySpec`] and
//! [`ChunkedArray`]. [`FlatArray`] is an array without chunks: contiguous in a file, or with a fixed distance
//! between records.
#![deny(unsafe_code)]

mod array;
#[allow(unsafe_code)]
mod cache;
mod claims;
mod converted;
mod default_shape;
mod elements;
mod encoded;
mod engine;
mod fast;
mod fixed_size;
mod flat;
mod grid;
#[allow(unsafe_code)]
mod kernel;
mod mask;
#[allow(unsafe_code)]
mod memory;
mod odometer;
mod outcome;
#[allow(unsafe_code)]
mod output;
mod plan;
mod project;
mod quantize;
mod ranges;
mod read;
mod shard;
mod spec;
mod stored_chunks;
mod strings;
mod threads;
mod write;
mod write_back;

pub use array::ChunkedArray;
pub use converted::{load_item, save_item};
pub use default_shape::default_shape;
pub use elements::{pack_element, unpack_element};
pub use flat::{BeyondEnd, ByteStore, FlatArray, FlatSpec};
pub use quantize::{
    ATTRIBUTES as QUANTIZE_ATTRIBUTES, QuantizeMode as QuantizeWay, QuantizedArray,
    attribute as quantize_attribute, rounding,
};
pub use spec::{
    ArrayDim, ArraySpec, ChunkStore, DimOrder, ElementLayout, ElementPiece, ObjectForm, ShardIndexSpec,
    ShardSpec,
};
