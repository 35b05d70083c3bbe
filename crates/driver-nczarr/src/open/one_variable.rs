//! Opens one variable from only the documents that concern it.
//!
//! * When it applies: reading, if these documents determine the variable fully. It reads the root's
//!   attributes, the lists and attributes of the groups on the path, and the array; over a network in one
//!   round. It never reads consolidated metadata.
//! * Fallback: `None`, and `open` reads everything and reports errors. This happens for missing or invalid
//!   documents, unusual names, dimensions in other groups, and lengths that depend on other variables.
//! * Gain: the cost does not depend on the size of the store.
//!
//! Only derived names may differ from a full opening: those of dimensions with several lengths, and of
//! user-defined types.

use std::sync::Arc;

use nczarr_codec::ZarrFormat;
use nczarr_dispatch::{Dataset, MountedMap, OpenRequest};
use nczarr_model::Result;
use nczarr_storage::Key;
use nczarr_url_infer::Target;

use crate::flavour::annotation;
use crate::flavour::nczarr_lists;
use crate::flavour::{self, DatasetBuilder, Flavour};
use crate::legacy::{NCZARR, NczarrVersion, WriterBugs};
use crate::metadata::json::{Json, Object};
use crate::metadata::types::dtype::DTypeKind;
use crate::metadata::v2::var::{DimRefs, ReadContext, VariableDraft};
use crate::metadata::v3::document::{self, NodeType, ZARR_JSON};
use crate::metadata::v3::node_name;
use crate::open::context::OpenContext;
use crate::open::metadata_reader::{MetadataReader, read_here};
use crate::open::nodes::{self, ExpectedNode, FoundNode, NodeLocation};
use crate::open::refused_documents::is_refused;
use crate::open::tree::{RawArray, RawGroup, RawRoot, RawTree, ZARRAY, ZATTRS, ZGROUP};
use crate::user;

/// The deepest nesting of groups.
const MAX_DEPTH: usize = 200;

/// Opens the dataset with only the variable at `path`; `None` if everything must be opened.
///
/// # Errors
/// `NC_EINVAL` for an invalid fragment.
pub(crate) fn open(
    request: &OpenRequest<'_>,
    mounted: &MountedMap,
    path: &str,
) -> Result<Option<Arc<dyn Dataset>>> {
    let target = request.target;
    let Some((groups, name)) = split_path(path) else { return Ok(None) };
    // Over a network one consolidated document is cheaper than these.
    if request.writable || mounted.prefetched.is_some() && target.has_mode("consolidated") {
        return Ok(None);
    }
    let limits = &request.options.limits;
    if let Some(prefetched) = &mounted.prefetched {
        prefetched.prefetch(&documents(target, &groups, name), limits, false);
    }
    let source = MetadataReader {
        map: mounted.for_opening(),
        limits,
        consolidated: None,
        checks_map: false,
        prefetched: mounted.prefetched.as_deref(),
    };
    let v3 = match requested_format(target) {
        Some(ZarrFormat::V2) => None,
        _ => match read_here(source.map, &[Key::new(ZARR_JSON)?], limits).pop() {
            Some(Ok(found)) => found,
            // V2 documents may exist, and say the same.
            Some(found) if is_refused(&found) => None,
            _ => return Ok(None),
        },
    };
    let (root, told) = match v3 {
        Some(document) => {
            let Some(root) = v3_root(&document) else { return Ok(None) };
            let told = NczarrVersion::of_root(root.attrs.as_ref(), None);
            if told.is_some_and(|generation| generation != NczarrVersion::Current) {
                return Ok(None);
            }
            (root, told.is_some())
        }
        None if requested_format(target) == Some(ZarrFormat::V3) => return Ok(None),
        None => {
            let Some(attrs) = read(&source, &Key::root(), ZATTRS) else { return Ok(None) };
            let root = RawRoot { attrs, ..RawRoot::default() };
            // If the attributes do not show NCZarr, the dataset may have a legacy style: its writer or the
            // root's `.zgroup` shows that. For plain Zarr this matters only to text.
            let told = nczarr_lists::superblock(root.attrs.as_ref()).is_some();
            let properties = root.attrs.as_ref().and_then(|attrs| flavour::properties(attrs.as_object()?));
            if !told && WriterBugs::of(properties, None).swapped {
                return Ok(None);
            }
            if !told && !target.has_mode("zarr") && !is_plain_root(&source) {
                return Ok(None);
            }
            (root, told)
        }
    };
    // An annotation counts only if it fits all arrays.
    if root.attrs.as_ref().and_then(|attrs| attrs.as_object()).is_some_and(annotation::exists) {
        return Ok(None);
    }
    let is_v3 = root.format == ZarrFormat::V3;
    let opening = OpenContext::new(request, mounted, &root, told.then_some(NczarrVersion::Current))?;
    let reading = opening.read_context();
    let tree = tree(&source, root, &groups, name, opening.description.flavour, &reading);
    let tree = tree.filter(|tree| told || is_v3 || !is_text(tree) || is_plain_root(&source));
    match tree.and_then(|tree| link_variable(tree, opening.description.flavour, &reading)) {
        Some(mut loaded) => {
            loaded.faults.extend(reading.refused.faults(source.map));
            opening.dataset(loaded, false).map(Some)
        }
        None => Ok(None),
    }
}

