//! Opening: the documents of a store become a dataset. This file opens a whole dataset: the root's documents,
//! then everything below.
//!
//! * `one_variable` opens one variable, and `array_document` the data of one array, from fewer documents.
//! * `metadata_reader` reads documents in batches; `prefetch` fetches them ahead over a network.
//! * `nodes` builds groups and arrays from documents; `tree` joins them into a raw tree.
//! * `context` makes the dataset. Other files handle refused, torn and renamed nodes.

pub(crate) mod array_document;
pub(crate) mod context;
pub(crate) mod fragment;
pub(crate) mod interrupted_rename;
pub(crate) mod metadata_reader;
pub(crate) mod nodes;
pub(crate) mod one_variable;
pub(crate) mod prefetch;
pub(crate) mod refused_documents;
pub(crate) mod shared_layout;
pub(crate) mod torn_nodes;
pub(crate) mod tree;

use std::sync::Arc;

use nczarr_codec::ZarrFormat;
use nczarr_dispatch::{Dataset, MountedMap, OpenRequest, no_dataset_error};
use nczarr_model::{ErrorKind, Result};
use nczarr_storage::{Key, PrefetchedMap, ZMap};
use nczarr_url_infer::Target;

use crate::flavour::{self, DatasetBuilder, Flavour};
use crate::legacy::{self, NczarrVersion, WriterBugs};
use crate::metadata::json::{self, Json, Value};
use crate::metadata::v2::consolidated::{Consolidated, ZMETADATA};
use crate::metadata::v2::var::ReadContext;
use crate::metadata::v3;
use crate::metadata::v3::document::{self, NodeType, ZARR_JSON};
use crate::open::context::OpenContext;
use crate::open::metadata_reader::{MetadataReader, read_bytes};
use crate::open::refused_documents::{RefusedDocuments, is_refused};
use crate::open::tree::{RawArray, RawRoot, RawTree, ZARRAY, ZATTRS, ZGROUP};

/// Opens a dataset.
///
/// # Errors
/// `NC_ENOTZARR` if there is no Zarr store, `NC_EZARRMETA` for consolidated metadata of another format,
/// `NC_ENCZARR` with key and member for invalid documents.
pub(crate) fn open(request: &OpenRequest<'_>) -> Result<Arc<dyn Dataset>> {
    let mut mounted = request.registry.open_map(request)?;
    mounted.prefetched = prefetch::prefetched_map(&mounted);
    if let Some(wanted) = &request.scope {
        let dataset =
            if wanted.data_only { array_document::open(request, &mounted, wanted.path)? } else { None };
        let dataset = match dataset {
            None => one_variable::open(request, &mounted, wanted.path)?,
            found => found,
        };
        if let Some(dataset) = dataset {
            return Ok(dataset);
        }
    }
    let target = request.target;
    let limits = &request.options.limits;
    let prefetched = mounted.prefetched.as_deref();
    let map: &dyn ZMap = prefetched.map_or(&*mounted.map, |prefetched| prefetched);

    let refused = RefusedDocuments::default();
    let (zmetadata, zgroup, attrs, zarray, v3) = root_documents(map, prefetched, request, &refused)?;
    let is_consolidated = !matches!(zmetadata, Ok(None));
    if let Some(found) = v3? {
        let document = json::read(&found, limits).map_err(|error| error.at(ZARR_JSON))?;
        let is_v2 = [&zgroup, &zarray].into_iter().any(|found| matches!(found, Ok(Some(_))));
        // A store with documents of both versions counts as V3.
        if !is_v2 || document::node_type(&document).is_ok() {
            return open_v3(request, &mounted, prefetched, document);
        }
    }
    // Writers need the documents themselves: after a crash they may be newer than the consolidated metadata.
    let zmetadata = if request.writable || target.has_mode("noconsolidated") {
        None
    } else {
        zmetadata.map_err(consolidated_error)?
    };
    let mut source = MetadataReader { map, limits, consolidated: None, checks_map: false, prefetched };
    if let (Some(prefetched), None) = (prefetched, &zmetadata) {
        prefetch::prefetch_all(prefetched, limits);
    }
    let mut root = match &zmetadata {
        Some(document) => {
            let consolidated = Consolidated::read(document, limits)
                .map_err(|error| consolidated_error(error.at(ZMETADATA)))?;
            let document = |name: &str| -> Result<_> {
                let found = consolidated.document(&Key::new(name)?);
                let read = found.map(|document| document.value(limits)).transpose()?;
                Ok(read.map(|value| value.into_owned().into_owned()))
            };
            let root = RawRoot {
                zgroup: document(ZGROUP)?,
                attrs: document(ZATTRS)?,
                zarray: document(ZARRAY)?,
                ..RawRoot::default()
            };
            source.consolidated = Some(consolidated);
            root
        }
        None => {
            let parse = |found: Result<Option<Vec<u8>>>, name: &str| {
                let parse = |bytes: Vec<u8>| json::parse(&bytes, limits).map_err(|error| error.at(name));
                found.and_then(|bytes| bytes.map(parse).transpose())
            };
            RawRoot {
                zgroup: parse(zgroup, ZGROUP)?,
                attrs: parse(attrs, ZATTRS)?,
                zarray: parse(zarray, ZARRAY)?,
                ..RawRoot::default()
            }
        }
    };
    let generation = generation(&source, &mut root)?;
    let mut opening = OpenContext::new(request, &mounted, &root, generation)?;
    opening.consolidated = is_consolidated;
    if zmetadata.is_some() {
        opening.description.notes.push("metadata from .zmetadata".to_owned());
    }
    let root_array = opening.description.flavour == Flavour::Zarr && root.zarray.is_some();
    let reading = ReadContext { refused, ..opening.read_context() };
    let loaded = load(&source, root, opening.description.flavour, target, &reading)?;
    opening.dataset(loaded, root_array)
}

