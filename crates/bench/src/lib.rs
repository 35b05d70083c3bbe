//! Benchmarks of datasets in any storage.
//!
//! A [`Benchmark`] writes and reads one [`Sample`] through every combination of targets, filters, chunk
//! shapes and threads. Each round visits all combinations, so that a busy moment of the machine affects all
//! of them. Every read compares its values with the written ones. All datasets are deleted, also after an
//! error.
//!
//! A [`BenchTarget`] is a map of the registry, a URL prefix, or an existing dataset for reading. Plugins work
//! like built-in maps. The result is a [`BenchReport`]: a table, bars, JSON, or an HTML page. The JSON form
//! of one run is the [`Baseline`] of a later one.
//!
//! ```
//! use nczarr_bench::{Benchmark, Sample};
//!
//! # fn main() -> nczarr::Result<()> {
//! let sample = Sample::generated(&[4, 16, 16])?;
//! let targets = ["file", "zip", "memory://example"];
//! let benchmark = Benchmark::new(sample).targets(targets).filters(["zstd,3"]).chunks(&[1, 16, 16]);
//! let report = benchmark.rounds(2).run()?;
//! println!("{}", report.table());
//! assert_eq!(report.rows.len(), 3);
//! assert!(report.html().starts_with("<!DOCTYPE html>"));
//! # Ok(())
//! # }
//! ```
//!
//! The features of `nczarr` decide which maps and filters exist. Without the default feature `facade` this
//! crate has only [`measure()`], [`Summary`] and [`verdict()`], and no dependency.
//!
//! Read `datasets/benchmark.rs` (the loop), `datasets/cell.rs` (one combination) and `verdict.rs` (the
//! comparison) first.
#![forbid(unsafe_code)]

#[cfg(feature = "facade")]
mod datasets;
mod measure;
mod summary;
mod verdict;

#[cfg(feature = "facade")]
pub use datasets::{
    AccessPattern, Baseline, BenchReport, BenchTarget, Benchmark, Cell, Cleanup, FilterList, MachineTimes,
    Measured, Row, Sample,
};
pub use measure::{Timed, measure, timed};
pub use summary::Summary;
pub use verdict::{MARGIN, Verdict, machine_margin, verdict};
