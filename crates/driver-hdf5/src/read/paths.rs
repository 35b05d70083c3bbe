//! [`follow`]: the object that a path means. What the links of a group are is remembered with the file.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use nczarr_model::Result;

use super::file::{Budget, Hdf};
use super::header::Header;
use super::links::{self, Goal};

/// Where the links of a group lead, by name.
pub(crate) type Goals = HashMap<String, Goal>;

/// What a path means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reached {
    /// The object at an address.
    Object(u64),
    Nothing,
    /// The meaning of a path in another file.
    External {
        file: String,
        path: String,
    },
    /// Something that only who made the link can find.
    Elsewhere,
}

/// Links that lead to links, at most.
const DEPTH: usize = 16;

/// Follows a path from a group on, or from the root group.
///
/// # Errors
/// `NC_EHDFERR` if a group is damaged, or paths lead to paths without end.
pub(crate) fn follow(file: &Hdf, path: &str, here: u64, budget: &mut Budget) -> Result<Reached> {
    step(file, path, here, 0, budget)
}

fn step(file: &Hdf, path: &str, here: u64, depth: usize, budget: &mut Budget) -> Result<Reached> {
    if depth > DEPTH {
        return Ok(Reached::Nothing);
    }
    let mut at = if path.starts_with('/') { file.root } else { here };
    let mut parts = path.split('/').filter(|part| !part.is_empty() && *part != ".");
    while let Some(part) = parts.next() {
        budget.spend("links")?;
        let next = match goals(file, at)?.get(part) {
            Some(Goal::Object(address)) => Reached::Object(*address),
            Some(Goal::Path(path)) => step(file, path, at, depth + 1, budget)?,
            Some(Goal::External { file, path }) => Reached::External { file: file.clone(), path: path.clone() },
            Some(Goal::Elsewhere) => Reached::Elsewhere,
            None => Reached::Nothing,
        };
        at = match next {
            Reached::Object(next) => next,
            Reached::External { file, mut path } => {
                for part in parts {
                    path.push('/');
                    path.push_str(part);
                }
                return Ok(Reached::External { file, path });
            }
            next => return Ok(next),
        };
    }
    Ok(Reached::Object(at))
}

fn goals(file: &Hdf, group: u64) -> Result<Arc<Goals>> {
    let lock = || file.passed.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(goals) = lock().get(&group) {
        return Ok(Arc::clone(goals));
    }
    let links = links::of(file, &Header::read(file, group)?)?;
    // Of several of one name the first counts.
    let goals: Arc<Goals> = Arc::new(links.into_iter().rev().map(|link| (link.name, link.goal)).collect());
    lock().insert(group, Arc::clone(&goals));
    Ok(goals)
}
