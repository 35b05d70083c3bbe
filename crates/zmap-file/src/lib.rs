//! A directory tree as a map: each object is a file, each `/` of a key a directory.
//!
//! [`FileMap`] is the map, [`FileMaps`] its factory. On Linux every path is resolved beneath an open
//! directory without following symbolic links, new objects appear by one `linkat`, and replacing takes a
//! byte lock that conditional writes of other processes take too. Elsewhere a plain form over [`std::fs`]
//! keeps the same guarantees at a higher price.
//!
//! What it does not know: what the objects mean. Read [`nczarr_dispatch::ZMap`] first: its guarantees are the rules here.
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
