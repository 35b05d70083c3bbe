//! Memory as a map: a dataset that lives as long as the process, or as long as its owner.
//!
//! [`MemMap`] is the map. [`MemMap::new`] makes one that belongs to its owner. [`MemMaps`], the factory,
//! keeps datasets by name, so that a process can create, close and reopen them.
//!
//! The map does not interpret objects. Read [`nczarr_storage::ZMap`] first for the guarantees.
#![forbid(unsafe_code)]

mod factory;
mod map;
mod store;

pub use factory::{INFO, MemMaps};
pub use map::MemMap;
