//! The documents of a store as a tree of groups and arrays: [`RawTree`], before any flavour gives it a meaning.
//!
//! Read level by level, one batch each. NCZarr groups list what they hold and the lists are authoritative; elsewhere
//! the map is searched. Arrays come as variables already built (`nodes`).
//! A broken document stays with its array or group ([`RawGroup::broken`]); only the root's are errors of the whole.
//!
//! Start with [`load`].

use nczarr_dispatch::{Fault, Key, ZarrFormat};
use nczarr_model::{Error, ErrorKind, Result};

use crate::dataset::UNNAMABLE;
use crate::displaced::{self, Child};
use crate::fetch::{Fetched, Source, is_no_list};
use crate::flavour::Naming;
use crate::json::{Json, Object};
use crate::lists;
use crate::nodes::{Node, Place, Want};
use crate::older::Generation;
use crate::torn;
use crate::v3::document::ZARR_JSON;
use crate::v3::node_name;
use crate::var::{Built, Reading};

pub(crate) const ZGROUP: &str = ".zgroup";
pub(crate) const ZARRAY: &str = ".zarray";
pub(crate) const ZATTRS: &str = ".zattrs";

/// Groups nest at most this deep.
const MAX_DEPTH: usize = 200;
/// At most this many folders that are neither group nor array are searched for nodes further down.
const MAX_IMPLICIT: usize = 1000;

/// A group and what it holds.
#[derive(Debug)]
pub(crate) struct RawGroup {
    pub(crate) key: Key,
    pub(crate) name: String,
    /// Index of the group it lies in.
    pub(crate) parent: Option<usize>,
    /// Its `.zgroup`; `None` for a group that is only a folder.
    pub(crate) zgroup: Option<Object>,
    pub(crate) attrs: Object,
    /// Whether it has a `.zattrs`.
    pub(crate) has_attrs: bool,
    /// Its arrays.
    pub(crate) arrays: Vec<RawArray>,
    /// Why its own documents cannot be read, or not all of them.
    pub(crate) broken: Option<Broken>,
}

/// The damage to the documents of a group.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) why: Error,
    /// The document does not even tell whether it is of a group.
    pub(crate) may_be_array: bool,
    /// Nodes below it are not looked at.
    pub(crate) closed: bool,
}

impl Broken {
    pub(crate) fn group(why: Error) -> Self {
        Self { why, may_be_array: false, closed: false }
    }
}

/// An array, as a variable without dimensions.
#[derive(Debug)]
pub(crate) struct RawArray {
    pub(crate) key: Key,
    pub(crate) name: String,
    pub(crate) built: Built,
}

/// All groups, each after the one it lies in; the root first.
#[derive(Debug)]
pub(crate) struct RawTree {
    pub(crate) groups: Vec<RawGroup>,
    pub(crate) notes: Vec<String>,
    /// An object that is neither a group nor an array with a possible name.
    pub(crate) faults: Vec<Fault>,
    /// Folders that were searched in vain.
    pub(crate) hollow: Vec<Key>,
    /// The names right below the root, until they were looked at.
    names: Option<Vec<String>>,
    /// Folders without metadata that were entered.
    folders: usize,
    /// Groups that stand in the place of listed ones that were renamed; those outside come first.
    pub(crate) displaced: Vec<Key>,
}

/// The documents in the root of a store.
#[derive(Debug)]
pub(crate) struct RawRoot {
    pub(crate) format: ZarrFormat,
    pub(crate) zgroup: Option<Json>,
    pub(crate) attrs: Option<Json>,
    pub(crate) zarray: Option<Json>,
    /// The names right below it, where they are known.
    pub(crate) names: Option<Vec<String>>,
    /// The version it tells of where no superblock does.
    pub(crate) version: Option<String>,
}

impl Default for RawRoot {
    fn default() -> Self {
        Self { format: ZarrFormat::V2, zgroup: None, attrs: None, zarray: None, names: None, version: None }
    }
}

