//! CRC-32C (Castagnoli) (codec id `crc32c`). The checksum comes last unless `location` says otherwise. In
//! Zarr V3 it is a core codec and always comes last.

use nczarr_codec::{Filter, FilterClass, FilterInfo, FilterPlugin, Json, ZarrFormat, inventory};
use nczarr_model::Result;

use super::ChecksumLocation;
use super::located::ChecksumAlgorithm;

static ALGORITHM: ChecksumAlgorithm = ChecksumAlgorithm {
    info: FilterInfo {
        aliases: &["numcodecs.crc32c"],
        ..FilterInfo::new(
            "crc32c",
            "adds a CRC-32C checksum and verifies it; one optional parameter: 0 in front, 1 at the end",
        )
    },
    v3: ["crc32c", "numcodecs.crc32c"],
    location: ChecksumLocation::End,
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
