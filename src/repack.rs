//! [`repack`]: rewrites an archive without garbage.

use std::path::Path;

use nczarr_model::Result;
use nczarr_storage::MapOptions;
pub use nczarr_zmap_zip::Repacked;

use crate::builtin;

/// Rewrites a dataset in a zip archive without the remains of overwritten and deleted objects, and replaces
/// the archive in one step. Existing readers continue with the old one.
///
/// # Errors
/// `NC_EURL` if the path is malformed; `NC_ENOTNC` if it is not an archive with a dataset; `NC_EPERM` if
/// another process writes it; errors of reading. Nothing has changed then.
pub fn repack(path: &str) -> Result<Repacked> {
    let target = nczarr_url_infer::parse(path)?;
    let registry = builtin::registry()?;
    registry.check_dataset(path)?;
    let markers = registry.markers();
    nczarr_zmap_zip::repack(Path::new(&target.path), markers, &MapOptions::default())
        .map_err(|error| error.at(&target))
}
