//! Opening: which flavour a store is, and its documents into a dataset.

use std::sync::{Arc, Mutex, RwLock};

use dispatch::{Dataset, DatasetInfo, Format, Key, MountedMap, OpenRequest};
use model::{ErrorKind, ModelCell, Result};
use url_infer::Target;

use crate::INFO;
use crate::commit::Committed;
use crate::consolidated::{Consolidated, ZMETADATA};
use crate::dataset::{GroupState, State, VarState, ZarrDataset};
use crate::fetch::{Source, read};
use crate::flavour::{self, Flavour, Loaded, properties, stores_swapped};
use crate::json::Json;
use crate::lists;
use crate::tree::{self, RawArray, RawRoot, RawTree, ZARRAY, ZATTRS, ZGROUP};
use crate::var::Reading;

/// Opens a dataset.
///
/// # Errors
/// `NC_ENOTZARR` if there is no Zarr store, `NC_ENOTBUILT` for Zarr V3, `NC_EZARRMETA` for consolidated metadata of
/// another format, `NC_ENCZARR` naming key and member of what cannot be understood.
pub(crate) fn open(request: &OpenRequest<'_>) -> Result<Arc<dyn Dataset>> {
    let mounted = request.registry.open_map(request)?;
    let map = Arc::clone(&mounted.map);
    let target = request.target;
    let limits = &request.options.limits;
    let mut notes = vec![map_note(&mounted)];

    let names = [ZMETADATA, ZGROUP, ZATTRS, ZARRAY, "zarr.json"];
    let keys: Vec<Key> = names.iter().map(|name| Key::new(name)).collect::<Result<_>>()?;
    let mut documents = read(&*map, &keys, limits).into_iter();
    let mut next = || documents.next().unwrap_or(Ok(None));
    let (zmetadata, zgroup, attrs, zarray, v3) = (next(), next(), next(), next(), next());

    let mut source = Source { map: &*map, limits, consolidated: None };
    let (mut root, mut v3) = (None, !matches!(v3, Ok(None)));
    let is_consolidated = !matches!(zmetadata, Ok(None));
    if !target.has_mode("noconsolidated")
        && let Some(document) = zmetadata.map_err(consolidated_error)?
    {
        let consolidated = Consolidated::parse(document, limits).map_err(|error| error.at(ZMETADATA))?;
        notes.push("metadata from .zmetadata".to_owned());
        let document = |name: &str| consolidated.document(&Key::new(name).ok()?).cloned();
        root = Some(RawRoot { zgroup: document(ZGROUP), attrs: document(ZATTRS), zarray: document(ZARRAY) });
        source.consolidated = Some(consolidated);
    }
    let root = match root {
        Some(root) => root,
        None => RawRoot { zgroup: zgroup?, attrs: attrs?, zarray: zarray? },
    };
    if v3 && (root.zgroup.is_some() || root.zarray.is_some()) {
        notes.push("zarr.json in the root is left aside: there is Zarr V2 metadata too".to_owned());
        v3 = false;
    }
    if v3 {
        return Err(
            ErrorKind::NotBuilt.context(format!("{target}: Zarr V3 (zarr.json) is not in this build, only Zarr V2"))
        );
    }

    let superblock = lists::superblock(root.attrs.as_ref(), root.zgroup.as_ref());
    let pure_asked = target.has_mode("zarr");
    let flavour = if superblock.is_some() && !pure_asked { Flavour::NcZarr } else { Flavour::Zarr };
    notes.push(why(flavour, superblock, pure_asked));
    if request.writable {
        if !map.caps().write {
            return Err(ErrorKind::Perm.context(format!("{target}: the storage cannot be written")));
        }
        check_writable(superblock, pure_asked)?;
    }
    let properties = root.attrs.as_ref().and_then(Json::as_object).and_then(properties).map(str::to_owned);
    let swapped = stores_swapped(properties.as_deref());
    if swapped {
        notes.push("its writer stored big-endian variables in little-endian order; they are read so".to_owned());
    }
    let reading = Reading {
        registry: request.registry,
        limits,
        plain_fill: superblock.is_some(),
        char_mark: superblock.is_some(),
        swapped,
    };
    let use_names = !target.has_mode("noxarray");
    let root_array = flavour == Flavour::Zarr && root.zarray.is_some();
    let loaded = load(&source, root, flavour, target, &reading, use_names)?;

    let named_dims = use_names && (loaded.named_dims || flavour == Flavour::NcZarr);
    let mut info = info(flavour, named_dims, request.writable);
    info.map = mounted.name().map(str::to_owned);
    info.properties = properties;
    notes.extend(loaded.notes);
    info.notes = notes;
    let vars = loaded.vars.into_iter().map(|var| VarState {
        key: var.key,
        stored: var.stored,
        on_disk: true,
        ..VarState::default()
    });
    let groups =
        loaded.groups.into_iter().map(|group| GroupState { key: group.key, zgroup: group.zgroup, attrs: group.attrs });
    let state = State { vars: vars.collect(), groups: groups.collect() };
    drop(source);
    let dataset = ZarrDataset {
        model: ModelCell::new(loaded.model),
        map,
        registry: Arc::clone(request.registry),
        options: request.options.clone(),
        flavour,
        named_dims,
        writable: request.writable,
        root_array,
        created: false,
        classic_model: false,
        separator: separator(target)?,
        info,
        state: RwLock::new(state),
        committed: Mutex::new(Committed {
            consolidate: is_consolidated || target.has_mode("consolidated"),
            consolidated: is_consolidated,
            ..Committed::default()
        }),
        closed: Arc::default(),
        undo: None,
    };
    if request.writable {
        dataset.remember()?;
    }
    Ok(Arc::new(dataset))
}

