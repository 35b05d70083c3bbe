//! Opening for one variable: the documents that say something of it, and no others.
//!
//! Answers `None` wherever these do not tell all that opening everything would tell of the variable: it is not there or
//! cannot be understood, a name is odd, its dimensions are elsewhere, or their lengths depend on other variables. Then
//! everything is opened, and says what is wrong, if something is. Only names that a plain store makes of what others have
//! taken may differ: of dimensions of several lengths, and of user-defined types.
//!
//! What is read: the root's attributes (which NCZarr it is, and by whom), the lists and attributes of the groups on the
//! way, the array; from far away all of it at once. Never consolidated metadata: it repeats what is read here.

use std::sync::Arc;

use nczarr_dispatch::{Dataset, Key, MountedMap, OpenRequest, ZarrFormat};
use nczarr_model::Result;
use nczarr_url_infer::Target;

use crate::annotation;
use crate::dtype::Kind;
use crate::fetch::{Source, read_here};
use crate::flavour::{self, Flavour, Loaded};
use crate::json::{Json, Object};
use crate::lists;
use crate::nodes::{self, Node, Place, Want};
use crate::older::{Defects, Generation, NCZARR};
use crate::opening::Opening;
use crate::refused::is_refused;
use crate::tree::{RawArray, RawGroup, RawRoot, RawTree, ZARRAY, ZATTRS, ZGROUP};
use crate::user;
use crate::v3::document::{self, NodeType, ZARR_JSON};
use crate::v3::node_name;
use crate::var::{Built, Links, Reading};

/// Groups nest at most this deep.
const MAX_DEPTH: usize = 200;

/// The dataset with the variable at `path` and what it needs; `None`: everything is to be opened.
///
/// # Errors
/// `NC_EINVAL` for a fragment that makes no sense.
pub(crate) fn open(request: &OpenRequest<'_>, mounted: &MountedMap, path: &str) -> Result<Option<Arc<dyn Dataset>>> {
    let target = request.target;
    let Some((groups, name)) = names(path) else { return Ok(None) };
    // Far away one document with all others in it is less than those that are read here.
    if request.writable || mounted.prefetched.is_some() && target.has_mode("consolidated") {
        return Ok(None);
    }
    let limits = &request.options.limits;
    if let Some(survey) = &mounted.prefetched {
        survey.prefetch(&documents(target, &groups, name), limits, false);
    }
    let source = Source {
        map: mounted.for_opening(),
        limits,
        consolidated: None,
        looks_behind: false,
        survey: mounted.prefetched.as_deref(),
    };
    let v3 = match asked(target) {
        Some(ZarrFormat::V2) => None,
        _ => match read_here(source.map, &[Key::new(ZARR_JSON)?], limits).pop() {
            Some(Ok(found)) => found,
            // Documents of V2 tell the same, if they are there.
            Some(found) if is_refused(&found) => None,
            _ => return Ok(None),
        },
    };
    let (root, told) = match v3 {
        Some(document) => {
            let Some(root) = v3_root(&document) else { return Ok(None) };
            let told = Generation::of_root(root.attrs.as_ref(), None);
            if told.is_some_and(|generation| generation != Generation::Today) {
                return Ok(None);
            }
            (root, told.is_some())
        }
        None if asked(target) == Some(ZarrFormat::V3) => return Ok(None),
        None => {
            let Some(attrs) = read(&source, &Key::root(), ZATTRS) else { return Ok(None) };
            let root = RawRoot { attrs, ..RawRoot::default() };
            // Where the attributes do not say that this is NCZarr, it may be of an older style: by a writer of one, or as
            // the root's `.zgroup` tells. As plain Zarr that matters to text alone.
            let told = lists::superblock(root.attrs.as_ref()).is_some();
            let properties = root.attrs.as_ref().and_then(|attrs| flavour::properties(attrs.as_object()?));
            if !told && Defects::of(properties, None).swapped {
                return Ok(None);
            }
            if !told && !target.has_mode("zarr") && !is_plain(&source) {
                return Ok(None);
            }
            (root, told)
        }
    };
    // What an annotation says holds if it fits all arrays.
    if root.attrs.as_ref().and_then(|attrs| attrs.as_object()).is_some_and(annotation::is_there) {
        return Ok(None);
    }
    let is_v3 = root.format == ZarrFormat::V3;
    let opening = Opening::new(request, mounted, &root, told.then_some(Generation::Today))?;
    let reading = opening.reading();
    let tree = tree(&source, root, &groups, name, opening.about.flavour, &reading);
    let tree = tree.filter(|tree| told || is_v3 || !is_text(tree) || is_plain(&source));
    match tree.and_then(|tree| link(tree, opening.about.flavour, &reading)) {
        Some(mut loaded) => {
            loaded.faults.extend(reading.refused.faults(source.map));
            opening.dataset(loaded, false).map(Some)
        }
        None => Ok(None),
    }
}

