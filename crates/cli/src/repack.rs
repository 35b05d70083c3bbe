//! `ncz repack`: rewrites a zip archive without gaps.

use nczarr::{Place, Repacked};

use crate::failure::{Failure, at};
use crate::output::Output;

/// Arguments of `repack`.
#[derive(Debug, clap::Args)]
pub struct RepackArgs {
    /// Path or URL
    pub url: String,
}

/// Repacks an archive; prints its sizes before and after.
///
/// # Errors
///
/// Errors of reading and writing; a dataset that is not in an archive.
pub fn run(args: &RepackArgs) -> Result<(), Failure> {
    let at = at(&args.url);
    let Repacked { before, after } = nczarr::repack(Place::url(&args.url)).map_err(&at)?;
    let mut out = Output::standard();
    out.put(format!("{before} bytes before, {after} now\n")).and_then(|()| out.finish()).map_err(at)
}
