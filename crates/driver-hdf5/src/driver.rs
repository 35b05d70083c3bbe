//! [`Hdf5Driver`]: the entry points of this crate.

use std::sync::Arc;

use nczarr_dispatch::{
    Backing, CreateRequest, Dataset, Driver, DriverInfo, DriverPlugin, FormatX, Magic, OpenRequest, inventory,
};
use nczarr_model::Result;

use crate::{read, write};

/// Name, modes and signatures of the driver.
pub static INFO: DriverInfo =
    DriverInfo::new("hdf5", FormatX::Hdf5, "netCDF-4 files and other HDF5 files, read and write")
        .modes(&["hdf5", "netcdf-4", "netcdf4", "nc4", "nc4-classic", "enhanced"])
        .magic(MAGIC)
        .in_memory(true);

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
        match &request.backing {
            Backing::Place => read::open(request),
            Backing::Source(source) => read::open_from_source(request, Arc::clone(source)),
            Backing::Bytes(bytes) => read::open_bytes(request, bytes.clone()),
            &Backing::Memory { persist } => read::open_in_memory(request, persist),
        }
    }

    fn create(&self, request: &CreateRequest<'_>) -> Result<Arc<dyn Dataset>> {
        match request.backing {
            Backing::Memory { persist } => write::create_in_memory(request, persist),
            _ => write::create(request),
        }
    }
}

inventory::submit! { DriverPlugin(&Hdf5Driver) }
