//! `ncz validate`: checks that a dataset is sound.
//!
//! The dataset is opened as every command opens it. Its driver reports the defects it met, and compares the
//! stored objects with the dataset. `data` reads every stored chunk (with `--deep`), and `conventions` checks
//! the attributes.
//!
//! A problem is of one of two kinds: an error means that something cannot be read as it was meant; a warning
//! that others may stumble over it. Exit codes: 0 no errors, 1 errors, 2 the command line.

mod args;
mod conventions;
mod data;

use std::process::ExitCode;

use nczarr::Place;
use nczarr::dispatch::FaultKind;
use nczarr_model::Result;
use serde_json::json;

use crate::failure::{Failure, at, is_unheard, place};
use crate::output::Output;
pub use args::ValidateArgs;

/// Checks a dataset and prints the findings.
///
/// # Errors
///
/// Errors of standard output.
pub fn run(args: &ValidateArgs) -> std::result::Result<ExitCode, Failure> {
    let mut report = Report::default();
    if let Err(error) = look(args, &mut report) {
        report.error("dataset", place(&args.url), format_args!("{error:#}"));
    }
    let wrong = report.problems.iter().any(|problem| problem.is_error);
    let mut out = Output::standard();
    let text = if args.json { report.json(&args.url, !wrong) } else { report.text() };
    // The exit code counts, even if the reader stops early.
    match out.put(text).and_then(|()| out.finish()) {
        Err(error) if !is_unheard(&error) => return Err(at(&args.url)(error)),
        _ => {}
    }
    Ok(if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn look(args: &ValidateArgs, report: &mut Report) -> Result<()> {
    let file = nczarr::open(Place::url(&args.url))?;
    let audit = file.dataset().audit()?;
    report.objects = audit.objects;
    for fault in file.faults()?.iter().chain(&audit.faults) {
        match fault.kind {
            FaultKind::LeftOut => {
                report.warning("object", &fault.path, format_args!("is left out: {}", fault.text))
            }
            FaultKind::Unusual => report.warning("object", &fault.path, &fault.text),
            _ => report.error("object", &fault.path, &fault.text),
        }
    }
    data::look(&file, args.deep, report)?;
    conventions::look(&file.model(), report)
}

/// A problem.
struct Problem {
    is_error: bool,
    /// `object`, `chunk`, `attribute` …
    what: &'static str,
    path: String,
    text: String,
}

/// The counts of checked objects, and the problems.
#[derive(Default)]
pub struct Report {
    problems: Vec<Problem>,
    objects: u64,
    chunks: u64,
    variables: u64,
}

impl Report {
    fn error(&mut self, what: &'static str, path: impl ToString, text: impl ToString) {
        self.problems.push(Problem { is_error: true, what, path: path.to_string(), text: text.to_string() });
    }

    fn warning(&mut self, what: &'static str, path: impl ToString, text: impl ToString) {
        self.problems.push(Problem { is_error: false, what, path: path.to_string(), text: text.to_string() });
    }

    fn text(&self) -> String {
        let line = |problem: &Problem| {
            let kind = if problem.is_error { "error" } else { "warning" };
            format!("{kind}: {} {}: {}\n", problem.what, problem.path, problem.text)
        };
        let mut text: String = self.problems.iter().map(line).collect();
        let errors = self.problems.iter().filter(|problem| problem.is_error).count();
        text += &format!(
            "{} variables, {} objects, {} chunks read: {errors} errors, {} warnings\n",
            self.variables,
            self.objects,
            self.chunks,
            self.problems.len() - errors
        );
        text
    }

    fn json(&self, url: &str, valid: bool) -> String {
        let problems: Vec<_> = (self.problems.iter())
            .map(|problem| {
                json!({
                    "severity": if problem.is_error { "error" } else { "warning" },
                    "what": problem.what, "path": problem.path, "text": problem.text,
                })
            })
            .collect();
        let document = json!({
            "path": place(url), "valid": valid, "variables": self.variables, "objects": self.objects,
            "chunks_read": self.chunks, "problems": problems,
        });
        format!("{document:#}\n")
    }
}
