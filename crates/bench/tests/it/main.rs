//! Benchmarks of all kinds of targets. Times are not checked, but values, and that nothing stays.

mod forms;
mod plugin;
mod servers;
mod targets;

use std::path::Path;

use nczarr_bench::{Benchmark, Sample};

/// A benchmark of a small field, in two rounds.
fn small() -> Benchmark {
    Benchmark::new(Sample::generated(&[5, 12, 9]).unwrap()).chunks(&[2, 5, 9]).rounds(2)
}

fn is_empty(dir: &Path) -> bool {
    std::fs::read_dir(dir).unwrap().next().is_none()
}
