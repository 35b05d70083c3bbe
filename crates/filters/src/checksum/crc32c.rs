//! CRC-32C (Castagnoli) (codec id `crc32c`): the checksum stands at the end unless `location` says otherwise; in Zarr V3 a codec of the core, there at the end always.

use nczarr_dispatch::{Filter, FilterClass, FilterInfo, FilterPlugin, Json, ZarrFormat, inventory};
use nczarr_model::Result;

use super::Location;
use super::located::Algorithm;

static ALGORITHM: Algorithm = Algorithm {
    info: FilterInfo {
        hdf5_id: None,
        name: "crc32c",
        aliases: &["numcodecs.crc32c"],
        about: "adds a CRC-32C checksum and verifies it; one optional parameter: 0 in front, 1 at the end",
    },
    v3: ["crc32c", "numcodecs.crc32c"],
    location: Location::End,
    sum: crc32c::crc32c,
};

/// The class of the CRC-32C checksum.
pub struct Crc32cClass;

inventory::submit! { FilterPlugin(&Crc32cClass) }

impl FilterClass for Crc32cClass {
    fn info(&self) -> &FilterInfo {
        &ALGORITHM.info
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        ALGORITHM.parse_params(params)
    }

    fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        ALGORITHM.parse_json(codec, format)
    }
}
