//! `ncz`: looks at, copies and deletes netCDF datasets.
//!
//! `args` defines the command line, each command has a module, and `failure` formats errors. Results go to
//! standard output; everything else, the log included, to standard error. Exit codes: 0 done, 1 failed, 2
//! usage error, 130 interrupted.
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
        // Like other comparing programs: 1 means a difference.
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

/// Repacks an archive; prints its sizes before and after.
fn repack(url: &str) -> Result<(), Failure> {
    let nczarr::Repacked { before, after } = nczarr::repack(url).map_err(at(url))?;
    let mut out = output::Output::standard();
    out.put(format!("{before} bytes before, {after} now\n")).and_then(|()| out.finish()).map_err(at(url))
}
