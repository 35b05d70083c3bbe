//! [`ConnectThrottle`]: makes connections in bursts that fit in a server's accept queue.
//!
//! The queue has 128 places on many servers. If it is full, the system drops connection requests, and the
//! client repeats them after a second. So after some connections the next one waits a moment.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

/// Connections of one burst.
const BURST: u32 = 64;
/// Pause after a burst, which is the shortest that timers can measure.
const REST: Duration = Duration::from_millis(1);

/// The current burst.
#[derive(Debug, Default)]
pub(crate) struct ConnectThrottle(Mutex<Option<Burst>>);

/// Connections made without a pause.
#[derive(Debug)]
struct Burst {
    last: Instant,
    made: u32,
}

impl ConnectThrottle {
    /// Waits until one more connection may be made.
    pub(crate) async fn turn(&self) {
        let mut burst = self.0.lock().await;
        let made = match burst.as_ref() {
            Some(burst) if burst.last.elapsed() >= REST => 0,
            Some(burst) if burst.made >= BURST => {
                sleep(REST).await;
                0
            }
            Some(burst) => burst.made,
            None => 0,
        };
        *burst = Some(Burst { last: Instant::now(), made: made + 1 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_burst_is_followed_by_a_rest() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(bursts());
    }

    async fn bursts() {
        let (pace, since) = (ConnectThrottle::default(), Instant::now());
        let mut rests = Vec::new();
        for made in 1..=4 * BURST {
            let before = Instant::now();
            pace.turn().await;
            if before.elapsed() > Duration::ZERO {
                assert!(before.elapsed() >= REST);
                rests.push(made);
            }
        }
        assert_eq!(rests, [BURST + 1, 2 * BURST + 1, 3 * BURST + 1]);
        assert!(since.elapsed() < 4 * 2 * REST, "{:?}", since.elapsed());
        // A voluntary pause also ends a burst.
        sleep(REST).await;
        let before = Instant::now();
        for _ in 0..BURST {
            pace.turn().await;
        }
        assert_eq!(before.elapsed(), Duration::ZERO);
    }
}
