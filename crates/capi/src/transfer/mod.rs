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
