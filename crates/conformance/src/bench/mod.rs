//! [`bench_map`] and [`bench_filter`]: simple timings of plugins, with only the system clock.
//!
//! They take a few seconds in a release build and give the best of a few rounds. They serve to compare
//! plugins on one machine; do not publish the figures. Reads are compared with the written data, so wrong
//! results fail.

mod filter;
mod map;

use std::time::Duration;

use nczarr_bench::{Summary, measure};

use crate::failure::Outcome;

pub use filter::{FilterBench, FilterTiming, bench_filter};
pub use map::{MapBench, bench_map};

/// The number of rounds; the shortest time counts.
const ROUNDS: usize = 5;

/// One measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// The operation, in words.
    pub what: &'static str,
    /// Operations in one round: objects, ranges, listings.
    pub operations: u64,
    /// Bytes moved in one round; 0 for operations without data.
    pub bytes: u64,
    /// The shortest round; never 0.
    pub time: Duration,
    /// All rounds, in their order.
    pub rounds: Vec<Duration>,
}

impl Timing {
    fn new(what: &'static str, operations: u64, bytes: u64, rounds: Vec<Duration>) -> Self {
        let time = rounds.iter().min().copied().unwrap_or_default();
        Self { what, operations, bytes, time, rounds }
    }

    /// Returns the figures of the rounds: median, percentiles and spread, in seconds.
    pub fn summary(&self) -> Summary {
        Summary::of(&self.rounds.iter().map(Duration::as_secs_f64).collect::<Vec<_>>())
    }

    /// Returns bytes per second, in units of 2^20.
    pub fn mib_per_second(&self) -> f64 {
        mib_per_second(self.bytes, self.time)
    }

    /// Returns seconds per operation.
    pub fn seconds_per_operation(&self) -> f64 {
        self.time.as_secs_f64() / self.operations.max(1) as f64
    }
}

fn mib_per_second(bytes: u64, time: Duration) -> f64 {
    bytes as f64 / f64::from(1 << 20) / time.as_secs_f64()
}

/// Returns the times of some rounds, each after an untimed preparation.
fn rounds<T>(prepare: impl FnMut() -> Outcome<T>, run: impl FnMut(T) -> Outcome) -> Outcome<Vec<Duration>> {
    let seconds = measure(ROUNDS, prepare, run)?;
    Ok(seconds.into_iter().map(Duration::from_secs_f64).collect())
}

/// Returns the shortest of some rounds.
fn best<T>(prepare: impl FnMut() -> Outcome<T>, run: impl FnMut(T) -> Outcome) -> Outcome<Duration> {
    Ok(rounds(prepare, run)?.into_iter().min().unwrap_or_default())
}
