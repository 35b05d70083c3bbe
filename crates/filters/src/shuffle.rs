//! Byte shuffle (HDF5 filter 2, codec id `shuffle`).
//!
//! * HDF5 parameters: none visible; the internal one is the element size
//! * Zarr V2: `{"id": "shuffle", "elementsize": 4}`
//! * Zarr V3: `{"name": "numcodecs.shuffle", "configuration": {"elementsize": 4}}`
//!
//! netCDF-C writes an element size of 0 for the size of the type, which `bind` gives. Bytes beyond the last
//! whole element stay in place, as in HDF5.

use std::borrow::Cow;

use nczarr_codec::{
    ChunkInfo, Filter, FilterClass, FilterInfo, FilterPlugin, Json, OutBuf, Stage, ZarrFormat, inventory,
};
use nczarr_model::{ErrorKind, Result};
use serde_json::json;

use crate::json::{CodecMembers, describe};
use crate::transpose;

static INFO: FilterInfo = FilterInfo {
    hdf5_id: Some(2),
    aliases: &["numcodecs.shuffle"],
    ..FilterInfo::new(
        "shuffle",
        "groups the first bytes of all elements, the second bytes and so on; no parameters",
    )
};

/// The class of the shuffle filter.
pub struct ShuffleClass;

inventory::submit! { FilterPlugin(&ShuffleClass) }

impl FilterClass for ShuffleClass {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        match *params {
            [] => Ok(Box::new(Shuffle { item: 0 })),
            [item] => Ok(Box::new(Shuffle { item })),
            _ => Err(ErrorKind::Inval.context(format!("shuffle: expected no parameters, found {params:?}"))),
        }
    }

    fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        let members = CodecMembers::of(INFO.name, codec, format)?;
        let item = members.int("elementsize")?.unwrap_or(0);
        match u32::try_from(item) {
            Ok(item) => Ok(Box::new(Shuffle { item })),
            Err(_) => Err(members.wrong("elementsize", "a size in bytes", &json!(item))),
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Shuffle {
    /// Element size in bytes; 0: unknown so far.
    item: u32,
}

impl Shuffle {
    fn item(self) -> usize {
        self.item.max(1) as usize
    }

    fn bound(self) -> Result<()> {
        match self.item {
            0 => Err(ErrorKind::Internal.context("shuffle: used before the element size was known")),
            _ => Ok(()),
        }
    }
}

impl Filter for Shuffle {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn params(&self) -> Cow<'_, [u32]> {
        Cow::Borrowed(&[])
    }

    fn working_params(&self) -> Cow<'_, [u32]> {
        Cow::Owned(vec![self.item])
    }

    fn to_json(&self, format: ZarrFormat) -> Json {
        describe(format, "shuffle", "numcodecs.shuffle", json!({"elementsize": self.item}))
    }

    fn bind(&mut self, chunk: &ChunkInfo<'_>) -> Result<()> {
        if self.item == 0 {
            self.item = u32::try_from(chunk.item_size.max(1)).map_err(|_| {
                ErrorKind::Filter
                    .context(format!("shuffle: elements of {} bytes are too large", chunk.item_size))
            })?;
        }
        Ok(())
    }

    fn stage(&self) -> Stage {
        Stage::Transpose { item: self.item() }
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        Some(decoded)
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        self.bound()?;
        transpose::shuffle(src, self.item(), dst)
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        self.bound()?;
        transpose::unshuffle(src, self.item(), dst)
    }
}
