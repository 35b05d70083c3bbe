//! Escaping of names that no node of Zarr V3 can have.
//!
//! Zarr V3 reserves `zarr.json` and names that begin with `__`. A netCDF object of such a name is stored as a
//! node with [`PREFIX`] before the name. Names that begin with the prefix are escaped too, so names never
//! collide. The node's document has the true name as the member [`NAME`] of NCZarr's keys or of the
//! annotation. Without that member, the stored name is the name. Lists of a group's children have stored
//! names; full names have true names.

use std::borrow::Cow;
use std::collections::HashSet;

use nczarr_storage::Key;

use super::document::ZARR_JSON;
use crate::metadata::attributes::{NCZARR_GROUP, NETCDF};
use crate::metadata::json::{Object, write_name, write_string};
use crate::open::tree::{RawGroup, RawTree};

/// The prefix of escaped names.
const PREFIX: &str = "_nczarr.";
/// The member with the true name.
pub(crate) const NAME: &str = "name";

/// Whether an object of this name is stored under an escaped one.
pub(crate) fn needs_escape(name: &str) -> bool {
    name == ZARR_JSON || name.starts_with("__") || name.starts_with(PREFIX)
}

/// Whether no node can have this name.
pub(crate) fn is_forbidden(name: &str) -> bool {
    name == ZARR_JSON || name.starts_with("__")
}

/// Returns the stored name for a name. `escapes`: the store can record true names.
pub(crate) fn escaped(name: &str, escapes: bool) -> Cow<'_, str> {
    if escapes && needs_escape(name) { Cow::Owned(format!("{PREFIX}{name}")) } else { Cow::Borrowed(name) }
}

/// Returns the names that a node of this stored name may have.
pub(crate) fn names(node: &str) -> impl Iterator<Item = &str> {
    [Some(node), node.strip_prefix(PREFIX)].into_iter().flatten()
}

/// Returns the last segment of a key.
pub(crate) fn stored(key: &Key) -> &str {
    key.name()
}

/// Whether an object of this name is stored at this key under an escaped name.
fn is_escaped(name: &str, key: &Key) -> bool {
    stored(key).strip_prefix(PREFIX) == Some(name)
}

/// Appends the member with the true name, if the stored name at the key is escaped.
pub(crate) fn write(name: &str, key: &Key, out: &mut String) {
    if is_escaped(name, key) {
        write_name(NAME, out);
        write_string(name, out);
    }
}

/// Whether a group's keys or annotation have a true name.
fn has_true_name(attrs: &Object, plain: bool) -> bool {
    let keys = attrs.get(if plain { NETCDF } else { NCZARR_GROUP });
    keys.and_then(|keys| keys.as_object()?.get(NAME)?.as_str()).is_some()
}

/// Returns the true name behind the prefix, if it needs escaping. The recorded name may be outdated after an
/// interrupted rename, so it is not used.
fn unescaped(node: &str) -> Option<&str> {
    node.strip_prefix(PREFIX).filter(|name| needs_escape(name))
}

/// A child of a group, by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum TreeNode {
    Group(usize),
    Array(usize),
}

/// Gives the nodes of a loaded tree their true names. A node keeps its stored name if a sibling has the true
/// one.
pub(crate) fn assign_true_names(tree: &mut RawTree, plain: bool) {
    // With the index of the parent group, and for arrays the index in it.
    let mut named: Vec<(usize, TreeNode, String)> = Vec::new();
    for (at, group) in tree.groups.iter().enumerate() {
        if let (Some(name), Some(parent), true) =
            (unescaped(&group.name), group.parent, has_true_name(&group.attrs, plain))
        {
            named.push((parent, TreeNode::Group(at), name.to_owned()));
        }
        let arrays = group.arrays.iter().enumerate().filter(|(_, array)| array.built.stored.has_true_name);
        named.extend(
            arrays
                .filter_map(|(i, array)| Some((at, TreeNode::Array(i), unescaped(&array.name)?.to_owned()))),
        );
    }
    if named.is_empty() {
        return;
    }
    // A shorter name that stays escaped may collide with the true name of a longer one.
    named.sort_by_key(|(.., name)| name.len());
    let known: HashSet<(usize, TreeNode)> =
        named.iter().map(|(parent, child, _)| (*parent, *child)).collect();
    let mut taken: HashSet<(usize, String)> = HashSet::new();
    for (at, group) in tree.groups.iter().enumerate() {
        let parent = group.parent.unwrap_or(at);
        if !known.contains(&(parent, TreeNode::Group(at))) {
            taken.insert((parent, group.name.clone()));
        }
        let others =
            group.arrays.iter().enumerate().filter(|(i, _)| !known.contains(&(at, TreeNode::Array(*i))));
        taken.extend(others.map(|(_, array)| (at, array.name.clone())));
    }
    for (parent, child, name) in named {
        let place = match child {
            TreeNode::Group(at) => &mut tree.groups[at].name,
            TreeNode::Array(at) => &mut tree.groups[parent].arrays[at].name,
        };
        if taken.insert((parent, name.clone())) {
            *place = name;
        } else {
            taken.insert((parent, place.clone()));
        }
    }
    // Full names contain true names.
    for displaced in &mut tree.renamed_groups {
        let group = tree.groups.iter().find(|group| group.key == *displaced);
        let up = |group: &&RawGroup| group.parent.and_then(|parent| tree.groups.get(parent));
        let names =
            std::iter::successors(group, up).map(|group| group.name.as_str()).filter(|name| !name.is_empty());
        let mut names: Vec<&str> = names.collect();
        names.reverse();
        if let Ok(path) = Key::new(&names.join("/")) {
            *displaced = path;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_names_never_collide() {
        let names =
            ["zarr.json", "__a", "_nczarr.zarr.json", "_nczarr.__a", "_nczarr.x", "x", "_a", "zarr.jso"];
        let nodes: Vec<_> = names.iter().map(|name| escaped(name, true)).collect();
        for (name, node) in names.iter().zip(&nodes) {
            assert!(!is_forbidden(node), "{node}");
            assert_eq!(nodes.iter().filter(|other| *other == node).count(), 1, "{node}");
            assert_eq!(unescaped(node).unwrap_or(node), *name);
        }
        assert_eq!(nodes[5..], ["x", "_a", "zarr.jso"]);
        assert_eq!(escaped("__a", false), "__a");
        assert_eq!(unescaped("_nczarr.x"), None);
    }

    #[test]
    fn only_names_that_differ_from_their_key_are_recorded() {
        for (name, key, member) in [
            ("__a", "g/_nczarr.__a", ", \"name\": \"__a\""),
            ("__a", "g/__a", ""),
            ("_nczarr.__a", "_nczarr.__a", ""),
            ("a", "__a", ""),
        ] {
            let mut out = "{1".to_owned();
            write(name, &Key::new(key).unwrap(), &mut out);
            assert_eq!(out, format!("{{1{member}"));
        }
        let mut out = "{1".to_owned();
        write("", &Key::root(), &mut out);
        assert_eq!(out, "{1");
    }
}
