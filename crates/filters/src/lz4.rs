//! LZ4 compression (HDF5 filter 32004, codec id `lz4`).
//!
//! * HDF5 parameters: `[block size]`, which means nothing here, or `[0, acceleration]`
//! * Zarr V2: `{"id": "lz4", "acceleration": 1}`; Zarr V3: `{"name": "numcodecs.lz4", …}`
//! * Stored: the decoded size in 4 bytes, little-endian, then one LZ4 block; not the LZ4 frame format
//!
//! This is the form of numcodecs, the only one a Zarr store can name. What HDF5's filter stores in its files is cut into
//! blocks of their own and big-endian; a store that is asked for filter 32004 has the same compressor in this form.
//!
//! Source: numcodecs `lz4`; HDF5 registered filter 32004 for the id.

use std::borrow::Cow;

use dispatch::{Filter, FilterClass, FilterInfo, FilterPlugin, Json, OutBuf, ZarrFormat, inventory};
use model::{ErrorKind, Result};
use serde_json::json;

use crate::json::{Members, describe};
use crate::lz4_ffi;

static INFO: FilterInfo = FilterInfo {
    hdf5_id: Some(32004),
    name: "lz4",
    aliases: &["numcodecs.lz4"],
    about: "LZ4 compression; parameters, all optional: 0, acceleration from 1 to 65537",
};

/// The class of the LZ4 filter.
pub struct Lz4Class;

inventory::submit! { FilterPlugin(&Lz4Class) }

impl FilterClass for Lz4Class {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        let acceleration = match *params {
            [] | [_] => 1,
            [_, acceleration @ 1..=65537] => acceleration.cast_signed(),
            _ => {
                let expected = "a block size and an acceleration of 1 to 65537, or less";
                return Err(ErrorKind::Inval.context(format!("lz4: expected {expected}, found {params:?}")));
            }
        };
        Ok(Box::new(Lz4 { acceleration }))
    }

    fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        // Reading does not need it: what the library has not becomes the nearest it has.
        let acceleration = Members::of(INFO.name, codec, format)?.level("acceleration")?.unwrap_or(1);
        Ok(Box::new(Lz4 { acceleration: acceleration.clamp(1, 65537) }))
    }
}

#[derive(Debug, Clone, Copy)]
struct Lz4 {
    /// 1 to 65537.
    acceleration: i32,
}

impl Filter for Lz4 {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn params(&self) -> Cow<'_, [u32]> {
        match self.acceleration {
            1 => Cow::Borrowed(&[]),
            acceleration => Cow::Owned(vec![0, acceleration.cast_unsigned()]),
        }
    }

    fn to_json(&self, format: ZarrFormat) -> Json {
        describe(format, "lz4", "numcodecs.lz4", json!({"acceleration": self.acceleration}))
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        lz4_ffi::bound(decoded)?.checked_add(4)
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let size = u32::try_from(src.len())
            .map_err(|_| ErrorKind::Filter.context(format!("lz4: {} bytes are more than a block holds", src.len())))?;
        dst.put(&size.to_le_bytes())?;
        lz4_ffi::encode(src, self.acceleration, dst)
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let Some((size, block)) = src.split_first_chunk::<4>() else {
            return Err(ErrorKind::Filter
                .context(format!("lz4: expected at least the 4 bytes of the size, found {} bytes", src.len())));
        };
        let (size, room) = (u32::from_le_bytes(*size), dst.room());
        match usize::try_from(size) {
            Ok(size) if size <= room => lz4_ffi::decode(block, size, dst),
            _ => {
                Err(ErrorKind::Filter
                    .context(format!("lz4: the block holds {size} bytes, more than the {room} expected")))
            }
        }
    }
}
