//! LZ4 compression (HDF5 filter 32004, codec id `lz4`).
//!
//! * HDF5 parameters, all optional: `[block size, acceleration]`
//! * Zarr V2: `{"id": "lz4", "acceleration": 1}`; Zarr V3: `{"name": "numcodecs.lz4", …}`
//! * Stored in Zarr: the decoded size in 4 bytes, little-endian, then one LZ4 block; not the LZ4 frame
//!   format. The block size has no meaning there.
//! * Stored in HDF5 files: see `lz4_blocks`
//!
//! Source: numcodecs `lz4`; HDF5 registered filter 32004.

use std::borrow::Cow;

use nczarr_codec::{Filter, FilterClass, FilterInfo, FilterPlugin, Json, OutBuf, ZarrFormat, inventory};
use nczarr_model::{ErrorKind, Result};
use serde_json::json;

use crate::json::{CodecMembers, describe};
use crate::{lz4_blocks, lz4_ffi};

static INFO: FilterInfo = FilterInfo {
    hdf5_id: Some(32004),
    aliases: &["numcodecs.lz4"],
    ..FilterInfo::new(
        "lz4",
        "LZ4 compression; parameters, all optional: bytes of a block in HDF5 files (0: 1 GiB), acceleration from 1 to 65537",
    )
};

/// The class of the LZ4 filter.
pub struct Lz4Class;

inventory::submit! { FilterPlugin(&Lz4Class) }

impl FilterClass for Lz4Class {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        let (block, acceleration) = match *params {
            [] => (0, 1),
            [block] => (block, 1),
            [block, acceleration @ 1..=65537] => (block, acceleration.cast_signed()),
            _ => {
                let expected = "a block size and an acceleration of 1 to 65537, or less";
                return Err(ErrorKind::Inval.context(format!("lz4: expected {expected}, found {params:?}")));
            }
        };
        Ok(Box::new(Lz4 { block, acceleration, form: Lz4Framing::Zarr }))
    }

    /// Parses the parameters. Decoding needs none of them.
    fn parse_hdf5(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        let acceleration = params.get(1).map_or(1, |&given| given.clamp(1, 65537)).cast_signed();
        Ok(Box::new(Lz4 {
            block: params.first().copied().unwrap_or(0),
            acceleration,
            form: Lz4Framing::Hdf5,
        }))
    }

    fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        // Decoding does not need the acceleration, so an invalid one becomes the nearest valid one.
        let acceleration = CodecMembers::of(INFO.name, codec, format)?.level("acceleration")?.unwrap_or(1);
        Ok(Box::new(Lz4 { block: 0, acceleration: acceleration.clamp(1, 65537), form: Lz4Framing::Zarr }))
    }
}

#[derive(Debug, Clone, Copy)]
struct Lz4 {
    /// Block size in HDF5 files, in bytes; 0: the largest.
    block: u32,
    /// Acceleration, 1 to 65537.
    acceleration: i32,
    form: Lz4Framing,
}

/// The format of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lz4Framing {
    /// One block, as in numcodecs.
    Zarr,
    /// Several blocks, as in HDF5's filter.
    Hdf5,
}

impl Filter for Lz4 {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn params(&self) -> Cow<'_, [u32]> {
        match (self.block, self.acceleration) {
            (0, 1) => Cow::Borrowed(&[]),
            (block, 1) => Cow::Owned(vec![block]),
            (block, acceleration) => Cow::Owned(vec![block, acceleration.cast_unsigned()]),
        }
    }

    fn to_json(&self, format: ZarrFormat) -> Json {
        describe(format, "lz4", "numcodecs.lz4", json!({"acceleration": self.acceleration}))
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        match self.form {
            Lz4Framing::Zarr => lz4_ffi::bound(decoded)?.checked_add(4),
            Lz4Framing::Hdf5 => lz4_blocks::bound(decoded, self.block),
        }
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        if self.form == Lz4Framing::Hdf5 {
            return lz4_blocks::encode(src, self.block, self.acceleration, dst);
        }
        let size = u32::try_from(src.len()).map_err(|_| {
            ErrorKind::Filter.context(format!("lz4: {} bytes are more than a block holds", src.len()))
        })?;
        dst.put(&size.to_le_bytes())?;
        lz4_ffi::encode(src, self.acceleration, dst)
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        if self.form == Lz4Framing::Hdf5 {
            return lz4_blocks::decode(src, dst);
        }
        let Some((size, block)) = src.split_first_chunk::<4>() else {
            return Err(ErrorKind::Filter.context(format!(
                "lz4: expected at least the 4 bytes of the size, found {} bytes",
                src.len()
            )));
        };
        let (size, room) = (u32::from_le_bytes(*size), dst.remaining());
        match usize::try_from(size) {
            Ok(size) if size <= room => lz4_ffi::decode(block, size, dst),
            _ => Err(ErrorKind::Filter
                .context(format!("lz4: the block holds {size} bytes, more than the {room} expected"))),
        }
    }
}
