//! Loads every node of a store, level by level.
//!
//! Each level is read in one batch. NCZarr groups list their children, and the lists are authoritative;
//! otherwise the map is searched. Read [`load`] first.

use nczarr_codec::ZarrFormat;
use nczarr_dispatch::Fault;
use nczarr_model::{Error, ErrorKind, Result};
use nczarr_storage::Key;

use super::interrupted_rename::{self, ListedChild};
use super::nodes::{ExpectedNode, FoundNode, NodeLocation};
use super::torn_nodes;
use crate::dataset::UNNAMEABLE;
use crate::flavour::kind::DimNaming;
use crate::flavour::nczarr_lists;
use crate::legacy::NczarrVersion;
use crate::metadata::json::{Json, Object};
use crate::metadata::paths::{display_key, slashed};
use crate::metadata::v2::var::{self};
use crate::metadata::v2::{ZATTRS, ZGROUP};
use crate::metadata::v3;
use crate::metadata::v3::document::ZARR_JSON;
use crate::metadata::v3::node_name;
use crate::metadata::variable::ReadContext;
use crate::open::discover::DiscoveredRoot;
use crate::open::metadata_reader::{Fetched, MetadataReader, cannot_list};
use crate::open::tree::{GroupDamage, RawArray, RawGroup, RawRoot, RawTree, object};

/// The deepest nesting of groups.
const MAX_DEPTH: usize = 200;
/// The most folders without metadata that are searched for nodes.
const MAX_IMPLICIT: usize = 1000;

/// Loads everything below the root.
///
/// # Errors
/// [`ErrorKind::NcZarr`] for invalid lists of the root; errors of the map.
pub(super) fn load(found: DiscoveredRoot<'_>, reading: &ReadContext<'_>) -> Result<RawTree> {
    let DiscoveredRoot { reader, root, .. } = found;
    let is_listed = reading.naming == DimNaming::References;
    if !is_listed && let Some(document) = &root.zarray {
        // An array without a group: the root's attributes are the array's.
        let built = match root.format {
            ZarrFormat::V2 => {
                var::build_from_documents(&Key::root(), Ok(document), Ok(root.attrs.as_ref()), reading)
            }
            ZarrFormat::V3 => v3::var::build(&Key::root(), Ok(document), reading),
        };
        let mut tree = RawTree::of_root(RawRoot::default())?;
        tree.root_array = Some(RawArray { key: Key::root(), name: String::new(), built });
        return Ok(tree);
    }
    levels(&reader, root, is_listed, reading)
}

/// Loads the levels below the root. `listed`: by NCZarr's lists; otherwise by searching.
fn levels(
    source: &MetadataReader<'_>,
    root: RawRoot,
    listed: bool,
    reading: &ReadContext<'_>,
) -> Result<RawTree> {
    let mut tree = RawTree::of_root(root)?;
    let mut level = 0..1;
    let mut depth = 0;
    for (group, name) in source.consolidated.iter().flat_map(|consolidated| &consolidated.unnameable) {
        let path = format!("{}/{}", slashed(group), Key::escaped(name.as_bytes()));
        tree.faults.push(Fault::left_out(path, UNNAMEABLE));
    }
    while !level.is_empty() {
        depth += 1;
        if depth > MAX_DEPTH {
            let key = &tree.groups[level.start].key;
            return Err(ErrorKind::NcZarr.context(format!(
                "{key}: groups are nested too deeply (expected at most {MAX_DEPTH} levels)"
            )));
        }
        let next = tree.groups.len();
        if listed {
            by_lists(source, &mut tree, level, reading)?;
        } else {
            by_search(source, &mut tree, level, reading)?;
        }
        level = next..tree.groups.len();
    }
    torn_nodes::resolve_torn(&mut tree, reading);
    drop_empty_folders(&mut tree, listed);
    if reading.format == ZarrFormat::V3 && reading.naming != DimNaming::None {
        node_name::assign_true_names(&mut tree, reading.naming != DimNaming::References);
    }
    Ok(tree)
}

