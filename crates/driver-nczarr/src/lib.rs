//! NCZarr and Zarr, V2 and V3, as a netCDF driver: [`NcZarrDriver`].
//!
//! | folder | purpose |
//! |---|---|
//! | `open` | reads the documents of a store and makes a dataset of them |
//! | `create` | makes an empty dataset and its settings |
//! | `dataset` | the open dataset: its catalog of nodes, their states, and the facts about the whole |
//! | `edit` | decides whether the format can hold an edit, and plans the layouts of new variables |
//! | `write` | stores documents, merges them with those of other writers, and renames nodes |
//! | `data` | the arrays of variables, between the engine of `chunkio` and the map |
//! | `flavour` | the meaning of documents: NCZarr, or plain Zarr |
//! | `metadata` | the documents: JSON, types, attributes, codecs, V2 and V3 |
//! | `user` | user-defined types |
//! | `legacy` | the styles of older netCDF-C versions |
//! | `audit` | compares the objects of a store with its dataset |
//!
//! The driver does not know storages, filters or threads; it gets them from the registry, the map and the
//! pool. Begin with `open/mod.rs` for reading metadata, `write/commit.rs` for writing it, and
//! `dataset/mod.rs` for an open dataset.
#![forbid(unsafe_code)]

mod audit;
mod create;
mod data;
mod dataset;
mod edit;
mod flavour;
mod legacy;
mod metadata;
mod open;
mod user;
mod write;

pub use metadata::v3::bfloat16::Bfloat16;
pub use metadata::v3::rectilinear_grid::RectilinearGrid;

use std::sync::Arc;

use nczarr_dispatch::{
    CreateRequest, Dataset, Driver, DriverInfo, DriverPlugin, FormatX, OpenRequest, inventory,
};
use nczarr_model::Result;

/// The driver's name, modes and markers.
pub static INFO: DriverInfo =
    DriverInfo::new("nczarr", FormatX::NcZarr, "NCZarr, Zarr V2 and Zarr V3, read and write")
        .modes(&["nczarr", "zarr", "xarray", "noxarray"])
        .markers(&[".zgroup", ".zarray", ".zattrs", ".zmetadata", "zarr.json", ".nczarr"]);

/// The driver of NCZarr, Zarr V2 and Zarr V3 datasets.
pub struct NcZarrDriver;

impl Driver for NcZarrDriver {
    fn info(&self) -> &DriverInfo {
        &INFO
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Arc<dyn Dataset>> {
        open::open(request)
    }

    fn create(&self, request: &CreateRequest<'_>) -> Result<Arc<dyn Dataset>> {
        create::create(request)
    }
}

inventory::submit! { DriverPlugin(&NcZarrDriver) }
