//! A filter and a map in a separate crate. Copy the folder, and replace them by your own.
//!
//! [`MirrorClass`] is a filter that reverses the bytes of a chunk. [`Shelves`] is a map that keeps objects in
//! memory, with URLs like `shelf://name`. Both are complete and keep all guarantees: `tests/suite.rs` runs
//! the conformance suites. `examples/third-party` has a driver.
//!
//! A program that links this crate (`use plugin_template as _;`) has both by name. To use them for some
//! datasets only, add them to a registry: `.with_filter(plugin_template::MirrorClass)`.
#![forbid(unsafe_code)]

mod filter;
mod map;

pub use filter::MirrorClass;
pub use map::Shelves;
