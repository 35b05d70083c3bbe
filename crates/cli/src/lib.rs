//! The program `ncz` as a library, for programs that add plugins of their own.
//!
//! [`main`] is the program: it reads the command line of the process and runs one command. [`main_with`] does
//! the same with more drivers, maps and filters, which all commands have:
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use nczarr::codec::FilterClass;
//!
//! /// Runs `ncz` with one more filter.
//! fn ncz_with(filter: impl FilterClass + Clone) -> ExitCode {
//!     nczarr_cli::main_with(|registry| registry.with_filter(filter.clone()))
//! }
//! ```
//!
//! A plugin that registers itself through `inventory` needs no such call: a program that links it has it in
//! [`main`].
//!
//! Results go to standard output; everything else, the log included, to standard error. Exit codes: 0 done,
//! 1 failed, 2 usage error, 130 interrupted. `diff` differs: 1 for a difference, 2 for a failure.
// `args` has the list of commands, and this file runs them. Each command has a module with its arguments; it
// imports neither. Commands share `output`, `streams`, `failure`, `overlap` and `help`.
#![forbid(unsafe_code)]

mod args;
mod as_tool;
mod bench;
mod cat;
mod completions;
mod copy;
mod diff;
mod dump;
mod exclusive;
mod explain;
mod failure;
mod find;
mod foreign;
mod generate;
mod help;
mod hint;
mod info;
mod json_atts;
mod list;
mod man;
mod map;
mod noop;
mod output;
mod overlap;
mod plugins;
mod remove;
mod repack;
mod source;
mod stop;
mod stored;
mod streams;
mod trace;
mod url_path;
mod validate;
mod view;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::CommandFactory as _;
use nczarr::Registry;

use args::{Cli, Command};
use failure::{Failure, at};

/// Runs `ncz` with the command line of the process, and returns its exit code.
///
/// Call it once, from the `main` of a program: it starts the log and handles signals. For `--help` and for
/// wrong usage it ends the process.
#[must_use]
pub fn main() -> ExitCode {
    main_with(std::convert::identity)
}

/// Runs `ncz` like [`main`], with a changed registry.
///
/// `extend` gets the plugins of the library and the linked ones, and returns them with its own. It may run
/// again if another thread changes the registry of the process meanwhile ([`Registry::extend_default`]).
#[must_use]
pub fn main_with(extend: impl Fn(Registry) -> Registry) -> ExitCode {
    main_of(std::env::args_os(), extend)
}

/// Runs `ncz` like [`main_with`], with another command line: first the name of the program, then the
/// arguments. For programs whose own command line is not that of `ncz`.
#[must_use]
pub fn main_of(
    command_line: impl IntoIterator<Item = OsString>,
    extend: impl Fn(Registry) -> Registry,
) -> ExitCode {
    let cli = as_tool::parse(command_line);
    let started = trace::start(&cli).and_then(|()| add_plugins(extend));
    match started.and_then(|()| run(&cli.command)) {
        Ok(code) => code,
        // Like other comparing programs: 1 means a difference.
        Err(failure) if matches!(cli.command, Command::Diff(_)) => {
            failure.report();
            ExitCode::from(2)
        }
        Err(failure) => failure.report(),
    }
}

/// Changes the registry of the process, which all commands use.
fn add_plugins(extend: impl Fn(Registry) -> Registry) -> Result<(), Failure> {
    // The first call adds the library's own plugins, so that `extend` sees them.
    nczarr::registry().and_then(|_| Registry::extend_default(extend)).map_err(at("plugins"))
}

fn run(command: &Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Diff(args) => return diff::run(args),
        Command::Validate(args) => return validate::run(args),
        Command::View(args) => view::run(args),
        Command::Map(command) => map::run(command),
        Command::Completions(args) => completions::run(args, Cli::command()),
        Command::Man(args) => man::run(args, Cli::command()),
        Command::Dump(args) => dump::run(args),
        Command::Copy(args) => copy::run(args),
        Command::Gen(args) => generate::run(args),
        Command::Cat(args) => cat::run(args),
        Command::Info(args) => info::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Rm(args) => remove::run(args),
        Command::Repack(args) => repack::run(args),
        Command::Plugins(args) => plugins::run(args),
        Command::Bench(args) => bench::run(args),
    }
    .map(|()| ExitCode::SUCCESS)
}
