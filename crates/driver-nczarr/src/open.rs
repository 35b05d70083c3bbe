//! Opening all of a dataset: its root's documents, then everything below.

use std::sync::Arc;

use nczarr_dispatch::{Dataset, Key, MountedMap, OpenRequest, PrefetchedMap, ZMap, ZarrFormat, no_dataset_error};
use nczarr_model::{ErrorKind, Result};
use nczarr_url_infer::Target;

use crate::consolidated::{Consolidated, ZMETADATA};
use crate::far;
use crate::fetch::{Source, read_bytes};
use crate::flavour::{self, Flavour, Loaded};
use crate::json::{self, Json, Value};
use crate::light;
use crate::nodes;
use crate::older::{self, Defects, Generation};
use crate::only;
use crate::opening::Opening;
use crate::refused::{Refused, is_refused};
use crate::tree::{self, RawArray, RawRoot, RawTree, ZARRAY, ZATTRS, ZGROUP};
use crate::v3;
use crate::v3::document::{self, NodeType, ZARR_JSON};
use crate::var::Reading;

/// Opens a dataset.
///
/// # Errors
/// `NC_ENOTZARR` if there is no Zarr store, `NC_EZARRMETA` for consolidated metadata of
/// another format, `NC_ENCZARR` naming key and member of what cannot be understood.
pub(crate) fn open(request: &OpenRequest<'_>) -> Result<Arc<dyn Dataset>> {
    let mut mounted = request.registry.open_map(request)?;
    mounted.prefetched = far::survey(&mounted);
    if let Some(wanted) = &request.scope {
        let dataset = match wanted.data_only {
            true => light::open(request, &mounted, wanted.path)?,
            false => None,
        };
        let dataset = match dataset {
            None => only::open(request, &mounted, wanted.path)?,
            found => found,
        };
        if let Some(dataset) = dataset {
            return Ok(dataset);
        }
    }
    let target = request.target;
    let limits = &request.options.limits;
    let survey = mounted.prefetched.as_deref();
    let map: &dyn ZMap = survey.map_or(&*mounted.map, |survey| survey);

    let refused = Refused::default();
    let (zmetadata, zgroup, attrs, zarray, v3) = root_documents(map, survey, request, &refused)?;
    let is_consolidated = !matches!(zmetadata, Ok(None));
    if let Some(found) = v3? {
        let document = json::read(&found, limits).map_err(|error| error.at(ZARR_JSON))?;
        let is_v2 = [&zgroup, &zarray].into_iter().any(|found| matches!(found, Ok(Some(_))));
        // A store of both kinds is one of V3.
        if !is_v2 || document::node_type(&document).is_ok() {
            return open_v3(request, &mounted, survey, document);
        }
    }
    // What is written is made of the documents themselves, which a writer that was stopped may have stored without it.
    let zmetadata = match request.writable || target.has_mode("noconsolidated") {
        true => None,
        false => zmetadata.map_err(consolidated_error)?,
    };
    let mut source = Source { map, limits, consolidated: None, looks_behind: false, survey };
    if let (Some(survey), None) = (survey, &zmetadata) {
        far::look_at_all(survey, limits);
    }
    let mut root = match &zmetadata {
        Some(document) => {
            let consolidated =
                Consolidated::read(document, limits).map_err(|error| consolidated_error(error.at(ZMETADATA)))?;
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
    let mut opening = Opening::new(request, &mounted, &root, generation)?;
    opening.consolidated = is_consolidated;
    if zmetadata.is_some() {
        opening.about.notes.push("metadata from .zmetadata".to_owned());
    }
    let root_array = opening.about.flavour == Flavour::Zarr && root.zarray.is_some();
    let reading = Reading { refused, ..opening.reading() };
    let loaded = load(&source, root, opening.about.flavour, target, &reading)?;
    opening.dataset(loaded, root_array)
}

/// Opens a dataset of Zarr V3, whose root has this document.
fn open_v3(
    request: &OpenRequest<'_>,
    mounted: &MountedMap,
    survey: Option<&PrefetchedMap>,
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
    let generation = Generation::of_root(root.attrs.as_ref(), None);
    let mut opening = Opening::new(request, mounted, &root, generation)?;
    opening.consolidated = consolidated.is_some();
    // What is written back is made of the documents themselves.
    let consolidated = consolidated.filter(|_| !request.writable && !target.has_mode("noconsolidated"));
    let consolidated = match consolidated.transpose() {
        Ok(found) => found,
        Err(error) => {
            opening.about.notes.push(format!("consolidated metadata that is not used: {}", error.at(ZARR_JSON)));
            None
        }
    };
    if consolidated.is_some() {
        opening.about.notes.push(format!("metadata from {ZARR_JSON}"));
    }
    if let (Some(survey), false) = (survey, is_array || consolidated.is_some()) {
        far::look_at_all(survey, limits);
    }
    // Looking is cheap where it is no request.
    let looks_behind = survey.is_none() && !target.has_mode("consolidated");
    let map: &dyn ZMap = survey.map_or(&*mounted.map, |survey| survey);
    let source = Source { map, limits, consolidated, looks_behind, survey };
    let reading = opening.reading();
    let loaded = match is_array {
        true => {
            let built = v3::var::build(&Key::root(), Ok(&document), &reading);
            let array = RawArray { key: Key::root(), name: store_name(target), built };
            flavour::pure(RawTree::of_root(RawRoot::default())?, Some(array), &reading)?
        }
        false => load(&source, root, opening.about.flavour, target, &reading)?,
    };
    opening.dataset(loaded, is_array)
}

/// The root's documents: consolidated metadata, group, attributes and array of Zarr V2, that of V3.
type RootDocuments = (
    Result<Option<Vec<u8>>>,
    Result<Option<Vec<u8>>>,
    Result<Option<Vec<u8>>>,
    Result<Option<Vec<u8>>>,
    Result<Option<Vec<u8>>>,
);

/// Reads the root's documents at once. Where the fragment tells which Zarr it is, only that one's are looked for first; where
/// it asks for consolidated metadata, that alone: it answers for the others, but for who writes.
fn root_documents(
    map: &dyn ZMap,
    survey: Option<&PrefetchedMap>,
    request: &OpenRequest<'_>,
    refused: &Refused,
) -> Result<RootDocuments> {
    const ALL: &[&str] = &[ZMETADATA, ZGROUP, ZATTRS, ZARRAY, ZARR_JSON];
    let (target, limits) = (request.target, &request.options.limits);
    let consolidated = target.has_mode("consolidated") && !target.has_mode("noconsolidated") && !request.writable;
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
        if let Some(survey) = survey {
            survey.prefetch(&keys, limits, !consolidated || names.len() == ALL.len());
        }
        (found, asked) = (read_bytes(map, &keys, limits), names);
        let tells = |found: &Result<Option<_>>| !matches!(found, Ok(None)) && !is_refused(found);
        if names.len() == ALL.len() || found.iter().any(tells) {
            break;
        }
    }
    // A writer would write over what is taken for absent.
    if !request.writable {
        refused.settle(&Key::root(), asked, &mut found, false);
        check_root(survey, target, asked, &found)?;
    }
    let mut found: Vec<_> = asked.iter().zip(found).collect();
    let mut take = |name: &str| {
        let at = found.iter().position(|(of, _)| **of == name);
        at.map_or(Ok(None), |at| found.swap_remove(at).1)
    };
    Ok((take(ZMETADATA), take(ZGROUP), take(ZATTRS), take(ZARRAY), take(ZARR_JSON)))
}

/// Whether there can be a dataset: a document is there, or storage that can be listed may hold nodes below the root.
fn check_root(
    survey: Option<&PrefetchedMap>,
    target: &Target,
    names: &[&str],
    found: &[Result<Option<Vec<u8>>>],
) -> Result<()> {
    let Some(survey) = survey else { return Ok(()) };
    if found.iter().any(|found| matches!(found, Ok(Some(_)))) {
        return Ok(());
    }
    let keys: Vec<Key> = names.iter().map(|name| Key::new(name)).collect::<Result<_>>()?;
    let refused: Vec<_> = keys.iter().zip(found).filter(|(_, found)| is_refused(found)).collect();
    let may_list = survey.caps().list && survey.keys().is_none_or(|keys| !keys.is_empty());
    if refused.is_empty() && (may_list || found.iter().any(Result::is_err)) {
        return Ok(());
    }
    let errors = refused.into_iter().filter_map(|(key, found)| Some((key.clone(), found.as_ref().err()?.clone())));
    Err(no_dataset_error(target, &keys, &errors.collect::<Vec<_>>()))
}

/// Which NCZarr the root tells of; its documents are today's then.
///
/// A root without a superblock is listed, as plain Zarr has to be anyway: the marker of the oldest style is among the
/// names, or it is plain Zarr.
fn generation(source: &Source<'_>, root: &mut RawRoot) -> Result<Option<Generation>> {
    let generation = Generation::of_root(root.attrs.as_ref(), root.zgroup.as_ref());
    if generation == Some(Generation::Today) {
        return Ok(generation);
    }
    if generation.is_none() && root.zarray.is_some() {
        return Ok(None);
    }
    let generation = match generation {
        Some(older) => older,
        // Consolidated metadata holds no marker of that style. Its writer left its name; others are not asked.
        None if source.consolidated.is_some() => {
            let properties = root.attrs.as_ref().and_then(|attrs| flavour::properties(attrs.as_object()?));
            if !Defects::of(properties, None).swapped || !source.map.exists(&Key::new(older::NCZARR)?)? {
                return Ok(None);
            }
            Generation::Keys
        }
        None => {
            let names = match source.list(&Key::root()) {
                Ok(names) => names,
                // The marker of the oldest style may be readable without a list.
                Err(error) => match source.map.exists(&Key::new(older::NCZARR)?) {
                    Ok(true) => vec![older::NCZARR.to_owned()],
                    _ => return Err(error),
                },
            };
            let is_older = names.iter().any(|name| name == older::NCZARR);
            root.names = Some(names);
            if !is_older {
                return Ok(None);
            }
            Generation::Keys
        }
    };
    older::today::root(source, root, generation)?;
    Ok(Some(generation))
}

fn load(
    source: &Source<'_>,
    root: RawRoot,
    flavour: Flavour,
    target: &Target,
    reading: &Reading<'_>,
) -> Result<Loaded> {
    let mut loaded = load_all(source, root, flavour, target, reading)?;
    loaded.faults.extend(reading.refused.faults(source.map));
    Ok(loaded)
}

fn load_all(
    source: &Source<'_>,
    root: RawRoot,
    flavour: Flavour,
    target: &Target,
    reading: &Reading<'_>,
) -> Result<Loaded> {
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
    if tree.is_bare() {
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

/// The name of the variable of a store that is a single array: the store's, without its last extension.
fn store_name(target: &Target) -> String {
    let path = target.path.trim_end_matches('/');
    let name = path.rsplit('/').next().unwrap_or("");
    let stem = match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    };
    if stem.is_empty() { "data".to_owned() } else { stem.to_owned() }
}
