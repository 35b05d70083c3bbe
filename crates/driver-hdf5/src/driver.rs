//! [`Hdf5Driver`]: the entry points of this crate.

use std::sync::Arc;

use nczarr_dispatch::{
    CreateRequest, Dataset, Driver, DriverInfo, DriverPlugin, FormatX, Magic, OpenRequest, inventory,
};
use nczarr_model::Result;
use nczarr_storage::source::ByteSource;

use crate::{read, write};

/// Name, modes and signatures of the driver.
pub static INFO: DriverInfo =
    DriverInfo::new("hdf5", FormatX::Hdf5, "netCDF-4 files and other HDF5 files, read and write")
        .modes(&["hdf5", "netcdf-4", "netcdf4", "nc4", "nc4-classic", "enhanced"])
        .magic(MAGIC);

/// The HDF5 signature, at each offset where it may stand: 0, or a power of two from 512 on behind a user
/// block.
static MAGIC: &[Magic] = &{
    let mut places = [Magic { offset: 0, bytes: b"\x89HDF\r\n\x1a\n" }; 16];
    let mut i = 1;
    while i < places.len() {
        places[i].offset = 256 << i;
        i += 1;
    }
    places
};

/// The driver for netCDF-4 files.
pub struct Hdf5Driver;

impl Driver for Hdf5Driver {
    fn info(&self) -> &DriverInfo {
        &INFO
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Arc<dyn Dataset>> {
        read::open(request)
    }

    fn open_from_source(
        &self,
        request: &OpenRequest<'_>,
        source: Arc<dyn ByteSource>,
    ) -> Result<Arc<dyn Dataset>> {
        read::open_from_source(request, source)
    }

    fn create(&self, request: &CreateRequest<'_>) -> Result<Arc<dyn Dataset>> {
        write::create(request)
    }

    fn create_in_memory(&self, request: &CreateRequest<'_>, persist: bool) -> Result<Arc<dyn Dataset>> {
        write::create_in_memory(request, persist)
    }

    fn open_bytes(&self, request: &OpenRequest<'_>, bytes: Arc<[u8]>) -> Result<Arc<dyn Dataset>> {
        read::open_bytes(request, bytes)
    }

    fn open_in_memory(&self, request: &OpenRequest<'_>, persist: bool) -> Result<Arc<dyn Dataset>> {
        read::open_in_memory(request, persist)
    }
}

inventory::submit! { DriverPlugin(&Hdf5Driver) }
