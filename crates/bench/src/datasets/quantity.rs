//! [`Quantity`]: the columns of tables and the plots, with their units.

use crate::{AccessPattern, BenchReport, Row, Summary};

/// A figure of each row.
pub(crate) struct Quantity {
    pub name: &'static str,
    pub unit: &'static str,
    pub about: &'static str,
    kind: QuantityKind,
}

enum QuantityKind {
    /// Bytes of the pattern divided by its time, in MB/s.
    Throughput(AccessPattern),
    /// The time of the pattern, multiplied by this.
    Time(AccessPattern, f64),
    /// Stored megabytes.
    Stored,
    /// Decoded bytes for each stored byte.
    Ratio,
}

/// The values of a figure: the median, and the limits that most operations keep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct QuantityValues {
    pub median: f64,
    /// The value of the shortest time.
    pub best: f64,
    /// The value of the 95th percentile of the time.
    pub p95: f64,
}

const MORE: &str = "more is better";
const LESS: &str = "less is better";

const QUANTITIES: [Quantity; 9] = [
    Quantity::new("write", "MB/s", MORE, QuantityKind::Throughput(AccessPattern::Write)),
    Quantity::new("read", "MB/s", MORE, QuantityKind::Throughput(AccessPattern::Read)),
    Quantity::new("box", "ms", LESS, QuantityKind::Time(AccessPattern::Box, 1e3)),
    Quantity::new("element", "µs", LESS, QuantityKind::Time(AccessPattern::Element, 1e6)),
    Quantity::new("series", "ms", LESS, QuantityKind::Time(AccessPattern::Series, 1e3)),
    Quantity::new("open", "ms", LESS, QuantityKind::Time(AccessPattern::Open, 1e3)),
    Quantity::new("list", "ms", LESS, QuantityKind::Time(AccessPattern::List, 1e3)),
    Quantity::new("stored", "MB", LESS, QuantityKind::Stored),
    Quantity::new("ratio", "", MORE, QuantityKind::Ratio),
];

impl Quantity {
    const fn new(name: &'static str, unit: &'static str, about: &'static str, kind: QuantityKind) -> Self {
        Self { name, unit, about, kind }
    }

    /// Returns the figures that some row of the report has.
    pub fn of_report(report: &BenchReport) -> Vec<&'static Self> {
        QUANTITIES
            .iter()
            .filter(|quantity| report.rows.iter().any(|row| quantity.of(row).is_some()))
            .collect()
    }

    /// Returns the pattern that it measures.
    pub fn pattern(&self) -> Option<AccessPattern> {
        match self.kind {
            QuantityKind::Throughput(pattern) | QuantityKind::Time(pattern, _) => Some(pattern),
            QuantityKind::Stored | QuantityKind::Ratio => None,
        }
    }

    /// Returns its values in a row.
    pub fn of(&self, row: &Row) -> Option<QuantityValues> {
        let fixed = |value: f64| QuantityValues { median: value, best: value, p95: value };
        let of_times = |summary: &Summary, value: &dyn Fn(f64) -> f64| QuantityValues {
            median: value(summary.p50),
            best: value(summary.min),
            p95: value(summary.p95),
        };
        match self.kind {
            QuantityKind::Throughput(pattern) => row
                .get(pattern)
                .map(|measured| of_times(&measured.summary, &|time| measured.bytes as f64 / time / 1e6)),
            QuantityKind::Time(pattern, factor) => {
                row.get(pattern).map(|measured| of_times(&measured.summary, &|time| time * factor))
            }
            QuantityKind::Stored => row.stored.map(|stored| fixed(stored as f64 / 1e6)),
            QuantityKind::Ratio => row.ratio().map(fixed),
        }
    }

    /// Returns its name and unit.
    pub fn heading(&self) -> String {
        format!("{} {}", self.name, self.unit).trim_end().to_owned()
    }
}

/// Formats a number with about three digits.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// Formats a time in the unit that fits.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        time if time >= 1.0 => format!("{} s", short(time)),
        time if time >= 1e-3 => format!("{} ms", short(time * 1e3)),
        time => format!("{} µs", short(time * 1e6)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        for (value, want) in [(1234.56, "1235"), (12.345, "12.3"), (1.2345, "1.23"), (0.01234, "0.012")] {
            assert_eq!(short(value), want);
        }
        for (seconds, want) in [(2.5, "2.50 s"), (0.0125, "12.5 ms"), (0.000_25, "250 µs")] {
            assert_eq!(duration(seconds), want);
        }
    }
}
