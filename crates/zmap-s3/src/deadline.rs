//! [`Deadline`]: the end of an operation with all its requests, retries and pauses.
//!
//! An operation has the configured time. Unless that was set explicitly, bytes extend it when they are sent
//! or received. An announced size does not, so a server that falls silent gains no time.

use std::time::Duration;

use tokio::time::Instant;

use crate::access::RetryPolicy;

/// Bytes per second of a slow network.
pub(crate) const SLOW: u64 = 128 << 10;

/// The end of an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    start: Instant,
    time: Duration,
    grows: bool,
}

impl Deadline {
    /// Makes the deadline of an operation that starts now and sends `sends` bytes.
    pub(crate) fn new(patience: &RetryPolicy, sends: u64) -> Self {
        let mut deadline = Self { start: Instant::now(), time: patience.deadline, grows: patience.stretch };
        deadline.moves(sends);
        deadline
    }

    /// Extends the time for bytes received or to be sent.
    pub(crate) fn moves(&mut self, bytes: u64) {
        self.time = self.time_with(bytes);
    }

    /// Returns the time left.
    pub(crate) fn left(&self) -> Duration {
        self.left_with(0)
    }

    /// Returns the time left, with `bytes` more received.
    pub(crate) fn left_with(&self, bytes: u64) -> Duration {
        self.time_with(bytes).saturating_sub(self.start.elapsed())
    }

    /// Returns the time of the whole operation in seconds.
    pub(crate) fn seconds(&self) -> f32 {
        self.time.as_secs_f32()
    }

    fn time_with(&self, bytes: u64) -> Duration {
        let more =
            if self.grows { Duration::from_secs_f64(bytes as f64 / SLOW as f64) } else { Duration::ZERO };
        self.time.saturating_add(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transferred_bytes_extend_only_the_default_deadline() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(async {
            for (stretch, sends, came, seconds) in [
                (true, 0, 0, 120),
                (true, 10 * SLOW, SLOW, 131),
                (false, 0, 0, 120),
                (false, u64::MAX, SLOW, 120),
            ] {
                let mut deadline = Deadline::new(&RetryPolicy { stretch, ..RetryPolicy::default() }, sends);
                let more = deadline.left_with(came);
                deadline.moves(came);
                assert_eq!(
                    (more, deadline.left().as_secs()),
                    (deadline.left(), seconds),
                    "{stretch} {sends} {came}"
                );
                tokio::time::advance(Duration::from_secs(seconds + 1)).await;
                assert_eq!(deadline.left(), Duration::ZERO);
            }
        });
    }
}