/// Returns the location of a child of `group`.
fn child_location(tree: &RawTree, group: usize, name: String, want: ExpectedNode) -> Result<NodeLocation> {
    if name.contains('/') {
        return Err(ErrorKind::BadName.context(format!("the name {name:?} contains a '/'")));
    }
    let key = tree.groups[group].key.join(&name)?;
    Ok(NodeLocation { key, name, expected: want })
}

fn by_lists(
    source: &MetadataReader<'_>,
    tree: &mut RawTree,
    level: std::ops::Range<usize>,
    reading: &ReadContext<'_>,
) -> Result<()> {
    // With the index of the parent group.
    let (mut arrays, mut groups) = (Vec::new(), Vec::new());
    for group in level {
        let found = match &tree.groups[group].damage {
            Some(_) => None,
            None => match listed_children(tree, group) {
                Ok(found) => Some(found),
                Err(error) if tree.groups[group].parent.is_none() => return Err(error),
                Err(error) => {
                    tree.groups[group].damage = Some(GroupDamage::group(error));
                    None
                }
            },
        };
        match found {
            Some(children) => {
                for place in children {
                    let places =
                        if place.expected == ExpectedNode::Array { &mut arrays } else { &mut groups };
                    places.push((group, place));
                }
            }
            // Nodes below it cannot be read without its list.
            None if reading.nczarr_version != NczarrVersion::Current => {}
            // Its list is lost, but the stored nodes can be found.
            None => by_search(source, tree, group..group + 1, reading)?,
        }
    }
    let (parents, places): (Vec<usize>, Vec<NodeLocation>) = arrays.into_iter().chain(groups).unzip();
    let mut nodes = source.nodes(&places, reading);
    reread_missing(source, &places, &mut nodes, reading);
    let mut found: Vec<ListedChild> = parents
        .into_iter()
        .zip(places)
        .zip(nodes)
        .map(|((parent, place), node)| ListedChild { parent, place, node })
        .collect();
    interrupted_rename::recover_renamed(source, tree, &mut found, reading)?;
    for ListedChild { parent, place, node } in found {
        match node {
            FoundNode::Array(built) => {
                tree.groups[parent].arrays.push(RawArray { key: place.key, name: place.name, built });
            }
            FoundNode::MustUnderstand(why) => push_closed(tree, parent, place, why),
            FoundNode::Other { zgroup: Ok(None), attrs: Ok(None) } => {
                let what = format!(
                    "{}/{ZGROUP}: the group {:?} is listed, but it does not exist",
                    place.key, place.name
                );
                push_group(tree, parent, place, Err(ErrorKind::NoObject.context(what)), Ok(None), reading);
            }
            FoundNode::Other { zgroup, attrs } => push_group(tree, parent, place, zgroup, attrs, reading),
        }
    }
    Ok(())
}

/// Returns the children in the lists of a group.
fn listed_children(tree: &mut RawTree, group: usize) -> Result<Vec<NodeLocation>> {
    let here = &tree.groups[group];
    let document = nczarr_lists::document(&here.key, &here.attrs);
    let lists = nczarr_lists::read(&here.attrs, here.zgroup.as_ref())
        .map_err(|error| error.in_key(&document).at(&document))?;
    let Some(lists) = lists else {
        return Err(ErrorKind::NcZarr.context(format!(
            "{}: the group of an NCZarr dataset has no \"_nczarr_group\"",
            display_key(&here.key)
        )));
    };
    let mut places = Vec::with_capacity(lists.arrays.len() + lists.groups.len());
    for (member, names, want) in
        [("arrays", lists.arrays, ExpectedNode::Array), ("groups", lists.groups, ExpectedNode::Group)]
    {
        for name in names {
            match child_location(tree, group, name.clone(), want) {
                Ok(place) => places.push(place),
                Err(error) if name.chars().any(char::is_control) => leave_out(tree, group, &name, error),
                Err(error) => {
                    return Err(error.in_key(&document).at(format_args!("{document}: member \"{member}\"")));
                }
            }
        }
    }
    Ok(places)
}