/// Opens a Zarr V3 dataset from its root document.
fn open_v3(
    request: &OpenRequest<'_>,
    mounted: &MountedMap,
    prefetched: Option<&PrefetchedMap>,
    mut document: Value<'_>,
) -> Result<Arc<dyn Dataset>> {
    let at = |error: nczarr_model::Error| error.at(ZARR_JSON);
    let (target, limits) = (request.target, &request.options.limits);
    let mut root = RawRoot { format: ZarrFormat::V3, ..RawRoot::default() };
    let consolidated = v3::consolidated::take(&mut document, limits);
    let is_array = document::node_type(&document).map_err(at)? == NodeType::Array;
    if is_array {
        root.zarray = Some(document.clone().into_owned());
    } else {
        document::check_group(&document).map_err(at)?;
        root.zgroup = Some(Json::Object(document::without_attributes(&document)));
        root.attrs = nodes::v3_attributes(&document).map_err(at)?;
    }
    let generation = NczarrVersion::of_root(root.attrs.as_ref(), None);
    let mut opening = OpenContext::new(request, mounted, &root, generation)?;
    opening.consolidated = consolidated.is_some();
    // Writers need the documents themselves.
    let consolidated = consolidated.filter(|_| !request.writable && !target.has_mode("noconsolidated"));
    let consolidated = match consolidated.transpose() {
        Ok(found) => found,
        Err(error) => {
            opening
                .description
                .notes
                .push(format!("consolidated metadata is not used: {}", error.at(ZARR_JSON)));
            None
        }
    };
    if consolidated.is_some() {
        opening.description.notes.push(format!("metadata from {ZARR_JSON}"));
    }
    if let (Some(prefetched), false) = (prefetched, is_array || consolidated.is_some()) {
        prefetch::prefetch_all(prefetched, limits);
    }
    // Checking the map is cheap if it takes no request.
    let checks_map = prefetched.is_none() && !target.has_mode("consolidated");
    let map: &dyn ZMap = prefetched.map_or(&*mounted.map, |prefetched| prefetched);
    let source = MetadataReader { map, limits, consolidated, checks_map, prefetched };
    let reading = opening.read_context();
    let loaded = if is_array {
        let built = v3::var::build(&Key::root(), Ok(&document), &reading);
        let array = RawArray { key: Key::root(), name: store_name(target), built };
        flavour::pure(RawTree::of_root(RawRoot::default())?, Some(array), &reading)?
    } else {
        load(&source, root, opening.description.flavour, target, &reading)?
    };
    opening.dataset(loaded, is_array)
}

