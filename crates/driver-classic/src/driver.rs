//! [`ClassicDriver`]: the driver of classic files.

use std::sync::Arc;

use nczarr_dispatch::{
    Backing, CreateRequest, Dataset, Driver, DriverInfo, DriverPlugin, FormatX, Magic, OpenRequest, inventory,
};
use nczarr_model::Result;

use crate::{create, open};

const fn first(bytes: &'static [u8]) -> Magic {
    Magic { offset: 0, bytes }
}

/// The description of the driver.
pub static INFO: DriverInfo = DriverInfo::new(
    "classic",
    FormatX::Nc3,
    "netCDF classic files: CDF-1, CDF-2 (64-bit offset), CDF-5 (64-bit data), read and write",
)
.modes(&["classic", "netcdf-3", "cdf1", "64bitoffset", "cdf2", "64bitdata", "cdf5"])
.magic(&[first(b"CDF\x01"), first(b"CDF\x02"), first(b"CDF\x05")])
.in_memory(true);

/// The driver of classic files.
pub struct ClassicDriver;

impl Driver for ClassicDriver {
    fn info(&self) -> &DriverInfo {
        &INFO
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Arc<dyn Dataset>> {
        match &request.backing {
            Backing::Place => open::open(request),
            Backing::Source(source) => open::open_from_source(request, Arc::clone(source)),
            Backing::Bytes(bytes) => open::open_bytes(request, bytes.clone()),
            &Backing::Memory { persist } => open::open_in_memory(request, persist),
        }
    }

    fn create(&self, request: &CreateRequest<'_>) -> Result<Arc<dyn Dataset>> {
        match request.backing {
            Backing::Memory { persist } => create::create_in_memory(request, persist),
            _ => create::create(request),
        }
    }
}

inventory::submit! { DriverPlugin(&ClassicDriver) }
