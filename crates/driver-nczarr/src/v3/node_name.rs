//! Names that no node of Zarr V3 can have, and the nodes that variables and groups of such names are.
//!
//! Zarr V3 keeps `zarr.json` and names that begin with `__` for itself. What has such a name in netCDF is stored as a node
//! whose name is that with [`PREFIX`] before it, and so is what has a name that begins so: two names never meet. The node's own
//! document tells the true name, as the member [`NAME`] of NCZarr's keys or of a plain store's annotation; without it a node has the
//! name by which it is stored, whatever that begins with. Lists of what a group holds are of nodes, full names are of true names.

use std::borrow::Cow;
use std::collections::HashSet;

use nczarr_dispatch::Key;

use super::document::ZARR_JSON;
use crate::attrs::{NCZARR_GROUP, NETCDF};
use crate::json::{Object, write_name, write_string};
use crate::tree::{RawGroup, RawTree};

/// How the names of such nodes begin.
const PREFIX: &str = "_nczarr.";
/// The member that tells the true name.
pub(crate) const NAME: &str = "name";

/// Whether what has this name is stored under another one.
pub(crate) fn is_elsewhere(name: &str) -> bool {
    name == ZARR_JSON || name.starts_with("__") || name.starts_with(PREFIX)
}

/// Whether no node can have this name.
pub(crate) fn is_forbidden(name: &str) -> bool {
    name == ZARR_JSON || name.starts_with("__")
}

/// The name of the node that has this name. `escapes`: the store has a place for the true name.
pub(crate) fn of(name: &str, escapes: bool) -> Cow<'_, str> {
    match escapes && is_elsewhere(name) {
        true => Cow::Owned(format!("{PREFIX}{name}")),
        false => Cow::Borrowed(name),
    }
}

/// The names that what is stored under this one may have.
pub(crate) fn names(node: &str) -> impl Iterator<Item = &str> {
    [Some(node), node.strip_prefix(PREFIX)].into_iter().flatten()
}

/// The last part of a key.
pub(crate) fn stored(key: &Key) -> &str {
    key.name()
}

/// Whether what has this name is stored at this key under another one.
fn is_told(name: &str, key: &Key) -> bool {
    stored(key).strip_prefix(PREFIX) == Some(name)
}

/// Appends the member that tells the true name of what is stored at a key, if it has to be told.
pub(crate) fn write(name: &str, key: &Key, out: &mut String) {
    if is_told(name, key) {
        write_name(NAME, out);
        write_string(name, out);
    }
}

/// What the keys of a group, or its annotation, tell of its name.
fn told(attrs: &Object, plain: bool) -> bool {
    let keys = attrs.get(if plain { NETCDF } else { NCZARR_GROUP });
    keys.and_then(|keys| keys.as_object()?.get(NAME)?.as_str()).is_some()
}

/// The name of a node that says that it has another one: what is behind the prefix, if that needs one. Who renamed it and was
/// stopped may have left the name before in its document.
fn behind(node: &str) -> Option<&str> {
    node.strip_prefix(PREFIX).filter(|name| is_elsewhere(name))
}

/// What lies in a group, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Child {
    Group(usize),
    Array(usize),
}

/// Gives the nodes of a tree that was loaded their true names. One whose name another node of its group has keeps that by which it
/// is stored.
pub(crate) fn give(tree: &mut RawTree, plain: bool) {
    // With the group each lies in; of arrays also the number there.
    let mut named: Vec<(usize, Child, String)> = Vec::new();
    for (at, group) in tree.groups.iter().enumerate() {
        if let (Some(name), Some(parent), true) = (behind(&group.name), group.parent, told(&group.attrs, plain)) {
            named.push((parent, Child::Group(at), name.to_owned()));
        }
        let told = group.arrays.iter().enumerate().filter(|(_, array)| array.built.stored.told_name);
        named.extend(told.filter_map(|(i, array)| Some((at, Child::Array(i), behind(&array.name)?.to_owned()))));
    }
    if named.is_empty() {
        return;
    }
    // The name that one keeps may be that which a longer one tells.
    named.sort_by_key(|(.., name)| name.len());
    let known: HashSet<(usize, Child)> = named.iter().map(|(parent, child, _)| (*parent, *child)).collect();
    let mut taken: HashSet<(usize, String)> = HashSet::new();
    for (at, group) in tree.groups.iter().enumerate() {
        let parent = group.parent.unwrap_or(at);
        if !known.contains(&(parent, Child::Group(at))) {
            taken.insert((parent, group.name.clone()));
        }
        let others = group.arrays.iter().enumerate().filter(|(i, _)| !known.contains(&(at, Child::Array(*i))));
        taken.extend(others.map(|(_, array)| (at, array.name.clone())));
    }
    for (parent, child, name) in named {
        let place = match child {
            Child::Group(at) => &mut tree.groups[at].name,
            Child::Array(at) => &mut tree.groups[parent].arrays[at].name,
        };
        if taken.insert((parent, name.clone())) {
            *place = name;
        } else {
            taken.insert((parent, place.clone()));
        }
    }
    // What is looked for by a full name is looked for by true names.
    for displaced in &mut tree.displaced {
        let group = tree.groups.iter().find(|group| group.key == *displaced);
        let up = |group: &&RawGroup| group.parent.and_then(|parent| tree.groups.get(parent));
        let names = std::iter::successors(group, up).map(|group| group.name.as_str()).filter(|name| !name.is_empty());
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
    fn names_never_meet() {
        let names = ["zarr.json", "__a", "_nczarr.zarr.json", "_nczarr.__a", "_nczarr.x", "x", "_a", "zarr.jso"];
        let nodes: Vec<_> = names.iter().map(|name| of(name, true)).collect();
        for (name, node) in names.iter().zip(&nodes) {
            assert!(!is_forbidden(node), "{node}");
            assert_eq!(nodes.iter().filter(|other| *other == node).count(), 1, "{node}");
            assert_eq!(behind(node).unwrap_or(node), *name);
        }
        assert_eq!(nodes[5..], ["x", "_a", "zarr.jso"]);
        assert_eq!(of("__a", false), "__a");
        assert_eq!(behind("_nczarr.x"), None);
    }

    #[test]
    fn only_what_is_stored_elsewhere_is_told() {
        for (name, key, told) in [
            ("__a", "g/_nczarr.__a", ", \"name\": \"__a\""),
            ("__a", "g/__a", ""),
            ("_nczarr.__a", "_nczarr.__a", ""),
            ("a", "__a", ""),
        ] {
            let mut out = "{1".to_owned();
            write(name, &Key::new(key).unwrap(), &mut out);
            assert_eq!(out, format!("{{1{told}"));
        }
        let mut out = "{1".to_owned();
        write("", &Key::root(), &mut out);
        assert_eq!(out, "{1");
    }
}
