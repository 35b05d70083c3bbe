//! The chunk engine: hyperslabs of an array to chunks of a map and back.
//!
//! It projects a slab on the chunk grid, decodes chunks in parallel straight into the caller's memory (or through
//! one fused scatter: stride, byte order, conversion), keeps decoded chunks in a byte budget and writes partial
//! ones back later. It parses no metadata and knows no storage: see [`ArraySpec`] and [`ChunkedArray`].

mod array;
mod spec;

pub use array::ChunkedArray;
pub use spec::{ArrayDim, ArraySpec, ChunkStore, Element, Order};
