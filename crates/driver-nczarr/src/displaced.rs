//! Children that a group lists and that are not there, because whoever renamed them was stopped before the list said so.
//!
//! A rename moves a child before the list tells of it. In between, as many are listed and not there as there are others that
//! no list names: these are them. They are taken in under the names they have now, and what still refers to the old name of
//! a group is led to the new one ([`resolve`]). Where the numbers differ something is lost, and that stays an error.

use std::collections::{BTreeSet, HashSet};

use nczarr_dispatch::Key;
use nczarr_model::{ErrorKind, Result};

use crate::fetch::{Source, is_no_list};
use crate::moves::MOVING;
use crate::nodes::{Node, Place, Want};
use crate::tree::{RawTree, place};
use crate::v3::document::ZARR_JSON;
use crate::var::Reading;

/// A child of a group.
pub(crate) struct Child {
    /// The number of the group.
    pub(crate) parent: usize,
    pub(crate) place: Place,
    pub(crate) node: Node,
}

/// More names than this one reference is not tried under.
const MOST: usize = 64;

/// Puts children that were renamed in the place of those that are listed.
///
/// # Errors
/// What the map says.
pub(crate) fn find(
    source: &Source<'_>,
    tree: &mut RawTree,
    children: &mut Vec<Child>,
    reading: &Reading<'_>,
) -> Result<()> {
    let parents: BTreeSet<usize> =
        children.iter().filter(|child| is_missing(&child.node)).map(|child| child.parent).collect();
    // Consolidated documents go before anything is moved.
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
            // Without a list it stays missing.
            Err(error) if is_no_list(&error) => continue,
            Err(error) => return Err(error),
        };
        for name in names {
            if !listed.contains(&*name) && name != ZARR_JSON && (!name.starts_with('.') || name.starts_with(MOVING)) {
                places.push(Place { key: group.join(&name)?, name, want: Want::Any });
            }
        }
        let nodes = source.nodes(&places, reading);
        let (mut arrays, mut groups) = (Vec::new(), Vec::new());
        for (place, node) in places.into_iter().zip(nodes) {
            match node {
                Node::Array(_) => arrays.push(Child { parent, place, node }),
                Node::Other { zgroup: Ok(Some(_)), .. } => groups.push(Child { parent, place, node }),
                Node::Other { .. } | Node::Closed(_) => {}
            }
        }
        for (want, found) in [(Want::Array, arrays), (Want::Group, groups)] {
            let is_one = |child: &Child| child.parent == parent && child.place.want == want && is_missing(&child.node);
            let missing: Vec<&str> =
                children.iter().filter(|child| is_one(child)).map(|child| &*child.place.name).collect();
            if missing.is_empty() || missing.len() != found.len() {
                continue;
            }
            let names: Vec<&str> = found.iter().map(|child| &*child.place.name).collect();
            let at = place(&group);
            tree.notes.push(format!("{at}: {missing:?} were renamed to {names:?}, and the list does not tell yet"));
            if want == Want::Group {
                tree.displaced.extend(found.iter().map(|child| child.place.key.clone()));
            }
            children.retain(|child| !is_one(child));
            children.extend(found);
        }
    }
    Ok(())
}

/// Whether a listed child is not there at all. One that cannot be read is.
pub(crate) fn is_missing(node: &Node) -> bool {
    match node {
        Node::Array(built) => built.var.problem.as_ref().is_some_and(|problem| problem.kind() == ErrorKind::NoObject),
        Node::Other { zgroup, attrs } => matches!((zgroup, attrs), (Ok(None), Ok(None))),
        Node::Closed(_) => false,
    }
}

/// What `find` has under a full name; or under the name that it has by now, if only one can be meant.
pub(crate) fn resolve<T: PartialEq>(name: &str, displaced: &[Key], find: impl Fn(&str) -> Option<T>) -> Option<T> {
    let exact = find(name);
    if exact.is_some() || displaced.is_empty() {
        return exact;
    }
    let mut found = candidates(name, displaced).into_iter().filter_map(|name| find(&name));
    let first = found.next()?;
    found.all(|other| other == first).then_some(first)
}

/// The names that something may have by now whose full name was `name` before groups were renamed.
fn candidates(name: &str, displaced: &[Key]) -> Vec<String> {
    let mut names = vec![name.to_owned()];
    for group in displaced {
        let depth = group.segments().count();
        for i in 0..names.len() {
            let parts: Vec<&str> = names[i].split('/').skip(1).collect();
            let outside = depth.saturating_sub(1);
            let is_below =
                parts.len() > depth && group.segments().take(outside).eq(parts.iter().take(outside).copied());
            if is_below && names.len() < MOST {
                let rest = parts.get(depth..).unwrap_or_default().join("/");
                names.push(format!("/{group}/{rest}"));
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_meant_is_found() {
        let displaced = ["h", "k"].map(|text| Key::new(text).unwrap());
        for (there, expected) in [
            (&["/g/x"][..], Some("/g/x")),
            (&["/g/x", "/h/x"], Some("/g/x")),
            (&["/k/x"], Some("/k/x")),
            (&["/h/x", "/k/x"], None),
            (&["/x"], None),
        ] {
            let find = |name: &str| there.iter().copied().find(|there| *there == name);
            assert_eq!(resolve("/g/x", &displaced, find), expected, "{there:?}");
        }
    }

    #[test]
    fn names_before_and_after() {
        let key = |text: &str| Key::new(text).unwrap();
        for (name, displaced, expected) in [
            ("/x", &[][..], &["/x"][..]),
            ("/x", &["h"], &["/x"]),
            ("/g/x", &["h"], &["/g/x", "/h/x"]),
            ("/g/c/x", &["h"], &["/g/c/x", "/h/c/x"]),
            ("/g/c/x", &["g/e"], &["/g/c/x", "/g/e/x"]),
            ("/f/c/x", &["g/e"], &["/f/c/x"]),
            ("/g/c/x", &["h", "h/e"], &["/g/c/x", "/h/c/x", "/h/e/x"]),
        ] {
            let displaced: Vec<Key> = displaced.iter().copied().map(key).collect();
            assert_eq!(candidates(name, &displaced), expected, "{name} {displaced:?}");
        }
        let many: Vec<Key> = (0..100).map(|i| key(&format!("g{i}"))).collect();
        assert_eq!(candidates("/g/x", &many).len(), MOST);
    }
}
