//! Opening for the data of one variable: its own document, and no other.
//!
//! For stores that are opened as plain Zarr (`mode=zarr`): what a number is stored as and where, the array's document says
//! alone. What is left out: attributes that stand apart (V2), the groups and what they say of dimensions. Who wants those
//! opens the variable (`only`).
//!
//! Answers `None` wherever the data may depend on more: text, whose attributes may make char of it; numbers of V2 with the
//! most significant byte first, which some writer stored otherwise, as the root tells; types of several parts; documents
//! that are not there, cannot be understood or are of both formats.

use std::sync::Arc;

use nczarr_dispatch::{Dataset, Key, MountedMap, OpenRequest, ZarrFormat};
use nczarr_model::{Endian, Result};

use crate::dtype::Kind;
use crate::fetch::read_as;
use crate::flavour::{Flavour, Settled};
use crate::json;
use crate::known::Known;
use crate::nodes;
use crate::only::{asked, link, names};
use crate::opening::Opening;
use crate::refused::is_refused;
use crate::tree::{RawArray, RawGroup, RawRoot, RawTree, ZARRAY};
use crate::v3;
use crate::v3::document::{NodeType, ZARR_JSON, node_type};
use crate::var::Built;

/// The dataset with the variable at `path` and nothing else of it than its data need; `None`: more is to be read.
///
/// # Errors
/// `NC_EINVAL` for a fragment that makes no sense.
pub(crate) fn open(request: &OpenRequest<'_>, mounted: &MountedMap, path: &str) -> Result<Option<Arc<dyn Dataset>>> {
    let target = request.target;
    if request.writable || !target.has_mode("zarr") {
        return Ok(None);
    }
    let Some((groups, name)) = names(path) else { return Ok(None) };
    let mut key = Key::root();
    for segment in groups.iter().chain([&name]) {
        if key.push(segment).is_err() {
            return Ok(None);
        }
    }
    let formats: &[(ZarrFormat, &str)] = match asked(target) {
        Some(ZarrFormat::V2) => &[(ZarrFormat::V2, ZARRAY)],
        Some(ZarrFormat::V3) => &[(ZarrFormat::V3, ZARR_JSON)],
        None => &[(ZarrFormat::V3, ZARR_JSON), (ZarrFormat::V2, ZARRAY)],
    };
    let keys: Vec<Key> = formats.iter().map(|(_, document)| key.join(document)).collect::<Result<_>>()?;
    let limits = &request.options.limits;
    // The document is understood where the map brings it, if it is not known already.
    let understand = |bytes: &[u8], at: &Key| {
        let format = if at.name() == ZARRAY { ZarrFormat::V2 } else { ZarrFormat::V3 };
        let opening = Opening::new(request, mounted, &RawRoot { format, ..RawRoot::default() }, None)?;
        if let Some(known) = Known::find(bytes, &key, request, &opening) {
            return Ok(Some((opening, Told::Before(known))));
        }
        let document = json::read(bytes, limits).map_err(|error| error.at(at))?;
        let built = match format {
            ZarrFormat::V2 => nodes::array(&key, Ok(&document), Ok(None), &opening.reading()),
            ZarrFormat::V3 if !node_type(&document).is_ok_and(|node| node == NodeType::Array) => return Ok(None),
            ZarrFormat::V3 => v3::var::build(&key, Ok(&document), &opening.reading()),
        };
        if !is_told(&built, format) {
            return Ok(None);
        }
        let bytes = Known::is_small(bytes).then(|| bytes.into());
        Ok(Some((opening, Told::Now(built, bytes))))
    };
    let mut found = None;
    for document in read_as(mounted.for_opening(), &keys, limits, understand) {
        match document {
            Ok(None) => {}
            Ok(Some(told)) if found.is_none() => found = Some(told),
            found if is_refused(&found) => {}
            // Of both formats, or not to be had: the whole store tells what it is.
            _ => return Ok(None),
        }
    }
    let Some(Some((opening, told))) = found else { return Ok(None) };
    let (built, bytes) = match told {
        Told::Before(known) => return opening.dataset(known.again(), false).map(Some),
        Told::Now(built, bytes) => (built, bytes),
    };
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
            broken: None,
        });
    }
    if let Some(group) = tree.groups.last_mut() {
        group.arrays = vec![RawArray { key: key.clone(), name: name.to_owned(), built }];
    }
    let Some(loaded) = link(tree, Flavour::Zarr, &opening.reading()) else { return Ok(None) };
    let loaded = Settled::from(loaded);
    if let Some(bytes) = bytes {
        Known::keep(bytes, key, request, &opening, &loaded);
    }
    opening.dataset(loaded, false).map(Some)
}

/// What the array's document tells.
enum Told {
    /// As one that is known.
    Before(Arc<Known>),
    /// With its bytes, if they are few.
    Now(Built, Option<Box<[u8]>>),
}

/// Whether the array's document tells all that its data are.
fn is_told(built: &Built, format: ZarrFormat) -> bool {
    let Some(meta) = &built.stored.meta else { return false };
    let one_way = format == ZarrFormat::V3 || meta.dtype.endian() != Endian::Big || meta.dtype.item_size() == Some(1);
    built.var.problem.is_none() && matches!(meta.dtype.kind, Kind::Number(_) | Kind::Bool) && one_way
}
