//! What a dataset says of itself as a whole: [`About`].
//!
//! It is put into words when somebody asks: opening a dataset to read one number should not write its story.

use std::borrow::Cow;
use std::sync::Arc;

use nczarr_dispatch::{DatasetInfo, Fault, Format, Key, MapFactory, MountedMap, ZarrFormat};

use crate::INFO;
use crate::flavour::Flavour;
use crate::older::{Defects, Generation};

/// How a dataset came to its flavour.
#[derive(Debug)]
pub(crate) enum Origin {
    Created,
    /// The root tells of this NCZarr, of this version.
    NcZarr(Generation, Option<String>),
    /// The root tells of NCZarr, which is not looked at.
    Disregarded,
    /// The root tells of no NCZarr.
    Plain,
}

/// What is known of a dataset as a whole.
pub(crate) struct About {
    pub(crate) flavour: Flavour,
    pub(crate) named_dims: bool,
    pub(crate) writable: bool,
    pub(crate) format: Format,
    /// Which Zarr it is stored in.
    pub(crate) zarr: ZarrFormat,
    pub(crate) factory: Option<Arc<dyn MapFactory>>,
    /// Why the dataset lies in the map it lies in.
    pub(crate) why: Cow<'static, str>,
    pub(crate) origin: Origin,
    /// What its writer did otherwise than its documents say.
    pub(crate) defects: Defects,
    pub(crate) properties: Option<String>,
    /// What else was odd.
    pub(crate) notes: Vec<String>,
    /// Objects that the documents name and the model does not show.
    pub(crate) faults: Vec<Fault>,
    /// Folders that were searched, and hold no node with a name.
    pub(crate) hollow: Vec<Key>,
}

impl About {
    /// A dataset in the map `mounted`.
    pub(crate) fn new(
        mounted: &MountedMap,
        origin: Origin,
        flavour: Flavour,
        named_dims: bool,
        writable: bool,
    ) -> Self {
        Self {
            flavour,
            named_dims,
            writable,
            format: Format::NetCdf4,
            zarr: ZarrFormat::V2,
            factory: mounted.factory.clone(),
            why: mounted.why.clone(),
            origin,
            defects: Defects::default(),
            properties: None,
            notes: Vec::new(),
            faults: Vec::new(),
            hollow: Vec::new(),
        }
    }

    /// In words.
    pub(crate) fn info(&self) -> DatasetInfo {
        let map = self.factory.as_ref().map(|factory| factory.info().name);
        let mut notes = vec![
            match map {
                Some(name) => format!("map {name}: {}", self.why),
                None => format!("the map: {}", self.why),
            },
            self.origin(),
        ];
        if self.defects.swapped {
            notes.push("its writer stored big-endian variables in little-endian order; they are read so".to_owned());
        }
        notes.extend_from_slice(&self.notes);
        DatasetInfo {
            map: map.map(str::to_owned),
            flavour: match (self.flavour, self.named_dims) {
                (Flavour::NcZarr, _) => "nczarr",
                (Flavour::Zarr, true) => "xarray",
                (Flavour::Zarr, false) => "zarr",
            }
            .to_owned(),
            version: if self.zarr == ZarrFormat::V3 { "3" } else { "2" }.to_owned(),
            writable: self.writable,
            notes,
            faults: self.faults.clone(),
            properties: self.properties.clone(),
            superblock: Some(self.superblock()),
            ..DatasetInfo::new(&INFO, self.format)
        }
    }

    /// The major number of NCZarr's version; 0 for plain Zarr.
    fn superblock(&self) -> i32 {
        match (self.flavour, &self.origin) {
            (Flavour::Zarr, _) => 0,
            (Flavour::NcZarr, Origin::NcZarr(Generation::Keys, _)) => 1,
            (Flavour::NcZarr, _) if self.zarr == ZarrFormat::V3 => 3,
            (Flavour::NcZarr, _) => 2,
        }
    }

    fn origin(&self) -> String {
        match (&self.origin, self.flavour) {
            (Origin::Created, Flavour::NcZarr) => "created as NCZarr",
            (Origin::Created, Flavour::Zarr) => "created as plain Zarr: mode=zarr",
            (Origin::NcZarr(generation, version), _) => {
                let version = version.as_deref().unwrap_or("of no version");
                let older = match self.writable && *generation != Generation::Today {
                    true => "; it becomes today's when metadata is written",
                    false => "",
                };
                return format!("NCZarr {version}: the root has {}{older}", generation.shown_by());
            }
            (Origin::Disregarded, _) => "NCZarr, read as plain Zarr since mode=zarr says so",
            (Origin::Plain, _) => "plain Zarr: the root has no \"_nczarr_superblock\"",
        }
        .to_owned()
    }
}
