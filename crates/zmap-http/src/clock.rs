//! [`Clock`]: how much time is left for a question, with all its requests, repetitions and pauses.

use std::time::{Duration, Instant};

use crate::Config;

/// The time of one question.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
    time: Duration,
    slowest: Option<u64>,
}

impl Clock {
    /// Of a question that is asked now.
    pub(crate) fn start(config: &Config) -> Self {
        Self { start: Instant::now(), time: config.deadline, slowest: config.slowest }
    }

    /// Extends the time for bytes that arrived, by as much as the slowest server needs for them.
    pub(crate) fn came(&mut self, bytes: usize) {
        if let Some(slowest) = self.slowest {
            let more = Duration::from_secs_f64(bytes as f64 / slowest.max(1) as f64);
            self.time = self.time.saturating_add(more);
        }
    }

    pub(crate) fn left(&self) -> Duration {
        self.time.saturating_sub(self.start.elapsed())
    }
}
