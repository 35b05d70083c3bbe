//! A driver, a map, a filter, a codec of arrays and a data type in a separate crate, one file each.
//!
//! A program that links this crate (`use third_party as _;`) has them by name. To use them for some datasets
//! only, add them at run time: clone `nczarr::registry()?` and call `.with_filter(third_party::XorClass)` or
//! a similar method. The folder `examples` has two programs that are `ncz` with these plugins.
#![forbid(unsafe_code)]

// Methods are on one line to keep each file short.
#[rustfmt::skip]
mod array_codec;
#[rustfmt::skip]
mod data_type;
#[rustfmt::skip]
mod driver;
#[rustfmt::skip]
mod filter;
#[rustfmt::skip]
mod map;

pub use array_codec::PcodecClass;
pub use data_type::Int4;
pub use driver::Ramp;
pub use filter::XorClass;
pub use map::Veils;
