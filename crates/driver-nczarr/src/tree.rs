//! The documents of a store as a tree of groups and arrays: [`RawTree`], before any flavour gives it a meaning.
//!
//! Read level by level, one batch each. NCZarr groups list what they hold and the lists are authoritative; elsewhere
//! the map is searched. A broken array document stays with its array; a broken group document is an error.
//!
//! Start with [`load`].

use dispatch::Key;
use model::{Error, ErrorKind, Result};

use crate::fetch::Source;
use crate::json::{Json, Object};
use crate::lists;

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
    pub(crate) arrays: Vec<RawArray>,
}

/// An array.
#[derive(Debug)]
pub(crate) struct RawArray {
    pub(crate) key: Key,
    pub(crate) name: String,
    /// Its `.zarray`.
    pub(crate) zarray: Result<Json>,
    /// Its `.zattrs`; `None` if there is none.
    pub(crate) attrs: Result<Option<Object>>,
}

/// All groups, each after the one it lies in; the root first.
#[derive(Debug)]
pub(crate) struct RawTree {
    pub(crate) groups: Vec<RawGroup>,
    pub(crate) notes: Vec<String>,
    /// Folders without metadata that were entered.
    folders: usize,
}

/// The documents in the root of a store.
#[derive(Debug)]
pub(crate) struct RawRoot {
    pub(crate) zgroup: Option<Json>,
    pub(crate) attrs: Option<Json>,
    pub(crate) zarray: Option<Json>,
}

/// Loads everything below the root. `listed`: by NCZarr's lists; otherwise by searching.
///
/// # Errors
/// [`ErrorKind::NcZarr`] naming the key of a group document that cannot be understood, [`ErrorKind::NoObject`] that of
/// a listed group that is not there; what the map says.
pub(crate) fn load(source: &Source<'_>, root: RawRoot, listed: bool) -> Result<RawTree> {
    let root = RawGroup {
        key: Key::root(),
        name: String::new(),
        parent: None,
        has_attrs: root.attrs.is_some(),
        zgroup: root.zgroup.map(|document| object(document, ZGROUP)).transpose()?,
        attrs: root.attrs.map(|document| object(document, ZATTRS)).transpose()?.unwrap_or_default(),
        arrays: Vec::new(),
    };
    let mut tree = RawTree { groups: vec![root], notes: Vec::new(), folders: 0 };
    let mut level = 0..1;
    let mut depth = 0;
    while !level.is_empty() {
        depth += 1;
        if depth > MAX_DEPTH {
            let key = &tree.groups[level.start].key;
            return Err(ErrorKind::NcZarr.context(format!("{key}: groups nested deeper than {MAX_DEPTH}")));
        }
        let next = tree.groups.len();
        if listed {
            by_lists(source, &mut tree, level)?;
        } else {
            by_search(source, &mut tree, level)?;
        }
        level = next..tree.groups.len();
    }
    if !listed {
        tree.drop_empty_folders();
    }
    Ok(tree)
}

/// An object out of a document.
pub(crate) fn object(document: Json, key: impl std::fmt::Display) -> Result<Object> {
    match document {
        Json::Object(members) => Ok(members),
        other => Err(ErrorKind::NcZarr.context(format!("{key}: expected an object, found {}", other.kind()))),
    }
}

/// A child of some group of the level.
struct Child {
    group: usize,
    name: String,
    key: Key,
}

impl Child {
    fn of(tree: &RawTree, group: usize, name: String) -> Result<Self> {
        if name.contains('/') {
            return Err(ErrorKind::BadName.context(format!("the name {name:?} holds a '/'")));
        }
        let key = tree.groups[group].key.join(&name)?;
        Ok(Self { group, name, key })
    }

    fn keys(&self, documents: &[&str]) -> Result<Vec<Key>> {
        documents.iter().map(|document| self.key.join(document)).collect()
    }
}

