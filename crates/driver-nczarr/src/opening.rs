//! What the root of a store says of the whole, and the dataset in the end: [`Opening`].
//!
//! Both ways of opening, all of it (`open`) and one variable (`only`), begin and end here.

use std::sync::{Arc, Mutex, RwLock};

use nczarr_dispatch::{Dataset, FaultKind, MountedMap, OpenRequest, ZMap, ZarrFormat};
use nczarr_model::{ErrorKind, ModelCell, Result};

use crate::about::{About, Origin};
use crate::asked;
use crate::codecs::Codecs;
use crate::commit::Committed;
use crate::dataset::{GroupState, State, ZarrDataset};
use crate::flavour::{Flavour, Naming, Settled, properties};
use crate::json::Json;
use crate::lists;
use crate::older::{Defects, Generation};
use crate::refused::Refused;
use crate::tree::RawRoot;
use crate::var::Reading;

/// A dataset that is being opened.
pub(crate) struct Opening<'a> {
    request: &'a OpenRequest<'a>,
    map: Arc<dyn ZMap>,
    pub(crate) about: About,
    /// Which NCZarr the root tells of, whatever the flavour.
    generation: Option<Generation>,
    /// Which Zarr the documents are of.
    pub(crate) format: ZarrFormat,
    use_names: bool,
    /// Times are presented as counts with units, not as text.
    counted_times: bool,
    /// Whether there is consolidated metadata, and whether it was read.
    pub(crate) consolidated: bool,
}

impl<'a> Opening<'a> {
    /// Decides the flavour, and whether it may be written. `root`: in today's style.
    ///
    /// # Errors
    /// `NC_EPERM` for a dataset that is only read.
    pub(crate) fn new(
        request: &'a OpenRequest<'a>,
        mounted: &MountedMap,
        root: &RawRoot,
        generation: Option<Generation>,
    ) -> Result<Self> {
        let target = request.target;
        let pure_asked = target.has_mode("zarr");
        let flavour = if generation.is_some() && !pure_asked { Flavour::NcZarr } else { Flavour::Zarr };
        if request.writable {
            if !mounted.map.caps().write {
                return Err(ErrorKind::Perm.context(format!("{target}: the storage cannot be written")));
            }
            if generation.is_some() && pure_asked {
                return Err(ErrorKind::Perm.context(
                    "an NCZarr dataset; with mode=zarr it is only read, since its NCZarr metadata would go stale",
                ));
            }
        }
        let origin = match generation {
            Some(_) if pure_asked => Origin::Disregarded,
            Some(generation) => {
                let version = || lists::superblock(root.attrs.as_ref()).and_then(lists::version).map(str::to_owned);
                Origin::NcZarr(generation, root.version.clone().or_else(version))
            }
            None => Origin::Plain,
        };
        let properties = root.attrs.as_ref().and_then(Json::as_object).and_then(properties).map(str::to_owned);
        let mut about = About::new(mounted, origin, flavour, false, request.writable);
        about.defects = Defects::of(properties.as_deref(), generation);
        about.properties = properties;
        about.zarr = root.format;
        Ok(Self {
            request,
            map: Arc::clone(&mounted.map),
            about,
            generation,
            format: root.format,
            use_names: !target.has_mode("noxarray"),
            counted_times: counted_times(target.get("datetime"), request.writable)?,
            consolidated: false,
        })
    }

    /// Whether dimensions have the names that attributes give them, and whether times are counts: what the fragment says of
    /// how documents are to be understood.
    pub(crate) fn words(&self) -> (bool, bool) {
        (self.use_names, self.counted_times)
    }

