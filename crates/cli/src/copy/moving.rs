//! [`Moving`]: how much is moved at a time, and how far that has come, told on a terminal.

use std::cell::Cell;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::data::BUDGET;

/// How often the line is written anew.
const OFTEN: Duration = Duration::from_millis(200);

/// A copy under way.
pub struct Moving {
    /// Bytes of a block.
    pub budget: u64,
    /// Where there is room for a stage.
    pub stage: Option<PathBuf>,
    shown: bool,
    all: u64,
    done: Cell<u64>,
    begun: Instant,
    told: Cell<Instant>,
}

impl Moving {
    /// Of `all` bytes. A block takes half of the memory: what is encoded and decoded on the way takes the rest.
    pub fn new(memory: Option<u64>, all: u64, stage: Option<&Path>) -> Self {
        let now = Instant::now();
        let budget = memory.map_or(BUDGET, |memory| (memory / 2).max(1));
        let shown = std::io::stderr().is_terminal();
        Self {
            budget,
            stage: stage.map(Path::to_owned),
            shown,
            all,
            done: Cell::new(0),
            begun: now,
            told: Cell::new(now),
        }
    }

    /// A block is about to be moved.
    pub fn part(&self, count: &[u64], item: u64) {
        let done = self.done.get();
        self.done.set(done + count.iter().product::<u64>() * item);
        if self.shown && self.told.get().elapsed() >= OFTEN {
            self.told.set(Instant::now());
            let _ = write!(std::io::stderr(), "\r\x1b[K{}", line(done, self.all, self.begun.elapsed()));
        }
    }

    /// Takes the line away.
    pub fn end(&self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

/// How far it is, how fast, and how long the rest takes at that rate.
fn line(done: u64, all: u64, taken: Duration) -> String {
    let rate = done as f64 / taken.as_secs_f64().max(1e-3);
    let left = if rate > 0.0 { (all.saturating_sub(done) as f64 / rate).round() as u64 } else { 0 };
    let percent = done.min(all).saturating_mul(100).checked_div(all).unwrap_or(100);
    format!("{percent:3} %  {:.0} MB/s  {}:{:02} left", rate / 1e6, left / 60, left % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_reckoned_from_the_rate() {
        assert_eq!(line(25_000_000, 100_000_000, Duration::from_secs(1)), " 25 %  25 MB/s  0:03 left");
        assert_eq!(line(0, 0, Duration::ZERO), "100 %  0 MB/s  0:00 left");
    }
}
