//! [`repack`]: an archive as small as it can be.

use std::path::Path;

use nczarr_dispatch::Options;
use nczarr_model::Result;
pub use nczarr_zmap_zip::Repacked;

use crate::builtin;

/// Writes a dataset in a zip archive anew, without what overwriting and deleting left behind, and puts that in the place
/// of the old archive in one step. Who reads the old one meanwhile goes on doing so.
///
/// # Errors
/// `NC_EURL` if the path is malformed, `NC_ENOTNC` if there is no archive, or no dataset in it, `NC_EPERM` if somebody else is writing it; what
/// cannot be read. Nothing has changed then.
pub fn repack(path: &str) -> Result<Repacked> {
    let target = nczarr_url_infer::parse(path)?;
    let registry = builtin::registry()?;
    registry.check_dataset(path)?;
    let markers = registry.markers();
    nczarr_zmap_zip::repack(Path::new(&target.path), &markers, &Options::default()).map_err(|error| error.at(&target))
}