/// The root's documents: V2's consolidated metadata, group, attributes and array, then V3's.
type RootDocuments = (
    Result<Option<Vec<u8>>>,
    Result<Option<Vec<u8>>>,
    Result<Option<Vec<u8>>>,
    Result<Option<Vec<u8>>>,
    Result<Option<Vec<u8>>>,
);

/// Reads the root's documents in one batch. If the fragment names the version of Zarr, or requests
/// consolidated metadata, only those documents are read first.
fn root_documents(
    map: &dyn ZMap,
    prefetched: Option<&PrefetchedMap>,
    request: &OpenRequest<'_>,
    refused: &RefusedDocuments,
) -> Result<RootDocuments> {
    const ALL: &[&str] = &[ZMETADATA, ZGROUP, ZATTRS, ZARRAY, ZARR_JSON];
    let (target, limits) = (request.target, &request.options.limits);
    let consolidated =
        target.has_mode("consolidated") && !target.has_mode("noconsolidated") && !request.writable;
    let first: &[&str] = match (consolidated, target.has_mode("v2"), target.has_mode("v3")) {
        (true, true, false) => &[ZMETADATA],
        (_, false, true) => &[ZARR_JSON],
        (true, ..) => &[ZMETADATA, ZARR_JSON],
        (false, true, false) => &[ZMETADATA, ZGROUP, ZATTRS, ZARRAY],
        _ => ALL,
    };
    let (mut found, mut asked) = (Vec::new(), first);
    for names in [first, ALL] {
        let keys: Vec<Key> = names.iter().map(|name| Key::new(name)).collect::<Result<_>>()?;
        if let Some(prefetched) = prefetched {
            prefetched.prefetch(&keys, limits, !consolidated || names.len() == ALL.len());
        }
        (found, asked) = (read_bytes(map, &keys, limits), names);
        let tells = |found: &Result<Option<_>>| !matches!(found, Ok(None)) && !is_refused(found);
        if names.len() == ALL.len() || found.iter().any(tells) {
            break;
        }
    }
    // A writer must not overwrite a refused document.
    if !request.writable {
        refused.treat_as_absent(&Key::root(), asked, &mut found, false);
        check_root(prefetched, target, asked, &found)?;
    }
    let mut found: Vec<_> = asked.iter().zip(found).collect();
    let mut take = |name: &str| {
        let at = found.iter().position(|(of, _)| **of == name);
        at.map_or(Ok(None), |at| found.swap_remove(at).1)
    };
    Ok((take(ZMETADATA), take(ZGROUP), take(ZATTRS), take(ZARRAY), take(ZARR_JSON)))
}

/// Checks that a dataset may exist: a document was found, or the storage can list nodes below the root.
fn check_root(
    prefetched: Option<&PrefetchedMap>,
    target: &Target,
    names: &[&str],
    found: &[Result<Option<Vec<u8>>>],
) -> Result<()> {
    let Some(prefetched) = prefetched else { return Ok(()) };
    if found.iter().any(|found| matches!(found, Ok(Some(_)))) {
        return Ok(());
    }
    let keys: Vec<Key> = names.iter().map(|name| Key::new(name)).collect::<Result<_>>()?;
    let refused: Vec<_> = keys.iter().zip(found).filter(|(_, found)| is_refused(found)).collect();
    let may_list = prefetched.caps().list && prefetched.keys().is_none_or(|keys| !keys.is_empty());
    if refused.is_empty() && (may_list || found.iter().any(Result::is_err)) {
        return Ok(());
    }
    let errors =
        refused.into_iter().filter_map(|(key, found)| Some((key.clone(), found.as_ref().err()?.clone())));
    Err(no_dataset_error(target, &keys, &errors.collect::<Vec<_>>()))
}

