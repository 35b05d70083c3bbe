//! Benchmarks of whole datasets, through the facade.

mod baseline;
mod benchmark;
mod cell;
mod cleanup;
mod filter_list;
mod html;
mod json;
mod machine_times;
mod pattern;
mod quantity;
mod reference;
mod report;
mod sample;
mod svg;
mod target;
mod text;

pub use baseline::Baseline;
pub use benchmark::Benchmark;
pub use cell::Cell;
pub use cleanup::Cleanup;
pub use filter_list::FilterList;
pub use machine_times::MachineTimes;
pub use pattern::AccessPattern;
pub use report::{BenchReport, Measured, Row};
pub use sample::Sample;
pub use target::BenchTarget;

/// Formats a shape such as 4x5x6.
fn joined(shape: &[u64]) -> String {
    shape.iter().map(u64::to_string).collect::<Vec<_>>().join("x")
}
