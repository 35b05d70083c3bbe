//! `ncz man`: the manual pages.

use std::path::{Path, PathBuf};

use nczarr_model::{Error, Result};

use crate::failure::{Failure, at};
use crate::output::Output;

/// Arguments of `man`.
#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// Folder for a page of each command [default: print the manual of ncz]
    pub folder: Option<PathBuf>,
}

/// Writes a page for the program and one for each command into a folder, or prints the program's.
/// `program`: the command line of `ncz`.
///
/// # Errors
///
/// Errors of the file system or of standard output.
pub fn run(args: &ManArgs, program: clap::Command) -> std::result::Result<(), Failure> {
    match &args.folder {
        Some(folder) => write_all(folder, program),
        None => print(program),
    }
    .map_err(at("man"))
}

fn write_all(folder: &Path, program: clap::Command) -> Result<()> {
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(program, folder))
        .map_err(|error| Error::io(folder.display().to_string(), error))
}

fn print(program: clap::Command) -> Result<()> {
    let mut out = Output::standard();
    let rendered = clap_mangen::Man::new(program).render(out.writer());
    rendered.map_err(|error| Error::io("standard output", error))?;
    out.finish()
}
