//! A filter: the bytes of a chunk, last one first. It has no parameters.

use std::borrow::Cow;

use nczarr_dispatch::{Filter, FilterClass, FilterInfo, FilterPlugin, Json, OutBuf, ZarrFormat, inventory};
use nczarr_model::{ErrorKind, Result};

// HDF5 ids from 32768 on are for private use; a filter that only Zarr knows has none.
static INFO: FilterInfo = FilterInfo {
    hdf5_id: Some(40_010),
    name: "mirror",
    aliases: &[],
    about: "bytes of a chunk, last one first",
};

/// Makes mirrors.
pub struct MirrorClass;

impl FilterClass for MirrorClass {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        match params {
            [] => Ok(Box::new(Mirror)),
            _ => Err(ErrorKind::Filter.context(format!("mirror wants no parameters, found {params:?}"))),
        }
    }

    // Parameters come from `codec` in Zarr V2, from its member "configuration" in V3. Anything may stand
    // there: refuse it, never panic.
    fn parse_json(&self, _codec: &Json, _format: ZarrFormat) -> Result<Box<dyn Filter>> {
        self.parse_params(&[])
    }
}

#[derive(Debug, Clone)]
struct Mirror;

impl Filter for Mirror {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn params(&self) -> Cow<'_, [u32]> {
        Cow::Borrowed(&[])
    }

    fn to_json(&self, format: ZarrFormat) -> Json {
        let member = if format == ZarrFormat::V2 { "id" } else { "name" };
        Json::from_iter([(member, INFO.name)])
    }

    // The most bytes that encoding makes; `None` if nobody knows.
    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        Some(decoded)
    }

    // `dst` has room for what was declared and never grows: what does not fit is an error, which its methods
    // make.
    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        dst.extend(src.iter().rev().copied())
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        dst.extend(src.iter().rev().copied())
    }
}

inventory::submit! { FilterPlugin(&MirrorClass) }
