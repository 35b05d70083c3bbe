//! A filter and a map in a crate of their own: copy the folder, and put yours in their place.
//!
//! [`MirrorClass`] is a filter, which turns the bytes of a chunk round; [`Shelves`] a map, `shelf://name`,
//! which keeps objects in memory. Both are complete: they keep all guarantees, and `tests/suite.rs` shows it.
//! A driver is in `examples/third-party`.
//!
//! Whoever links this crate (`use plugin_template as _;`) has both by name. Whoever wants them for some
//! datasets only adds them to a registry: `.with_filter(plugin_template::MirrorClass)`.
#![forbid(unsafe_code)]

mod filter;
mod map;

pub use filter::MirrorClass;
pub use map::Shelves;
