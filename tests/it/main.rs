//! Tests across crates, through the facade as an embedder uses it.

mod access;
mod archived;
mod choosing;
mod classic;
mod codec_chains;
mod compounds;
mod consolidated;
mod corpus;
mod edits;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod failpoints;
mod features;
mod hdf4;
mod hdf5;
mod hdf5_index;
mod incompressible;
mod killed;
mod layout;
mod nczarr_v3;
mod netcdf_c;
mod odd;
mod older;
mod one;
mod pipelines;
mod processes;
mod refused;
mod right;
mod round_trip;
mod shards;
mod unpack;
mod unsafe_code;
mod user_types;
mod wrapped;
mod writing;
mod zarr;
