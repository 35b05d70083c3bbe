//! [`bench_map`] and [`bench_filter`]: what a plugin costs, measured with nothing but a clock.
//!
//! Small on purpose: a few seconds in a release build, the best of a few rounds, on one machine at one moment. They are for
//! comparing one's plugin with others beside it, not for a number to quote. What is read is compared with what was
//! written, so a fast wrong answer is no result.

mod filter;
mod map;

use std::time::{Duration, Instant};

use crate::failure::Outcome;

pub use filter::{FilterBench, FilterTiming, bench_filter};
pub use map::{MapBench, bench_map};

/// How often each thing is measured; the shortest time counts.
const ROUNDS: usize = 3;

/// One thing that was measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// What was done, for people.
    pub what: &'static str,
    /// Operations in one round: objects, ranges, listings.
    pub operations: u64,
    /// Bytes moved in one round; 0 if it is not about bytes.
    pub bytes: u64,
    /// The shortest round; never 0.
    pub time: Duration,
}

impl Timing {
    /// Bytes per second, in units of 2^20.
    pub fn mib_per_second(&self) -> f64 {
        mib_per_second(self.bytes, self.time)
    }

    /// Seconds that one operation took.
    pub fn seconds_per_operation(&self) -> f64 {
        self.time.as_secs_f64() / self.operations.max(1) as f64
    }
}

fn mib_per_second(bytes: u64, time: Duration) -> f64 {
    bytes as f64 / f64::from(1 << 20) / time.as_secs_f64()
}

/// The shortest of some rounds, each after a preparation that does not count.
fn best<T>(mut prepare: impl FnMut() -> Outcome<T>, mut run: impl FnMut(T) -> Outcome) -> Outcome<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let prepared = prepare()?;
        let start = Instant::now();
        run(prepared)?;
        best = best.min(start.elapsed());
    }
    // A clock may be coarse.
    Ok(best.max(Duration::from_nanos(1)))
}
