//! Creating: an empty dataset whose metadata is written at the first commit.

use std::sync::{Arc, Mutex, RwLock};

use nczarr_dispatch::{Clobber, CreateRequest, Dataset, Format, Key, MapFactory, OpenRequest, ZMap, ZarrFormat};
use nczarr_model::{ErrorKind, Model, ModelCell, Result};

use crate::INFO;
use crate::about::{About, Origin};
use crate::asked;
use crate::commit::Committed;
use crate::dataset::{GroupState, State, ZarrDataset};
use crate::environment::Defaults;
use crate::flavour::Flavour;
use crate::v3;

/// The text of `_NCProperties` of datasets made here.
pub(crate) fn new_properties() -> String {
    format!("version=2,nczarr-rs={},nczarr=2.0.0", env!("CARGO_PKG_VERSION"))
}

/// Creates a dataset.
///
/// # Errors
/// `NC_EOBJECT` or `NC_EEXIST` if something is there that may not be replaced; `NC_EINVAL` for a fragment that makes no
/// sense; what the map says.
pub(crate) fn create(request: &CreateRequest<'_>) -> Result<Arc<dyn Dataset>> {
    let target = request.target;
    let defaults = Defaults::load(&|name| std::env::var(name).ok()).map_err(|error| error.at(target))?;
    let format = match (target.has_mode("v3"), target.has_mode("v2")) {
        (true, _) => ZarrFormat::V3,
        (_, true) => ZarrFormat::V2,
        _ => defaults.format.unwrap_or(ZarrFormat::V2),
    };
    let separator = asked::separator(target, format, defaults.separator)?;
    let options = asked::options(target, request.options)?;
    let mounted = request.registry.create_map(request)?;
    let map = Arc::clone(&mounted.map);
    if !map.caps().write {
        return Err(ErrorKind::Perm.context(format!("{target}: the storage cannot be written")));
    }
    if request.map.is_some() {
        make_room(&*map, request.clobber).map_err(|error| error.at(target))?;
    }
    let consolidate = target.has_mode("consolidated")
        || (defaults.consolidated && format == ZarrFormat::V2 && !target.has_mode("noconsolidated"));
    let flavour = if target.has_mode("zarr") { Flavour::Zarr } else { Flavour::NcZarr };
    let named_dims = !target.has_mode("noxarray");
    let asked = request.options.annotate || target.has_mode("annotate");
    let annotate = named_dims && flavour == Flavour::Zarr && asked;
    let mut about = About::new(&mounted, Origin::Created, flavour, named_dims, true);
    about.properties = Some(if format == ZarrFormat::V3 { v3::render::properties() } else { new_properties() });
    about.zarr = format;
    if request.classic_model {
        about.format = Format::NetCdf4Classic;
    }
    // A map that was handed in is its owner's to delete.
    let undo = mounted.factory.filter(|_| request.map.is_none()).map(|factory| undo(factory, request));
    let model = ModelCell::new(Model::new());
    model.begin();
    Ok(Arc::new(ZarrDataset {
        model,
        map,
        registry: Arc::clone(request.registry),
        options,
        flavour,
        format,
        named_dims,
        annotate,
        writable: true,
        root_array: false,
        created: true,
        classic_model: request.classic_model,
        separator,
        about,
        state: RwLock::new(State {
            joined: format == ZarrFormat::V3,
            escapes: format == ZarrFormat::V3 && (flavour == Flavour::NcZarr || annotate),
            groups: vec![GroupState::default()],
            moved: Some(0),
            ..State::default()
        }),
        committed: Mutex::new(Committed { consolidate, ..Committed::default() }),
        closing: Arc::default(),
        undo,
    }))
}

/// Empties a map that somebody handed in, if it may be.
fn make_room(map: &dyn ZMap, clobber: Clobber) -> Result<()> {
    if map.children(&Key::root())?.is_empty() {
        return Ok(());
    }
    if clobber == Clobber::Refuse {
        return Err(ErrorKind::Object.context("a dataset is there, and may not be replaced"));
    }
    let mut known = false;
    for marker in INFO.markers {
        known |= map.exists(&Key::new(marker)?)?;
    }
    if !known {
        return Err(ErrorKind::Exist.context("something is there that is not recognised as a dataset"));
    }
    for key in map.list(&Key::root())? {
        map.delete(&key)?;
    }
    Ok(())
}

/// Deletes what `request` made.
fn undo(factory: Arc<dyn MapFactory>, request: &CreateRequest<'_>) -> Box<dyn Fn() -> Result<()> + Send + Sync> {
    let (target, options, registry) = (request.target.clone(), request.options.clone(), Arc::clone(request.registry));
    Box::new(move || {
        let request = OpenRequest {
            target: &target,
            writable: true,
            options: &options,
            registry: &registry,
            map: None,
            scope: None,
        };
        match factory.delete(&request) {
            // Nothing left, or a storage without places of its own.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Perm) => Ok(()),
            outcome => outcome,
        }
    })
}
