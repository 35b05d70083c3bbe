//! The state of an opening from the root's documents to the dataset: [`OpenContext`].
//!
//! All ways of opening use it: everything (`open`), one variable (`one_variable`), one document
//! (`array_document`).

use std::sync::{Arc, Mutex, RwLock};

use nczarr_codec::ZarrFormat;
use nczarr_dispatch::{Dataset, FaultKind, MountedMap, OpenRequest};
use nczarr_model::{ErrorKind, ModelCell, Result};
use nczarr_storage::ZMap;

use crate::dataset::description::{DatasetDescription, Origin};
use crate::dataset::{GroupState, NodeStates, ZarrDataset};
use crate::flavour::nczarr_lists;
use crate::flavour::{DimNaming, Flavour, LoadedDataset, properties};
use crate::legacy::{NczarrVersion, WriterBugs};
use crate::metadata::codecs::CodecCache;
use crate::metadata::json::Json;
use crate::metadata::v2::var::ReadContext;
use crate::open::fragment;
use crate::open::refused_documents::RefusedDocuments;
use crate::open::tree::RawRoot;
use crate::write::commit::CommittedMetadata;

/// A dataset that is being opened.
pub(crate) struct OpenContext<'a> {
    request: &'a OpenRequest<'a>,
    map: Arc<dyn ZMap>,
    pub(crate) description: DatasetDescription,
    /// The NCZarr style of the root, whatever the flavour.
    nczarr_version: Option<NczarrVersion>,
    /// The Zarr version of the documents.
    pub(crate) format: ZarrFormat,
    use_names: bool,
    /// Whether times are shown as counts with units, not as text.
    counted_times: bool,
    /// Whether the store has consolidated metadata.
    pub(crate) consolidated: bool,
}

impl<'a> OpenContext<'a> {
    /// Decides the flavour and checks that it can be written. `root` has the current style.
    ///
    /// # Errors
    /// `NC_EPERM` for a dataset that can only be read.
    pub(crate) fn new(
        request: &'a OpenRequest<'a>,
        mounted: &MountedMap,
        root: &RawRoot,
        generation: Option<NczarrVersion>,
    ) -> Result<Self> {
        let target = request.target;
        let pure_asked = target.has_mode("zarr");
        let flavour = if generation.is_some() && !pure_asked { Flavour::NcZarr } else { Flavour::Zarr };
        if request.writable {
            if !mounted.map.caps().write {
                return Err(ErrorKind::Perm.context(format!("{target}: the storage is read-only")));
            }
            if generation.is_some() && pure_asked {
                return Err(ErrorKind::Perm.context(
                    "an NCZarr dataset cannot be written with mode=zarr, because its NCZarr metadata would become outdated",
                ));
            }
        }
        let origin = match generation {
            Some(_) if pure_asked => Origin::NcZarrIgnored,
            Some(generation) => {
                let version = || {
                    nczarr_lists::superblock(root.attrs.as_ref())
                        .and_then(nczarr_lists::version)
                        .map(str::to_owned)
                };
                Origin::NcZarr(generation, root.version.clone().or_else(version))
            }
            None => Origin::Plain,
        };
        let properties =
            root.attrs.as_ref().and_then(Json::as_object).and_then(properties).map(str::to_owned);
        let mut about = DatasetDescription::new(mounted, origin, flavour, false, request.writable);
        about.writer_bugs = WriterBugs::of(properties.as_deref(), generation);
        about.properties = properties;
        about.zarr = root.format;
        Ok(Self {
            request,
            map: Arc::clone(&mounted.map),
            description: about,
            nczarr_version: generation,
            format: root.format,
            use_names: !target.has_mode("noxarray"),
            counted_times: counted_times(target.get("datetime"), request.writable)?,
            consolidated: false,
        })
    }

