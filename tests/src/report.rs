//! [`Report`]: how many of a table's rows passed, failed and were skipped, and why.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write as _};

/// What became of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// As expected.
    Passed,
    /// Not as expected: what was found.
    Failed(String),
    /// Not looked at: why. A reason is about what the row needs, never about the row itself.
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
    /// Takes one row's outcome.
    pub fn add(&mut self, row: impl fmt::Display, outcome: Outcome) {
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Failed(why) => self.failed.push((row.to_string(), why)),
            Outcome::Skipped(why) => *self.skipped.entry(why).or_default() += 1,
        }
    }

    /// How many rows failed.
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

/// Prints a message even where the output of tests that pass is held back: what was not tested must be seen.
pub fn say(message: &str) {
    // Nobody can be told when standard error is gone.
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