    /// How the documents are to be understood.
    pub(crate) fn reading(&self) -> Reading<'a> {
        Reading {
            registry: self.request.registry,
            format: self.format,
            limits: &self.request.options.limits,
            plain_fill: self.generation.is_some(),
            char_mark: self.generation.is_some(),
            generation: self.generation.unwrap_or(Generation::Today),
            defects: self.about.defects,
            counted_times: self.counted_times,
            naming: match self.about.flavour {
                Flavour::NcZarr => Naming::References,
                Flavour::Zarr if self.use_names => Naming::Attribute,
                Flavour::Zarr => Naming::None,
            },
            keep: self.request.writable,
            codecs: Codecs::default(),
            refused: Refused::default(),
        }
    }

    /// The dataset. `root_array`: the store is one array without a group.
    ///
    /// # Errors
    /// `NC_EINVAL` for a fragment that makes no sense; `NC_EPERM` if what is to be written is of an older style and not
    /// all of it can be understood.
    pub(crate) fn dataset(self, loaded: impl Into<Settled>, root_array: bool) -> Result<Arc<dyn Dataset>> {
        let loaded = loaded.into();
        let Self { request, map, mut about, generation, format, .. } = self;
        let older = generation.filter(|generation| request.writable && *generation != Generation::Today);
        if let Some((_, var)) = loaded.model.vars().find(|(_, var)| older.is_some() && var.problem.is_some()) {
            let why = var.problem.as_ref().map_or_else(String::new, |problem| format!("{problem:#}"));
            return Err(ErrorKind::Perm.context(format!(
                "{}: the metadata is of an older NCZarr style, and cannot be brought to today's without loss, so it is \
                 only read: variable {:?}: {why}",
                request.target, var.name
            )));
        }
        let flavour = about.flavour;
        // What is said of dimensions, is said by their names.
        let asked = loaded.annotated || request.target.has_mode("annotate");
        let annotate = self.use_names && flavour == Flavour::Zarr && asked;
        let named_dims = self.use_names && (loaded.named_dims || annotate || flavour == Flavour::NcZarr);
        about.named_dims = named_dims;
        let stale = loaded.stale;
        if let Some(found) = loaded.faults.iter().find(|found| older.is_some() && found.kind == FaultKind::Damaged) {
            return Err(ErrorKind::Perm.context(format!(
                "{}: the metadata is of an older NCZarr style, and cannot be brought to today's without loss, so it is \
                 only read: {found}",
                request.target
            )));
        }
        about.notes.extend(loaded.notes);
        about.faults.extend(loaded.faults);
        about.hollow = loaded.hollow;
        let groups = loaded.groups.into_iter();
        let groups = groups.map(|group| GroupState {
            key: group.key,
            zgroup: group.zgroup,
            attrs: group.attrs,
            lost: group.lost,
            ..GroupState::default()
        });
        let mut state = State {
            joined: format == ZarrFormat::V3,
            escapes: format == ZarrFormat::V3 && (flavour == Flavour::NcZarr || annotate),
            vars: loaded.vars,
            groups: groups.collect(),
            moved: Some(loaded.model.naming()),
            ..State::default()
        };
        state.take_as_found(&loaded.model);
        let dataset = ZarrDataset {
            model: ModelCell::new(loaded.model),
            map,
            registry: Arc::clone(request.registry),
            options: asked::options(request.target, request.options)?,
            flavour,
            format,
            named_dims,
            annotate,
            writable: request.writable,
            root_array,
            created: false,
            classic_model: false,
            separator: asked::separator(request.target, format, None)?,
            about,
            state: RwLock::new(state),
            committed: Mutex::new(Committed {
                consolidate: self.consolidated || request.target.has_mode("consolidated"),
                consolidated: self.consolidated,
                older,
                ..Committed::default()
            }),
            closing: Arc::default(),
            undo: None,
        };
        if request.writable {
            dataset.remember()?;
            if stale && annotate {
                dataset.lock_committed().forget_attrs();
            }
        }
        Ok(Arc::new(dataset))
    }
}

/// What the fragment says of times: `datetime=cf`, counts with units; `datetime=text`, as without it, text.
fn counted_times(asked: Option<&str>, writable: bool) -> Result<bool> {
    match asked {
        None | Some("text") => Ok(false),
        // The units would become an attribute, which the type says already.
        Some("cf") if writable => Err(ErrorKind::Inval.context("datetime=cf is for datasets that are only read")),
        Some("cf") => Ok(true),
        Some(other) => Err(ErrorKind::Inval.context(format!("datetime={other}: text and cf are possible"))),
    }
}
