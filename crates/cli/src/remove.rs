//! `ncz rm`: deletes a dataset, and nothing that is none.

use std::path::Path;

use model::{Error, ErrorKind, Result};

use crate::args::Remove;
use crate::failure::{Failure, at};
use crate::foreign;

/// Deletes the dataset.
///
/// # Errors
/// If there is none, or if something else lies in its directory; what cannot be removed.
pub fn run(args: &Remove) -> Result<(), Failure> {
    let at = at(&args.url);
    if !args.force {
        let registry = nczarr::registry().map_err(&at)?;
        registry.check_dataset(&args.url).and_then(|()| alone(&args.url)).map_err(&at)?;
    }
    nczarr::delete(&args.url).map_err(at)
}

/// That nothing else lies in the directory of a dataset.
///
/// # Errors
/// `NC_ECANTREMOVE` naming the first thing that does.
pub fn alone(url: &str) -> Result<()> {
    let target = url_infer::parse(url)?;
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
