//! LZF (HDF5 filter 32000, which h5py registers): the compressor of Marc Lehmann's liblzf.
//!
//! * HDF5 parameters: none visible. HDF5 stores the filter version (4), the compressor version (0x0105) and
//!   the chunk size. Decoding needs none of them.
//! * Zarr: no codec
//! * Stored: runs. A byte below 32 is the number of literal bytes, less one. Any other byte is a match. Its
//!   upper three bits are the length less two (seven: add the next byte). The other five bits and the next
//!   byte are the distance, less one.
//!
//! Source: liblzf's description of its format; h5py's `lzf_filter`.

use std::borrow::Cow;

use nczarr_codec::{
    ChunkInfo, Filter, FilterClass, FilterInfo, FilterPlugin, Json, OutBuf, ZarrFormat, inventory,
};
use nczarr_model::{Error, ErrorKind, Result};

static INFO: FilterInfo = FilterInfo {
    hdf5_id: Some(32000),
    ..FilterInfo::new("lzf", "a fast compressor, in HDF5 files only; no parameters")
};

/// The longest run of literals, and the longest match, in bytes.
const MOST_LITERALS: usize = 32;
const MOST_MATCH: usize = 264;
/// The greatest distance of a match.
const MOST_BACK: usize = 8192;
/// Bits of an index in the match table.
const TABLE: u32 = 13;

/// The class of the LZF filter.
pub struct LzfClass;

inventory::submit! { FilterPlugin(&LzfClass) }

impl FilterClass for LzfClass {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        match params.len() {
            0..=3 => Ok(Box::new(Lzf { chunk: params.get(2).copied().unwrap_or(0) })),
            _ => Err(ErrorKind::Inval.context(format!("lzf: expected no parameters, found {params:?}"))),
        }
    }

    fn parse_json(&self, codec: &Json, _: ZarrFormat) -> Result<Box<dyn Filter>> {
        super::no_codec(INFO.name, codec)
    }
}

#[derive(Debug, Clone, Copy)]
struct Lzf {
    /// Chunk size in bytes; 0: unknown.
    chunk: u32,
}

fn damaged(what: &str) -> Error {
    ErrorKind::Filter.context(format!("lzf: {what}"))
}

impl Filter for Lzf {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn params(&self) -> Cow<'_, [u32]> {
        Cow::Borrowed(&[])
    }

    fn working_params(&self) -> Cow<'_, [u32]> {
        Cow::Owned(vec![4, 0x0105, self.chunk])
    }

    fn to_json(&self, _: ZarrFormat) -> Json {
        Json::Null
    }

    fn bind(&mut self, chunk: &ChunkInfo<'_>) -> Result<()> {
        self.chunk = u32::try_from(chunk.chunk_bytes).unwrap_or(0);
        Ok(())
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        decoded.checked_add(decoded.div_ceil(MOST_LITERALS))
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        // The last position of each three bytes, plus one, by their hash.
        let mut seen = vec![0usize; 1 << TABLE];
        let (mut at, mut literals) = (0, 0);
        while let Some(&[a, b, c]) = src.get(at..).and_then(|rest| rest.first_chunk::<3>()) {
            let key = u32::from_le_bytes([a, b, c, 0]).wrapping_mul(0x9e37_79b1) >> (32 - TABLE);
            let place = std::mem::replace(&mut seen[key as usize], at + 1);
            let back = at.wrapping_sub(place.wrapping_sub(1));
            let same = match place {
                0 => 0,
                _ if back > MOST_BACK => 0,
                _ => src[at..]
                    .iter()
                    .zip(&src[place - 1..])
                    .take(MOST_MATCH)
                    .take_while(|(a, b)| a == b)
                    .count(),
            };
            if same < 3 {
                at += 1;
                continue;
            }
            put_literals(&src[literals..at], dst)?;
            let (len, back) = (same - 2, back - 1);
            let high = (back >> 8) as u8;
            if len < 7 {
                dst.put(&[(len as u8) << 5 | high, back as u8])?
            } else {
                dst.put(&[7 << 5 | high, (len - 7) as u8, back as u8])?
            }
            at += same;
            literals = at;
        }
        put_literals(&src[literals..], dst)
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let mut rest = src;
        let mut next = |count: usize| -> Result<&[u8]> {
            let (bytes, after) =
                rest.split_at_checked(count).ok_or_else(|| damaged("the stream ends within a run"))?;
            rest = after;
            Ok(bytes)
        };
        let mut at = 0;
        while at < src.len() {
            let first = next(1)?[0];
            if first < 32 {
                let count = usize::from(first) + 1;
                dst.put(next(count)?)?;
                at += 1 + count;
                continue;
            }
            let (mut len, mut taken) = (usize::from(first >> 5), 2);
            if len == 7 {
                len += usize::from(next(1)?[0]);
                taken = 3;
            }
            let back = (usize::from(first & 31) << 8 | usize::from(next(1)?[0])) + 1;
            let (from, len) = (dst.filled().len(), len + 2);
            if back > from {
                return Err(damaged("a match that begins before the data"));
            }
            dst.put_zeros(len)?;
            let data = dst.filled_mut();
            // A match may overlap its own output.
            if back >= len {
                data.copy_within(from - back..from - back + len, from)
            } else {
                (from..from + len).for_each(|place| data[place] = data[place - back])
            }
            at += taken;
        }
        Ok(())
    }
}

fn put_literals(bytes: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
    bytes.chunks(MOST_LITERALS).try_for_each(|run| {
        dst.put(&[run.len() as u8 - 1])?;
        dst.put(run)
    })
}