/// Which Zarr the fragment says it is, if it says one.
pub(crate) fn asked(target: &Target) -> Option<ZarrFormat> {
    match (target.has_mode("v2"), target.has_mode("v3")) {
        (true, false) => Some(ZarrFormat::V2),
        (false, true) => Some(ZarrFormat::V3),
        _ => None,
    }
}

/// All documents that may be asked for on the way to an array.
fn documents(target: &Target, groups: &[&str], name: &str) -> Vec<Key> {
    let (root, group, array): (&[&str], &[&str], &[&str]) = match asked(target) {
        Some(ZarrFormat::V3) => (&[ZARR_JSON], &[ZARR_JSON], &[ZARR_JSON]),
        Some(ZarrFormat::V2) => (&[ZGROUP, ZATTRS, NCZARR], &[ZATTRS], &[ZARRAY, ZATTRS]),
        None => (&[ZARR_JSON, ZGROUP, ZATTRS, NCZARR], &[ZARR_JSON, ZATTRS], &[ZARR_JSON, ZARRAY, ZATTRS]),
    };
    let (mut keys, mut here) = (Vec::new(), Key::root());
    let mut add = |here: &Key, names: &[&str]| keys.extend(names.iter().filter_map(|name| here.join(name).ok()));
    add(&here, root);
    for (names, segment) in groups.iter().map(|name| (group, name)).chain([(array, &name)]) {
        if here.push(segment).is_ok() {
            add(&here, names);
        }
    }
    keys
}

/// The root of a store of V3; `None` if it is an array, or not all of it is understood.
fn v3_root(document: &Json) -> Option<RawRoot> {
    let attrs = group_attributes(document)?;
    Some(RawRoot {
        format: ZarrFormat::V3,
        zgroup: Some(Json::Object(document::without_attributes(document))),
        attrs: attrs.map(Json::Object),
        ..RawRoot::default()
    })
}

/// The attributes of a group of V3, in V2's form; `None` if it is none, or not all of it is understood.
fn group_attributes(document: &Json) -> Option<Option<Object>> {
    let is_group = document::node_type(document).is_ok_and(|found| found == NodeType::Group);
    let attrs = nodes::v3_attributes(document).ok().filter(|_| is_group && document::check_group(document).is_ok())?;
    Some(attrs.and_then(Json::into_object))
}

/// The groups on the way and the variable's name, all of them names that a store can have.
pub(crate) fn names(path: &str) -> Option<(Vec<&str>, &str)> {
    let mut names: Vec<&str> = path.strip_prefix('/').unwrap_or(path).split('/').collect();
    let plain = |name: &&str| {
        !name.is_empty() && !name.starts_with('.') && !name.contains('\\') && !node_name::is_elsewhere(name)
    };
    if names.len() > MAX_DEPTH || !names.iter().all(plain) {
        return None;
    }
    let name = names.pop()?;
    Some((names, name))
}

/// Whether the root's `.zgroup` holds no superblock, as far as it can be read, and the marker of the oldest style is not
/// there.
fn is_plain(source: &Source<'_>) -> bool {
    let zgroup = read(source, &Key::root(), ZGROUP);
    zgroup.is_some_and(|zgroup| Generation::of_root(None, zgroup.as_ref()).is_none())
        && match Key::new(NCZARR).and_then(|key| source.map.exists(&key)) {
            Ok(there) => !there,
            // The root's `.zgroup` is readable, and of that style it is not alone.
            refused => is_refused(&refused),
        }
}

