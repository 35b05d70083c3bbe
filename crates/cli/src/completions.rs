//! `ncz completions`: scripts that complete command lines in a shell.

use crate::failure::{Failure, at};
use crate::output::Output;

/// Arguments of `completions`.
#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// Prints the script for a shell; `program`: the command line of `ncz`.
///
/// # Errors
///
/// Errors of standard output.
pub fn run(args: &CompletionsArgs, mut program: clap::Command) -> Result<(), Failure> {
    let mut out = Output::standard();
    clap_complete::generate(args.shell, &mut program, "ncz", out.writer());
    out.finish().map_err(at("completions"))
}
