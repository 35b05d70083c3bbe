//! [`follow`]: finds the object of a path. The file remembers the links of each group on the way.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use nczarr_model::Result;

use super::file::{HdfFile, WalkBudget};
use super::header::ObjectHeader;
use super::links::{self, LinkTarget};

/// Targets of a group's links, by name.
pub(crate) type LinkTargets = HashMap<String, LinkTarget>;

/// The result of resolving a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ResolvedPath {
    /// The object at an address.
    Object(u64),
    Nothing,
    /// A path in another file.
    External {
        file: String,
        path: String,
    },
    /// A user-defined link is on the way.
    Elsewhere,
}

/// Most soft links in one another.
const DEPTH: usize = 16;

/// Follows a path from the group `here`, or from the root group if it is absolute.
///
/// # Errors
/// `NC_EHDFERR` if a group is damaged, or if paths lead to paths without end.
pub(crate) fn follow(file: &HdfFile, path: &str, here: u64, budget: &mut WalkBudget) -> Result<ResolvedPath> {
    step(file, path, here, 0, budget)
}

fn step(
    file: &HdfFile,
    path: &str,
    here: u64,
    depth: usize,
    budget: &mut WalkBudget,
) -> Result<ResolvedPath> {
    if depth > DEPTH {
        return Ok(ResolvedPath::Nothing);
    }
    let mut at = if path.starts_with('/') { file.root } else { here };
    let mut parts = path.split('/').filter(|part| !part.is_empty() && *part != ".");
    while let Some(part) = parts.next() {
        budget.spend("links")?;
        let next = match goals(file, at)?.get(part) {
            Some(LinkTarget::Object(address)) => ResolvedPath::Object(*address),
            Some(LinkTarget::Path(path)) => step(file, path, at, depth + 1, budget)?,
            Some(LinkTarget::External { file, path }) => {
                ResolvedPath::External { file: file.clone(), path: path.clone() }
            }
            Some(LinkTarget::Elsewhere) => ResolvedPath::Elsewhere,
            None => ResolvedPath::Nothing,
        };
        at = match next {
            ResolvedPath::Object(next) => next,
            ResolvedPath::External { file, mut path } => {
                for part in parts {
                    path.push('/');
                    path.push_str(part);
                }
                return Ok(ResolvedPath::External { file, path });
            }
            next => return Ok(next),
        };
    }
    Ok(ResolvedPath::Object(at))
}

fn goals(file: &HdfFile, group: u64) -> Result<Arc<LinkTargets>> {
    let lock = || file.visited_groups.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(goals) = lock().get(&group) {
        return Ok(Arc::clone(goals));
    }
    let links = links::of(file, &ObjectHeader::read(file, group)?)?;
    // Of several links with one name the first counts.
    let link_targets: Arc<LinkTargets> =
        Arc::new(links.into_iter().rev().map(|link| (link.name, link.target)).collect());
    lock().insert(group, Arc::clone(&link_targets));
    Ok(link_targets)
}
