//! [`MachineTimes`]: how fast and how busy the machine was in each round.

use serde_json::{Value, json};

use crate::datasets::reference::Reference;
use crate::{Summary, machine_margin};

/// The share of waiting above which a run is not compared.
const MOST_WAIT: f64 = 0.05;

/// The times of fixed work that needs no dataset: one median for each round, in seconds.
///
/// The work has four parts, because a machine can be slow in one of them alone.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct MachineTimes {
    /// A computation on all processors.
    pub computation: Vec<f64>,
    /// The same computation on one thread.
    pub one_thread: Vec<f64>,
    /// Filling fresh memory.
    pub memory: Vec<f64>,
    /// Opening and reading a small file, many times.
    pub files: Vec<f64>,
    /// The share of the computation in which it waited for a processor; 0 if the system does not say.
    pub waits: Vec<f64>,
}

impl MachineTimes {
    /// Adds the medians of one round.
    pub(crate) fn add_round(&mut self, references: &[Reference]) {
        let median = |figure: fn(&Reference) -> f64| {
            Summary::of(&references.iter().map(figure).collect::<Vec<_>>()).p50
        };
        self.computation.push(median(|reference| reference.computation));
        self.one_thread.push(median(|reference| reference.one_thread));
        self.memory.push(median(|reference| reference.memory));
        self.files.push(median(|reference| reference.files));
        self.waits.push(median(|reference| reference.wait));
    }

    /// Returns the margin for two runs: the largest [`machine_margin`] of the four parts.
    pub fn margin(&self, before: &Self) -> f64 {
        let parts = [
            (&before.computation, &self.computation),
            (&before.one_thread, &self.one_thread),
            (&before.memory, &self.memory),
            (&before.files, &self.files),
        ];
        parts.into_iter().map(|(before, now)| machine_margin(before, now)).fold(0.0, f64::max)
    }

    /// Whether other programs used the processors.
    pub fn is_busy(&self) -> bool {
        Summary::of(&self.waits).p50 > MOST_WAIT
    }

    /// Returns the form that [`MachineTimes::parse`] reads.
    pub(crate) fn json(&self) -> Value {
        json!({
            "computation": self.computation, "one_thread": self.one_thread, "memory": self.memory,
            "files": self.files, "waits": self.waits,
        })
    }

    /// Reads the form of [`MachineTimes::json`]. `None`: a list is absent or holds other things than numbers.
    pub(crate) fn parse(value: &Value) -> Option<Self> {
        let list = |key: &str| value[key].as_array()?.iter().map(Value::as_f64).collect::<Option<_>>();
        Some(Self {
            computation: list("computation")?,
            one_thread: list("one_thread")?,
            memory: list("memory")?,
            files: list("files")?,
            waits: list("waits")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MARGIN;

    #[test]
    fn the_slowest_part_gives_the_margin() {
        let part = || vec![2.0; 5];
        let steady = MachineTimes {
            computation: part(),
            one_thread: part(),
            memory: part(),
            files: part(),
            waits: vec![0.0; 5],
        };
        assert_eq!(steady.margin(&steady), MARGIN);
        for change in [
            |times: &mut MachineTimes| times.computation.fill(3.0),
            |times: &mut MachineTimes| times.one_thread.fill(3.0),
            |times: &mut MachineTimes| times.memory.fill(3.0),
            |times: &mut MachineTimes| times.files.fill(3.0),
        ] {
            let mut slow = steady.clone();
            change(&mut slow);
            assert_eq!(slow.margin(&steady), MARGIN * 1.5 * 1.5);
            assert_eq!(steady.margin(&slow), MARGIN * 1.5 * 1.5);
            assert_eq!(MachineTimes::parse(&slow.json()), Some(slow));
        }
    }
}
