//! Helpers of the cross-crate tests: `.npy` files, lenient JSON, archives, outcome counts, fuzz targets.
#![forbid(unsafe_code)]

pub mod dump;
pub mod fuzz;
pub mod json;
pub mod npy;
pub mod plan;
pub mod report;
pub mod samples;
pub mod unpack;
