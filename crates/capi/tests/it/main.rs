//! The library through its C functions, with the codes that programs rely on.
//!
//! Comments with a number name a rule of netCDF-C that was measured with its version 4.10.1.

mod attributes;
mod c;
mod c_program;
mod errors;
mod foreign;
mod ids;
mod memory;
mod modes;
mod netcdf_c_rules;
#[cfg(target_os = "linux")]
mod parallel;
mod transfers;
mod user_types;
mod variables;
mod version2;
