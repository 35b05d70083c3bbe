//! [`Hdf4Driver`]: the entry points of this crate.

use std::sync::Arc;

use nczarr_dispatch::{
    Backing, CreateRequest, Dataset, Driver, DriverInfo, DriverPlugin, FormatX, Magic, OpenRequest, inventory,
};
use nczarr_model::{ErrorKind, Result};

use crate::open;

/// Name, modes and signature of the driver.
pub static INFO: DriverInfo = DriverInfo::new("hdf4", FormatX::Hdf4, "HDF4 scientific datasets, read only")
    .modes(&["hdf4"])
    .magic(&[Magic { offset: 0, bytes: b"\x0e\x03\x13\x01" }])
    .in_memory(true);

/// The driver for HDF4 files.
pub struct Hdf4Driver;

impl Driver for Hdf4Driver {
    fn info(&self) -> &DriverInfo {
        &INFO
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Arc<dyn Dataset>> {
        match &request.backing {
            Backing::Place => open::open(request),
            Backing::Source(source) => open::open_from_source(request, Arc::clone(source)),
            Backing::Bytes(bytes) => open::open_bytes(request, bytes.clone()),
            Backing::Memory { .. } => open::open_in_memory(request),
        }
    }

    fn create(&self, request: &CreateRequest<'_>) -> Result<Arc<dyn Dataset>> {
        if let Backing::Memory { .. } = request.backing {
            return Err(ErrorKind::Diskless.context("driver hdf4 cannot create datasets in memory"));
        }
        let what =
            "HDF4 files cannot be created; use NCZarr (.zarr), an archive (.zip) or a classic file (.nc)";
        Err(ErrorKind::NotNc4.context(what).at(request.target))
    }
}

inventory::submit! { DriverPlugin(&Hdf4Driver) }
