//! Stored types, and their netCDF types.
//!
//! * `dtype` reads and writes type strings; `compound` the list form of compound types.
//! * `foreign` gives stored types that netCDF lacks a user-defined type.

pub(crate) mod compound;
pub(crate) mod dtype;
pub(crate) mod foreign;
