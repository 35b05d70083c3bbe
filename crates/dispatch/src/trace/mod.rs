//! What is told to the log: failures at `ERROR`, calls of drivers at `DEBUG`, every operation of a map at `TRACE`.
//!
//! Events go through `tracing`; who listens, and where it is written, is the program's choice. Targets are
//! [`CALLS`] and [`MAPS`]. Places are printed as [`Target`] prints them, without user-info and query; values of
//! attributes and data are never printed.
//!
//! netCDF's log levels are numbers: [`filter_of`] says which events each of them lets through, and
//! [`set_log_level`] keeps the one a program asked for.

mod job;
mod map;

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Instant;

use nczarr_model::Result;
use nczarr_url_infer::Target;
use tracing::Level;
use tracing::level_filters::LevelFilter;

use crate::ZMap;

pub use map::TracedMap;

/// Target of the events about calls of drivers, and of failures.
pub const CALLS: &str = "nczarr::call";
/// Target of the events about operations of maps.
pub const MAPS: &str = "nczarr::map";

static LOG_LEVEL: AtomicI32 = AtomicI32::new(-1);

/// Sets netCDF's log level (`nc_set_log_level`): -1 silence, 1 failures, 5 calls of drivers as well, 9 everything.
///
/// It is a wish: a program's subscriber asks [`log_level`] and [`filter_of`].
pub fn set_log_level(level: i32) {
    LOG_LEVEL.store(level, Ordering::Relaxed);
}

/// The log level that was set last; -1 before.
pub fn log_level() -> i32 {
    LOG_LEVEL.load(Ordering::Relaxed)
}

/// The events that one of netCDF's log levels lets through.
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

/// Runs a call that concerns a whole dataset and tells how it went.
pub(crate) fn call<T>(name: &'static str, target: &Target, run: impl FnOnce() -> Result<T>) -> Result<T> {
    timed(name, &|| target.to_string(), run)
}

/// Whether somebody listens to calls that go well.
pub(crate) fn tells_calls() -> bool {
    tracing::enabled!(target: CALLS, Level::DEBUG)
}

/// Runs a call and tells how it went; `place` is asked only if somebody listens.
pub(crate) fn timed<T>(name: &'static str, place: &dyn Fn() -> String, run: impl FnOnce() -> Result<T>) -> Result<T> {
    let started = tells_calls().then(Instant::now);
    let outcome = run();
    match &outcome {
        Ok(_) => {
            if let Some(started) = started {
                tracing::debug!(target: CALLS, call = name, place = %place(), us = micros(started));
            }
        }
        Err(error) => tracing::error!(target: CALLS, call = name, place = %place(), error = format_args!("{error:#}")),
    }
    outcome
}

/// The map itself, or wrapped so that every operation is told, if somebody listens by now.
pub(crate) fn watch(map: Arc<dyn ZMap>) -> Arc<dyn ZMap> {
    if tracing::enabled!(target: MAPS, Level::TRACE) { Arc::new(TracedMap::new(map)) } else { map }
}

fn micros(started: Instant) -> u64 {
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
