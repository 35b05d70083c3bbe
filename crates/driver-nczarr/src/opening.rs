//! What the root of a store says of the whole, and the dataset in the end: [`Opening`].
//!
//! Both ways of opening, all of it (`open`) and one variable (`only`), begin and end here.

use std::sync::{Arc, Mutex, RwLock};

use dispatch::{Dataset, MountedMap, OpenRequest};
use model::{ErrorKind, ModelCell, Result};

use crate::codecs::Codecs;
use crate::commit::Committed;
use crate::dataset::{GroupState, State, VarState, ZarrDataset};
use crate::flavour::{Flavour, Loaded, Naming, properties, stores_swapped};
use crate::json::{Json, Value};
use crate::lists;
use crate::open::{info, map_note, separator};
use crate::tree::RawRoot;
use crate::var::Reading;

/// A dataset that is being opened.
pub(crate) struct Opening<'a> {
    request: &'a OpenRequest<'a>,
    mounted: MountedMap,
    pub(crate) flavour: Flavour,
    /// Whether the root has NCZarr's superblock, whatever the flavour.
    superblock: bool,
    use_names: bool,
    /// Multi-byte elements are little-endian whatever their type says.
    swapped: bool,
    properties: Option<String>,
    /// Whether there is consolidated metadata, and whether it was read.
    pub(crate) consolidated: bool,
    pub(crate) notes: Vec<String>,
}

impl<'a> Opening<'a> {
    /// Decides the flavour, and whether it may be written.
    ///
    /// # Errors
    /// `NC_EPERM` for a dataset that is only read.
    pub(crate) fn new(request: &'a OpenRequest<'a>, mounted: MountedMap, root: &RawRoot) -> Result<Self> {
        let target = request.target;
        let superblock = lists::superblock(root.attrs.as_ref(), root.zgroup.as_ref());
        let pure_asked = target.has_mode("zarr");
        let flavour = if superblock.is_some() && !pure_asked { Flavour::NcZarr } else { Flavour::Zarr };
        if request.writable {
            if !mounted.map.caps().write {
                return Err(ErrorKind::Perm.context(format!("{target}: the storage cannot be written")));
            }
            check_writable(superblock, pure_asked)?;
        }
        let mut notes = vec![map_note(&mounted), why(flavour, superblock, pure_asked)];
        let properties = root.attrs.as_ref().and_then(Json::as_object).and_then(properties).map(str::to_owned);
        let swapped = stores_swapped(properties.as_deref());
        if swapped {
            notes.push("its writer stored big-endian variables in little-endian order; they are read so".to_owned());
        }
        Ok(Self {
            request,
            mounted,
            flavour,
            superblock: superblock.is_some(),
            use_names: !target.has_mode("noxarray"),
            swapped,
            properties,
            consolidated: false,
            notes,
        })
    }

    /// How the documents are to be understood.
    pub(crate) fn reading(&self) -> Reading<'a> {
        Reading {
            registry: self.request.registry,
            limits: &self.request.options.limits,
            plain_fill: self.superblock,
            char_mark: self.superblock,
            swapped: self.swapped,
            naming: match self.flavour {
                Flavour::NcZarr => Naming::References,
                Flavour::Zarr if self.use_names => Naming::Attribute,
                Flavour::Zarr => Naming::None,
            },
            keep: self.request.writable,
            codecs: Codecs::default(),
        }
    }

    /// The dataset. `root_array`: the store is one array without a group.
    ///
    /// # Errors
    /// `NC_EINVAL` for a fragment that makes no sense.
    pub(crate) fn dataset(self, loaded: Loaded, root_array: bool) -> Result<Arc<dyn Dataset>> {
        let Self { request, mounted, flavour, mut notes, .. } = self;
        let named_dims = self.use_names && (loaded.named_dims || flavour == Flavour::NcZarr);
        let mut info = info(flavour, named_dims, request.writable);
        info.map = mounted.name().map(str::to_owned);
        info.properties = self.properties;
        notes.extend(loaded.notes);
        info.notes = notes;
        let vars = loaded.vars.into_iter().map(|var| VarState {
            key: var.key,
            stored: var.stored,
            on_disk: true,
            ..VarState::default()
        });
        let groups = loaded.groups.into_iter();
        let groups = groups.map(|group| GroupState { key: group.key, zgroup: group.zgroup, attrs: group.attrs });
        let state = State { vars: vars.collect(), groups: groups.collect(), moved: loaded.model.naming() };
        let dataset = ZarrDataset {
            model: ModelCell::new(loaded.model),
            map: mounted.map,
            registry: Arc::clone(request.registry),
            options: request.options.clone(),
            flavour,
            named_dims,
            writable: request.writable,
            root_array,
            created: false,
            classic_model: false,
            separator: separator(request.target)?,
            info,
            state: RwLock::new(state),
            committed: Mutex::new(Committed {
                consolidate: self.consolidated || request.target.has_mode("consolidated"),
                consolidated: self.consolidated,
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
}

fn why(flavour: Flavour, superblock: Option<(&Value<'_>, bool)>, pure_asked: bool) -> String {
    match (flavour, superblock) {
        (Flavour::NcZarr, Some((block, _))) => {
            format!("NCZarr {}: the root has \"_nczarr_superblock\"", lists::version(block).unwrap_or("of no version"))
        }
        (_, Some(_)) if pure_asked => "NCZarr, read as plain Zarr since mode=zarr says so".to_owned(),
        _ => "plain Zarr: the root has no \"_nczarr_superblock\"".to_owned(),
    }
}

/// Some datasets are only read.
fn check_writable(superblock: Option<(&Value<'_>, bool)>, pure_asked: bool) -> Result<()> {
    match superblock {
        Some((_, true)) => Err(ErrorKind::Perm.context("the metadata is of an older NCZarr style, which is only read")),
        Some(_) if pure_asked => Err(ErrorKind::Perm
            .context("an NCZarr dataset; with mode=zarr it is only read, since its NCZarr metadata would go stale")),
        _ => Ok(()),
    }
}
