//! A filter that reverses the bytes of a chunk. It has no parameters.

use std::borrow::Cow;

use nczarr_codec::{ErrorKind, Filter, FilterClass, FilterInfo, FilterPlugin, OutBuf, Result, inventory};

// HDF5 ids from 32768 on are for private use. A filter for Zarr only has no id. A filter with parameters names
// their members in Zarr's JSON: `json_members`.
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
