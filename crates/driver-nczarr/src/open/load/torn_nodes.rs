//! V3 nodes whose only document is torn, so that their kind is unknown: [`resolve_torn`].
//!
//! Opening searches such a node as a group. It is a group if it has nodes below it; otherwise it becomes an
//! unreadable variable.

use std::collections::HashSet;

use crate::metadata::v3;
use crate::metadata::variable::ReadContext;
use crate::open::tree::{RawArray, RawTree};

/// Turns torn nodes without nodes below them into variables.
pub(crate) fn resolve_torn(tree: &mut RawTree, reading: &ReadContext<'_>) {
    let is_torn =
        |tree: &RawTree, at: usize| tree.groups[at].damage.as_ref().is_some_and(|broken| broken.may_be_array);
    let mut parents: HashSet<usize> = tree.groups.iter().filter_map(|group| group.parent).collect();
    // Children come after their parents.
    for at in (1..tree.groups.len()).rev() {
        if !is_torn(tree, at) || !tree.groups[at].arrays.is_empty() || parents.contains(&at) {
            continue;
        }
        let group = tree.groups.remove(at);
        let (Some(parent), Some(broken)) = (group.parent, group.damage) else { continue };
        let built = v3::var::build(&group.key, Err(broken.why), reading);
        tree.groups[parent].arrays.push(RawArray { key: group.key, name: group.name, built });
        // Later groups have new indices now.
        for other in tree.groups.iter_mut().skip(at) {
            other.parent = other.parent.map(|parent| if parent > at { parent - 1 } else { parent });
        }
        parents = tree.groups.iter().filter_map(|group| group.parent).collect();
    }
}
