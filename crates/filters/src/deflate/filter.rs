//! The zlib and gzip filters, for either backend.

use std::borrow::Cow;

use nczarr_codec::{Filter, FilterClass, FilterInfo, FilterPlugin, Json, OutBuf, ZarrFormat, inventory};
use nczarr_model::{ErrorKind, Result};
use serde_json::json;

use super::Wrap;
#[cfg(feature = "fast-deflate")]
use super::fast as backend;
#[cfg(not(feature = "fast-deflate"))]
use super::pure as backend;
use crate::json::{CodecMembers, describe};

static ZLIB: FilterInfo = FilterInfo {
    hdf5_id: Some(1),
    aliases: &["zlib", "numcodecs.zlib"],
    v3_names: Some(&["zlib", "numcodecs.zlib"]),
    ..FilterInfo::new("deflate", "zlib compression; one parameter: level 0 to 9")
};

static GZIP: FilterInfo = FilterInfo {
    aliases: &["numcodecs.gzip"],
    ..FilterInfo::new("gzip", "gzip compression; one parameter: level 0 to 9")
};

/// The class of zlib compression.
pub struct ZlibClass;

/// The class of gzip compression.
pub struct GzipClass;

inventory::submit! { FilterPlugin(&ZlibClass) }
inventory::submit! { FilterPlugin(&GzipClass) }

impl FilterClass for ZlibClass {
    fn info(&self) -> &FilterInfo {
        &ZLIB
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        Deflate::of_params(Wrap::Zlib, params)
    }

    fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        Deflate::of_json(Wrap::Zlib, codec, format)
    }
}

impl FilterClass for GzipClass {
    fn info(&self) -> &FilterInfo {
        &GZIP
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        Deflate::of_params(Wrap::Gzip, params)
    }

    fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        Deflate::of_json(Wrap::Gzip, codec, format)
    }
}

#[derive(Debug, Clone, Copy)]
struct Deflate {
    wrap: Wrap,
    /// Level, 0 to 9.
    level: u32,
}

impl Deflate {
    fn of_params(wrap: Wrap, params: &[u32]) -> Result<Box<dyn Filter>> {
        match *params {
            [level @ 0..=9] => Ok(Box::new(Self { wrap, level })),
            _ => Err(ErrorKind::Inval.context(format!(
                "{}: expected one parameter, the level 0 to 9, found {params:?}",
                wrap.name()
            ))),
        }
    }

    /// Makes the filter of a description. Decoding does not need the level: an invalid one becomes the
    /// nearest valid one, -1 zlib's default, a missing one numcodecs' default.
    fn of_json(wrap: Wrap, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        let level = match CodecMembers::of(wrap.name(), codec, format)?.level("level")? {
            None => 1,
            Some(-1) => 6,
            Some(level) => level.clamp(0, 9).unsigned_abs(),
        };
        Ok(Box::new(Self { wrap, level }))
    }
}

impl Filter for Deflate {
    fn info(&self) -> &FilterInfo {
        match self.wrap {
            Wrap::Zlib => &ZLIB,
            Wrap::Gzip => &GZIP,
        }
    }

    fn params(&self) -> Cow<'_, [u32]> {
        Cow::Owned(vec![self.level])
    }

    fn to_json(&self, format: ZarrFormat) -> Json {
        let v3 = match self.wrap {
            Wrap::Zlib => "numcodecs.zlib",
            Wrap::Gzip => "gzip",
        };
        describe(format, self.wrap.name(), v3, json!({"level": self.level}))
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        backend::bound(self.wrap, decoded)
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        backend::encode(self.wrap, self.level, src, dst)
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        decode(self.wrap, src, dst, backend::decode)
    }
}

