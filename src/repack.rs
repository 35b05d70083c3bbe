//! [`repack`]: rewrites an archive without garbage.

use std::path::Path;

use nczarr_dispatch::Place;
use nczarr_model::Result;
use nczarr_storage::MapOptions;
pub use nczarr_zmap_zip::Repacked;

use crate::builtin;

/// Rewrites a dataset in a zip archive without the remains of overwritten and deleted objects, and replaces
/// the archive in one step. Existing readers continue to read the old archive.
///
/// # Errors
/// `NC_EURL` if the path is malformed; `NC_ENOTNC` if it is not an archive with a dataset; `NC_EPERM` if
/// another process writes it; errors of reading. Nothing has changed then.
pub fn repack(place: impl Into<Place>) -> Result<Repacked> {
    let place = place.into();
    let target = place.target()?;
    let registry = builtin::registry()?;
    registry.check_dataset(&place)?;
    let markers = registry.markers();
    nczarr_zmap_zip::repack(Path::new(&target.path), markers, &MapOptions::default())
        .map_err(|error| error.at(&target))
}
