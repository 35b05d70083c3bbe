//! The HTML page of a report: plots of bars, and a table of all figures, in one file without scripts.

use std::fmt::Write as _;

use crate::datasets::joined;
use crate::datasets::quantity::{Quantity, QuantityValues, duration, short};
use crate::datasets::report::threads_name;
use crate::datasets::svg::{self, Bar, COLOURS, escaped};
use crate::datasets::text::names_of;
use crate::{BenchReport, Measured, Row, Verdict};

const STYLE: &str = include_str!("style.css");

/// The explanation of the plots.
const ABOUT: &str = "A bar is the median of all operations. The line over it goes from the best operation to \
    the 95th percentile of the times; a very long line ends at the edge. Each read gave the written values.";

/// The explanation of the table.
const FIGURES: &str = "The spread is the range between the quartiles, divided by the median.";

/// The explanation of verdicts.
const VERDICTS: &str = "A verdict needs five rounds in both runs, medians that differ by more than the margin, quartile \
    ranges that do not overlap, and a rank test at the level of 1 %.";

impl BenchReport {
    /// Returns an HTML page with plots and all figures. It needs no other file and no script.
    pub fn html(&self) -> String {
        let title = escaped(&format!("Benchmark of {}", self.data));
        let mut text = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
            <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
            <style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        );
        let about = escaped(&self.title());
        // Writing to a string cannot fail.
        let _ = write!(text, "<p>{about}</p>\n<p class=\"weak\">{ABOUT}</p>\n");
        text += &legend(self);
        for quantity in Quantity::of_report(self) {
            let (heading, about) = (escaped(&quantity.heading()), quantity.about);
            let _ = writeln!(text, "<h2>{heading} <small>({about})</small></h2>\n<div class=\"wide\">");
            text += &plot(self, quantity);
            text += "</div>\n";
        }
        text += &table(self);
        text + "</body>\n</html>\n"
    }
}

/// Returns the different targets, in the order of the rows.
fn targets(report: &BenchReport) -> Vec<&str> {
    let mut targets: Vec<&str> = Vec::new();
    for row in &report.rows {
        if !targets.contains(&row.target.as_str()) {
            targets.push(&row.target);
        }
    }
    targets
}

fn legend(report: &BenchReport) -> String {
    let entry = |(index, target): (usize, &&str)| {
        format!("<li><i class=\"c{}\"></i>{}</li>\n", index % COLOURS, escaped(target))
    };
    let entries: String = targets(report).iter().enumerate().map(entry).collect();
    format!("<ul class=\"legend\">\n{entries}</ul>\n")
}

fn plot(report: &BenchReport, quantity: &Quantity) -> String {
    let targets = targets(report);
    let names: Vec<Vec<String>> = report.rows.iter().map(|row| names_of(report, row)).collect();
    let widths: Vec<usize> = (0..names.first().map_or(0, Vec::len))
        .map(|column| names.iter().map(|names| names[column].chars().count()).max().unwrap_or(0))
        .collect();
    let bars: Vec<Bar> = report
        .rows
        .iter()
        .zip(&names)
        .map(|(row, names)| {
            let columns = names.iter().zip(&widths).map(|(name, &width)| format!("{name:width$}"));
            let label = columns.collect::<Vec<_>>().join("  ");
            let colour = targets.iter().position(|target| *target == row.target).unwrap_or(0);
            bar(row, quantity, label, colour)
        })
        .collect();
    let axis = match quantity.unit {
        "" => quantity.name.to_owned(),
        unit => format!("{} in {unit}", quantity.name),
    };
    svg::bars(&format!("{} ({})", quantity.heading(), quantity.about), &axis, &bars)
}

fn bar(row: &Row, quantity: &Quantity, label: String, colour: usize) -> Bar {
    let Some(values) = quantity.of(row) else {
        let about = format!("{}: not measured", label.trim_end());
        return Bar { label, colour, value: None, range: [0.0; 2], figure: "-".to_owned(), about };
    };
    let QuantityValues { median, best, p95 } = values;
    let [middle, first, last] = [median, best, p95].map(short);
    let verdict = quantity.pattern().and_then(|pattern| row.get(pattern)?.verdict);
    let mark = match verdict {
        Some(Verdict::Faster) => " ▲",
        Some(Verdict::Slower) => " ▼",
        Some(Verdict::CannotTell) | None => "",
    };
    let unit = quantity.unit;
    let about = format!("median {middle} {unit}, best {first} {unit}, 95th percentile {last} {unit}");
    Bar { label, colour, value: Some(median), range: [best, p95], figure: format!("{middle}{mark}"), about }
}

fn table(report: &BenchReport) -> String {
    let is_compared = report.is_compared();
    let mut text = format!("<h2>All figures</h2>\n<p class=\"weak\">{FIGURES}");
    if is_compared {
        let _ = write!(text, " {VERDICTS} {}", report.margin_note().unwrap_or_default());
    }
    text += "</p>\n<div class=\"wide\">\n<table>\n<thead><tr>";
    for name in ["target", "filters", "chunks", "threads", "pattern"] {
        let _ = write!(text, "<th scope=\"col\">{name}</th>");
    }
    for name in ["p50", "p95", "p99", "min", "spread", "MB/s"] {
        let _ = write!(text, "<th scope=\"col\" class=\"n\">{name}</th>");
    }
    text += if is_compared { "<th scope=\"col\">than before</th>" } else { "" };
    text += "</tr></thead>\n<tbody>\n";
    for row in &report.rows {
        for (index, measured) in row.measured.iter().enumerate() {
            text += if index == 0 { "<tr class=\"first\">" } else { "<tr>" };
            line(&mut text, row, measured);
            if is_compared {
                let name = measured.verdict.map_or("-", Verdict::name);
                let _ = write!(text, "<td class=\"{}\">{name}</td>", name.replace(' ', "-"));
            }
            text += "</tr>\n";
        }
    }
    text + "</tbody>\n</table>\n</div>\n"
}

fn line(text: &mut String, row: &Row, measured: &Measured) {
    let threads = threads_name(row.threads);
    let chunks = joined(&row.chunks);
    for name in [&row.target, &row.filters, &chunks, &threads, measured.pattern.name()] {
        let _ = write!(text, "<td>{}</td>", escaped(name));
    }
    let summary = &measured.summary;
    let times = [summary.p50, summary.p95, summary.p99, summary.min].map(duration);
    let rest = [
        format!("{:.0} %", summary.spread() * 100.0),
        measured.mb_per_second().map_or("-".to_owned(), short),
    ];
    for figure in times.iter().chain(&rest) {
        let _ = write!(text, "<td class=\"n\">{figure}</td>");
    }
}
