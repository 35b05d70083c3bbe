//! A directory tree as a map: each object is a file, each `/` of a key a directory.
//!
//! [`FileMap`] is the map, [`FileMaps`] its factory. On Linux every path is resolved below an open directory
//! without following symbolic links. New objects appear by one `linkat`. Replacing takes a byte lock, which
//! conditional writes of other processes take too. Other systems use a portable form over [`std::fs`] with
//! the same guarantees at a higher cost.
//!
//! The map does not interpret objects. Read [`nczarr_storage::ZMap`] first for the guarantees.
#![forbid(unsafe_code)]

mod factory;
mod names;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(not(target_os = "linux"), test))]
mod portable;

pub use factory::{FileMaps, INFO};
#[cfg(target_os = "linux")]
pub use linux::FileMap;
#[cfg(not(target_os = "linux"))]
pub use portable::FileMap;
