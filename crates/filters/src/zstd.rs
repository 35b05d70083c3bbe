//! Zstandard (HDF5 filter 32015, codec id `zstd`).
//!
//! * HDF5 parameters: `[level]`, a signed level stored as two's complement `u32`; none means level 3
//! * Zarr V2: `{"id": "zstd", "level": 3}`; `"checksum"` is written only when true, some readers refuse it
//! * Zarr V3: `{"name": "zstd", "configuration": {"level": 3, "checksum": false}}`
//!
//! Reads frames without a content size, several frames in a row and skippable frames; ignores the parameters.
//!
//! Source: HDF5 registered filter 32015; numcodecs `zstd`; RFC 8878.

use std::borrow::Cow;

use dispatch::{Filter, FilterClass, FilterInfo, FilterPlugin, Json, OutBuf, ZarrFormat, inventory};
use model::{ErrorKind, Result};
use serde_json::json;

use crate::json::{Members, describe};
use crate::zstd_ffi;

static INFO: FilterInfo = FilterInfo {
    hdf5_id: Some(32015),
    name: "zstd",
    aliases: &["numcodecs.zstd"],
    about: "Zstandard compression; one parameter: level, up to 22, negative ones are faster",
};

/// The levels there are.
const LEVELS: std::ops::RangeInclusive<i32> = -131_072..=22;

/// The class of the Zstandard filter.
pub struct ZstdClass;

inventory::submit! { FilterPlugin(&ZstdClass) }

impl FilterClass for ZstdClass {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        match *params {
            [] => Ok(Box::new(Zstd { level: 3, checksum: false })),
            [level] if LEVELS.contains(&level.cast_signed()) => {
                Ok(Box::new(Zstd { level: level.cast_signed(), checksum: false }))
            }
            [level] => Err(ErrorKind::Inval.context(format!(
                "zstd: expected a level of {} to {}, found {}",
                LEVELS.start(),
                LEVELS.end(),
                level.cast_signed()
            ))),
            _ => Err(ErrorKind::Inval.context(format!("zstd: expected one parameter, the level, found {params:?}"))),
        }
    }

    fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        let members = Members::of(INFO.name, codec, format)?;
        Ok(Box::new(Zstd {
            // Reading does not need the level: what the library has not becomes the nearest it has.
            level: members.level("level")?.unwrap_or(0).clamp(*LEVELS.start(), *LEVELS.end()),
            checksum: members.flag("checksum")?.unwrap_or(false),
        }))
    }
}

#[derive(Debug, Clone, Copy)]
struct Zstd {
    /// As it was given; 0 is the library's default.
    level: i32,
    /// Whether frames end with a checksum.
    checksum: bool,
}

impl Filter for Zstd {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn params(&self) -> Cow<'_, [u32]> {
        Cow::Owned(vec![self.level.cast_unsigned()])
    }

    fn to_json(&self, format: ZarrFormat) -> Json {
        let members = match (format, self.checksum) {
            (ZarrFormat::V2, false) => json!({"level": self.level}),
            (_, checksum) => json!({"level": self.level, "checksum": checksum}),
        };
        describe(format, "zstd", "zstd", members)
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        zstd_ffi::bound(decoded)
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        zstd_ffi::encode(src, self.level, self.checksum, dst)
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        zstd_ffi::decode(src, usize::MAX, dst)
    }
}
