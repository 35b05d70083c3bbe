//! [`ClassicDriver`]: the driver of classic files.

use std::sync::Arc;

use nczarr_dispatch::{
    CreateRequest, Dataset, Driver, DriverInfo, DriverPlugin, FormatX, Magic, OpenRequest, inventory,
};
use nczarr_model::Result;
use nczarr_storage::source::ByteSource;

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
.magic(&[first(b"CDF\x01"), first(b"CDF\x02"), first(b"CDF\x05")]);

/// The driver of classic files.
pub struct ClassicDriver;

impl Driver for ClassicDriver {
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
        create::create(request)
    }

    fn open_bytes(&self, request: &OpenRequest<'_>, bytes: Arc<[u8]>) -> Result<Arc<dyn Dataset>> {
        open::open_bytes(request, bytes)
    }

    fn open_in_memory(&self, request: &OpenRequest<'_>, persist: bool) -> Result<Arc<dyn Dataset>> {
        open::open_in_memory(request, persist)
    }

    fn create_in_memory(&self, request: &CreateRequest<'_>, persist: bool) -> Result<Arc<dyn Dataset>> {
        create::create_in_memory(request, persist)
    }
}

inventory::submit! { DriverPlugin(&ClassicDriver) }
