//! `ncz rm`: deletes a dataset, and nothing that is none. A link is removed itself.

use std::path::{Path, PathBuf};

use nczarr_model::{Error, ErrorKind, Result};

use crate::args::Remove;
use crate::failure::{Failure, at, place, say};
use crate::foreign;

/// Deletes the dataset. Of a link to one only the link goes, which is said.
///
/// # Errors
/// If there is none, or if something else lies in its directory; what cannot be removed.
pub fn run(args: &Remove) -> Result<(), Failure> {
    let at = at(&args.url);
    let link = link(&args.url);
    if !args.force {
        let registry = nczarr::registry().map_err(&at)?;
        registry.check_dataset(&args.url).map_err(&at)?;
        if link.is_none() {
            alone(&args.url).map_err(&at)?;
        }
    }
    nczarr::delete(&args.url).map_err(at)?;
    if let Some(to) = link {
        say(format_args!("{}: the link was removed; the dataset {} stays", place(&args.url), to.display()));
    }
    Ok(())
}

/// Where the symbolic link at a path leads, if there is one.
fn link(url: &str) -> Option<PathBuf> {
    let target = nczarr_url_infer::parse(url).ok().filter(|target| target.scheme.is_local())?;
    let path = Path::new(target.path.trim_end_matches('/'));
    let is_link = path.symlink_metadata().is_ok_and(|found| found.is_symlink());
    is_link.then(|| path.canonicalize().unwrap_or_else(|_| path.to_owned()))
}

/// That nothing else lies in the directory of a dataset.
///
/// # Errors
/// `NC_ECANTREMOVE` naming the first thing that does.
pub fn alone(url: &str) -> Result<()> {
    let target = nczarr_url_infer::parse(url)?;
    let folder = Path::new(&target.path);
    if !target.scheme.is_local() || !folder.is_dir() {
        return Ok(());
    }
    match foreign::first(folder).map_err(|error| Error::io(target.path.clone(), error))? {
        None => Ok(()),
        Some(other) => {
            let what = format!(
                "{} is no part of the dataset; nothing was removed (ncz rm --force takes it along)",
                other.display()
            );
            Err(ErrorKind::CantRemove.context(what))
        }
    }
}
