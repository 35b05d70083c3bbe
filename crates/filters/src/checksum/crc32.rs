//! CRC-32 as in zlib (codec id `crc32`). The checksum comes first unless `location` says otherwise; see the
//! parent module.

use nczarr_codec::{Filter, FilterClass, FilterInfo, FilterPlugin, Json, ZarrFormat, inventory};
use nczarr_model::Result;

use super::ChecksumLocation;
use super::located::ChecksumAlgorithm;

static ALGORITHM: ChecksumAlgorithm = ChecksumAlgorithm {
    info: FilterInfo {
        aliases: &["numcodecs.crc32"],
        ..FilterInfo::new(
            "crc32",
            "adds a CRC-32 checksum and verifies it; one optional parameter: 0 in front, 1 at the end",
        )
    },
    v3: ["numcodecs.crc32", "numcodecs.crc32"],
    location: ChecksumLocation::Start,
    sum: crc32fast::hash,
};

/// The class of the CRC-32 checksum.
pub struct Crc32Class;

inventory::submit! { FilterPlugin(&Crc32Class) }

impl FilterClass for Crc32Class {
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
