//! [`Pace`]: connections are made in bursts that the queue of a server can hold.
//!
//! What was connected waits in a queue of the server's system until the server takes it: 128 places with many servers. Is it
//! full, the system drops what comes, and the one who asks tries again after a second. So after some connections the next
//! waits a moment, in which the server runs; nobody waits for an answer.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

/// So many connections one after another.
const BURST: u32 = 64;
/// So long a server has for them: what a timer can tell apart.
const REST: Duration = Duration::from_millis(1);

/// Who may connect next.
#[derive(Debug, Default)]
pub(crate) struct Pace(Mutex<Option<Burst>>);

/// Connections between which there was no rest.
#[derive(Debug)]
struct Burst {
    last: Instant,
    made: u32,
}

impl Pace {
    /// Waits for its turn to make one connection.
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
        let (pace, since) = (Pace::default(), Instant::now());
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
        // A pause of its own accord is a rest too.
        sleep(REST).await;
        let before = Instant::now();
        for _ in 0..BURST {
            pace.turn().await;
        }
        assert_eq!(before.elapsed(), Duration::ZERO);
    }
}
