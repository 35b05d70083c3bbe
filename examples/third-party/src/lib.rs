//! A driver, a map and a filter in a crate of their own, one file each.
//!
//! Whoever links this crate (`use third_party as _;`) has them by name. Whoever wants them for some datasets
//! only adds them at run time: `nczarr::registry()?` cloned, `.with_filter(third_party::XorClass)`, and the
//! like.
#![forbid(unsafe_code)]

// One-line methods: each file is to be read at a glance.
#[rustfmt::skip]
mod driver;
#[rustfmt::skip]
mod filter;
#[rustfmt::skip]
mod map;

pub use driver::Ramp;
pub use filter::XorClass;
pub use map::Veils;