/// Detects the NCZarr style and converts the root's documents to the current one.
///
/// A root without superblock is listed, which plain Zarr needs in any case; the names show the marker of the
/// oldest style.
fn generation(source: &MetadataReader<'_>, root: &mut RawRoot) -> Result<Option<NczarrVersion>> {
    let generation = NczarrVersion::of_root(root.attrs.as_ref(), root.zgroup.as_ref());
    if generation == Some(NczarrVersion::Current) {
        return Ok(generation);
    }
    if generation.is_none() && root.zarray.is_some() {
        return Ok(None);
    }
    let generation = match generation {
        Some(older) => older,
        // Consolidated metadata has no marker of that style, but its writer left its name.
        None if source.consolidated.is_some() => {
            let properties = root.attrs.as_ref().and_then(|attrs| flavour::properties(attrs.as_object()?));
            if !WriterBugs::of(properties, None).swapped || !source.map.exists(&Key::new(legacy::NCZARR)?)? {
                return Ok(None);
            }
            NczarrVersion::SeparateKeys
        }
        None => {
            let names = match source.list(&Key::root()) {
                Ok(names) => names,
                // The marker of the oldest style may be readable without a listing.
                Err(error) => match source.map.exists(&Key::new(legacy::NCZARR)?) {
                    Ok(true) => vec![legacy::NCZARR.to_owned()],
                    _ => return Err(error),
                },
            };
            let is_older = names.iter().any(|name| name == legacy::NCZARR);
            root.names = Some(names);
            if !is_older {
                return Ok(None);
            }
            NczarrVersion::SeparateKeys
        }
    };
    legacy::convert::root(source, root, generation)?;
    Ok(Some(generation))
}

fn load(
    source: &MetadataReader<'_>,
    root: RawRoot,
    flavour: Flavour,
    target: &Target,
    reading: &ReadContext<'_>,
) -> Result<DatasetBuilder> {
    let mut loaded = load_all(source, root, flavour, target, reading)?;
    loaded.faults.extend(reading.refused.faults(source.map));
    Ok(loaded)
}

fn load_all(
    source: &MetadataReader<'_>,
    root: RawRoot,
    flavour: Flavour,
    target: &Target,
    reading: &ReadContext<'_>,
) -> Result<DatasetBuilder> {
    if flavour == Flavour::NcZarr {
        return flavour::nczarr(tree::load(source, root, true, reading)?, reading);
    }
    if let Some(zarray) = root.zarray {
        // An array without a group: the root's attributes are the array's.
        let built = nodes::array(&Key::root(), Ok(&zarray), Ok(root.attrs.as_ref()), reading);
        let array = RawArray { key: Key::root(), name: store_name(target), built };
        return flavour::pure(RawTree::of_root(RawRoot::default())?, Some(array), reading);
    }
    let tree = tree::load(source, root, false, reading)?;
    if tree.is_empty_root() {
        return Err(tree::not_zarr().at(target));
    }
    flavour::pure(tree, None, reading)
}

fn consolidated_error(error: nczarr_model::Error) -> nczarr_model::Error {
    match error.kind() {
        ErrorKind::NcZarr => ErrorKind::ZarrMeta.context(error.what()),
        _ => error,
    }
}

/// Returns the variable's name for a store that is a single array: the store's name without its last
/// extension.
fn store_name(target: &Target) -> String {
    let path = target.path.trim_end_matches('/');
    let name = path.rsplit('/').next().unwrap_or("");
    let stem = match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    };
    if stem.is_empty() { "data".to_owned() } else { stem.to_owned() }
}