/// Reports a child whose name no key can have.
fn leave_out(tree: &mut RawTree, group: usize, name: &str, why: Error) {
    let path = format!("{}/{}", slashed(&tree.groups[group].key), Key::escaped(name.as_bytes()));
    tree.faults.push(Fault::left_out(path, why));
}

/// Reads listed nodes again that the prefetched listing lacks: a writer may have stored the list after the
/// listing was taken.
fn reread_missing(
    source: &MetadataReader<'_>,
    places: &[NodeLocation],
    nodes: &mut [FoundNode],
    reading: &ReadContext<'_>,
) {
    let Some(prefetched) = source.prefetched else { return };
    let is_missing: Vec<bool> = nodes.iter().map(interrupted_rename::is_missing).collect();
    if source.consolidated.is_some() || !is_missing.contains(&true) {
        return;
    }
    prefetched.invalidate_absent();
    let again = |place: &NodeLocation| NodeLocation {
        key: place.key.clone(),
        name: place.name.clone(),
        expected: place.expected,
    };
    let missing =
        places.iter().zip(&is_missing).filter(|(_, missing)| **missing).map(|(place, _)| again(place));
    let found = source.nodes(&missing.collect::<Vec<_>>(), reading);
    for (node, found) in nodes.iter_mut().zip(is_missing).filter(|(_, missing)| *missing).zip(found) {
        *node.0 = found;
    }
}

fn by_search(
    source: &MetadataReader<'_>,
    tree: &mut RawTree,
    level: std::ops::Range<usize>,
    reading: &ReadContext<'_>,
) -> Result<()> {
    let (mut parents, mut places) = (Vec::new(), Vec::new());
    let is_open = |group: &RawGroup| group.damage.as_ref().is_none_or(|broken| !broken.unsearched);
    let keys: Vec<Key> = tree.groups[level.clone()]
        .iter()
        .filter(|group| is_open(group))
        .map(|group| group.key.clone())
        .collect();
    source.prefetch_children(&keys);
    for group in level.filter(|&group| is_open(&tree.groups[group])).collect::<Vec<_>>() {
        let known = tree.names.take_if(|_| tree.groups[group].parent.is_none());
        let names = match source.children(&tree.groups[group].key, known) {
            Ok(names) => names,
            // A broken group is reported already, and its children need a listing.
            Err(error) if tree.groups[group].damage.is_some() && cannot_list(&error) => continue,
            Err(error) => return Err(error),
        };
        if tree.groups[group].damage.is_some() && names.len() > MAX_IMPLICIT {
            // Probably the chunks of an array.
            continue;
        }
        parents.reserve(names.len());
        places.reserve(names.len());
        for name in names {
            // The group's own document.
            if reading.format == ZarrFormat::V3 && name == ZARR_JSON {
                continue;
            }
            match child_location(tree, group, name.clone(), ExpectedNode::Any) {
                Ok(place) => {
                    parents.push(group);
                    places.push(place);
                }
                Err(error) => leave_out(tree, group, &name, error),
            }
        }
    }
    let nodes = source.nodes(&places, reading);
    let folders = nodes
        .iter()
        .zip(&places)
        .filter(|(node, _)| matches!(node, FoundNode::Other { zgroup: Ok(None), .. }));
    let folders: Vec<Key> = folders.take(MAX_IMPLICIT).map(|(_, place)| place.key.clone()).collect();
    source.prefetch_children(&folders);
    if let (Some(&first), Some(last)) = (parents.first(), parents.last())
        && first == *last
    {
        let arrays = nodes.iter().filter(|node| matches!(node, FoundNode::Array(_))).count();
        tree.groups[first].arrays.reserve_exact(arrays);
    }
    for ((node, place), parent) in nodes.into_iter().zip(places).zip(parents) {
        match node {
            FoundNode::Array(built) => {
                tree.groups[parent].arrays.push(RawArray { key: place.key, name: place.name, built });
            }
            // Chunks of an array with a torn document look like this.
            FoundNode::Other { zgroup: Ok(None), attrs: Ok(None) }
                if tree.groups[parent].damage.is_some() => {}
            FoundNode::Other { zgroup: Ok(None), attrs } => {
                // Neither group nor array: a folder that may have nodes, or a foreign object.
                tree.folders += 1;
                if tree.folders > MAX_IMPLICIT {
                    if tree.folders == MAX_IMPLICIT + 1 {
                        let text =
                            "too many folders without metadata; this and further ones are not searched";
                        tree.faults.push(Fault::left_out(&place.key, text));
                    }
                } else if attrs.is_err() || !source.children(&place.key, None)?.is_empty() {
                    push_group(tree, parent, place, Ok(None), attrs, reading);
                } else {
                    tree.empty_folders.push(place.key);
                }
            }
            FoundNode::MustUnderstand(why) => push_closed(tree, parent, place, why),
            FoundNode::Other { zgroup, attrs } => push_group(tree, parent, place, zgroup, attrs, reading),
        }
    }
    Ok(())
}

