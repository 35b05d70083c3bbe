//! Zstandard (HDF5 filter 32015, codec id `zstd`).
//!
//! * HDF5 parameters: `[level]`, a signed level stored as two's complement `u32`; no parameter means level 3
//! * Zarr V2: `{"id": "zstd", "level": 3}`; `"checksum"` is written only when true, because some readers
//!   refuse it
//! * Zarr V3: `{"name": "zstd", "configuration": {"level": 3, "checksum": false}}`
//!
//! Decodes frames without a content size, several frames in a row and skippable frames; ignores the
//! parameters. For a part of a chunk it decodes only the data before the part's end.
//!
//! Source: HDF5 registered filter 32015; numcodecs `zstd`; RFC 8878.

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::Range;

use nczarr_codec::{Filter, FilterClass, FilterInfo, FilterPlugin, Json, OutBuf, ZarrFormat, inventory};
use nczarr_model::{ErrorKind, Result};
use serde_json::json;

use crate::json::{CodecMembers, describe};
use crate::{thread_cache, zstd_ffi};

static INFO: FilterInfo = FilterInfo {
    hdf5_id: Some(32015),
    aliases: &["numcodecs.zstd"],
    ..FilterInfo::new(
        "zstd",
        "Zstandard compression; one parameter: level, up to 22, negative ones are faster",
    )
};

/// Valid levels.
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
            _ => Err(ErrorKind::Inval
                .context(format!("zstd: expected one parameter, the level, found {params:?}"))),
        }
    }

    fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        let members = CodecMembers::of(INFO.name, codec, format)?;
        Ok(Box::new(Zstd {
            // Decoding does not need the level, so an invalid one becomes the nearest valid one.
            level: members.level("level")?.unwrap_or(0).clamp(*LEVELS.start(), *LEVELS.end()),
            checksum: members.flag("checksum")?.unwrap_or(false),
        }))
    }
}

/// Most decoded bytes of a block.
const BLOCK: usize = 128 << 10;

thread_local! {
    /// Memory for the start of a chunk. The vector stays empty; the data are in its spare capacity.
    static START: Cell<Option<Vec<u8>>> = const { Cell::new(None) };
}

#[derive(Debug, Clone, Copy)]
struct Zstd {
    /// The level as given; 0 is the library's default.
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
        // Decoding everything at once is faster than block by block.
        if end == 0 || end > decoded.saturating_sub(BLOCK) {
            return None;
        }
        let make = || Ok(Vec::new());
        let copied = thread_cache::with(&START, make, |scratch| {
            scratch.try_reserve(decoded).map_err(|_| ErrorKind::NoMem.context(format!("{decoded} bytes")))?;
            let mut start = OutBuf::new(&mut scratch.spare_capacity_mut()[..decoded]);
            let Some(()) = zstd_ffi::decode_start(src, end, &mut start) else { return Ok(false) };
            for range in wanted {
                let piece = start.filled().get(range.clone());
                dst.put(
                    piece.ok_or_else(|| ErrorKind::Internal.context(format!("zstd: the range {range:?}")))?,
                )?;
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

    fn packed(data: &[u8], checksum: bool) -> Vec<u8> {
        let mut memory = vec![0; zstd_ffi::bound(data.len()).unwrap()];
        let mut out = OutBuf::from_slice(&mut memory);
        zstd_ffi::encode(data, 3, checksum, &mut out).unwrap();
        out.filled().to_vec()
    }

    /// Decodes the parts as `decode_ranges` does; `None` if it declines.
    fn parts(src: &[u8], decoded: usize, wanted: &[Range<usize>]) -> Option<Vec<u8>> {
        let mut memory = vec![0; wanted.iter().map(Range::len).sum()];
        let mut out = OutBuf::from_slice(&mut memory);
        let filter = Zstd { level: 3, checksum: false };
        filter.decode_ranges(src, decoded, wanted, &mut out)?.ok()?;
        Some(out.filled().to_vec())
    }

    /// Blocks of all three kinds: compressed, one repeated byte, and incompressible.
    fn field() -> Vec<u8> {
        let mut data: Vec<u8> =
            (0..200_000u32).flat_map(|i| (i.wrapping_mul(i) >> 7).to_le_bytes()).collect();
        data.resize(1_100_000, 7);
        let mut state = 1u64;
        data.extend((0..400_000).map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as u8
        }));
        data
    }

    #[test]
    fn only_the_start_is_decoded() {
        let data = field();
        let src = packed(&data, false);
        let near = [0, 1, 131_071, 131_072, 799_999, 800_000, 1_099_999, 1_100_000, 1_290_000];
        for at in near {
            for len in [1, 4, 70_000] {
                let wanted = [at..at + len, at / 2..at / 2 + len];
                let expected = [&data[wanted[0].clone()], &data[wanted[1].clone()]].concat();
                assert!(parts(&src, data.len(), &wanted).unwrap() == expected, "{wanted:?}");
            }
        }
        // Data behind the needed blocks are not examined.
        let mut damaged = src.clone();
        let last = damaged.len() - 1000;
        damaged[last..].fill(0);
        assert_eq!(parts(&damaged, data.len(), slice::from_ref(&(0..9))).unwrap(), data[..9]);
    }

    /// Incomplete frames and frames with a checksum are left to whole decoding.
    #[test]
    fn partial_decoding_refuses_unverifiable_frames() {
        let data = field();
        let src = packed(&data, false);
        let all = 0..data.len();
        let short = packed(&data[..300_000], false);
        let (two, more) = ([&*short, &*short].concat(), [&*src, b"x"].concat());
        for (what, src, decoded, wanted) in [
            ("all", &*src, data.len(), all),
            ("nothing", &src, data.len(), 0..0),
            ("another length", &src, data.len() - 1, 0..1),
            ("cut short", &src[..src.len() - 1], data.len(), 0..1),
            ("something behind it", &more, data.len(), 0..1),
            ("two frames", &two, 600_000, 0..1),
            ("a checksum", &packed(&data, true), data.len(), 0..1),
            ("no frame", b"0123456789", 1_000_000, 0..1),
        ] {
            assert!(parts(src, decoded, slice::from_ref(&wanted)).is_none(), "{what}");
        }
    }

    /// On damage the result has the full length or is empty, and the next start decodes correctly.
    #[test]
    fn a_damaged_start_gives_no_wrong_part() {
        let data = field();
        let src = packed(&data, false);
        let wanted = 500_000..500_100;
        for at in (0..src.len() - 9).step_by(src.len() / 300).chain(0..40) {
            let mut damaged = src.clone();
            damaged[at..at + 9].iter_mut().for_each(|byte| *byte ^= 0x5a);
            if let Some(found) = parts(&damaged, data.len(), slice::from_ref(&wanted)) {
                assert_eq!(found.len(), 100);
            }
            assert_eq!(parts(&src, data.len(), slice::from_ref(&wanted)).unwrap(), data[wanted.clone()]);
        }
    }
}
