//! [`DatasetDescription`]: facts about an open dataset as a whole.
//!
//! [`DatasetDescription::info`] renders them as text on demand, so that opening a dataset to read one number
//! stays cheap.

use std::borrow::Cow;
use std::sync::Arc;

use nczarr_codec::ZarrFormat;
use nczarr_dispatch::{DatasetInfo, Fault, Format, MountedMap};
use nczarr_storage::{Key, MapFactory};

use crate::INFO;
use crate::flavour::kind::Flavour;
use crate::legacy::{NczarrVersion, WriterBugs};

/// How the flavour of a dataset was decided.
#[derive(Debug)]
pub(crate) enum Origin {
    Created,
    /// The root's metadata has NCZarr keys of this generation; the text is the recorded version.
    NcZarr(NczarrVersion, Option<String>),
    /// The root's metadata has NCZarr keys, but `mode=zarr` asked for plain Zarr.
    NcZarrIgnored,
    /// The root's metadata has no NCZarr keys.
    Plain,
}

/// Facts about one open dataset.
pub(crate) struct DatasetDescription {
    pub(crate) flavour: Flavour,
    pub(crate) xarray_dims: bool,
    pub(crate) writable: bool,
    pub(crate) format: Format,
    /// The version of Zarr that it is stored in.
    pub(crate) zarr: ZarrFormat,
    pub(crate) factory: Option<Arc<dyn MapFactory>>,
    /// Why the registry chose this map.
    pub(crate) map_reason: Cow<'static, str>,
    pub(crate) origin: Origin,
    /// Known bugs of the netCDF-C version that wrote it.
    pub(crate) writer_bugs: WriterBugs,
    pub(crate) properties: Option<String>,
    /// Other remarks for the user.
    pub(crate) notes: Vec<String>,
    /// Objects that the documents name but the model does not show.
    pub(crate) faults: Vec<Fault>,
    /// Folders without a node that opening searched.
    pub(crate) empty_folders: Vec<Key>,
}

impl DatasetDescription {
    /// The description of a dataset in the map `mounted`.
    pub(crate) fn new(
        mounted: &MountedMap,
        origin: Origin,
        flavour: Flavour,
        named_dims: bool,
        writable: bool,
    ) -> Self {
        Self {
            flavour,
            xarray_dims: named_dims,
            writable,
            format: Format::NetCdf4,
            zarr: ZarrFormat::V2,
            factory: mounted.factory.clone(),
            map_reason: mounted.why.clone(),
            origin,
            writer_bugs: WriterBugs::default(),
            properties: None,
            notes: Vec::new(),
            faults: Vec::new(),
            empty_folders: Vec::new(),
        }
    }

    /// Renders the description as text.
    pub(crate) fn info(&self) -> DatasetInfo {
        let map = self.factory.as_ref().map(|factory| factory.info().name);
        let mut notes = vec![
            match map {
                Some(name) => format!("map {name}: {}", self.map_reason),
                None => format!("the map: {}", self.map_reason),
            },
            self.origin(),
        ];
        if self.writer_bugs.swapped {
            notes.push(
                "its writer stored big-endian variables in little-endian order; they are read that way"
                    .to_owned(),
            );
        }
        notes.extend_from_slice(&self.notes);
        DatasetInfo::new(&INFO, self.format)
            .map(map.map(str::to_owned))
            .flavour(
                match (self.flavour, self.xarray_dims) {
                    (Flavour::NcZarr, _) => "nczarr",
                    (Flavour::Zarr, true) => "xarray",
                    (Flavour::Zarr, false) => "zarr",
                }
                .to_owned(),
            )
            .version(if self.zarr == ZarrFormat::V3 { "3" } else { "2" }.to_owned())
            .writable(self.writable)
            .notes(notes)
            .faults(self.faults.clone())
            .properties(self.properties.clone())
            .superblock(Some(self.superblock()))
    }

    /// The major number of NCZarr's version; 0 for plain Zarr.
    fn superblock(&self) -> i32 {
        match (self.flavour, &self.origin) {
            (Flavour::Zarr, _) => 0,
            (Flavour::NcZarr, Origin::NcZarr(NczarrVersion::SeparateKeys, _)) => 1,
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
                let older = if self.writable && *generation != NczarrVersion::Current {
                    "; writing metadata upgrades it to the current style"
                } else {
                    ""
                };
                return format!("NCZarr {version}: the root has {}{older}", generation.evidence());
            }
            (Origin::NcZarrIgnored, _) => "NCZarr, read as plain Zarr because of mode=zarr",
            (Origin::Plain, _) => "plain Zarr: the root has no \"_nczarr_superblock\"",
        }
        .to_owned()
    }
}
