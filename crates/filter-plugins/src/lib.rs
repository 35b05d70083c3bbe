//! HDF5 filter plugins in shared libraries. Each runs in a process of its own.
//!
//! [`load`] finds the plugins in directories and returns a [`FilterClass`](nczarr_codec::FilterClass) for
//! each. The program `nczarr-plugin-host` loads a plugin and serves requests on its standard input; see
//! [`message`] for their form. A process serves one thread at a time; more threads start more processes.
//!
//! A plugin has these functions of C:
//!
//! * `H5PLget_plugin_type` and `H5PLget_plugin_info`: a filter of HDF5 (`H5Z_class2_t`).
//! * `NCZ_get_codec_info`, if it has one: the codec of Zarr V2, whose description becomes parameters.
//!
//! A plugin with `can_apply` or `set_local` only decodes: these functions need an open dataset of the HDF5
//! library. The parameters that they add are stored in files, so decoding does not need them.
//!
//! Plugins run on systems of the Unix family only.
//!
//! Plugins are code of others. So a program loads them only where its user asked for it: [`is_enabled`].
//!
//! Source: HDF5 1.14, `H5Zdevelop.h` and `H5PLextern.h`; netCDF-C 4.10, `netcdf_filter_build.h`.
#![forbid(unsafe_code)]

#[cfg(unix)]
mod class;
#[cfg(unix)]
mod directories;
#[cfg(unix)]
mod hosts;
pub mod message;
#[cfg(unix)]
mod process;

#[cfg(unix)]
pub use class::PluginClass;
#[cfg(unix)]
pub use directories::{environment_directories, is_enabled, load};