    /// Returns the rules for reading documents.
    pub(crate) fn read_context(&self) -> ReadContext<'a> {
        ReadContext {
            registry: self.request.registry,
            format: self.format,
            limits: &self.request.options.limits,
            plain_fill: self.nczarr_version.is_some(),
            char_mark: self.nczarr_version.is_some(),
            nczarr_version: self.nczarr_version.unwrap_or(NczarrVersion::Current),
            writer_bugs: self.description.writer_bugs,
            counted_times: self.counted_times,
            naming: match self.description.flavour {
                Flavour::NcZarr => DimNaming::References,
                Flavour::Zarr if self.use_names => DimNaming::Attribute,
                Flavour::Zarr => DimNaming::None,
            },
            keep: self.request.writable,
            codecs: CodecCache::default(),
            refused: RefusedDocuments::default(),
        }
    }

    /// Makes the dataset. `root_array`: the store is one array without a group.
    ///
    /// # Errors
    /// `NC_EINVAL` for an invalid fragment; `NC_EPERM` if a legacy dataset is opened for writing and contains
    /// something unreadable.
    pub(crate) fn dataset(
        self,
        loaded: impl Into<LoadedDataset>,
        root_array: bool,
    ) -> Result<Arc<dyn Dataset>> {
        let loaded = loaded.into();
        let Self { request, map, description: mut about, nczarr_version: generation, format, .. } = self;
        let older = generation.filter(|generation| request.writable && *generation != NczarrVersion::Current);
        if let Some((_, var)) = loaded.model.vars().find(|(_, var)| older.is_some() && var.problem.is_some())
        {
            let why = var.problem.as_ref().map_or_else(String::new, |problem| format!("{problem:#}"));
            return Err(ErrorKind::Perm.context(format!(
                "{}: metadata of a legacy NCZarr style cannot be upgraded without loss, so the dataset is \
                 read-only: variable {:?}: {why}",
                request.target, var.name
            )));
        }
        let flavour = about.flavour;
        // Annotations refer to dimensions by name.
        let asked = loaded.annotated || request.target.has_mode("annotate");
        let annotate = self.use_names && flavour == Flavour::Zarr && asked;
        let named_dims = self.use_names && (loaded.xarray_dims || annotate || flavour == Flavour::NcZarr);
        about.xarray_dims = named_dims;
        let stale = loaded.stale_dims;
        if let Some(found) =
            loaded.faults.iter().find(|found| older.is_some() && found.kind == FaultKind::Damaged)
        {
            return Err(ErrorKind::Perm.context(format!(
                "{}: metadata of a legacy NCZarr style cannot be upgraded without loss, so the dataset is \
                 read-only: {found}",
                request.target
            )));
        }
        about.notes.extend(loaded.notes);
        about.faults.extend(loaded.faults);
        about.empty_folders = loaded.empty_folders;
        let groups = loaded.groups.into_iter();
        let groups = groups.map(|group| GroupState {
            key: group.key,
            zgroup: group.zgroup,
            attrs: group.attrs,
            unreadable: group.unreadable,
            ..GroupState::default()
        });
        let mut state = NodeStates {
            single_document: format == ZarrFormat::V3,
            escapes_names: format == ZarrFormat::V3 && (flavour == Flavour::NcZarr || annotate),
            vars: loaded.vars,
            groups: groups.collect(),
            placed_naming: Some(loaded.model.naming()),
            ..NodeStates::default()
        };
        state.record_stored_names(&loaded.model);
        let dataset = ZarrDataset {
            model: ModelCell::new(loaded.model),
            map,
            registry: Arc::clone(request.registry),
            options: request.options.clone(),
            flavour,
            format,
            xarray_dims: named_dims,
            annotate,
            writable: request.writable,
            root_array,
            created: false,
            classic_model: false,
            separator: fragment::separator(request.target, format, None)?,
            description: about,
            state: RwLock::new(state),
            committed: Mutex::new(CommittedMetadata {
                consolidate: self.consolidated || request.target.has_mode("consolidated"),
                consolidated: self.consolidated,
                legacy: older,
                ..CommittedMetadata::default()
            }),
            closing: Arc::default(),
            undo: None,
        };
        if request.writable {
            dataset.record_loaded()?;
            if stale && annotate {
                dataset.lock_committed().forget_attrs();
            }
        }
        Ok(Arc::new(dataset))
    }
}

/// Parses the fragment's `datetime`: `cf` shows times as counts with units, `text` (the default) as text.
fn counted_times(asked: Option<&str>, writable: bool) -> Result<bool> {
    match asked {
        None | Some("text") => Ok(false),
        // The units would be stored as an attribute, although the type has them.
        Some("cf") if writable => {
            Err(ErrorKind::Inval.context("datetime=cf needs a dataset that is opened read-only"))
        }
        Some("cf") => Ok(true),
        Some(other) => Err(ErrorKind::Inval
            .context(format!("invalid value of `datetime` (expected text or cf, found {other})"))),
    }
}
