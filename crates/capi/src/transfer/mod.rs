//! Functions that move data of variables: five regions, two directions, and fifteen types of memory.
//!
//! `families` exports the functions. Each makes a `Region`, which `data_call` checks, and calls
//! [`get::get`] or [`put::put`]. These move data straight between the memory of the caller and the engine.
//! Mapped access goes through dense memory.

pub mod data_call;
mod families;
pub mod get;
mod mapped;
pub mod put;
pub mod region;

use nczarr::{ErrorKind, Result};

/// Allocates zeros, or returns `NC_ENOMEM`.
pub fn zeroed(bytes: usize) -> Result<Vec<u8>> {
    let mut memory = Vec::new();
    memory
        .try_reserve_exact(bytes)
        .map_err(|error| ErrorKind::NoMem.context(format!("{bytes} bytes")).caused_by(error))?;
    memory.resize(bytes, 0);
    Ok(memory)
}
