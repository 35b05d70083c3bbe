//! The helpers of `netcdf_aux.h`, and the list of plugin directories.

mod compound;
mod dump;
mod files;
mod filter_spec;
mod memory;
mod plugin_path;
mod provenance;
