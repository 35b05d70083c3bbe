//! [`Row`]: the median figures of one combination, and their forms: table, bars, JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::cell::{Cell, Taken};
use super::sample::Sample;
use super::{Bench, joined};

/// The length of the longest bar, in characters.
const BAR: usize = 40;
/// Characters for parts of a cell, from empty to almost full.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// One combination and the medians of its rounds.
pub struct Row<'a> {
    cell: &'a Cell,
    taken: Taken,
}

/// A measured quantity.
struct Measure {
    name: &'static str,
    unit: &'static str,
    about: &'static str,
    /// Its value, given the bytes of the data.
    of: fn(&Taken, f64) -> f64,
}

const MEASURES: [Measure; 6] = [
    Measure {
        name: "write",
        unit: "MB/s",
        about: "more is better",
        of: |taken, bytes| bytes / taken.write / 1e6,
    },
    Measure {
        name: "read",
        unit: "MB/s",
        about: "more is better",
        of: |taken, bytes| bytes / taken.read / 1e6,
    },
    Measure { name: "box", unit: "ms", about: "less is better", of: |taken, _| taken.part * 1e3 },
    Measure { name: "element", unit: "µs", about: "less is better", of: |taken, _| taken.element * 1e6 },
    Measure { name: "stored", unit: "MB", about: "less is better", of: |taken, _| taken.stored as f64 / 1e6 },
    Measure {
        name: "ratio",
        unit: "",
        about: "more is better",
        of: |taken, bytes| bytes / taken.stored as f64,
    },
];

impl<'a> Row<'a> {
    /// The medians of the rounds.
    pub fn new(cell: &'a Cell, rounds: &[Taken]) -> Self {
        let middle = |of: fn(&Taken) -> f64| median(rounds.iter().map(of).collect());
        let stored = rounds.first().map_or(0, |taken| taken.stored);
        let (write, read) = (middle(|taken| taken.write), middle(|taken| taken.read));
        let (part, element) = (middle(|taken| taken.part), middle(|taken| taken.element));
        Self { cell, taken: Taken { write, read, part, element, stored } }
    }

    fn names(&self) -> [String; 3] {
        [self.cell.map.name().to_owned(), self.cell.label.clone(), joined(&self.cell.chunks)]
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        len if len.is_multiple_of(2) => (values[len / 2 - 1] + values[len / 2]) / 2.0,
        len => values[len / 2],
    }
}

/// The line above the table and the bars.
fn title(args: &Bench, sample: &Sample) -> String {
    let threads = match args.threads {
        0 => "all processors".to_owned(),
        1 => "1 thread".to_owned(),
        threads => format!("{threads} threads"),
    };
    let (about, boxed) = (sample.about(), joined(&sample.boxed()));
    format!("{about}; box {boxed}; medians of {}, {threads}\n", args.repeats)
}

/// One line per combination.
pub fn table(args: &Bench, sample: &Sample, rows: &[Row<'_>]) -> String {
    let mut lines = vec![["map", "filters", "chunks"].map(str::to_owned).to_vec()];
    lines[0].extend(
        MEASURES.iter().map(|measure| format!("{} {}", measure.name, measure.unit).trim_end().to_owned()),
    );
    for row in rows {
        let values =
            MEASURES.iter().map(|measure| short((measure.of)(&row.taken, sample.bytes.len() as f64)));
        lines.push(row.names().into_iter().chain(values).collect());
    }
    let widths = widths(&lines);
    let mut text = title(args, sample);
    for line in &lines {
        let cells: Vec<String> = (line.iter().zip(&widths).enumerate())
            .map(
                |(column, (cell, &width))| {
                    if column < 3 { format!("{cell:width$}") } else { format!("{cell:>width$}") }
                },
            )
            .collect();
        text += cells.join("  ").trim_end();
        text.push('\n');
    }
    text
}

/// One bar for each combination and quantity.
pub fn plot(args: &Bench, sample: &Sample, rows: &[Row<'_>]) -> String {
    let mut text = title(args, sample);
    let names: Vec<Vec<String>> = rows.iter().map(|row| row.names().to_vec()).collect();
    let widths = widths(&names);
    for measure in &MEASURES {
        let values: Vec<f64> =
            rows.iter().map(|row| (measure.of)(&row.taken, sample.bytes.len() as f64)).collect();
        let most = values.iter().copied().fold(0.0, f64::max);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n{} {}({})", measure.name, spaced(measure.unit), measure.about);
        for (names, value) in names.iter().zip(values) {
            let label: Vec<String> =
                names.iter().zip(&widths).map(|(name, &width)| format!("{name:width$}")).collect();
            let _ = writeln!(text, "{}  {} {}", label.join(" "), bar(value / most), short(value));
        }
    }
    text
}

fn spaced(unit: &str) -> String {
    if unit.is_empty() { String::new() } else { format!("{unit} ") }
}

/// Returns a bar for a share of the longest.
fn bar(part: f64) -> String {
    let eighths = (part.clamp(0.0, 1.0) * (BAR * 8) as f64).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

fn widths(lines: &[Vec<String>]) -> Vec<usize> {
    let columns = lines.first().map_or(0, Vec::len);
    (0..columns)
        .map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0))
        .collect()
}

/// Formats a number with about three digits.
fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// Returns all figures as JSON, in seconds and bytes.
pub fn json(args: &Bench, sample: &Sample, rows: &[Row<'_>]) -> String {
    let cells: Vec<Value> = rows
        .iter()
        .map(|Row { cell, taken }| {
            json!({
                "map": cell.map.name(), "filters": cell.label, "chunks": cell.chunks,
                "write_seconds": taken.write, "read_seconds": taken.read,
                "box_seconds": taken.part, "element_seconds": taken.element,
                "stored_bytes": taken.stored, "ratio": sample.bytes.len() as f64 / taken.stored as f64,
            })
        })
        .collect();
    let all = json!({
        "data": sample.name, "type": sample.ty.name(), "shape": sample.shape, "bytes": sample.bytes.len(),
        "box": sample.boxed(), "repeats": args.repeats, "threads": args.threads, "cells": cells,
    });
    format!("{all:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_numbers() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 3.0, 2.0]), 2.5);
        for (value, want) in [(1234.56, "1235"), (12.345, "12.3"), (1.2345, "1.23"), (0.01234, "0.012")] {
            assert_eq!(short(value), want);
        }
    }

    #[test]
    fn bars_are_as_long_as_their_part() {
        assert_eq!(bar(1.0), "█".repeat(BAR));
        assert_eq!(bar(0.0), "");
        assert_eq!(bar(0.5), "█".repeat(BAR / 2));
        assert_eq!(bar(1.5 / BAR as f64), "█▌");
        assert_eq!(bar(f64::NAN), "");
    }
}
