//! Zstandard (HDF5 filter 32015, codec id `zstd`).
//!
//! * HDF5 parameters: `[level]`, a signed level stored as two's complement `u32`; none means level 3
//! * Zarr V2: `{"id": "zstd", "level": 3}`; `"checksum"` is written only when true, some readers refuse it
//! * Zarr V3: `{"name": "zstd", "configuration": {"level": 3, "checksum": false}}`
//!
//! Reads frames without a content size, several frames in a row and skippable frames; ignores the parameters. Of a part of a
//! chunk only what comes before its end is decoded.
//!
//! Source: HDF5 registered filter 32015; numcodecs `zstd`; RFC 8878.

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::Range;

use dispatch::{Filter, FilterClass, FilterInfo, FilterPlugin, Json, OutBuf, ZarrFormat, inventory};
use model::{ErrorKind, Result};
use serde_json::json;

use crate::json::{Members, describe};
use crate::{local, zstd_ffi};

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

thread_local! {
    /// Memory for the start of a chunk. It stays empty: what is decoded lies in its spare room.
    static START: Cell<Option<Vec<u8>>> = const { Cell::new(None) };
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

    fn decode_ranges(
        &self,
        src: &[u8],
        decoded: usize,
        wanted: &[Range<usize>],
        dst: &mut OutBuf<'_>,
    ) -> Option<Result<()>> {
        let end = wanted.iter().map(|range| range.end).max()?;
        // All of it at once is quicker than nearly all of it piece by piece.
        if end == 0 || end > decoded / 8 * 7 {
            return None;
        }
        let make = || Ok(Vec::new());
        let copied = local::with(&START, make, |scratch| {
            scratch.try_reserve(end).map_err(|_| ErrorKind::NoMem.context(format!("{end} bytes")))?;
            let mut start = OutBuf::new(&mut scratch.spare_capacity_mut()[..end]);
            let Some(()) = zstd_ffi::decode_start(src, decoded, &mut start) else { return Ok(false) };
            for range in wanted {
                let piece = start.filled().get(range.clone());
                dst.put(piece.ok_or_else(|| ErrorKind::Internal.context(format!("zstd: the range {range:?}")))?)?;
            }
            Ok(true)
        });
        copied.map(|able| able.then_some(())).transpose()
    }
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;

    fn packed(data: &[u8]) -> Vec<u8> {
        let mut memory = vec![0; zstd_ffi::bound(data.len()).unwrap()];
        let mut out = OutBuf::over(&mut memory);
        zstd_ffi::encode(data, 3, true, &mut out).unwrap();
        out.filled().to_vec()
    }

    /// What `decode_ranges` makes of a stream; `None` if it leaves it to others.
    fn parts(src: &[u8], decoded: usize, wanted: &[Range<usize>]) -> Option<Vec<u8>> {
        let mut memory = vec![0; wanted.iter().map(Range::len).sum()];
        let mut out = OutBuf::over(&mut memory);
        let filter = Zstd { level: 3, checksum: false };
        filter.decode_ranges(src, decoded, wanted, &mut out)?.ok()?;
        Some(out.filled().to_vec())
    }

    /// The start of a chunk of several blocks, and the errors of a frame that is not whole are left to who decodes it whole.
    #[test]
    fn only_the_start_is_decoded() {
        let data: Vec<u8> = (0..300_000u32).flat_map(|i| (i.wrapping_mul(i) >> 7).to_le_bytes()).collect();
        let src = packed(&data);
        let lists: [&[(usize, usize)]; 4] =
            [&[(0, 1)], &[(4, 8), (900_000, 900_100), (3, 5)], &[(500_000, 1_000_000)], &[(131_071, 131_073)]];
        for list in lists {
            let wanted: Vec<Range<usize>> = list.iter().map(|&(from, to)| from..to).collect();
            let expected: Vec<u8> = wanted.iter().flat_map(|range| &data[range.clone()]).copied().collect();
            assert!(parts(&src, data.len(), &wanted).unwrap() == expected, "{wanted:?}");
        }
        let all = 0..data.len();
        let short = packed(&data[..100_000]);
        let (two, more) = ([&*short, &*short].concat(), [&*src, b"x"].concat());
        for (what, src, decoded, wanted) in [
            ("nearly all", &*src, data.len(), all),
            ("nothing", &src, data.len(), 0..0),
            ("another length", &src, data.len() - 1, 0..1),
            ("cut short", &src[..src.len() - 1], data.len(), 0..1),
            ("something behind it", &more, data.len(), 0..1),
            ("two frames", &two, 200_000, 0..1),
            ("no frame", b"0123456789", 100, 0..1),
        ] {
            assert!(parts(src, decoded, slice::from_ref(&wanted)).is_none(), "{what}");
        }
        // A damaged start is not made up for, and the next start is read as if nothing had been.
        let mut damaged = src.clone();
        damaged[20..60].fill(0xff);
        if let Some(found) = parts(&damaged, data.len(), slice::from_ref(&(0..100))) {
            assert_eq!(found.len(), 100);
        }
        assert_eq!(parts(&src, data.len(), slice::from_ref(&(8..12))).unwrap(), data[8..12]);
    }
}
