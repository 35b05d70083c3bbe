//! `ncz explain`: the interpretation of a path or URL, with reasons.

use std::fmt::Write as _;

use nczarr::Place;
use nczarr_model::Result;

use crate::failure::{Failure, at};
use crate::info::facts;
use crate::output::Output;

/// Arguments of `explain`.
#[derive(Debug, clap::Args)]
pub struct ExplainArgs {
    /// Path or URL
    pub url: String,
}

/// Prints the explanation. If the dataset cannot be opened, the explanation covers it, and the command fails.
///
/// # Errors
///
/// If the path is malformed, or the dataset cannot be opened.
pub fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let at = at(&args.url);
    let explanation = nczarr::explain(Place::url(&args.url)).map_err(&at)?;
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:<9} {value}");
    };
    line("scheme", explanation.scheme.as_deref().unwrap_or("none: a path"));
    line("path", &explanation.path);
    if !explanation.modes.is_empty() {
        line("mode", &explanation.modes.join(","));
    }
    for step in &explanation.steps {
        line("rule", step);
    }
    for look in &explanation.probes {
        line("looked at", &format!("{}: {}", look.at, look.found));
    }
    if let Some((driver, why)) = &explanation.driver {
        line("driver", &format!("{driver}: {why}"));
    }
    if let Some(info) = &explanation.dataset {
        for (name, value) in facts(info) {
            if name != "driver" {
                line(name, &value);
            }
        }
    }
    let mut out = Output::standard();
    out.put(&text).and_then(|()| out.finish()).map_err(&at)?;
    explanation.problem.map_or(Ok(()), |error| Err(at(error)))
}
