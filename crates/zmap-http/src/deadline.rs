//! [`ReadDeadline`]: the time left for a read, with all its requests, retries and pauses.

use std::time::{Duration, Instant};

use crate::Config;

/// The time of one read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadDeadline {
    start: Instant,
    time: Duration,
    slowest: Option<u64>,
}

impl ReadDeadline {
    /// Starts the time of a read.
    pub(crate) fn start(config: &Config) -> Self {
        Self { start: Instant::now(), time: config.deadline, slowest: config.slowest }
    }

    /// Extends the time for received bytes, by as long as the slowest accepted server needs for them.
    pub(crate) fn extend(&mut self, bytes: usize) {
        if let Some(slowest) = self.slowest {
            let more = Duration::from_secs_f64(bytes as f64 / slowest.max(1) as f64);
            self.time = self.time.saturating_add(more);
        }
    }

    pub(crate) fn left(&self) -> Duration {
        self.time.saturating_sub(self.start.elapsed())
    }
}
