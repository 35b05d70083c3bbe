//! Step 3 of opening, load: documents become groups and arrays, and these a tree.
//!
//! * `whole` loads every node, level by level; `path` only the groups above one array, and the array.
//! * `nodes` builds groups and arrays while their documents arrive. `shared_layout` repeats equal arrays.
//! * `interrupted_rename` and `torn_nodes` repair the traces of a crash.

pub(crate) mod interrupted_rename;
pub(crate) mod nodes;
mod path;
mod shared_layout;
mod torn_nodes;
mod whole;

use nczarr_model::Result;

use super::discover::DiscoveredRoot;
use super::scope::ReadScope;
use super::tree::RawTree;
use crate::metadata::variable::ReadContext;

/// Loads the part of a store that a scope names; `None` if a wider scope is needed.
///
/// # Errors
/// For [`ReadScope::Whole`]: [`NcZarr`](nczarr_model::ErrorKind::NcZarr) for invalid lists of the root, and
/// errors of the map.
pub(crate) fn tree(
    found: DiscoveredRoot<'_>,
    scope: ReadScope<'_>,
    reading: &ReadContext<'_>,
) -> Result<Option<RawTree>> {
    match scope {
        ReadScope::Whole => whole::load(found, reading).map(Some),
        ReadScope::Variable(path) => Ok(path::with_documents(found, path, reading)),
        ReadScope::Data(path) => Ok(path::of_array(&found, path, reading)),
    }
}
