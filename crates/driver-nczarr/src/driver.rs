//! [`NcZarrDriver`]: the entry points of the driver.

use std::sync::Arc;

use nczarr_dispatch::{
    CreateRequest, Dataset, Driver, DriverInfo, DriverPlugin, FormatX, OpenRequest, inventory,
};
use nczarr_model::Result;

use crate::{create, open};

/// The driver's name, modes and markers.
pub static INFO: DriverInfo = DriverInfo {
    name: "nczarr",
    formatx: FormatX::NcZarr,
    modes: &["nczarr", "zarr", "xarray", "noxarray"],
    magic: &[],
    markers: &[".zgroup", ".zarray", ".zattrs", ".zmetadata", "zarr.json", ".nczarr"],
    about: "NCZarr, Zarr V2 and Zarr V3, read and write",
};

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
