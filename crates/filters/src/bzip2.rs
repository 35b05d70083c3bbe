//! bzip2 compression (HDF5 filter 307, codec id `bz2`).
//!
//! * HDF5 parameters: `[level]`, 1 to 9
//! * Zarr V2: `{"id": "bz2", "level": 9}`; Zarr V3: `{"name": "numcodecs.bz2", "configuration": {"level":
//!   9}}`
//!
//! Several streams in a row are one after another. Anything behind them that does not begin like a stream is
//! ignored, as in numcodecs. The checksum of each block is verified.
//!
//! Source: HDF5 registered filter 307; numcodecs `bz2`. The library allocates up to 4 MB for a stream,
//! depending on the level.

use std::borrow::Cow;

use bzip2::{Action, Compress, Compression, Decompress, Status};
use nczarr_codec::{Filter, FilterClass, FilterInfo, FilterPlugin, Json, OutBuf, ZarrFormat, inventory};
use nczarr_model::{Error, ErrorKind, Result};
use serde_json::json;

use crate::json::{CodecMembers, describe};
use crate::stream_pump::{PumpStep, pump};

static INFO: FilterInfo = FilterInfo {
    hdf5_id: Some(307),
    aliases: &["bz2", "numcodecs.bz2"],
    ..FilterInfo::new("bzip2", "bzip2 compression; one parameter: level 1 to 9")
};

/// The class of the bzip2 filter.
pub struct Bzip2Class;

inventory::submit! { FilterPlugin(&Bzip2Class) }

impl FilterClass for Bzip2Class {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        match *params {
            // Default of HDF5's filter.
            [] => Ok(Box::new(Bzip2 { level: 9 })),
            [level @ 1..=9] => Ok(Box::new(Bzip2 { level })),
            _ => Err(ErrorKind::Inval
                .context(format!("bzip2: expected one parameter, the level 1 to 9, found {params:?}"))),
        }
    }

    /// Parses the description. Decoding does not need the level: an invalid one becomes the nearest valid
    /// one, a missing one numcodecs' default.
    fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        let level = CodecMembers::of(INFO.name, codec, format)?.level("level")?.unwrap_or(1);
        Ok(Box::new(Bzip2 { level: level.clamp(1, 9).unsigned_abs() }))
    }
}

#[derive(Debug, Clone, Copy)]
struct Bzip2 {
    /// Level, 1 to 9.
    level: u32,
}

impl Filter for Bzip2 {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn params(&self) -> Cow<'_, [u32]> {
        Cow::Owned(vec![self.level])
    }

    fn to_json(&self, format: ZarrFormat) -> Json {
        describe(format, "bz2", "numcodecs.bz2", json!({"level": self.level}))
    }

    /// Returns the bound that the library documents: one per cent and 600 bytes more.
    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        decoded.checked_add(decoded / 100)?.checked_add(601)
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let mut context = Compress::new(Compression::new(level_for(src.len(), self.level)), 0);
        let mut rest = src;
        pump(dst, |block| {
            let (taken, made) = (context.total_in(), context.total_out());
            let (piece, action) = match rest.split_at_checked(PIECE) {
                Some((piece, _)) => (piece, Action::Run),
                None => (rest, Action::Finish),
            };
            let failed = |error| ErrorKind::Filter.context("bzip2: encoding failed").caused_by(error);
            let status = context.compress(piece, block, action).map_err(failed)?;
            rest = after(rest, context.total_in() - taken);
            Ok(PumpStep { made: count(context.total_out() - made), ended: status == Status::StreamEnd })
        })
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let mut rest = src;
        loop {
            rest = stream(rest, src.len() - rest.len(), dst)?;
            if !matches!(rest, [b'B', b'Z', b'h', b'1'..=b'9', ..]) {
                return Ok(());
            }
        }
    }
}

/// Returns the level to use. A level sets the size of a block, for which the library allocates and clears
/// memory. Data of `len` bytes need no larger block. Runs may grow by a quarter before sorting.
fn level_for(len: usize, level: u32) -> u32 {
    const UNIT: usize = 100_000;
    let filled = (len.saturating_add(len / 4)) / UNIT + 1;
    u32::try_from(filled).map_or(level, |filled| level.min(filled))
}

/// Most bytes given to the library at once, because it counts in C integers.
const PIECE: usize = 1 << 30;

/// Appends the data of the stream at byte `at`. Returns the bytes behind it.
fn stream<'a>(src: &'a [u8], at: usize, dst: &mut OutBuf<'_>) -> Result<&'a [u8]> {
    let damaged = |what: &str| ErrorKind::Filter.context(format!("bzip2: the stream at byte {at} {what}"));
    let mut context = Decompress::new(false);
    let mut rest = src;
    pump(dst, |block| {
        let (before_in, before_out) = (context.total_in(), context.total_out());
        let piece = &rest[..rest.len().min(PIECE)];
        let status =
            context.decompress(piece, block).map_err(|error| damaged("is damaged").caused_by(error))?;
        let (taken, made) = (context.total_in() - before_in, context.total_out() - before_out);
        rest = after(rest, taken);
        match status {
            Status::StreamEnd => {}
            Status::MemNeeded => return Err(no_memory()),
            _ if taken == 0 && made == 0 => return Err(damaged("is cut short")),
            _ => {}
        }
        Ok(PumpStep { made: count(made), ended: status == Status::StreamEnd })
    })?;
    Ok(rest)
}

fn no_memory() -> Error {
    ErrorKind::NoMem.context("a bzip2 decompressor")
}

/// Converts a count of the library, which fits because its bytes fit in memory.
fn count(bytes: u64) -> usize {
    usize::try_from(bytes).expect("a step stays within its memory")
}

fn after(rest: &[u8], taken: u64) -> &[u8] {
    &rest[count(taken)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Full and half-full blocks, of growing runs and of other data. The memory of a stream fits its data.
    #[test]
    fn several_blocks() {
        let runs = |i: usize| (i / 4 % 251) as u8;
        let words = |i: usize| (i * i / 977) as u8;
        for level in [1, 2, 9] {
            for len in [79_999, 80_000, 99_981, 100_000, 250_000] {
                for kind in [runs, words] as [fn(usize) -> u8; 2] {
                    let data: Vec<u8> = (0..len).map(kind).collect();
                    let filter = Bzip2 { level };
                    let mut memory = vec![0; filter.encode_bound(len).unwrap()];
                    let mut stream = OutBuf::from_slice(&mut memory);
                    filter.encode(&data, &mut stream).unwrap();
                    let blocks = u32::from(stream.filled()[3] - b'0');
                    assert!(
                        blocks <= level && blocks as usize <= len / 80_000 + 1,
                        "{level} {len}: {blocks}"
                    );
                    let mut back = vec![0; len];
                    filter.decode(stream.filled(), &mut OutBuf::from_slice(&mut back)).unwrap();
                    assert!(back == data, "{level} {len}");
                }
            }
        }
    }
}