/// Decodes one zlib stream or all gzip members. `one` appends one stream and returns the number of bytes
/// used.
fn decode(
    wrap: Wrap,
    src: &[u8],
    dst: &mut OutBuf<'_>,
    one: impl Fn(Wrap, &[u8], &mut OutBuf<'_>) -> Result<usize>,
) -> Result<()> {
    let mut rest = src;
    loop {
        let taken = one(wrap, rest, dst)?;
        rest = rest.get(taken..).filter(|_| taken > 0).ok_or_else(|| wrap.damaged())?;
        if wrap == Wrap::Zlib || rest.iter().all(|&byte| byte == 0) {
            return Ok(());
        }
    }
}

#[cfg(all(test, feature = "fast-deflate"))]
mod tests {
    use super::super::{fast, pure};
    use super::*;

    fn sample(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i / 5 + i * i % 7) as u8).collect()
    }

    type Encode = fn(Wrap, u32, &[u8], &mut OutBuf<'_>) -> Result<()>;
    type Decode = fn(Wrap, &[u8], &mut OutBuf<'_>) -> Result<usize>;

    fn encoded(encode: Encode, bound: usize, wrap: Wrap, level: u32, src: &[u8]) -> Vec<u8> {
        let mut memory = vec![0; bound];
        let mut out = OutBuf::from_slice(&mut memory);
        encode(wrap, level, src, &mut out).unwrap();
        out.filled().to_vec()
    }

    fn decoded(one: Decode, wrap: Wrap, src: &[u8], capacity: usize) -> Result<Vec<u8>> {
        let mut memory = vec![0; capacity];
        let mut out = OutBuf::from_slice(&mut memory);
        decode(wrap, src, &mut out, one)?;
        Ok(out.filled().to_vec())
    }

    #[test]
    fn each_backend_decodes_streams_of_both() {
        for wrap in [Wrap::Zlib, Wrap::Gzip] {
            for level in 0..=9 {
                for len in [0, 1, 100, 70_000] {
                    let src = sample(len);
                    let a = encoded(fast::encode, fast::bound(wrap, len).unwrap(), wrap, level, &src);
                    let b = encoded(pure::encode, pure::bound(wrap, len).unwrap(), wrap, level, &src);
                    for (stream, one) in [
                        (&a, pure::decode as Decode),
                        (&a, fast::decode),
                        (&b, pure::decode),
                        (&b, fast::decode),
                    ] {
                        assert_eq!(decoded(one, wrap, stream, len).unwrap(), src, "{wrap:?} {level} {len}");
                        assert_eq!(
                            decoded(one, wrap, stream, len + 9).unwrap(),
                            src,
                            "{wrap:?} {level} {len}"
                        );
                        if len > 0 {
                            let error = decoded(one, wrap, stream, len - 1).unwrap_err().to_string();
                            assert!(error.contains("more than"), "{error}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn noise_fits_the_bound_at_every_level() {
        let mut state = 1u32;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .take(200_000)
        .collect();
        for wrap in [Wrap::Zlib, Wrap::Gzip] {
            for level in 0..=9 {
                for len in [1, 2, 10, 1000, 65_536, 200_000] {
                    let src = &noise[..len];
                    let a = encoded(fast::encode, fast::bound(wrap, len).unwrap(), wrap, level, src);
                    let b = encoded(pure::encode, pure::bound(wrap, len).unwrap(), wrap, level, src);
                    assert_eq!(decoded(pure::decode, wrap, &a, len).unwrap(), src);
                    assert_eq!(decoded(fast::decode, wrap, &b, len).unwrap(), src);
                }
            }
        }
    }

    /// Stored noise between other data: every decoder reads it, and little is lost.
    #[test]
    fn noise_is_stored_and_all_else_compressed() {
        use super::super::incompressible::tests::noise;
        let some =
            |len: usize, seed: u64| -> Vec<u8> { noise(len, seed).iter().map(|byte| byte & 15).collect() };
        let chunks: [(&str, Vec<Vec<u8>>); 8] = [
            ("all", vec![noise(300_000, 1)]),
            ("all of its granules", vec![noise(1 << 18, 2)]),
            ("first", vec![noise(100_000, 3), some(200_000, 4)]),
            ("last", vec![some(200_000, 5), noise(100_000, 6)]),
            ("between", vec![vec![0; 262_144], noise(262_144, 7), some(262_144, 8), vec![63; 262_144]]),
            (
                "twice",
                vec![some(99_991, 9), noise(99_991, 10), some(70_001, 11), noise(99_991, 12), some(7, 13)],
            ),
            (
                "thrice",
                vec![noise(40_000, 14), vec![1; 9000], noise(40_000, 15), vec![2; 9001], noise(40_000, 16)],
            ),
            ("a little", vec![some(60_000, 17), noise(24_576, 18)]),
        ];
        for (what, pieces) in chunks {
            let src = pieces.concat();
            for (wrap, level) in
                [Wrap::Zlib, Wrap::Gzip].into_iter().flat_map(|wrap| [1, 5, 6, 9].map(|l| (wrap, l)))
            {
                let bound = fast::bound(wrap, src.len()).unwrap();
                let stream = encoded(fast::encode, bound, wrap, level, &src);
                for one in [pure::decode as Decode, fast::decode] {
                    assert!(
                        decoded(one, wrap, &stream, src.len()).unwrap() == src,
                        "{what} {wrap:?} {level}"
                    );
                }
                let other = encoded(pure::encode, pure::bound(wrap, src.len()).unwrap(), wrap, level, &src);
                assert!(
                    stream.len() <= other.len() + other.len() / 50,
                    "{what} {} {}",
                    stream.len(),
                    other.len()
                );
                let kept = pieces
                    .iter()
                    .max_by_key(|piece| piece.iter().filter(|&&byte| byte > 250).count())
                    .unwrap();
                let middle = &kept[kept.len() / 2..][..100];
                assert!(stream.windows(100).any(|bytes| bytes == middle), "{what}: noise is stored");
                let mut memory = vec![0; stream.len() - 1];
                let error = fast::encode(wrap, level, &src, &mut OutBuf::from_slice(&mut memory))
                    .unwrap_err()
                    .to_string();
                assert!(error.contains("do not fit"), "{error}");
            }
        }
    }

    /// Unordered data with few values, or with rare values, become codes without matches. Every decoder reads
    /// the stream, and it is no larger than with matches.
    #[test]
    fn literals_stand_between_other_things() {
        use super::super::incompressible::tests::noise;
        let bits = |len: usize, seed: u64, mask: u8| -> Vec<u8> {
            noise(len, seed).iter().map(|byte| byte & mask).collect()
        };
        let bell = |len: usize, seed: u64| -> Vec<u8> {
            let dice = noise(4 * len, seed);
            dice.as_chunks::<4>().0.iter().map(|four| four.map(|byte| byte / 8).iter().sum()).collect()
        };
        let chunks: [Vec<Vec<u8>>; 8] = [
            vec![bits(200_000, 1, 7)],
            vec![bits(1 << 18, 2, 0x98), vec![0; 70_000]],
            vec![vec![0; 70_001], bell(100_003, 3), noise(50_000, 4), bell(65_536 + 8192, 5)],
            vec![noise(30_000, 6), bits(90_001, 7, 15), noise(30_000, 8), bits(50_000, 9, 0x70), vec![3; 11]],
            vec![bell(65_536 * 3 + 8192, 10)],
            vec![bell(65_536 + 8192 + 1, 11), vec![9; 8191]],
            vec![vec![1; 100_000], bits(40_000, 12, 31), vec![2; 30_000], bell(40_000, 13), sample(5)],
            vec![bits(120_000, 14, 63), noise(70_000, 15), bits(120_000, 16, 63)],
        ];
        for (number, pieces) in chunks.iter().enumerate() {
            let src = pieces.concat();
            for (wrap, level) in [(Wrap::Zlib, 5), (Wrap::Gzip, 1)] {
                let stream = encoded(fast::encode, fast::bound(wrap, src.len()).unwrap(), wrap, level, &src);
                for one in [pure::decode as Decode, fast::decode] {
                    assert!(
                        decoded(one, wrap, &stream, src.len()).unwrap() == src,
                        "{number} {wrap:?} {level}"
                    );
                }
                let mut memory = vec![0; fast::bound(wrap, src.len()).unwrap()];
                let mut other = OutBuf::from_slice(&mut memory);
                assert!(fast::encode_if_it_fits(wrap, level, &src, &mut other).unwrap());
                let other = other.filled().len();
                assert!(stream.len() <= other + other / 50, "{number} {level} {} {other}", stream.len());
                for less in [1, 10_000] {
                    let mut memory = vec![0; stream.len() - less];
                    let error = fast::encode(wrap, level, &src, &mut OutBuf::from_slice(&mut memory))
                        .unwrap_err()
                        .to_string();
                    assert!(error.contains("do not fit"), "{error}");
                }
            }
        }
    }

    /// The backend must not decide whether a stream is damaged.
    #[test]
    fn both_backends_refuse_the_same_streams() {
        for wrap in [Wrap::Zlib, Wrap::Gzip] {
            let src = sample(300);
            let good = encoded(fast::encode, fast::bound(wrap, 300).unwrap(), wrap, 6, &src);
            let mut streams: Vec<Vec<u8>> = (0..good.len()).map(|end| good[..end].to_vec()).collect();
            for at in 0..good.len() {
                for bit in 0..8 {
                    let mut damaged = good.clone();
                    damaged[at] ^= 1 << bit;
                    streams.push(damaged);
                }
            }
            for tail in [&b"\0\0"[..], b"x", b"xyz", &good] {
                streams.push([&good, tail].concat());
            }
            for stream in streams {
                let a = decoded(fast::decode, wrap, &stream, 700);
                let b = decoded(pure::decode, wrap, &stream, 700);
                match (a, b) {
                    (Ok(a), Ok(b)) => assert_eq!(a, b, "{wrap:?} {stream:?}"),
                    (a, b) => assert_eq!(a.is_ok(), b.is_ok(), "{wrap:?} {stream:?}"),
                }
            }
        }
    }

    #[test]
    fn gzip_headers_may_have_all_their_parts() {
        let body = encoded(pure::encode, 100, Wrap::Gzip, 6, b"hello");
        for flags in 0..32u8 {
            let mut stream = vec![0x1f, 0x8b, 8, flags, 1, 2, 3, 4, 0, 3];
            if flags & 4 != 0 {
                stream.extend_from_slice(b"\x05\0extra");
            }
            if flags & 8 != 0 {
                stream.extend_from_slice(b"name\0");
            }
            if flags & 16 != 0 {
                stream.extend_from_slice(b"comment\0");
            }
            if flags & 2 != 0 {
                let mut crc = flate2::Crc::new();
                crc.update(&stream);
                stream.extend_from_slice(&crc.sum().to_le_bytes()[..2]);
            }
            stream.extend_from_slice(&body[10..]);
            for one in [fast::decode as Decode, pure::decode] {
                assert_eq!(decoded(one, Wrap::Gzip, &stream, 5).unwrap(), b"hello", "flags {flags}");
            }
            for end in 0..stream.len() {
                assert!(decoded(pure::decode, Wrap::Gzip, &stream[..end], 5).is_err());
            }
        }
    }
}
