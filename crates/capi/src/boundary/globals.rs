//! The variables that programs for netCDF 2 read and write.
//!
//! A program may have its own copy of them, which the dynamic linker then uses for the library too.
#![allow(unsafe_code)]

use std::sync::atomic::AtomicI32;

/// The code of the last error: `ncerr`.
// SAFETY: no other item of the library has this name, and C declares an `int`.
#[unsafe(export_name = "ncerr")]
pub static LAST_ERROR: AtomicI32 = AtomicI32::new(0);

/// Whether an error is printed (2) and ends the program (1): `ncopts`.
// SAFETY: as above.
#[unsafe(export_name = "ncopts")]
pub static OPTIONS: AtomicI32 = AtomicI32::new(3);
