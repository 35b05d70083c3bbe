//! Loads one array and the groups above it.

use nczarr_codec::ZarrFormat;
use nczarr_model::Endian;
use nczarr_storage::Key;

use super::nodes::{ExpectedNode, FoundNode, NodeLocation};
use crate::flavour::kind::DimNaming;
use crate::flavour::{annotation, nczarr_lists};
use crate::metadata::json::{self, Json, Object};
use crate::metadata::types::dtype::DTypeKind;
use crate::metadata::v2::ZATTRS;
use crate::metadata::v2::var::{self};
use crate::metadata::v3;
use crate::metadata::v3::document::{NodeType, ZARR_JSON, node_type};
use crate::metadata::variable::{DimRefs, ReadContext, VariableDraft};
use crate::open::discover::{DiscoveredRoot, is_plain_root, v3_group};
use crate::open::metadata_reader::{MetadataReader, read_here};
use crate::open::scope::VariablePath;
use crate::open::tree::{RawArray, RawGroup, RawRoot, RawTree};
use crate::user;

/// Loads the variable at `path` from the documents of its groups and its own; `None` if they do not determine
/// it.
pub(super) fn with_documents(
    found: DiscoveredRoot<'_>,
    path: &VariablePath<'_>,
    reading: &ReadContext<'_>,
) -> Option<RawTree> {
    let DiscoveredRoot { reader, root, version, .. } = found;
    let has_lists = reading.naming == DimNaming::References;
    let mut tree = RawTree::of_root(root).ok()?;
    for (i, group) in path.groups().enumerate() {
        let here = &tree.groups[i];
        if has_lists && !lists(&here.attrs)?.groups.iter().any(|listed| listed == group) {
            return None;
        }
        let key = here.key.join(group).ok()?;
        let attrs = match reading.format {
            ZarrFormat::V3 => v3_group(&read(&reader, &key, ZARR_JSON)??)?.and_then(Json::into_object),
            ZarrFormat::V2 => match read(&reader, &key, ZATTRS)? {
                Some(document) => Some(document.into_object()?),
                None => None,
            },
        };
        if attrs.as_ref().is_some_and(annotation::exists) {
            return None;
        }
        tree.groups.push(RawGroup {
            has_attrs: attrs.is_some(),
            attrs: attrs.unwrap_or_default(),
            ..RawGroup::empty(key, group, Some(i))
        });
    }
    let here = tree.groups.last_mut()?;
    if has_lists && !lists(&here.attrs)?.arrays.iter().any(|listed| listed == path.name) {
        return None;
    }
    let (key, name) = (here.key.join(path.name).ok()?, path.name.to_owned());
    let place = NodeLocation { key, name, expected: ExpectedNode::Array };
    match reader.nodes(std::slice::from_ref(&place), reading).pop()? {
        // NCZarr V3 references by name may mean dimensions of any group.
        FoundNode::Array(built) if has_lists && matches!(built.dim_refs, DimRefs::Names(_)) => None,
        // Types may be defined in any group.
        FoundNode::Array(built) if needs_types(&built) => None,
        FoundNode::Array(built) => {
            let kind = built.stored.meta.as_ref()?.dtype.kind;
            let is_number = matches!(kind, DTypeKind::Number(_) | DTypeKind::Bool);
            // The root's `.zgroup` may show a writer that stored text in its own way.
            let is_known = version.is_some() || reading.format == ZarrFormat::V3 || is_number;
            if !is_known && !is_plain_root(&reader) {
                return None;
            }
            here.arrays.push(RawArray { key: place.key, name: place.name, built });
            Some(tree)
        }
        _ => None,
    }
}

/// Loads the array at `path` from its own document; `None` if that does not determine its elements.
pub(super) fn of_array(
    found: &DiscoveredRoot<'_>,
    path: &VariablePath<'_>,
    reading: &ReadContext<'_>,
) -> Option<RawTree> {
    let key = &path.key;
    let document = json::read(found.array, reading.limits).ok()?;
    let built = match reading.format {
        ZarrFormat::V2 => var::build_from_documents(key, Ok(&document), Ok(None), reading),
        ZarrFormat::V3 if node_type(&document).ok()? == NodeType::Array => {
            v3::var::build(key, Ok(&document), reading)
        }
        ZarrFormat::V3 => return None,
    };
    if !is_self_contained(&built, reading.format) {
        return None;
    }
    let root = RawRoot { format: reading.format, ..RawRoot::default() };
    let mut tree = RawTree::of_root(root).ok()?;
    for (parent, group) in path.groups().enumerate() {
        let key = tree.groups[parent].key.join(group).ok()?;
        tree.groups.push(RawGroup::empty(key, group, Some(parent)));
    }
    tree.groups.last_mut()?.arrays = vec![RawArray { key: key.clone(), name: path.name.to_owned(), built }];
    Some(tree)
}

/// Reads a document: `Some(None)` if it does not exist, `None` if it cannot be read.
fn read(reader: &MetadataReader<'_>, group: &Key, name: &str) -> Option<Option<Json>> {
    read_here(reader.map, &[group.join(name).ok()?], reader.limits).pop()?.ok()
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

/// Whether the array's document alone determines its data.
fn is_self_contained(built: &VariableDraft, format: ZarrFormat) -> bool {
    let Some(meta) = &built.stored.meta else { return false };
    let one_way =
        format == ZarrFormat::V3 || meta.dtype.endian() != Endian::Big || meta.dtype.item_size() == Some(1);
    built.var.problem.is_none()
        && matches!(meta.dtype.kind, DTypeKind::Number(_) | DTypeKind::Bool)
        && one_way
}
