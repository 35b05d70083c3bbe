//! What the cross-crate tests share: reading `.npy` files and lenient JSON, unpacking archives, counting
//! outcomes, fuzz targets.
#![forbid(unsafe_code)]

pub mod dump;
pub mod fuzz;
pub mod json;
pub mod npy;
pub mod plan;
pub mod report;
pub mod samples;
pub mod unpack;
