//! [`Hdf4Driver`]: the entry points of this crate.

use std::sync::Arc;

use nczarr_dispatch::{
    CreateRequest, Dataset, Driver, DriverInfo, DriverPlugin, FormatX, Magic, OpenRequest, inventory,
};
use nczarr_model::{ErrorKind, Result};
use nczarr_storage::source::ByteSource;

use crate::open;

/// Name, modes and signature of the driver.
pub static INFO: DriverInfo = DriverInfo::new("hdf4", FormatX::Hdf4, "HDF4 scientific datasets, read only")
    .modes(&["hdf4"])
    .magic(&[Magic { offset: 0, bytes: b"\x0e\x03\x13\x01" }]);

/// The driver for HDF4 files.
pub struct Hdf4Driver;

impl Driver for Hdf4Driver {
    fn info(&self) -> &DriverInfo {
        &INFO
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Arc<dyn Dataset>> {
        open::open(request)
    }

    fn open_from_source(
        &self,
        request: &OpenRequest<'_>,
        source: Arc<dyn ByteSource>,
    ) -> Result<Arc<dyn Dataset>> {
        open::open_from_source(request, source)
    }

    fn create(&self, request: &CreateRequest<'_>) -> Result<Arc<dyn Dataset>> {
        let what =
            "HDF4 files cannot be created; use NCZarr (.zarr), an archive (.zip) or a classic file (.nc)";
        Err(ErrorKind::NotNc4.context(what).at(request.target))
    }

    fn open_bytes(&self, request: &OpenRequest<'_>, bytes: Arc<[u8]>) -> Result<Arc<dyn Dataset>> {
        open::open_bytes(request, bytes)
    }

    fn open_in_memory(&self, request: &OpenRequest<'_>, _persist: bool) -> Result<Arc<dyn Dataset>> {
        open::open_in_memory(request)
    }
}

inventory::submit! { DriverPlugin(&Hdf4Driver) }
