//! What a dataset says of itself as a whole: [`About`].
//!
//! It is put into words when somebody asks: opening a dataset to read one number should not write its story.

use std::borrow::Cow;
use std::sync::Arc;

use dispatch::{DatasetInfo, Format, MapFactory, MountedMap};

use crate::INFO;
use crate::flavour::Flavour;

/// How a dataset came to its flavour.
#[derive(Debug)]
pub(crate) enum Origin {
    Created,
    /// The root has a superblock, of this version.
    Superblock(Option<String>),
    /// The root has a superblock, which is not looked at.
    Disregarded,
    /// The root has no superblock.
    Plain,
}

/// What is known of a dataset as a whole.
pub(crate) struct About {
    pub(crate) flavour: Flavour,
    pub(crate) named_dims: bool,
    pub(crate) writable: bool,
    pub(crate) format: Format,
    pub(crate) factory: Option<Arc<dyn MapFactory>>,
    /// Why the dataset lies in the map it lies in.
    pub(crate) why: Cow<'static, str>,
    pub(crate) origin: Origin,
    /// Multi-byte elements are little-endian whatever their type says.
    pub(crate) swapped: bool,
    pub(crate) properties: Option<String>,
    /// What else was odd.
    pub(crate) notes: Vec<String>,
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
            factory: mounted.factory.clone(),
            why: mounted.why.clone(),
            origin,
            swapped: false,
            properties: None,
            notes: Vec::new(),
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
        if self.swapped {
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
            version: "2".to_owned(),
            writable: self.writable,
            notes,
            properties: self.properties.clone(),
            superblock: Some(if self.flavour == Flavour::NcZarr { 2 } else { 0 }),
            ..DatasetInfo::of(&INFO, self.format)
        }
    }

    fn origin(&self) -> String {
        match (&self.origin, self.flavour) {
            (Origin::Created, Flavour::NcZarr) => "created as NCZarr",
            (Origin::Created, Flavour::Zarr) => "created as plain Zarr: mode=zarr",
            (Origin::Superblock(version), _) => {
                let version = version.as_deref().unwrap_or("of no version");
                return format!("NCZarr {version}: the root has \"_nczarr_superblock\"");
            }
            (Origin::Disregarded, _) => "NCZarr, read as plain Zarr since mode=zarr says so",
            (Origin::Plain, _) => "plain Zarr: the root has no \"_nczarr_superblock\"",
        }
        .to_owned()
    }
}
