//! Suites any map, filter or driver can be run through.
//!
//! Plain functions that a third party calls from its own tests: [`check_map`], [`check_filter`],
//! [`check_element_filter`], [`check_driver`], [`check_dataset`]. Each answers the first guarantee it found broken, as a
//! [`Failure`] that says what was expected and what was found. [`bench_map`] and [`bench_filter`] measure what a plugin
//! costs. They all know the seams of [`dispatch`] and nothing of what they test.
#![forbid(unsafe_code)]

mod bench;
mod driver;
mod failure;
mod filter;
mod map;

pub use bench::{FilterBench, FilterTiming, MapBench, Timing, bench_filter, bench_map};
pub use driver::{check_dataset, check_driver};
pub use failure::{Failure, Outcome};
pub use filter::{ElementFilter, check_element_filter, check_filter};
pub use map::check_map;
