//! Adler-32 as in zlib (codec id `adler32`). The checksum comes first unless `location` says otherwise; see
//! the parent module.

use nczarr_codec::{Filter, FilterClass, FilterInfo, FilterPlugin, Json, ZarrFormat, inventory};
use nczarr_model::Result;

use super::ChecksumLocation;
use super::located::ChecksumAlgorithm;

static ALGORITHM: ChecksumAlgorithm = ChecksumAlgorithm {
    info: FilterInfo {
        aliases: &["numcodecs.adler32"],
        ..FilterInfo::new(
            "adler32",
            "adds an Adler-32 checksum and verifies it; one optional parameter: 0 in front, 1 at the end",
        )
    },
    v3: ["numcodecs.adler32", "numcodecs.adler32"],
    location: ChecksumLocation::Start,
    sum: adler32,
};

/// The class of the Adler-32 checksum.
pub struct Adler32Class;

inventory::submit! { FilterPlugin(&Adler32Class) }

impl FilterClass for Adler32Class {
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

fn adler32(data: &[u8]) -> u32 {
    simd_adler32::adler32(&data)
}
