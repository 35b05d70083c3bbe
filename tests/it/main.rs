//! Tests across crates, through the facade as an embedder uses it.

mod corpus;
mod netcdf_c;
mod right;
mod zarr;
