//! Memory as a map: a dataset that lives as long as the process, or as long as somebody holds it.
//!
//! [`MemMap`] is the map. One made by [`MemMap::new`] is its holder's own; [`MemMaps`], the factory, keeps
//! datasets by name, so that one can be created, closed and opened again within a process.
//!
//! What it does not know: what the objects mean. Read [`nczarr_dispatch::ZMap`] first: its guarantees are the rules here.
#![forbid(unsafe_code)]

mod factory;
mod map;
mod store;

pub use factory::{INFO, MemMaps};
pub use map::MemMap;
