//! [`BenchReport`]: the results of a run, one [`Row`] for each combination.
//!
//! `text`, `html` and `json` print it.

use crate::datasets::cell::Round;
use crate::{AccessPattern, Baseline, Cell, MachineTimes, Sample, Summary, Verdict, verdict};

/// The results of a run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BenchReport {
    /// The description of the data in one line.
    pub about: String,
    /// The name of the data.
    pub data: String,
    /// The type of its elements.
    pub ty: &'static str,
    /// Its shape.
    pub shape: Vec<u64>,
    /// Its size in bytes.
    pub bytes: u64,
    /// The shape of the boxes that are read.
    pub boxed: Vec<u64>,
    /// The number of rounds.
    pub rounds: usize,
    /// The times of fixed work. They show how fast and how busy the machine was.
    pub machine: MachineTimes,
    /// The ratio of medians above which the comparison with a baseline tells a difference.
    pub margin: Option<f64>,
    /// Whether other programs used the processors, in this run or in that of the baseline.
    pub(crate) is_busy: bool,
    /// The combinations, in the order of the axes.
    pub rows: Vec<Row>,
}

/// The results of one combination.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Row {
    /// The name of the target.
    pub target: String,
    /// The name of the map, if the dataset is in one.
    pub map: Option<String>,
    /// The name of the filters.
    pub filters: String,
    /// The chunk shape.
    pub chunks: Vec<u64>,
    /// The threads of a transfer; 0: all processors.
    pub threads: usize,
    /// The size of the data in bytes.
    pub bytes: u64,
    /// Bytes of all chunks as they are stored, if the map can list them.
    pub stored: Option<u64>,
    /// The results of each access pattern that the target supports.
    pub measured: Vec<Measured>,
}

/// The results of one access pattern.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Measured {
    /// The pattern.
    pub pattern: AccessPattern,
    /// The bytes of one operation; 0 for operations without data.
    pub bytes: u64,
    /// The median of each round, in seconds.
    pub rounds: Vec<f64>,
    /// The figures of all operations of all rounds.
    pub summary: Summary,
    /// The comparison with the baseline, if it has this combination.
    pub verdict: Option<Verdict>,
}

impl Measured {
    /// Returns the throughput of the median operation in MB/s. `None` for operations without data.
    pub fn mb_per_second(&self) -> Option<f64> {
        (self.bytes > 0).then(|| self.bytes as f64 / self.summary.p50 / 1e6)
    }
}

impl Row {
    pub(crate) fn new(cell: &Cell, sample: &Sample, rounds: &[Round]) -> Self {
        let bytes = sample.bytes.len() as u64;
        let measured = AccessPattern::ALL.into_iter().filter_map(|pattern| {
            let times = rounds.iter().flat_map(|round| &round.times).filter(|times| times.pattern == pattern);
            let times: Vec<&[f64]> = times.map(|times| times.seconds.as_slice()).collect();
            if times.is_empty() {
                return None;
            }
            let bytes = match pattern {
                AccessPattern::Write | AccessPattern::Read => bytes,
                _ => pattern
                    .part(&sample.shape)
                    .map_or(0, |part| part.count.iter().product::<u64>() * sample.item() as u64),
            };
            let rounds = times.iter().map(|times| Summary::of(times).p50).collect();
            Some(Measured { pattern, bytes, rounds, summary: Summary::of(&times.concat()), verdict: None })
        });
        Self {
            target: cell.target.label().to_owned(),
            map: rounds.first().and_then(|round| round.map.clone()),
            filters: cell.filters.label.clone(),
            chunks: cell.chunks.clone(),
            threads: cell.threads,
            bytes,
            stored: rounds.first().and_then(|round| round.stored),
            measured: measured.collect(),
        }
    }

    /// Returns the results of a pattern.
    pub fn get(&self, pattern: AccessPattern) -> Option<&Measured> {
        self.measured.iter().find(|measured| measured.pattern == pattern)
    }

    /// Returns decoded bytes for each stored byte.
    pub fn ratio(&self) -> Option<f64> {
        self.stored.map(|stored| self.bytes as f64 / stored as f64)
    }
}

impl BenchReport {
    pub(crate) fn new(sample: &Sample, rounds: usize, machine: MachineTimes, rows: Vec<Row>) -> Self {
        Self {
            about: sample.about(),
            data: sample.name.clone(),
            ty: sample.ty.name(),
            shape: sample.shape.clone(),
            bytes: sample.bytes.len() as u64,
            boxed: sample.boxed(),
            rounds,
            machine,
            is_busy: false,
            margin: None,
            rows,
        }
    }

    /// Compares each figure with the baseline's of the same combination ([`verdict`]). Other combinations
    /// have no verdict.
    ///
    /// The margin depends on the speed of the machine in both runs ([`MachineTimes::margin`]). If other
    /// programs used the processors in one of them, the verdict is [`Verdict::CannotTell`].
    pub fn compare(&mut self, baseline: &Baseline) {
        let margin = self.machine.margin(baseline.machine());
        self.margin = Some(margin);
        self.is_busy = self.machine.is_busy() || baseline.machine().is_busy();
        let judge = |before: &[f64], now: &[f64]| {
            if self.is_busy { Verdict::CannotTell } else { verdict(before, now, margin) }
        };
        for row in &mut self.rows {
            let key = Baseline::key(row);
            for measured in &mut row.measured {
                let before = baseline.rounds(&key, measured.pattern);
                measured.verdict = before.map(|before| judge(before, &measured.rounds));
            }
        }
    }

    /// Whether a baseline was compared.
    pub fn is_compared(&self) -> bool {
        self.rows.iter().flat_map(|row| &row.measured).any(|measured| measured.verdict.is_some())
    }

    /// Returns the different numbers of threads, in the order of the rows.
    pub(crate) fn threads(&self) -> Vec<usize> {
        let mut threads = Vec::new();
        for row in &self.rows {
            if !threads.contains(&row.threads) {
                threads.push(row.threads);
            }
        }
        threads
    }

    /// Returns a sentence about the margin, if there is a comparison.
    pub(crate) fn margin_note(&self) -> Option<String> {
        let percent = (self.margin? - 1.0) * 100.0;
        if self.is_busy {
            return Some("Other programs used the processors, so differences are not reliable.".to_owned());
        }
        Some(format!("The speed of the machine allows to tell differences of more than {percent:.0} %."))
    }

    /// Returns the line above tables and plots.
    pub(crate) fn title(&self) -> String {
        let threads = match self.threads().as_slice() {
            [0] => "all processors".to_owned(),
            [1] => "1 thread".to_owned(),
            [threads] => format!("{threads} threads"),
            several => {
                let all: Vec<String> = several.iter().copied().map(threads_name).collect();
                format!("threads: {}", all.join(", "))
            }
        };
        format!(
            "{}; box {}; medians of {}, {threads}",
            self.about,
            crate::datasets::joined(&self.boxed),
            self.rounds
        )
    }
}

/// Returns the name of a number of threads.
pub(crate) fn threads_name(threads: usize) -> String {
    if threads == 0 { "all".to_owned() } else { threads.to_string() }
}
