//! [`Progress`]: the block size and the progress of a copy. Progress goes to the terminal and to the record
//! of a resumable copy.

use std::cell::{Cell, RefCell};
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nczarr::dispatch::Dataset;

use super::block::BUDGET;
use super::error::CopyError;
use super::resumable::{CompletedBlocks, CopyDraft};
use crate::stop;

/// The interval between updates of the terminal line.
const OFTEN: Duration = Duration::from_millis(200);
/// The default interval between records of progress.
const EVERY: Duration = Duration::from_secs(10);
/// Recording progress takes at most one part in this many of the time.
const PARTS: u32 = 20;

/// The display of progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProgressDisplay {
    /// A line on a terminal, overwritten each time.
    Live,
    /// A line for each record.
    Lines,
    No,
}

/// The progress of a copy.
pub struct Progress<'d> {
    /// The size of a block, in bytes.
    pub budget: u64,
    /// The directory for a stage, if there is one.
    pub stage: Option<PathBuf>,
    draft: &'d CopyDraft,
    shown: ProgressDisplay,
    all: u64,
    /// Bytes complete, including resumed ones.
    done: Cell<u64>,
    before: Cell<u64>,
    begun: Instant,
    last_shown: Cell<Instant>,
    every: Duration,
    /// The time of the next record; `None`: never.
    due: Cell<Option<Instant>>,
    completed: RefCell<CompletedBlocks>,
    skipped: RefCell<Vec<String>>,
}

impl<'d> Progress<'d> {
    /// Starts progress over `all` bytes. A block takes half of the memory; encoding and decoding take the
    /// rest. `every`: seconds between records; `lines`: whether to print lines without a terminal.
    pub fn new(
        memory: Option<u64>,
        every: Option<u64>,
        lines: bool,
        all: u64,
        stage: Option<&Path>,
        draft: &'d CopyDraft,
    ) -> Self {
        let now = Instant::now();
        let budget = memory.map_or(BUDGET, |memory| (memory / 2).max(1));
        let every = every.map_or(EVERY, Duration::from_secs);
        let shown = match (std::io::stderr().is_terminal(), lines) {
            (true, _) => ProgressDisplay::Live,
            (false, true) => ProgressDisplay::Lines,
            (false, false) => ProgressDisplay::No,
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
            last_shown: Cell::new(now),
            every,
            due: Cell::new(now.checked_add(every)),
            completed: RefCell::default(),
            skipped: RefCell::default(),
        }
    }

    /// Returns whether a part of variable number `variable` was complete before this process began.
    pub fn skips(&self, variable: u64, shape: &[u64], start: &[u64], count: &[u64], item: u64) -> bool {
        let skips = self.draft.covers(variable, shape, start, count);
        if skips {
            self.before.set(self.before.get().saturating_add(bytes(count, item)));
            self.done.set(self.done.get().saturating_add(bytes(count, item)));
        }
        skips
    }

    /// Counts a block before it is moved.
    ///
    /// # Errors
    ///
    /// [`CopyError::Stopped`] after an interrupt.
    pub fn part(&self, count: &[u64], item: u64) -> Result<(), CopyError> {
        if stop::asked() {
            return Err(CopyError::Stopped);
        }
        if self.shown == ProgressDisplay::Live && self.last_shown.get().elapsed() >= OFTEN {
            self.last_shown.set(Instant::now());
            let _ = write!(std::io::stderr(), "\r\x1b[K{}", self.line());
        }
        self.done.set(self.done.get().saturating_add(bytes(count, item)));
        Ok(())
    }

    /// Notes an unreadable part of a variable, which is left out.
    pub fn skip(&self, path: &str, start: &[u64], count: &[u64], why: &nczarr_model::Error) {
        let list = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        self.skipped.borrow_mut().push(format!("{path} ({} from {}: {why})", list(count), list(start)));
    }

    /// Returns the parts that were left out.
    pub fn skipped(&self) -> Vec<String> {
        self.skipped.borrow().clone()
    }

    /// Notes complete blocks, and records them when due.
    ///
    /// # Errors
    ///
    /// Errors of the target.
    pub fn completed(&self, to: &dyn Dataset, completed: CompletedBlocks) -> Result<(), CopyError> {
        self.completed.replace(completed);
        let now = Instant::now();
        if self.due.get().is_none_or(|due| now < due) {
            return Ok(());
        }
        self.write_down(to)?;
        if self.shown == ProgressDisplay::Lines {
            let _ = writeln!(std::io::stderr(), "{}", self.line());
        }
        let pause = if self.every.is_zero() { self.every } else { self.every.max(now.elapsed() * PARTS) };
        self.due.set(Instant::now().checked_add(pause));
        Ok(())
    }

    /// Records the progress when the copy stops, if it took at least one interval.
    pub fn last(&self, to: &dyn Dataset) {
        if self.begun.elapsed() >= self.every && self.completed.borrow().is_something() {
            // On failure the previous record is still in place.
            let _ = self.write_down(to);
        }
    }

    fn write_down(&self, to: &dyn Dataset) -> nczarr_model::Result<()> {
        self.draft.completed(to, &self.completed.borrow())
    }

    /// Starts over.
    pub fn again(&self) {
        self.completed.take();
        self.skipped.take();
        self.done.set(0);
        self.before.set(0);
    }

    /// Clears the terminal line.
    pub fn end(&self) {
        if self.shown == ProgressDisplay::Live {
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

/// Formats percentage, rate, and the remaining time at that rate. `before`: bytes that were complete at the
/// start.
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
        assert_eq!(
            line(75_000_000, 50_000_000, 100_000_000, Duration::from_secs(1)),
            " 75 %  25 MB/s  0:01 left"
        );
        assert_eq!(line(0, 0, 0, Duration::ZERO), "100 %  0 MB/s  0:00 left");
        assert_eq!(
            line(u64::MAX, 0, u64::MAX, Duration::from_secs(1)),
            "100 %  18446744073710 MB/s  0:00 left"
        );
    }
}
