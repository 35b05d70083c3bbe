//! `ncz rm`: deletes a dataset, and only a dataset. A link is removed itself.

use std::path::{Path, PathBuf};

use nczarr::Place;
use nczarr_model::{Error, ErrorKind, Result};

use crate::failure::{Failure, at, place};
use crate::foreign;
use crate::streams::say;

/// Arguments of `rm`.
#[derive(Debug, clap::Args)]
pub struct RmArgs {
    /// Path or URL
    pub url: String,
    /// Delete the directory even if it holds other files. Without this flag, rm then deletes nothing
    #[arg(long)]
    pub force: bool,
}

/// Deletes the dataset. For a link to one, it deletes the link only and reports that.
///
/// # Errors
///
/// If there is no dataset, or if its directory contains foreign files; errors of deleting.
pub fn run(args: &RmArgs) -> Result<(), Failure> {
    let at = at(&args.url);
    let link = link(&args.url);
    if !args.force {
        let registry = nczarr::registry().map_err(&at)?;
        registry.check_dataset(&Place::url(&args.url)).map_err(&at)?;
        if link.is_none() {
            alone(&args.url).map_err(&at)?;
        }
    }
    nczarr::delete(Place::url(&args.url)).map_err(at)?;
    if let Some(to) = link {
        say(format_args!("{}: the link was removed; the dataset {} stays", place(&args.url), to.display()));
    }
    Ok(())
}

/// Returns the target of a symbolic link.
fn link(url: &str) -> Option<PathBuf> {
    let target = nczarr_url_infer::parse(url).ok().filter(|target| target.scheme.is_local())?;
    let path = target.path_text();
    let path = Path::new(path.trim_end_matches('/'));
    let is_link = path.symlink_metadata().is_ok_and(|found| found.is_symlink());
    is_link.then(|| path.canonicalize().unwrap_or_else(|_| path.to_owned()))
}

/// Checks that a dataset's directory contains no foreign files.
///
/// # Errors
///
/// `NC_ECANTREMOVE`, naming the first one.
pub fn alone(url: &str) -> Result<()> {
    let target = nczarr_url_infer::parse(url)?;
    let folder = Path::new(&target.path);
    if !target.scheme.is_local() || !folder.is_dir() {
        return Ok(());
    }
    match foreign::first(folder).map_err(|error| Error::io_at(&target.path, error))? {
        None => Ok(()),
        Some(other) => {
            let what = format!(
                "{} is not part of the dataset; nothing was removed (`ncz rm --force` removes it too)",
                other.display()
            );
            Err(ErrorKind::CantRemove.context(what))
        }
    }
}