/// Loads everything below the root. `listed`: by NCZarr's lists; otherwise by searching.
///
/// # Errors
/// [`ErrorKind::NcZarr`] for lists of the root that cannot be understood; what the map says.
pub(crate) fn load(source: &Source<'_>, root: RawRoot, listed: bool, reading: &Reading<'_>) -> Result<RawTree> {
    let mut tree = RawTree::of_root(root)?;
    let mut level = 0..1;
    let mut depth = 0;
    for (group, name) in source.consolidated.iter().flat_map(|consolidated| &consolidated.unnamable) {
        let path = format!("{}/{}", slashed(group), Key::escaped(name.as_bytes()));
        tree.faults.push(Fault::left_out(path, UNNAMABLE));
    }
    while !level.is_empty() {
        depth += 1;
        if depth > MAX_DEPTH {
            let key = &tree.groups[level.start].key;
            return Err(ErrorKind::NcZarr.context(format!("{key}: groups nested deeper than {MAX_DEPTH}")));
        }
        let next = tree.groups.len();
        if listed {
            by_lists(source, &mut tree, level, reading)?;
        } else {
            by_search(source, &mut tree, level, reading)?;
        }
        level = next..tree.groups.len();
    }
    torn::settle(&mut tree, reading);
    tree.drop_empty_folders(listed);
    if reading.format == ZarrFormat::V3 && reading.naming != Naming::None {
        node_name::give(&mut tree, reading.naming != Naming::References);
    }
    Ok(tree)
}

/// An object out of a document.
pub(crate) fn object(document: Json, key: impl std::fmt::Display) -> Result<Object> {
    let kind = document.kind();
    let object = document.into_object();
    object.ok_or_else(|| ErrorKind::NcZarr.context(format!("{key}: expected an object, found {kind}")))
}

/// The place of a child of `group`.
fn place_of(tree: &RawTree, group: usize, name: String, want: Want) -> Result<Place> {
    if name.contains('/') {
        return Err(ErrorKind::BadName.context(format!("the name {name:?} holds a '/'")));
    }
    let key = tree.groups[group].key.join(&name)?;
    Ok(Place { key, name, want })
}

fn by_lists(
    source: &Source<'_>,
    tree: &mut RawTree,
    level: std::ops::Range<usize>,
    reading: &Reading<'_>,
) -> Result<()> {
    // With the group each lies in.
    let (mut arrays, mut groups) = (Vec::new(), Vec::new());
    for group in level {
        let found = match &tree.groups[group].broken {
            Some(_) => None,
            None => match listed(tree, group) {
                Ok(found) => Some(found),
                Err(error) if tree.groups[group].parent.is_none() => return Err(error),
                Err(error) => {
                    tree.groups[group].broken = Some(Broken::group(error));
                    None
                }
            },
        };
        match found {
            Some(children) => {
                for place in children {
                    let places = if place.want == Want::Array { &mut arrays } else { &mut groups };
                    places.push((group, place));
                }
            }
            // Nodes below it are understood only with its list.
            None if reading.generation != Generation::Today => {}
            // Its list is lost, and the stored nodes are there.
            None => by_search(source, tree, group..group + 1, reading)?,
        }
    }
    let (parents, places): (Vec<usize>, Vec<Place>) = arrays.into_iter().chain(groups).unzip();
    let mut nodes = source.nodes(&places, reading);
    second_look(source, &places, &mut nodes, reading);
    let mut found: Vec<Child> = parents
        .into_iter()
        .zip(places)
        .zip(nodes)
        .map(|((parent, place), node)| Child { parent, place, node })
        .collect();
    displaced::find(source, tree, &mut found, reading)?;
    for Child { parent, place, node } in found {
        match node {
            Node::Array(built) => {
                tree.groups[parent].arrays.push(RawArray { key: place.key, name: place.name, built });
            }
            Node::Closed(why) => push_closed(tree, parent, place, why),
            Node::Other { zgroup: Ok(None), attrs: Ok(None) } => {
                let what = format!("{}/{ZGROUP}: the group {:?} is listed, but there is none", place.key, place.name);
                push_group(tree, parent, place, Err(ErrorKind::NoObject.context(what)), Ok(None), reading);
            }
            Node::Other { zgroup, attrs } => push_group(tree, parent, place, zgroup, attrs, reading),
        }
    }
    Ok(())
}

/// The children that the lists of a group name.
fn listed(tree: &mut RawTree, group: usize) -> Result<Vec<Place>> {
    let here = &tree.groups[group];
    let document = lists::document(&here.key, &here.attrs);
    let lists = lists::read(&here.attrs, here.zgroup.as_ref()).map_err(|error| error.at(&document))?;
    let Some(lists) = lists else {
        return Err(ErrorKind::NcZarr
            .context(format!("{}: a group of an NCZarr dataset without \"_nczarr_group\"", place(&here.key))));
    };
    let mut places = Vec::with_capacity(lists.arrays.len() + lists.groups.len());
    for (member, names, want) in [("arrays", lists.arrays, Want::Array), ("groups", lists.groups, Want::Group)] {
        for name in names {
            match place_of(tree, group, name.clone(), want) {
                Ok(place) => places.push(place),
                Err(error) if name.chars().any(char::is_control) => leave_out(tree, group, &name, error),
                Err(error) => return Err(error.at(format_args!("{document}: member \"{member}\""))),
            }
        }
    }
    Ok(places)
}

