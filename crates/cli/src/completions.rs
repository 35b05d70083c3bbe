//! `ncz completions`: scripts that complete command lines in a shell; `ncz man`: the manual pages.

use clap::CommandFactory as _;
use nczarr_model::{Error, Result};

use crate::args::{Cli, Man};
use crate::failure::{Failure, at};
use crate::output::Output;

/// Prints the script for a shell.
///
/// # Errors
///
/// Errors of standard output.
pub fn shell(shell: clap_complete::Shell) -> std::result::Result<(), Failure> {
    let mut out = Output::standard();
    clap_complete::generate(shell, &mut Cli::command(), "ncz", out.writer());
    out.finish().map_err(at("completions"))
}

/// Writes a page for the program and one for each command into a folder, or prints the program's.
///
/// # Errors
///
/// Errors of the file system or of standard output.
pub fn man(args: &Man) -> std::result::Result<(), Failure> {
    let Some(folder) = &args.folder else {
        let mut out = Output::standard();
        let rendered = clap_mangen::Man::new(Cli::command()).render(out.writer());
        return rendered
            .map_err(|error| Error::io("standard output", error))
            .and_then(|()| out.finish())
            .map_err(at("man"));
    };
    let written: Result<()> = std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), folder))
        .map_err(|error| Error::io(folder.display().to_string(), error));
    written.map_err(at("man"))
}
