//! Compares the JSON of attributes in two datasets that store JSON.

use nczarr::File;
use nczarr::dispatch::Dataset;
use nczarr_model::{GroupId, Result, VarId};

/// Returns the JSON of a node's attributes by name. `None` in formats without JSON, and in NCZarr, whose
/// recorded types interpret it.
///
/// # Errors
///
/// Errors of the storage.
pub fn plain(file: &File, group: GroupId, var: Option<VarId>) -> Result<Option<Vec<(String, String)>>> {
    match file.info().flavour.as_str() {
        "nczarr" => Ok(None),
        _ => stored(&**file.dataset(), group, var),
    }
}

/// Returns the JSON of a node's attributes by name. `None` in formats without JSON.
///
/// # Errors
///
/// Errors of the storage.
pub fn stored(
    dataset: &dyn Dataset,
    group: GroupId,
    var: Option<VarId>,
) -> Result<Option<Vec<(String, String)>>> {
    dataset.json_metadata().map_or(Ok(None), |json| json.attributes(group, var))
}

/// Whether two texts are the same JSON.
pub fn same(left: &str, right: &str) -> bool {
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    left == right || matches!((read(left), read(right)), (Some(left), Some(right)) if left == right)
}