/// Adds a group. If a document cannot be read, the group exists without its contents.
fn push_group(
    tree: &mut RawTree,
    parent: usize,
    place: NodeLocation,
    zgroup: Fetched,
    attrs: Fetched,
    reading: &ReadContext<'_>,
) {
    let NodeLocation { key, name, expected: want } = place;
    let own = |found: Fetched, document: &str| match found.transpose() {
        None => (None, None),
        // `null` counts as absent, as in zarr-python.
        Some(Ok(Json::Null)) if document == ZATTRS => (None, None),
        Some(found) => match found.and_then(|found| object(found, format_args!("{key}/{document}"))) {
            Ok(object) => (Some(object), None),
            Err(error) => (None, Some(error)),
        },
    };
    let ((zgroup, marker), (attrs, lost)) = (own(zgroup, ZGROUP), own(attrs, ZATTRS));
    let may_be_array = marker.is_some() && want == ExpectedNode::Any && reading.format == ZarrFormat::V3;
    let broken = marker.or(lost).map(|why| GroupDamage { may_be_array, ..GroupDamage::group(why) });
    let (has_attrs, attrs) = (attrs.is_some(), attrs.unwrap_or_default());
    let arrays = Vec::new();
    tree.groups.push(RawGroup {
        key,
        name,
        parent: Some(parent),
        zgroup,
        attrs,
        has_attrs,
        arrays,
        damage: broken,
    });
}

/// Adds a group that must not be searched.
fn push_closed(tree: &mut RawTree, parent: usize, place: NodeLocation, why: Error) {
    let NodeLocation { key, name, .. } = place;
    let broken = Some(GroupDamage { unsearched: true, ..GroupDamage::group(why) });
    let (attrs, arrays) = (Object::default(), Vec::new());
    let (zgroup, has_attrs) = (None, false);
    tree.groups.push(RawGroup {
        key,
        name,
        parent: Some(parent),
        zgroup,
        attrs,
        has_attrs,
        arrays,
        damage: broken,
    });
}

/// Drops folders without metadata that turned out to have no node. `listed`: only folders in broken groups
/// were searched.
fn drop_empty_folders(tree: &mut RawTree, listed: bool) {
    let was_searched =
        |group: &RawGroup| !listed || group.parent.is_some_and(|parent| tree.groups[parent].damage.is_some());
    let is_more = |group: &RawGroup| {
        let has_node = group.zgroup.is_some() || group.damage.is_some() || !group.arrays.is_empty();
        has_node || !was_searched(group)
    };
    let mut keep: Vec<bool> = tree.groups.iter().map(is_more).collect();
    keep[0] = true;
    for index in (1..tree.groups.len()).rev() {
        if keep[index]
            && let Some(parent) = tree.groups[index].parent
        {
            keep[parent] = true;
        }
    }
    let mut moved = vec![None; tree.groups.len()];
    let mut kept = Vec::new();
    for (index, mut group) in std::mem::take(&mut tree.groups).into_iter().enumerate() {
        if keep[index] {
            moved[index] = Some(kept.len());
            group.parent = group.parent.and_then(|parent| moved[parent]);
            kept.push(group);
        } else {
            tree.empty_folders.push(group.key);
        }
    }
    tree.groups = kept;
}
