//! Recovery from a crash between a rename in storage and the update of the group's list.
//!
//! A rename moves a child before the list names it. After a crash in between, the group lists some missing
//! children and has equally many unlisted ones. The unlisted ones count as the renamed children, under their
//! current names. If the numbers differ, data are lost, and that is an error.

use nczarr_storage::ZMapExt;
use std::collections::{BTreeSet, HashSet};

use nczarr_model::{ErrorKind, Result};

use crate::dataset::hidden_names::MOVING_PREFIX;
use crate::metadata::paths::display_key;
use crate::metadata::v3::document::ZARR_JSON;
use crate::metadata::variable::ReadContext;
use crate::open::load::nodes::{ExpectedNode, FoundNode, NodeLocation};
use crate::open::metadata_reader::{MetadataReader, cannot_list};
use crate::open::tree::RawTree;

/// A child of a group.
pub(crate) struct ListedChild {
    /// The index of the parent group in the tree.
    pub(crate) parent: usize,
    pub(crate) place: NodeLocation,
    pub(crate) node: FoundNode,
}

/// Replaces missing listed children by unlisted ones, if their numbers agree.
///
/// # Errors
/// Errors of the map.
pub(crate) fn recover_renamed(
    source: &MetadataReader<'_>,
    tree: &mut RawTree,
    children: &mut Vec<ListedChild>,
    reading: &ReadContext<'_>,
) -> Result<()> {
    let parents: BTreeSet<usize> =
        children.iter().filter(|child| is_missing(&child.node)).map(|child| child.parent).collect();
    // A rename removes consolidated metadata first.
    if source.consolidated.is_some() {
        return Ok(());
    }
    for parent in parents {
        let group = tree.groups[parent].key.clone();
        let listed: HashSet<&str> =
            children.iter().filter(|child| child.parent == parent).map(|child| &*child.place.name).collect();
        let mut places = Vec::new();
        let names = match source.map.possible_children(&group) {
            Ok(names) => names,
            // Without a listing the child stays missing.
            Err(error) if cannot_list(&error) => continue,
            Err(error) => return Err(error),
        };
        for name in names {
            if !listed.contains(&*name)
                && name != ZARR_JSON
                && (!name.starts_with('.') || name.starts_with(MOVING_PREFIX))
            {
                places.push(NodeLocation { key: group.join(&name)?, name, expected: ExpectedNode::Any });
            }
        }
        let nodes = source.nodes(&places, reading);
        let (mut arrays, mut groups) = (Vec::new(), Vec::new());
        for (place, node) in places.into_iter().zip(nodes) {
            match node {
                FoundNode::Array(_) => arrays.push(ListedChild { parent, place, node }),
                FoundNode::Other { zgroup: Ok(Some(_)), .. } => {
                    groups.push(ListedChild { parent, place, node })
                }
                FoundNode::Other { .. } | FoundNode::MustUnderstand(_) => {}
            }
        }
        for (want, found) in [(ExpectedNode::Array, arrays), (ExpectedNode::Group, groups)] {
            let is_one = |child: &ListedChild| {
                child.parent == parent && child.place.expected == want && is_missing(&child.node)
            };
            let missing: Vec<&str> =
                children.iter().filter(|child| is_one(child)).map(|child| &*child.place.name).collect();
            if missing.is_empty() || missing.len() != found.len() {
                continue;
            }
            let names: Vec<&str> = found.iter().map(|child| &*child.place.name).collect();
            let at = display_key(&group);
            tree.notes.push(format!(
                "{at}: {missing:?} were renamed to {names:?}, but the group's list has the old names"
            ));
            if want == ExpectedNode::Group {
                tree.renamed_groups.extend(found.iter().map(|child| child.place.key.clone()));
            }
            children.retain(|child| !is_one(child));
            children.extend(found);
        }
    }
    Ok(())
}

/// Whether a listed child has no documents. An unreadable child is not missing.
pub(crate) fn is_missing(node: &FoundNode) -> bool {
    match node {
        FoundNode::Array(built) => {
            built.var.problem.as_ref().is_some_and(|problem| problem.kind() == ErrorKind::NoObject)
        }
        FoundNode::Other { zgroup, attrs } => matches!((zgroup, attrs), (Ok(None), Ok(None))),
        FoundNode::MustUnderstand(_) => false,
    }
}
