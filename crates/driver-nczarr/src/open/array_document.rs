//! Opens the data of one array from its own document only.
//!
//! * When it applies: a plain Zarr store (`mode=zarr`), for reading, if the array's document alone determines
//!   its elements. Attributes of V2, groups and dimensions are not read.
//! * Fallback: `None`, and `one_variable` opens the variable with all its documents. This happens for text
//!   (attributes may make it char), big-endian numbers of V2 (the root may reveal a writer bug), user-defined
//!   types, and documents that are absent, unreadable or of both formats.
//! * Gain: one request per open instead of several rounds.

use std::sync::Arc;

use nczarr_codec::ZarrFormat;
use nczarr_dispatch::{Dataset, MountedMap, OpenRequest};
use nczarr_model::{Endian, Result};
use nczarr_storage::Key;

use crate::flavour::{Flavour, LoadedDataset};
use crate::metadata::json;
use crate::metadata::types::dtype::DTypeKind;
use crate::metadata::v2::var::VariableDraft;
use crate::metadata::v3;
use crate::metadata::v3::document::{NodeType, ZARR_JSON, node_type};
use crate::open::context::OpenContext;
use crate::open::metadata_reader::read_as;
use crate::open::nodes;
use crate::open::one_variable::{link_variable, requested_format, split_path};
use crate::open::refused_documents::is_refused;
use crate::open::tree::{RawArray, RawGroup, RawRoot, RawTree, ZARRAY};

/// Opens the dataset with only the variable at `path`; `None` if more documents are needed.
///
/// # Errors
/// `NC_EINVAL` for an invalid fragment.
pub(crate) fn open(
    request: &OpenRequest<'_>,
    mounted: &MountedMap,
    path: &str,
) -> Result<Option<Arc<dyn Dataset>>> {
    let target = request.target;
    if request.writable || !target.has_mode("zarr") {
        return Ok(None);
    }
    let Some((groups, name)) = split_path(path) else { return Ok(None) };
    let mut key = Key::root();
    for segment in groups.iter().chain([&name]) {
        if key.push(segment).is_err() {
            return Ok(None);
        }
    }
    let formats: &[(ZarrFormat, &str)] = match requested_format(target) {
        Some(ZarrFormat::V2) => &[(ZarrFormat::V2, ZARRAY)],
        Some(ZarrFormat::V3) => &[(ZarrFormat::V3, ZARR_JSON)],
        None => &[(ZarrFormat::V3, ZARR_JSON), (ZarrFormat::V2, ZARRAY)],
    };
    let keys: Vec<Key> = formats.iter().map(|(_, document)| key.join(document)).collect::<Result<_>>()?;
    let limits = &request.options.limits;
    // Parses the document where the map delivers it.
    let understand = |bytes: &[u8], at: &Key| {
        let format = if at.name() == ZARRAY { ZarrFormat::V2 } else { ZarrFormat::V3 };
        let opening = OpenContext::new(request, mounted, &RawRoot { format, ..RawRoot::default() }, None)?;
        let document = json::read(bytes, limits).map_err(|error| error.at(at))?;
        let built = match format {
            ZarrFormat::V2 => nodes::array(&key, Ok(&document), Ok(None), &opening.read_context()),
            ZarrFormat::V3 if !node_type(&document).is_ok_and(|node| node == NodeType::Array) => {
                return Ok(None);
            }
            ZarrFormat::V3 => v3::var::build(&key, Ok(&document), &opening.read_context()),
        };
        if !is_self_contained(&built, format) {
            return Ok(None);
        }
        Ok(Some((opening, built)))
    };
    let mut found = None;
    for document in read_as(mounted.for_opening(), &keys, limits, understand) {
        match document {
            Ok(None) => {}
            Ok(Some(parsed)) if found.is_none() => found = Some(parsed),
            found if is_refused(&found) => {}
            // Both formats, or an unreadable document: the normal opening decides.
            _ => return Ok(None),
        }
    }
    let Some(Some((opening, built))) = found else { return Ok(None) };
    let root = RawRoot { format: opening.format, ..RawRoot::default() };
    let Ok(mut tree) = RawTree::of_root(root) else { return Ok(None) };
    for (parent, group) in groups.iter().enumerate() {
        let key = tree.groups[parent].key.join(group)?;
        tree.groups.push(RawGroup {
            key,
            name: (*group).to_owned(),
            parent: Some(parent),
            zgroup: None,
            attrs: Default::default(),
            has_attrs: false,
            arrays: Vec::new(),
            damage: None,
        });
    }
    if let Some(group) = tree.groups.last_mut() {
        group.arrays = vec![RawArray { key: key.clone(), name: name.to_owned(), built }];
    }
    let Some(loaded) = link_variable(tree, Flavour::Zarr, &opening.read_context()) else { return Ok(None) };
    opening.dataset(LoadedDataset::from(loaded), false).map(Some)
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
