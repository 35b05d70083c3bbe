//! `ncz`: looks at, copies and deletes netCDF datasets.
//!
//! `args` is what can be typed, one module per command does it, `failure` says what went wrong. Results go to standard
//! output; everything else, the log included, to standard error. Exit codes: 0 done, 1 failed, 2 not understood,
//! 130 interrupted.
#![forbid(unsafe_code)]

mod args;
mod as_tool;
mod bench;
mod cat;
mod completions;
mod copy;
mod diff;
mod dump;
mod examples;
mod exclusive;
mod explain;
mod failure;
mod find;
mod foreign;
mod generate;
mod hint;
mod info;
mod json_atts;
mod map;
mod noop;
mod output;
mod plugins;
mod remove;
mod source;
mod stop;
mod stored;
mod trace;
mod validate;
mod view;

use std::process::ExitCode;

use args::Command;
use failure::{Failure, at};

fn main() -> ExitCode {
    let cli = as_tool::parse(std::env::args_os());
    match trace::start(&cli).and_then(|()| run(&cli.command)) {
        Ok(code) => code,
        // As of other programs that compare: 1 says that they differ.
        Err(failure) if matches!(cli.command, Command::Diff(_)) => {
            failure.report();
            ExitCode::from(2)
        }
        Err(failure) => failure.report(),
    }
}

fn run(command: &Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Diff(args) => return diff::run(args),
        Command::Validate(args) => return validate::run(args),
        Command::View(args) => view::run(args),
        Command::Map(command) => map::run(command),
        Command::Completions { shell } => completions::shell(*shell),
        Command::Man(args) => completions::man(args),
        Command::Dump(args) => dump::run(args),
        Command::Copy(args) => copy::run(args),
        Command::Gen(args) => generate::run(args),
        Command::Cat(args) => cat::run(args),
        Command::Info(args) => info::run(args),
        Command::Explain { url } => explain::run(url),
        Command::Rm(args) => remove::run(args),
        Command::Repack { url } => repack(url),
        Command::Plugins { json } => plugins::run(*json),
        Command::Bench(args) => bench::run(args),
    }
    .map(|()| ExitCode::SUCCESS)
}

/// Says how many bytes an archive had, and has now.
fn repack(url: &str) -> Result<(), Failure> {
    let nczarr::Repacked { before, after } = nczarr::repack(url).map_err(at(url))?;
    let mut out = output::Output::standard();
    out.put(format!("{before} bytes before, {after} now\n")).and_then(|()| out.finish()).map_err(at(url))
}
