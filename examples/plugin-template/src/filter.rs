//! A filter that reverses the bytes of a chunk. It has no parameters.

use std::borrow::Cow;

use nczarr_codec::{
    ErrorKind, Filter, FilterClass, FilterInfo, FilterPlugin, Json, OutBuf, Result, ZarrFormat, inventory,
};

// HDF5 ids from 32768 on are for private use. A filter for Zarr only has no id.
static INFO: FilterInfo =
    FilterInfo { hdf5_id: Some(40_010), ..FilterInfo::new("mirror", "bytes of a chunk, last one first") };

/// Makes mirror filters.
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

    // In Zarr V2 the parameters are members of `codec`; in V3 they are in its member "configuration". The
    // JSON may contain anything: return an error, and never panic.
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

    // Returns the maximum size after encoding; `None` if it is unknown.
    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        Some(decoded)
    }

    // `dst` has room for the declared size and never grows. Its methods return an error if the bytes do not
    // fit.
    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        dst.extend(src.iter().rev().copied())
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        dst.extend(src.iter().rev().copied())
    }
}

inventory::submit! { FilterPlugin(&MirrorClass) }
