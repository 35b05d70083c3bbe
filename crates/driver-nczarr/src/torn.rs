//! Nodes of V3 whose one document is torn, so that nothing tells what they are: [`settle`].
//!
//! Such a node was searched as a group. It is one if there are nodes below it; otherwise it becomes a variable that
//! cannot be read.

use std::collections::HashSet;

use crate::tree::{RawArray, RawTree};
use crate::v3;
use crate::var::Reading;

/// Makes variables of the torn nodes below which there is no node.
pub(crate) fn settle(tree: &mut RawTree, reading: &Reading<'_>) {
    let is_torn = |tree: &RawTree, at: usize| tree.groups[at].broken.as_ref().is_some_and(|broken| broken.may_be_array);
    let mut parents: HashSet<usize> = tree.groups.iter().filter_map(|group| group.parent).collect();
    // Those inside come after those around them.
    for at in (1..tree.groups.len()).rev() {
        if !is_torn(tree, at) || !tree.groups[at].arrays.is_empty() || parents.contains(&at) {
            continue;
        }
        let group = tree.groups.remove(at);
        let (Some(parent), Some(broken)) = (group.parent, group.broken) else { continue };
        let built = v3::var::build(&group.key, Err(broken.why), reading);
        tree.groups[parent].arrays.push(RawArray { key: group.key, name: group.name, built });
        // The ones behind it have other places now.
        for other in tree.groups.iter_mut().skip(at) {
            other.parent = other.parent.map(|parent| if parent > at { parent - 1 } else { parent });
        }
        parents = tree.groups.iter().filter_map(|group| group.parent).collect();
    }
}
