//! The text forms of a report: a table of medians, a table of percentiles, and bars.

use std::fmt::Write as _;

use crate::datasets::joined;
use crate::datasets::quantity::{Quantity, duration, short};
use crate::datasets::report::threads_name;
use crate::{AccessPattern, BenchReport, Row, Verdict};

/// The length of the longest bar, in characters.
const BAR: usize = 40;
/// Characters for parts of a cell, from empty to almost full.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
/// Stands for a figure that a row lacks.
const NOTHING: &str = "-";

impl BenchReport {
    /// Returns a table of medians, one line for each combination, and the verdicts, if there are any.
    pub fn table(&self) -> String {
        let quantities = Quantity::of_report(self);
        let mut head = names_head(self);
        let names = head.len();
        head.extend(quantities.iter().map(|quantity| quantity.heading()));
        let mut lines = vec![head];
        for row in &self.rows {
            let values = quantities
                .iter()
                .map(|quantity| quantity.of(row).map_or(NOTHING.to_owned(), |values| short(values.median)));
            lines.push(names_of(self, row).into_iter().chain(values).collect());
        }
        let text = format!("{}\n{}", self.title(), aligned(&lines, names));
        if self.is_compared() { text + "\n" + &verdicts(self) } else { text }
    }

    /// Returns a table of percentiles, one line for each combination and access pattern.
    pub fn details(&self) -> String {
        let mut head = names_head(self);
        head.push("pattern".to_owned());
        let names = head.len();
        head.extend(["p50", "p95", "p99", "min", "spread", "MB/s"].map(str::to_owned));
        let mut lines = vec![head];
        for row in &self.rows {
            for measured in &row.measured {
                let summary = &measured.summary;
                let mut line = names_of(self, row);
                line.push(measured.pattern.name().to_owned());
                line.extend([summary.p50, summary.p95, summary.p99, summary.min].map(duration));
                line.push(format!("{:.0} %", summary.spread() * 100.0));
                line.push(measured.mb_per_second().map_or(NOTHING.to_owned(), short));
                lines.push(line);
            }
        }
        format!("{}\n{}", self.title(), aligned(&lines, names))
    }

    /// Returns bars of characters, one for each combination and figure.
    pub fn plot(&self) -> String {
        let mut text = self.title() + "\n";
        let names: Vec<Vec<String>> = self.rows.iter().map(|row| names_of(self, row)).collect();
        let widths = widths(&names);
        for quantity in Quantity::of_report(self) {
            let values: Vec<Option<f64>> =
                self.rows.iter().map(|row| quantity.of(row).map(|values| values.median)).collect();
            let most = values.iter().flatten().copied().fold(0.0, f64::max);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "\n{} ({})", quantity.heading(), quantity.about);
            for (names, value) in names.iter().zip(values) {
                let label: Vec<String> =
                    names.iter().zip(&widths).map(|(name, &width)| format!("{name:width$}")).collect();
                let figure = value.map_or(NOTHING.to_owned(), short);
                let bar = bar(value.unwrap_or(0.0) / most);
                let _ = writeln!(text, "{}  {bar} {figure}", label.join(" "));
            }
        }
        text
    }
}

/// Returns one line for each row with the verdict of each pattern.
fn verdicts(report: &BenchReport) -> String {
    let patterns: Vec<AccessPattern> = AccessPattern::ALL
        .into_iter()
        .filter(|pattern| report.rows.iter().any(|row| row.get(*pattern).is_some()))
        .collect();
    let mut head = names_head(report);
    let names = head.len();
    head.extend(patterns.iter().map(|pattern| pattern.name().to_owned()));
    let mut lines = vec![head];
    for row in &report.rows {
        let verdicts = patterns.iter().map(|pattern| {
            let verdict = row.get(*pattern).and_then(|measured| measured.verdict);
            verdict.map_or(NOTHING, Verdict::name).to_owned()
        });
        lines.push(names_of(report, row).into_iter().chain(verdicts).collect());
    }
    let note = report.margin_note().map_or(String::new(), |note| format!("{note}\n"));
    format!("compared with the baseline\n{}{note}", aligned(&lines, names))
}

/// Returns the headings of the axes that differ between rows, or always appear.
pub(crate) fn names_head(report: &BenchReport) -> Vec<String> {
    let mut names = ["target", "filters", "chunks"].map(str::to_owned).to_vec();
    if report.threads().len() > 1 {
        names.push("threads".to_owned());
    }
    names
}

/// Returns the values of the axes in a row.
pub(crate) fn names_of(report: &BenchReport, row: &Row) -> Vec<String> {
    let mut names = vec![row.target.clone(), row.filters.clone(), joined(&row.chunks)];
    if report.threads().len() > 1 {
        names.push(threads_name(row.threads));
    }
    names
}

/// Aligns the columns: names to the left, figures to the right.
fn aligned(lines: &[Vec<String>], names: usize) -> String {
    let widths = widths(lines);
    let mut text = String::new();
    for line in lines {
        let columns = line.iter().zip(&widths).enumerate().map(|(column, (value, &width))| {
            if column < names { format!("{value:width$}") } else { format!("{value:>width$}") }
        });
        text += columns.collect::<Vec<_>>().join("  ").trim_end();
        text.push('\n');
    }
    text
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_part() {
        assert_eq!(bar(1.0), "█".repeat(BAR));
        assert_eq!(bar(0.0), "");
        assert_eq!(bar(0.5), "█".repeat(BAR / 2));
        assert_eq!(bar(1.5 / BAR as f64), "█▌");
        assert_eq!(bar(f64::NAN), "");
    }

    #[test]
    fn columns_are_aligned() {
        let lines = [vec!["a".to_owned(), "µs".to_owned()], vec!["abc".to_owned(), "1.25".to_owned()]];
        assert_eq!(aligned(&lines, 1), "a      µs\nabc  1.25\n");
    }
}