/// Notes a child of a name that no key can have.
fn leave_out(tree: &mut RawTree, group: usize, name: &str, why: Error) {
    let path = format!("{}/{}", slashed(&tree.groups[group].key), Key::escaped(name.as_bytes()));
    tree.faults.push(Fault::left_out(path, why));
}

/// The path of a key, without a `/` at its end.
pub(crate) fn slashed(key: &Key) -> String {
    if key.is_root() { String::new() } else { format!("/{key}") }
}

/// Asks once more for what a list names and a survey did not see: whoever wrote it may have come between the list of keys
/// and the group's document.
fn second_look(source: &Source<'_>, places: &[Place], nodes: &mut [Node], reading: &Reading<'_>) {
    let Some(survey) = source.survey else { return };
    let is_missing: Vec<bool> = nodes.iter().map(displaced::is_missing).collect();
    if source.consolidated.is_some() || !is_missing.contains(&true) {
        return;
    }
    survey.invalidate_absent();
    let again = |place: &Place| Place { key: place.key.clone(), name: place.name.clone(), want: place.want };
    let missing = places.iter().zip(&is_missing).filter(|(_, missing)| **missing).map(|(place, _)| again(place));
    let found = source.nodes(&missing.collect::<Vec<_>>(), reading);
    for (node, found) in nodes.iter_mut().zip(is_missing).filter(|(_, missing)| *missing).zip(found) {
        *node.0 = found;
    }
}

fn by_search(
    source: &Source<'_>,
    tree: &mut RawTree,
    level: std::ops::Range<usize>,
    reading: &Reading<'_>,
) -> Result<()> {
    let (mut parents, mut places) = (Vec::new(), Vec::new());
    let is_open = |group: &RawGroup| group.broken.as_ref().is_none_or(|broken| !broken.closed);
    let keys: Vec<Key> =
        tree.groups[level.clone()].iter().filter(|group| is_open(group)).map(|group| group.key.clone()).collect();
    source.look_below(&keys);
    for group in level.filter(|&group| is_open(&tree.groups[group])).collect::<Vec<_>>() {
        let known = tree.names.take_if(|_| tree.groups[group].parent.is_none());
        let names = match source.children(&tree.groups[group].key, known) {
            Ok(names) => names,
            // A broken group is reported already, and only a list could find its children.
            Err(error) if tree.groups[group].broken.is_some() && is_no_list(&error) => continue,
            Err(error) => return Err(error),
        };
        if tree.groups[group].broken.is_some() && names.len() > MAX_IMPLICIT {
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
            match place_of(tree, group, name.clone(), Want::Any) {
                Ok(place) => {
                    parents.push(group);
                    places.push(place);
                }
                Err(error) => leave_out(tree, group, &name, error),
            }
        }
    }
    let nodes = source.nodes(&places, reading);
    let folders = nodes.iter().zip(&places).filter(|(node, _)| matches!(node, Node::Other { zgroup: Ok(None), .. }));
    let folders: Vec<Key> = folders.take(MAX_IMPLICIT).map(|(_, place)| place.key.clone()).collect();
    source.look_below(&folders);
    if let (Some(&first), Some(last)) = (parents.first(), parents.last())
        && first == *last
    {
        let arrays = nodes.iter().filter(|node| matches!(node, Node::Array(_))).count();
        tree.groups[first].arrays.reserve_exact(arrays);
    }
    for ((node, place), parent) in nodes.into_iter().zip(places).zip(parents) {
        match node {
            Node::Array(built) => {
                tree.groups[parent].arrays.push(RawArray { key: place.key, name: place.name, built });
            }
            // Chunks of an array whose document is torn look so.
            Node::Other { zgroup: Ok(None), attrs: Ok(None) } if tree.groups[parent].broken.is_some() => {}
            Node::Other { zgroup: Ok(None), attrs } => {
                // Neither: a folder that may hold nodes, or some foreign object.
                tree.folders += 1;
                if tree.folders > MAX_IMPLICIT {
                    if tree.folders == MAX_IMPLICIT + 1 {
                        let text = "too many folders without metadata; this and further ones are not searched";
                        tree.faults.push(Fault::left_out(&place.key, text));
                    }
                } else if attrs.is_err() || !source.children(&place.key, None)?.is_empty() {
                    push_group(tree, parent, place, Ok(None), attrs, reading);
                } else {
                    tree.hollow.push(place.key);
                }
            }
            Node::Closed(why) => push_closed(tree, parent, place, why),
            Node::Other { zgroup, attrs } => push_group(tree, parent, place, zgroup, attrs, reading),
        }
    }
    Ok(())
}