/// Returns the version of Zarr that the fragment requests.
pub(crate) fn requested_format(target: &Target) -> Option<ZarrFormat> {
    match (target.has_mode("v2"), target.has_mode("v3")) {
        (true, false) => Some(ZarrFormat::V2),
        (false, true) => Some(ZarrFormat::V3),
        _ => None,
    }
}

/// Returns all documents that may be needed on the path to an array.
fn documents(target: &Target, groups: &[&str], name: &str) -> Vec<Key> {
    let (root, group, array): (&[&str], &[&str], &[&str]) = match requested_format(target) {
        Some(ZarrFormat::V3) => (&[ZARR_JSON], &[ZARR_JSON], &[ZARR_JSON]),
        Some(ZarrFormat::V2) => (&[ZGROUP, ZATTRS, NCZARR], &[ZATTRS], &[ZARRAY, ZATTRS]),
        None => (&[ZARR_JSON, ZGROUP, ZATTRS, NCZARR], &[ZARR_JSON, ZATTRS], &[ZARR_JSON, ZARRAY, ZATTRS]),
    };
    let (mut keys, mut here) = (Vec::new(), Key::root());
    let mut add =
        |here: &Key, names: &[&str]| keys.extend(names.iter().filter_map(|name| here.join(name).ok()));
    add(&here, root);
    for (names, segment) in groups.iter().map(|name| (group, name)).chain([(array, &name)]) {
        if here.push(segment).is_ok() {
            add(&here, names);
        }
    }
    keys
}

/// Returns the root of a V3 store; `None` if it is an array or not fully understood.
fn v3_root(document: &Json) -> Option<RawRoot> {
    let attrs = group_attributes(document)?;
    Some(RawRoot {
        format: ZarrFormat::V3,
        zgroup: Some(Json::Object(document::without_attributes(document))),
        attrs: attrs.map(Json::Object),
        ..RawRoot::default()
    })
}

/// Returns the attributes of a V3 group in V2's form; `None` if it is not a group or not fully understood.
fn group_attributes(document: &Json) -> Option<Option<Object>> {
    let is_group = document::node_type(document).is_ok_and(|found| found == NodeType::Group);
    let attrs = nodes::v3_attributes(document)
        .ok()
        .filter(|_| is_group && document::check_group(document).is_ok())?;
    Some(attrs.and_then(Json::into_object))
}

/// Splits a path into groups and the variable's name; `None` if a name needs escaping.
pub(crate) fn split_path(path: &str) -> Option<(Vec<&str>, &str)> {
    let mut names: Vec<&str> = path.strip_prefix('/').unwrap_or(path).split('/').collect();
    let plain = |name: &&str| {
        !name.is_empty() && !name.starts_with('.') && !name.contains('\\') && !node_name::needs_escape(name)
    };
    if names.len() > MAX_DEPTH || !names.iter().all(plain) {
        return None;
    }
    let name = names.pop()?;
    Some((names, name))
}