/// Whether the array is anything but numbers.
fn is_text(tree: &RawTree) -> bool {
    let arrays = tree.groups.iter().flat_map(|group| &group.arrays);
    let mut kinds = arrays.filter_map(|array| Some(array.built.stored.meta.as_ref()?.dtype.kind));
    !kinds.all(|kind| matches!(kind, Kind::Number(_) | Kind::Bool))
}

/// A document, if it can be read: `Some(None)` if there is none.
fn read(source: &Source<'_>, group: &Key, name: &str) -> Option<Option<Json>> {
    read_here(source.map, &[group.join(name).ok()?], source.limits).pop()?.ok()
}

/// The groups on the way, and the array.
fn tree(
    source: &Source<'_>,
    root: RawRoot,
    groups: &[&str],
    name: &str,
    flavour: Flavour,
    reading: &Reading<'_>,
) -> Option<RawTree> {
    let mut tree = RawTree::of_root(root).ok()?;
    for (i, group) in groups.iter().enumerate() {
        let here = &tree.groups[i];
        if flavour == Flavour::NcZarr && !lists(&here.attrs)?.groups.iter().any(|listed| listed == group) {
            return None;
        }
        let key = here.key.join(group).ok()?;
        let attrs = match reading.format {
            ZarrFormat::V3 => group_attributes(&read(source, &key, ZARR_JSON)??)?,
            ZarrFormat::V2 => match read(source, &key, ZATTRS)? {
                Some(document) => Some(document.into_object()?),
                None => None,
            },
        };
        if attrs.as_ref().is_some_and(annotation::is_there) {
            return None;
        }
        tree.groups.push(RawGroup {
            key,
            name: (*group).to_owned(),
            parent: Some(i),
            zgroup: None,
            has_attrs: attrs.is_some(),
            attrs: attrs.unwrap_or_default(),
            arrays: Vec::new(),
            broken: None,
        });
    }
    let here = tree.groups.last_mut()?;
    if flavour == Flavour::NcZarr && !lists(&here.attrs)?.arrays.iter().any(|listed| listed == name) {
        return None;
    }
    let place = Place { key: here.key.join(name).ok()?, name: name.to_owned(), want: Want::Array };
    match source.nodes(std::slice::from_ref(&place), reading).pop()? {
        // Names that NCZarr V3 leaves to be found may be of dimensions anywhere.
        Node::Array(built) if flavour == Flavour::NcZarr && matches!(built.links, Links::Names(_)) => None,
        // Types are defined anywhere.
        Node::Array(built) if needs_types(&built) => None,
        Node::Array(built) if built.stored.meta.is_some() => {
            here.arrays.push(RawArray { key: place.key, name: place.name, built });
            Some(tree)
        }
        _ => None,
    }
}

/// The lists of a group on the way; `None` if they do not tell enough: attributes of user-defined types do not.
fn lists(attrs: &Object) -> Option<lists::Lists> {
    lists::read(attrs, None).ok()?.filter(|_| user::typed_atts(attrs).is_empty())
}

/// Whether a variable, or an attribute of it, has a user-defined type.
fn needs_types(built: &Built) -> bool {
    !built.stored.typed.is_empty()
        || matches!(&built.links, Links::References(Ok(Some(references))) if references.ty.is_some())
}

/// The model of it, if it is what opening everything makes of this variable.
pub(crate) fn link(tree: RawTree, flavour: Flavour, reading: &Reading<'_>) -> Option<Loaded> {
    let loaded = match flavour {
        Flavour::NcZarr => flavour::nczarr(tree, reading),
        Flavour::Zarr => flavour::pure(tree, None, reading),
    };
    let loaded = loaded.ok()?;
    let (_, var) = loaded.model.vars().next()?;
    // An unlimited dimension of NCZarr is as long as the longest variable along it.
    let settled = |dim| loaded.model.dim(dim).is_ok_and(|dim| flavour == Flavour::Zarr || !dim.unlimited);
    (var.problem.is_none() && var.dims.iter().all(|&dim| settled(dim))).then_some(loaded)
}