/// Adds a group. One whose documents cannot be read is there without what they say.
fn push_group(tree: &mut RawTree, parent: usize, place: Place, zgroup: Fetched, attrs: Fetched, reading: &Reading<'_>) {
    let Place { key, name, want } = place;
    let own = |found: Fetched, document: &str| match found.transpose() {
        None => (None, None),
        // As if there were none, like zarr-python.
        Some(Ok(Json::Null)) if document == ZATTRS => (None, None),
        Some(found) => match found.and_then(|found| object(found, format_args!("{key}/{document}"))) {
            Ok(object) => (Some(object), None),
            Err(error) => (None, Some(error)),
        },
    };
    let ((zgroup, marker), (attrs, lost)) = (own(zgroup, ZGROUP), own(attrs, ZATTRS));
    let may_be_array = marker.is_some() && want == Want::Any && reading.format == ZarrFormat::V3;
    let broken = marker.or(lost).map(|why| Broken { may_be_array, ..Broken::group(why) });
    let (has_attrs, attrs) = (attrs.is_some(), attrs.unwrap_or_default());
    let arrays = Vec::new();
    tree.groups.push(RawGroup { key, name, parent: Some(parent), zgroup, attrs, has_attrs, arrays, broken });
}

/// Adds a group that must not be looked into.
fn push_closed(tree: &mut RawTree, parent: usize, place: Place, why: Error) {
    let Place { key, name, .. } = place;
    let broken = Some(Broken { closed: true, ..Broken::group(why) });
    let (attrs, arrays) = (Object::default(), Vec::new());
    let (zgroup, has_attrs) = (None, false);
    tree.groups.push(RawGroup { key, name, parent: Some(parent), zgroup, attrs, has_attrs, arrays, broken });
}

/// A key for error messages: the root has no text of its own.
pub(crate) fn place(key: &Key) -> String {
    if key.is_root() { "/".to_owned() } else { key.to_string() }
}

impl RawTree {
    /// A tree of nothing but a root.
    ///
    /// # Errors
    /// [`ErrorKind::NcZarr`] if a document is no object.
    pub(crate) fn of_root(root: RawRoot) -> Result<Self> {
        let group = RawGroup {
            key: Key::root(),
            name: String::new(),
            parent: None,
            has_attrs: root.attrs.is_some(),
            zgroup: root.zgroup.map(|document| object(document, ZGROUP)).transpose()?,
            attrs: root
                .attrs
                .filter(|attrs| !attrs.is_null())
                .map(|document| object(document, ZATTRS))
                .transpose()?
                .unwrap_or_default(),
            arrays: Vec::new(),
            broken: None,
        };
        let (notes, faults, hollow, displaced) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Ok(Self { groups: vec![group], notes, faults, hollow, names: root.names, folders: 0, displaced })
    }

    /// Drops folders without metadata that turned out to hold no node. `listed`: only what stands in a broken group was
    /// searched.
    fn drop_empty_folders(&mut self, listed: bool) {
        let was_searched =
            |group: &RawGroup| !listed || group.parent.is_some_and(|parent| self.groups[parent].broken.is_some());
        let is_more = |group: &RawGroup| {
            let has_node = group.zgroup.is_some() || group.broken.is_some() || !group.arrays.is_empty();
            has_node || !was_searched(group)
        };
        let mut keep: Vec<bool> = self.groups.iter().map(is_more).collect();
        keep[0] = true;
        for index in (1..self.groups.len()).rev() {
            if keep[index]
                && let Some(parent) = self.groups[index].parent
            {
                keep[parent] = true;
            }
        }
        let mut moved = vec![None; self.groups.len()];
        let mut kept = Vec::new();
        for (index, mut group) in std::mem::take(&mut self.groups).into_iter().enumerate() {
            if keep[index] {
                moved[index] = Some(kept.len());
                group.parent = group.parent.and_then(|parent| moved[parent]);
                kept.push(group);
            } else {
                self.hollow.push(group.key);
            }
        }
        self.groups = kept;
    }

    /// Whether there is nothing but a root without metadata.
    pub(crate) fn is_bare(&self) -> bool {
        let root = &self.groups[0];
        self.groups.len() == 1 && root.arrays.is_empty() && root.zgroup.is_none() && !root.has_attrs
    }
}

/// The error of a store that holds none of Zarr's documents.
pub(crate) fn not_zarr() -> Error {
    ErrorKind::NotZarr.context("no .zgroup, .zarray, .zattrs or .zmetadata in the root, and no array below it")
}