/// Whether the root's `.zgroup` has no superblock and the marker of the oldest style does not exist.
fn is_plain_root(source: &MetadataReader<'_>) -> bool {
    let zgroup = read(source, &Key::root(), ZGROUP);
    zgroup.is_some_and(|zgroup| NczarrVersion::of_root(None, zgroup.as_ref()).is_none())
        && match Key::new(NCZARR).and_then(|key| source.map.exists(&key)) {
            Ok(there) => !there,
            // If the marker is refused: that style also has a superblock in the root's `.zgroup`, which was
            // readable.
            refused => is_refused(&refused),
        }
}

/// Whether the array has elements other than numbers.
fn is_text(tree: &RawTree) -> bool {
    let arrays = tree.groups.iter().flat_map(|group| &group.arrays);
    let mut kinds = arrays.filter_map(|array| Some(array.built.stored.meta.as_ref()?.dtype.kind));
    !kinds.all(|kind| matches!(kind, DTypeKind::Number(_) | DTypeKind::Bool))
}

/// Reads a document: `Some(None)` if it does not exist, `None` if it cannot be read.
fn read(source: &MetadataReader<'_>, group: &Key, name: &str) -> Option<Option<Json>> {
    read_here(source.map, &[group.join(name).ok()?], source.limits).pop()?.ok()
}

/// Builds a tree of the groups on the path and the array.
fn tree(
    source: &MetadataReader<'_>,
    root: RawRoot,
    groups: &[&str],
    name: &str,
    flavour: Flavour,
    reading: &ReadContext<'_>,
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
        if attrs.as_ref().is_some_and(annotation::exists) {
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
            damage: None,
        });
    }
    let here = tree.groups.last_mut()?;
    if flavour == Flavour::NcZarr && !lists(&here.attrs)?.arrays.iter().any(|listed| listed == name) {
        return None;
    }
    let place =
        NodeLocation { key: here.key.join(name).ok()?, name: name.to_owned(), expected: ExpectedNode::Array };
    match source.nodes(std::slice::from_ref(&place), reading).pop()? {
        // NCZarr V3 references by name may mean dimensions of any group.
        FoundNode::Array(built)
            if flavour == Flavour::NcZarr && matches!(built.dim_refs, DimRefs::Names(_)) =>
        {
            None
        }
        // Types may be defined in any group.
        FoundNode::Array(built) if needs_types(&built) => None,
        FoundNode::Array(built) if built.stored.meta.is_some() => {
            here.arrays.push(RawArray { key: place.key, name: place.name, built });
            Some(tree)
        }
        _ => None,
    }
}

/// Returns the lists of a group on the path; `None` if its attributes have user-defined types.
fn lists(attrs: &Object) -> Option<nczarr_lists::GroupLists> {
    nczarr_lists::read(attrs, None).ok()?.filter(|_| user::typed_atts(attrs).is_empty())
}

/// Whether a variable or one of its attributes has a user-defined type.
fn needs_types(built: &VariableDraft) -> bool {
    !built.stored.typed.is_empty()
        || matches!(&built.dim_refs, DimRefs::References(Ok(Some(references))) if references.ty.is_some())
}

/// Builds the model; `None` if opening everything could give another variable.
pub(crate) fn link_variable(
    tree: RawTree,
    flavour: Flavour,
    reading: &ReadContext<'_>,
) -> Option<DatasetBuilder> {
    let loaded = match flavour {
        Flavour::NcZarr => flavour::nczarr(tree, reading),
        Flavour::Zarr => flavour::pure(tree, None, reading),
    };
    let loaded = loaded.ok()?;
    let (_, var) = loaded.model.vars().next()?;
    // The length of an unlimited NCZarr dimension is that of its longest variable.
    let settled = |dim| loaded.model.dim(dim).is_ok_and(|dim| flavour == Flavour::Zarr || !dim.unlimited);
    (var.problem.is_none() && var.dims.iter().all(|&dim| settled(dim))).then_some(loaded)
}
