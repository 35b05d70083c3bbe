//! Tests across crates, through the facade as an embedder uses it.

mod corpus;
mod zarr;
