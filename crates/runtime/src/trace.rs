//! The log: failures at `ERROR`, driver calls at `DEBUG`, every map operation at `TRACE`.
//!
//! Events go through `tracing`; the program chooses subscribers and output. Targets are [`CALLS`] and
//! [`MAPS`]. Callers print locations without user-info and query. Values of attributes and data are never
//! printed.
//!
//! netCDF's log levels are numbers. [`filter_of`] converts them to filters, and [`set_log_level`] stores the
//! level that the program sets.

use std::fmt::Display;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Instant;

use nczarr_model::{Error, Result};
use tracing::Level;
use tracing::level_filters::LevelFilter;

/// The target of events for driver calls and failures.
pub const CALLS: &str = "nczarr::call";
/// The target of events for map operations.
pub const MAPS: &str = "nczarr::map";

static LOG_LEVEL: AtomicI32 = AtomicI32::new(-1);

/// Sets netCDF's log level (`nc_set_log_level`): -1 silence, 1 failures, 5 calls of drivers as well, 9
/// everything.
///
/// It is only stored: the program's subscriber uses [`log_level`] and [`filter_of`].
pub fn set_log_level(level: i32) {
    LOG_LEVEL.store(level, Ordering::Relaxed);
}

/// Returns the log level that was set last; -1 before.
pub fn log_level() -> i32 {
    LOG_LEVEL.load(Ordering::Relaxed)
}

/// Returns the filter for one of netCDF's log levels.
pub fn filter_of(level: i32) -> LevelFilter {
    match level {
        i32::MIN..=-1 => LevelFilter::OFF,
        0 | 1 => LevelFilter::ERROR,
        2 => LevelFilter::WARN,
        3 | 4 => LevelFilter::INFO,
        5..=8 => LevelFilter::DEBUG,
        9.. => LevelFilter::TRACE,
    }
}

/// Runs a call of a whole dataset and logs the result.
pub fn call<T>(name: &'static str, target: &impl Display, run: impl FnOnce() -> Result<T>) -> Result<T> {
    timed(name, &|| target.to_string(), run)
}

/// Whether successful calls are logged.
pub fn logs_calls() -> bool {
    tracing::enabled!(target: CALLS, Level::DEBUG)
}

/// Runs a call and logs the result. `place` is evaluated only if it is logged.
pub fn timed<T>(
    name: &'static str,
    place: &dyn Fn() -> String,
    run: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let started = logs_calls().then(Instant::now);
    let outcome = run();
    match &outcome {
        Ok(_) => {
            if let Some(started) = started {
                log_success(name, place, started);
            }
        }
        Err(error) => log_failure(name, place, error),
    }
    outcome
}

// Events are much code, so they are not in the generic function.
fn log_success(name: &'static str, place: &dyn Fn() -> String, started: Instant) {
    tracing::debug!(target: CALLS, call = name, place = %place(), us = micros(started));
}

fn log_failure(name: &'static str, place: &dyn Fn() -> String, error: &Error) {
    tracing::error!(target: CALLS, call = name, place = %place(), error = format_args!("{error:#}"));
}

/// Returns the microseconds since `started`.
pub fn micros(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_levels_are_filters() {
        for (level, filter) in [
            (i32::MIN, LevelFilter::OFF),
            (-1, LevelFilter::OFF),
            (0, LevelFilter::ERROR),
            (1, LevelFilter::ERROR),
            (4, LevelFilter::INFO),
            (5, LevelFilter::DEBUG),
            (8, LevelFilter::DEBUG),
            (9, LevelFilter::TRACE),
            (i32::MAX, LevelFilter::TRACE),
        ] {
            assert_eq!(filter_of(level), filter, "{level}");
        }
    }
}