fn load(
    source: &Source<'_>,
    root: RawRoot,
    flavour: Flavour,
    target: &Target,
    reading: &Reading<'_>,
    use_names: bool,
) -> Result<Loaded> {
    if flavour == Flavour::NcZarr {
        return flavour::nczarr(tree::load(source, root, true)?, reading);
    }
    if let Some(zarray) = root.zarray {
        // An array without a group: the root's attributes are the array's.
        let attrs = root.attrs.map(|document| tree::object(document, ZATTRS)).transpose();
        let array = RawArray { key: Key::root(), name: store_name(target), zarray: Ok(zarray), attrs };
        return flavour::pure(RawTree::root_only(), Some(array), reading, use_names);
    }
    let tree = tree::load(source, root, false)?;
    if tree.is_bare() {
        return Err(tree::not_zarr().at(target));
    }
    flavour::pure(tree, None, reading, use_names)
}

fn why(flavour: Flavour, superblock: Option<(&Json, bool)>, pure_asked: bool) -> String {
    match (flavour, superblock) {
        (Flavour::NcZarr, Some((block, _))) => {
            format!("NCZarr {}: the root has \"_nczarr_superblock\"", lists::version(block).unwrap_or("of no version"))
        }
        (_, Some(_)) if pure_asked => "NCZarr, read as plain Zarr since mode=zarr says so".to_owned(),
        _ => "plain Zarr: the root has no \"_nczarr_superblock\"".to_owned(),
    }
}

/// Some datasets are only read.
fn check_writable(superblock: Option<(&Json, bool)>, pure_asked: bool) -> Result<()> {
    match superblock {
        Some((_, true)) => Err(ErrorKind::Perm.context("the metadata is of an older NCZarr style, which is only read")),
        Some(_) if pure_asked => Err(ErrorKind::Perm
            .context("an NCZarr dataset; with mode=zarr it is only read, since its NCZarr metadata would go stale")),
        _ => Ok(()),
    }
}

fn consolidated_error(error: model::Error) -> model::Error {
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

/// Why the dataset lies in the map it lies in.
pub(crate) fn map_note(map: &MountedMap) -> String {
    match map.name() {
        Some(name) => format!("map {name}: {}", map.why),
        None => format!("the map: {}", map.why),
    }
}

/// What joins the indices of chunk keys of new variables: the fragment's `dimension_separator`, else a dot.
pub(crate) fn separator(target: &Target) -> Result<char> {
    match target.get("dimension_separator") {
        None | Some(".") => Ok('.'),
        Some("/") => Ok('/'),
        Some(other) => {
            Err(ErrorKind::Inval.context(format!("{target}: dimension_separator={other}: '.' or '/' is wanted")))
        }
    }
}

/// The fixed part of what a dataset says of itself.
pub(crate) fn info(flavour: Flavour, named_dims: bool, writable: bool) -> DatasetInfo {
    DatasetInfo {
        flavour: match (flavour, named_dims) {
            (Flavour::NcZarr, _) => "nczarr",
            (Flavour::Zarr, true) => "xarray",
            (Flavour::Zarr, false) => "zarr",
        }
        .to_owned(),
        version: "2".to_owned(),
        writable,
        superblock: Some(if flavour == Flavour::NcZarr { 2 } else { 0 }),
        ..DatasetInfo::of(&INFO, Format::NetCdf4)
    }
}
