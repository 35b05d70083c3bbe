//! Test suites for maps, filters, codecs, data types and drivers.
//!
//! A third party calls these functions from its own tests: [`check_map`], [`check_filter`],
//! [`check_element_filter`], [`check_codec`], [`check_data_type`], [`check_driver`], [`check_dataset`]. Each
//! returns the first broken guarantee as
//! a [`BrokenGuarantee`], with the expected and the actual value. [`bench_map`] and [`bench_filter`] measure
//! plugins. The crate depends only on the traits of [`nczarr_dispatch`], not on implementations.
#![forbid(unsafe_code)]

mod bench;
mod codec;
mod data_type;
mod driver;
mod failure;
mod filter;
mod map;

pub use bench::{FilterBench, FilterTiming, MapBench, Timing, bench_filter, bench_map};
pub use codec::{ArraySample, CodecSample, check_codec};
pub use data_type::{DataTypeSample, check_data_type};
pub use driver::{check_dataset, check_driver};
pub use failure::{BrokenGuarantee, Outcome};
pub use filter::{ElementFilter, check_element_filter, check_filter};
pub use map::check_map;