fn by_lists(source: &Source<'_>, tree: &mut RawTree, level: std::ops::Range<usize>) -> Result<()> {
    let (mut arrays, mut groups) = (Vec::new(), Vec::new());
    for group in level {
        let here = &tree.groups[group];
        let lists = lists::read(&here.attrs, here.zgroup.as_ref())
            .map_err(|error| error.at(lists::document(&here.key, &here.attrs)))?;
        let Some(lists) = lists else {
            return Err(ErrorKind::NcZarr
                .context(format!("{}: a group of an NCZarr dataset without \"_nczarr_group\"", place(&here.key))));
        };
        let document = lists::document(&here.key, &here.attrs);
        for (member, names, children) in [("arrays", lists.arrays, &mut arrays), ("groups", lists.groups, &mut groups)]
        {
            for name in names {
                let child = Child::of(tree, group, name);
                children.push(child.map_err(|error| error.at(format_args!("{document}: member \"{member}\"")))?);
            }
        }
    }
    let mut keys = Vec::new();
    for child in &arrays {
        keys.extend(child.keys(&[ZARRAY, ZATTRS])?);
    }
    for child in &groups {
        keys.extend(child.keys(&[ZGROUP, ZATTRS])?);
    }
    let mut documents = source.fetch(&keys, true).into_iter();
    let mut next = || documents.next().unwrap_or(Ok(None));
    for child in arrays {
        let (zarray, attrs) = (next(), next());
        let zarray = zarray.and_then(|document| {
            document.ok_or_else(|| {
                ErrorKind::NoObject
                    .context(format!("{}/{ZARRAY}: the group lists this array, but there is none", child.key))
            })
        });
        tree.groups[child.group].arrays.push(array(child.name, child.key, zarray, attrs));
    }
    for child in groups {
        let (zgroup, attrs) = (next()?, next()?);
        if zgroup.is_none() && attrs.is_none() {
            return Err(ErrorKind::NoObject
                .context(format!("{}/{ZGROUP}: the group {:?} is listed, but there is none", child.key, child.name)));
        }
        push_group(tree, child, zgroup, attrs)?;
    }
    Ok(())
}

fn by_search(source: &Source<'_>, tree: &mut RawTree, level: std::ops::Range<usize>) -> Result<()> {
    let mut children = Vec::new();
    for group in level {
        for name in source.children(&tree.groups[group].key)? {
            match Child::of(tree, group, name) {
                Ok(child) => children.push(child),
                Err(error) => tree.notes.push(format!("left out: {error}")),
            }
        }
    }
    let mut keys = Vec::new();
    for child in &children {
        keys.extend(child.keys(&[ZARRAY, ZGROUP, ZATTRS])?);
    }
    let mut documents = source.fetch(&keys, false).into_iter();
    let mut next = || documents.next().unwrap_or(Ok(None));
    for child in children {
        let (zarray, zgroup, attrs) = (next(), next(), next());
        match (zarray.transpose(), zgroup) {
            (Some(zarray), _) => {
                tree.groups[child.group].arrays.push(array(child.name, child.key, zarray, attrs));
            }
            (None, Ok(None)) => {
                // Neither: a folder that may hold nodes, or some foreign object.
                tree.folders += 1;
                if tree.folders > MAX_IMPLICIT {
                    if tree.folders == MAX_IMPLICIT + 1 {
                        tree.notes.push(format!("{}: too many folders without metadata; not searched", child.key));
                    }
                } else if !source.children(&child.key)?.is_empty() {
                    push_group(tree, child, None, attrs?)?;
                }
            }
            (None, zgroup) => push_group(tree, child, zgroup?, attrs?)?,
        }
    }
    Ok(())
}

fn array(name: String, key: Key, zarray: Result<Json>, attrs: Result<Option<Json>>) -> RawArray {
    let attrs =
        attrs.and_then(|attrs| attrs.map(|document| object(document, format_args!("{key}/{ZATTRS}"))).transpose());
    RawArray { key, name, zarray, attrs }
}

fn push_group(tree: &mut RawTree, child: Child, zgroup: Option<Json>, attrs: Option<Json>) -> Result<()> {
    let Child { group, name, key } = child;
    let has_attrs = attrs.is_some();
    let zgroup = zgroup.map(|document| object(document, format_args!("{key}/{ZGROUP}"))).transpose()?;
    let attrs = attrs.map(|document| object(document, format_args!("{key}/{ZATTRS}"))).transpose()?;
    tree.groups.push(RawGroup {
        key,
        name,
        parent: Some(group),
        zgroup,
        attrs: attrs.unwrap_or_default(),
        has_attrs,
        arrays: Vec::new(),
    });
    Ok(())
}

/// A key for error messages: the root has no text of its own.
pub(crate) fn place(key: &Key) -> String {
    if key.is_root() { "/".to_owned() } else { key.to_string() }
}

impl RawTree {
    /// A tree of nothing but a root without metadata.
    pub(crate) fn root_only() -> Self {
        let root = RawGroup {
            key: Key::root(),
            name: String::new(),
            parent: None,
            zgroup: None,
            attrs: Object::new(),
            has_attrs: false,
            arrays: Vec::new(),
        };
        Self { groups: vec![root], notes: Vec::new(), folders: 0 }
    }

    /// Drops folders without metadata that turned out to hold no node.
    fn drop_empty_folders(&mut self) {
        let mut keep: Vec<bool> =
            self.groups.iter().map(|group| group.zgroup.is_some() || !group.arrays.is_empty()).collect();
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
