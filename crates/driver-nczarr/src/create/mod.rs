//! Creating: an empty dataset whose metadata is written at the first commit.
//!
//! `environment` has the settings for new datasets.

pub(crate) mod environment;

use std::sync::{Arc, RwLock};

use nczarr_codec::ZarrFormat;
use nczarr_dispatch::{Clobber, CreateRequest, Dataset, Format, MountedMap, OpenRequest};
use nczarr_model::{ErrorKind, Model, ModelCell, Result};
use nczarr_storage::{Key, ZMap, ZMapExt};

use crate::INFO;
use crate::create::environment::CreateDefaults;
use crate::dataset::ZarrDataset;
use crate::dataset::catalog::Catalog;
use crate::dataset::description::{DatasetDescription, Origin};
use crate::dataset::node_states::{GroupState, NodeStates};
use crate::flavour::kind::Flavour;
use crate::metadata::v3;
use crate::open::fragment;
use crate::write::committed::CommittedMetadata;
use crate::write::render::new_properties;

/// Creates a dataset.
///
/// # Errors
/// `NC_EOBJECT` or `NC_EEXIST` if something exists there that may not be replaced; `NC_EINVAL` for an invalid
/// fragment; errors of the map.
pub(crate) fn create(request: &CreateRequest<'_>) -> Result<Arc<dyn Dataset>> {
    let target = request.target;
    let defaults =
        CreateDefaults::load(&|name| std::env::var(name).ok()).map_err(|error| error.at(target))?;
    let format = match (target.has_mode("v3"), target.has_mode("v2")) {
        (true, _) => ZarrFormat::V3,
        (_, true) => ZarrFormat::V2,
        _ => defaults.format.unwrap_or(ZarrFormat::V2),
    };
    let separator = fragment::separator(target, format, defaults.separator)?;
    let options = request.options.clone();
    let mounted = request.registry.create_map(request)?;
    let map = Arc::clone(&mounted.map);
    if !map.caps().write {
        return Err(ErrorKind::Perm.context(format!("{target}: the storage is read-only")));
    }
    if request.map.is_some() {
        clear_map(&*map, request.clobber).map_err(|error| error.at(target))?;
    }
    let consolidate = target.has_mode("consolidated")
        || (defaults.consolidated && format == ZarrFormat::V2 && !target.has_mode("noconsolidated"));
    let flavour = if target.has_mode("zarr") { Flavour::Zarr } else { Flavour::NcZarr };
    let named_dims = !target.has_mode("noxarray");
    let asked = request.options.annotate || target.has_mode("annotate");
    let annotate = named_dims && flavour == Flavour::Zarr && asked;
    let mut about = DatasetDescription::new(&mounted, Origin::Created, flavour, named_dims, true);
    about.properties =
        Some(if format == ZarrFormat::V3 { v3::render::properties() } else { new_properties() });
    about.zarr = format;
    if request.classic_model {
        about.format = Format::NetCdf4Classic;
    }
    // The caller deletes a map that it passed.
    let undo = request.map.is_none().then(|| undo(mounted, request));
    let model = ModelCell::new(Model::new());
    model.begin();
    let catalog = Catalog {
        model,
        map,
        registry: Arc::clone(request.registry),
        options,
        flavour,
        format,
        xarray_dims: named_dims,
        annotate,
        writable: true,
        root_array: false,
        created: true,
        classic_model: request.classic_model,
        separator,
        description: about,
        state: RwLock::new(NodeStates {
            single_document: format == ZarrFormat::V3,
            escapes_names: format == ZarrFormat::V3 && (flavour == Flavour::NcZarr || annotate),
            groups: vec![GroupState::default()],
            placed_naming: Some(0),
            ..NodeStates::default()
        }),
        closing: Arc::default(),
    };
    let committed = CommittedMetadata { consolidate, ..CommittedMetadata::default() };
    Ok(Arc::new(ZarrDataset::new(catalog, committed, undo)))
}

/// Empties a map that the caller passed, if `clobber` allows it.
fn clear_map(map: &dyn ZMap, clobber: Clobber) -> Result<()> {
    if map.children(&Key::root())?.is_empty() {
        return Ok(());
    }
    if clobber == Clobber::Refuse {
        return Err(ErrorKind::Object.context("a dataset already exists; allow overwriting to replace it"));
    }
    let mut known = false;
    for marker in INFO.markers {
        known |= map.exists(&Key::new(marker)?)?;
    }
    if !known {
        return Err(ErrorKind::Exist
            .context("objects exist that are not a recognised dataset; they are not overwritten"));
    }
    for key in map.keys(&Key::root())? {
        map.delete(&key)?;
    }
    Ok(())
}

/// Returns a function that deletes the dataset made by `request`.
fn undo(mounted: MountedMap, request: &CreateRequest<'_>) -> Box<dyn Fn() -> Result<()> + Send + Sync> {
    let (target, options, registry) =
        (request.target.clone(), request.options.clone(), Arc::clone(request.registry));
    Box::new(move || {
        let request = OpenRequest::new(&target, &options, &registry).writable(true);
        match mounted.delete(&request) {
            // Nothing to delete, or a storage that has no deletable location.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Perm) => Ok(()),
            outcome => outcome,
        }
    })
}
