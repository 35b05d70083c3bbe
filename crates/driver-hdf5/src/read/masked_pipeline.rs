//! [`MaskedPipeline`]: all filters of a dataset as one filter, for chunks that lack some of them.
//!
//! HDF5 may leave out a filter that failed on a chunk, such as deflate where it gains nothing. A bit in the
//! chunk's filter mask records this. [`super::chunks`] puts the mask, four bytes, before each chunk.

use std::borrow::Cow;

use nczarr_codec::{ChunkInfo, Filter, FilterInfo, Json, ZarrFormat};
use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::OutBuf;

static INFO: FilterInfo =
    FilterInfo::new("filters of HDF5", "all filters of a dataset, applied by each chunk's mask");

/// Filters in encoding order, and the most bytes that each decodes to.
#[derive(Debug, Clone)]
pub(crate) struct MaskedPipeline {
    filters: Vec<(Box<dyn Filter>, usize)>,
}

/// Bytes allowed beyond the expected size.
const SLACK: usize = 64 << 10;

impl MaskedPipeline {
    pub(crate) fn new(filters: Vec<Box<dyn Filter>>) -> Self {
        Self { filters: filters.into_iter().map(|filter| (filter, 0)).collect() }
    }
}

impl Filter for MaskedPipeline {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn params(&self) -> Cow<'_, [u32]> {
        Cow::Borrowed(&[])
    }

    fn to_json(&self, _: ZarrFormat) -> Json {
        Json::Null
    }

    fn bind(&mut self, chunk: &ChunkInfo<'_>) -> Result<()> {
        let mut entering = *chunk;
        for (number, (filter, room)) in self.filters.iter_mut().enumerate() {
            filter.bind(&entering)?;
            entering.item = filter.encoded_item();
            let bytes = entering.chunk_bytes;
            *room = if number == 0 { bytes } else { bytes.saturating_mul(2).saturating_add(SLACK) };
            entering.chunk_bytes = filter.encode_bound(bytes).unwrap_or(bytes);
        }
        Ok(())
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        Some(decoded.saturating_mul(2).saturating_add(SLACK))
    }

    fn encode(&self, _: &[u8], _: &mut OutBuf<'_>) -> Result<()> {
        Err(ErrorKind::Perm.context("the file is only read"))
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let short = || ErrorKind::Filter.context("chunk: the filter mask is missing");
        let (bits, stored) = src.split_first_chunk::<4>().ok_or_else(short)?;
        let bits = u32::from_le_bytes(*bits);
        let left: Vec<_> =
            self.filters.iter().enumerate().filter(|(at, _)| bits >> (*at).min(31) & 1 == 0).collect();
        let mut bytes = Cow::Borrowed(stored);
        for (at, (_, (filter, room))) in left.iter().enumerate().rev() {
            let named = |error: nczarr_model::Error| {
                error.at(format_args!("decoding with filter {}", filter.info().name))
            };
            if at == 0 {
                return filter.decode(&bytes, dst).map_err(named);
            }
            let mut out = vec![0; *room];
            let mut buf = OutBuf::from_slice(&mut out);
            filter.decode(&bytes, &mut buf).map_err(named)?;
            let len = buf.filled().len();
            out.truncate(len);
            bytes = Cow::Owned(out);
        }
        dst.put(&bytes)
    }
}
