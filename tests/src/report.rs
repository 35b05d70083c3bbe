//! [`Report`] counts the rows of a table that passed, failed or were skipped, with the reasons.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write as _};

/// The outcome of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The row passed.
    Passed,
    /// The row failed; a description of the difference.
    Failed(String),
    /// The row was skipped, with the reason. A reason names a requirement of the row, not the row itself.
    Skipped(String),
}

impl From<Result<(), String>> for Outcome {
    fn from(result: Result<(), String>) -> Self {
        result.map_or_else(Self::Failed, |()| Self::Passed)
    }
}

/// Outcomes, counted.
#[derive(Debug, Default)]
pub struct Report {
    passed: usize,
    failed: Vec<(String, String)>,
    skipped: BTreeMap<String, usize>,
}

impl Report {
    /// Adds the outcome of one row.
    pub fn add(&mut self, row: impl fmt::Display, outcome: Outcome) {
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Failed(why) => self.failed.push((row.to_string(), why)),
            Outcome::Skipped(why) => *self.skipped.entry(why).or_default() += 1,
        }
    }

    /// The number of failed rows.
    pub fn failed(&self) -> usize {
        self.failed.len()
    }

    /// Prints the counts with the reasons, under a title.
    pub fn print(&self, title: &str) {
        say(&format!("{title}:\n{self}"));
    }

    /// Whether something was tested and nothing failed.
    pub fn is_good(&self) -> bool {
        self.failed.is_empty() && self.passed > 0
    }
}

/// Prints a message even if the output of passing tests is hidden, so that skipped rows are visible.
pub fn say(message: &str) {
    // If standard error is closed, the message is lost.
    let _ = io::stderr().lock().write_all(format!("\n{message}\n").as_bytes());
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let skipped: usize = self.skipped.values().sum();
        write!(f, "{} passed, {} failed, {skipped} skipped", self.passed, self.failed.len())?;
        for (why, count) in &self.skipped {
            write!(f, "\n  skipped {count}: {why}")?;
        }
        for (row, why) in &self.failed {
            write!(f, "\n  FAILED {row}: {why}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_counted_and_failures_named() {
        let mut report = Report::default();
        report.add("a", Outcome::Passed);
        report.add("b", Outcome::Skipped("no szip".to_owned()));
        report.add("c", Outcome::Skipped("no szip".to_owned()));
        report.add("d", Err("wrong".to_owned()).into());
        assert_eq!(
            report.to_string(),
            "1 passed, 1 failed, 2 skipped\n  skipped 2: no szip\n  FAILED d: wrong"
        );
    }
}
