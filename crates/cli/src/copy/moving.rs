//! [`Moving`]: how much is moved at a time, how far that has come, and who is told: the terminal, and the record of a copy that can be
//! gone on with.

use std::cell::{Cell, RefCell};
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nczarr::dispatch::Dataset;

use super::Broken;
use super::data::BUDGET;
use super::draft::{Draft, Reached};
use crate::stop;

/// How often the line on a terminal is written anew.
const OFTEN: Duration = Duration::from_millis(200);
/// How often is written down what is complete, if nothing else was asked for.
const EVERY: Duration = Duration::from_secs(10);
/// Writing that down takes at most one part in so many of the time.
const PARTS: u32 = 20;

/// Who is told how far a copy has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// A line that is written over, on a terminal.
    Live,
    /// A line each time it is written down.
    Lines,
    No,
}

/// A copy under way.
pub struct Moving<'d> {
    /// Bytes of a block.
    pub budget: u64,
    /// Where there is room for a stage.
    pub stage: Option<PathBuf>,
    draft: &'d Draft,
    shown: Shown,
    all: u64,
    /// Bytes that are there: those moved, and those that were there before.
    done: Cell<u64>,
    before: Cell<u64>,
    begun: Instant,
    told: Cell<Instant>,
    every: Duration,
    /// When it is to be written down again; `None`: never.
    due: Cell<Option<Instant>>,
    reached: RefCell<Reached>,
    skipped: RefCell<Vec<String>>,
}

impl<'d> Moving<'d> {
    /// Of `all` bytes. A block takes half of the memory: what is encoded and decoded on the way takes the rest. `every`: seconds
    /// between two records; `lines`: whether to tell of it where nobody looks at a terminal.
    pub fn new(
        (memory, every, lines): (Option<u64>, Option<u64>, bool),
        all: u64,
        stage: Option<&Path>,
        draft: &'d Draft,
    ) -> Self {
        let now = Instant::now();
        let budget = memory.map_or(BUDGET, |memory| (memory / 2).max(1));
        let every = every.map_or(EVERY, Duration::from_secs);
        let shown = match (std::io::stderr().is_terminal(), lines) {
            (true, _) => Shown::Live,
            (false, true) => Shown::Lines,
            (false, false) => Shown::No,
        };
        Self {
            budget,
            stage: stage.map(Path::to_owned),
            draft,
            shown,
            all,
            done: Cell::new(0),
            before: Cell::new(0),
            begun: now,
            told: Cell::new(now),
            every,
            due: Cell::new(now.checked_add(every)),
            reached: RefCell::default(),
            skipped: RefCell::default(),
        }
    }

    /// Whether all of a part of variable number `variable` was there before this process began.
    pub fn skips(&self, variable: u64, shape: &[u64], (start, count): (&[u64], &[u64]), item: u64) -> bool {
        let skips = self.draft.covers(variable, shape, start, count);
        if skips {
            self.before.set(self.before.get().saturating_add(bytes(count, item)));
            self.done.set(self.done.get().saturating_add(bytes(count, item)));
        }
        skips
    }

    /// A block is about to be moved.
    ///
    /// # Errors
    /// [`Broken::Stopped`] if somebody asked for it.
    pub fn part(&self, count: &[u64], item: u64) -> Result<(), Broken> {
        if stop::asked() {
            return Err(Broken::Stopped);
        }
        if self.shown == Shown::Live && self.told.get().elapsed() >= OFTEN {
            self.told.set(Instant::now());
            let _ = write!(std::io::stderr(), "\r\x1b[K{}", self.line());
        }
        self.done.set(self.done.get().saturating_add(bytes(count, item)));
        Ok(())
    }

    /// A part of a variable cannot be read and is left out.
    pub fn skip(&self, path: &str, (start, count): (&[u64], &[u64]), why: &nczarr_model::Error) {
        let list = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        self.skipped.borrow_mut().push(format!("{path} ({} from {}: {why})", list(count), list(start)));
    }

    /// The parts that were left out.
    pub fn skipped(&self) -> Vec<String> {
        self.skipped.borrow().clone()
    }

    /// So far everything is there. From time to time that is written down.
    ///
    /// # Errors
    /// What the target says.
    pub fn reached(&self, to: &dyn Dataset, reached: Reached) -> Result<(), Broken> {
        self.reached.replace(reached);
        let now = Instant::now();
        if self.due.get().is_none_or(|due| now < due) {
            return Ok(());
        }
        self.write_down(to)?;
        if self.shown == Shown::Lines {
            let _ = writeln!(std::io::stderr(), "{}", self.line());
        }
        let pause = if self.every.is_zero() { self.every } else { self.every.max(now.elapsed() * PARTS) };
        self.due.set(Instant::now().checked_add(pause));
        Ok(())
    }

    /// The copy stops here: what is complete is written down, if it took as long as is otherwise between two records.
    pub fn last(&self, to: &dyn Dataset) {
        if self.begun.elapsed() >= self.every && self.reached.borrow().is_something() {
            // What was written down before is there still.
            let _ = self.write_down(to);
        }
    }

    fn write_down(&self, to: &dyn Dataset) -> nczarr_model::Result<()> {
        self.draft.reached(to, &self.reached.borrow())
    }

    /// All begins anew.
    pub fn again(&self) {
        self.reached.take();
        self.skipped.take();
        self.done.set(0);
        self.before.set(0);
    }

    /// Takes the line away.
    pub fn end(&self) {
        if self.shown == Shown::Live {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }

    fn line(&self) -> String {
        line(self.done.get(), self.before.get(), self.all, self.begun.elapsed())
    }
}

fn bytes(count: &[u64], item: u64) -> u64 {
    count.iter().fold(item, |product, &len| product.saturating_mul(len))
}

/// How far it is, how fast, and how long the rest takes at that rate. `before`: what of it was there already.
fn line(done: u64, before: u64, all: u64, taken: Duration) -> String {
    let rate = done.saturating_sub(before) as f64 / taken.as_secs_f64().max(1e-3);
    let left = if rate > 0.0 { (all.saturating_sub(done) as f64 / rate).round() as u64 } else { 0 };
    let percent = (u128::from(done.min(all)) * 100).checked_div(all.into()).unwrap_or(100);
    format!("{percent:3} %  {:.0} MB/s  {}:{:02} left", rate / 1e6, left / 60, left % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_reckoned_from_the_rate() {
        assert_eq!(line(25_000_000, 0, 100_000_000, Duration::from_secs(1)), " 25 %  25 MB/s  0:03 left");
        assert_eq!(line(75_000_000, 50_000_000, 100_000_000, Duration::from_secs(1)), " 75 %  25 MB/s  0:01 left");
        assert_eq!(line(0, 0, 0, Duration::ZERO), "100 %  0 MB/s  0:00 left");
        assert_eq!(line(u64::MAX, 0, u64::MAX, Duration::from_secs(1)), "100 %  18446744073710 MB/s  0:00 left");
    }
}
