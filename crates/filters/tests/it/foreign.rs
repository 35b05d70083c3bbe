//! Decodes streams made by numcodecs (vectors/make.py).

use serde_json::json;

use crate::{decode, encode, sample, v2};

macro_rules! vector {
    ($name:literal) => {
        include_bytes!(concat!("../vectors/", $name, ".bin")).as_slice()
    };
}

#[test]
#[cfg(feature = "deflate")]
fn zlib_and_gzip() {
    let data = sample(250);
    let gzip = v2(json!({"id": "gzip"}), 4);
    assert_eq!(decode(&*v2(json!({"id": "zlib"}), 4), vector!("zlib"), data.len()).unwrap(), data);
    assert_eq!(decode(&*gzip, vector!("gzip"), data.len()).unwrap(), data);
    assert_eq!(decode(&*gzip, vector!("gzip-members"), data.len()).unwrap(), data);
    assert!(decode(&*gzip, vector!("zlib"), data.len()).is_err());
}

#[test]
#[cfg(feature = "deflate")]
fn trailing_bytes_after_a_deflate_stream() {
    let data = sample(250);
    let (zlib, gzip) = (v2(json!({"id": "zlib"}), 4), v2(json!({"id": "gzip"}), 4));
    for tail in [&b"\0"[..], b"\0\0\0\0", b"garbage"] {
        let stream = [vector!("zlib"), tail].concat();
        assert_eq!(decode(&*zlib, &stream, data.len()).unwrap(), data, "zlib and {tail:?}");
        let stream = [vector!("gzip"), tail].concat();
        assert_eq!(
            decode(&*gzip, &stream, data.len()).is_ok(),
            tail.iter().all(|&b| b == 0),
            "gzip and {tail:?}"
        );
    }
    // A second member exceeds the declared size, so it is an error.
    let twice = [vector!("gzip"), vector!("gzip")].concat();
    assert!(decode(&*gzip, &twice, data.len()).unwrap_err().to_string().contains("more than"));
    assert_eq!(decode(&*gzip, &twice, 2 * data.len()).unwrap(), [&data[..], &data].concat());
}

#[test]
#[cfg(feature = "zstd")]
fn zstd() {
    let data = sample(250);
    let zstd = v2(json!({"id": "zstd"}), 4);
    for stream in [vector!("zstd"), vector!("zstd-checksum"), vector!("zstd-frames")] {
        assert_eq!(decode(&*zstd, stream, data.len()).unwrap(), data);
        assert_eq!(decode(&*zstd, stream, data.len() + 5).unwrap(), data);
        assert!(decode(&*zstd, stream, data.len() - 1).is_err());
    }
    for tail in [&b"\0"[..], b"\0\0\0\0\0", b"\x1e\xb5\x2f\xfd", b"\x53\x2a\x4d\x18\x09\0\0\0short"] {
        assert!(decode(&*zstd, &[vector!("zstd"), tail].concat(), data.len() + 99).is_err(), "{tail:?}");
    }
    // A frame without content size: magic, no flags, a window, one raw last block.
    let frame = b"\x28\xb5\x2f\xfd\x00\x00\x29\x00\x00hello";
    assert_eq!(decode(&*zstd, frame, 5).unwrap(), b"hello");
    assert_eq!(decode(&*zstd, &[&frame[..], frame].concat(), 10).unwrap(), b"hellohello");
    assert!(decode(&*zstd, frame, 4).is_err());
    // Input without frames of data decodes to no bytes. Input without any frame is damage.
    assert_eq!(decode(&*zstd, b"\x53\x2a\x4d\x18\x02\0\0\0ab", 9).unwrap(), b"");
    assert!(decode(&*zstd, b"", 0).is_err());
}

#[test]
#[cfg(feature = "shuffle")]
fn shuffle() {
    let data = sample(250);
    for (size, stream) in [
        (2, vector!("shuffle-2")),
        (4, vector!("shuffle-4")),
        (8, vector!("shuffle-8")),
        (10, vector!("shuffle-10")),
    ] {
        // The size in the description, or that of the element if it is 0.
        for filter in
            [v2(json!({"id": "shuffle", "elementsize": size}), 3), v2(json!({"id": "shuffle"}), size)]
        {
            assert_eq!(encode(&*filter, &data).unwrap(), stream, "{size}");
            assert_eq!(decode(&*filter, stream, data.len()).unwrap(), data, "{size}");
        }
    }
}

#[test]
#[cfg(feature = "fletcher32")]
fn fletcher32() {
    let data = sample(250);
    let filter = v2(json!({"id": "fletcher32"}), 4);
    for (data, stream) in [(&data[..], vector!("fletcher32")), (&data[..999], vector!("fletcher32-odd"))] {
        assert_eq!(encode(&*filter, data).unwrap(), stream);
        assert_eq!(decode(&*filter, stream, data.len()).unwrap(), data);
        let mut damaged = stream.to_vec();
        damaged[17] ^= 4;
        let error = decode(&*filter, &damaged, data.len()).unwrap_err();
        assert_eq!(error.kind(), nczarr_model::ErrorKind::Filter);
        assert!(error.to_string().contains("expected checksum 0x"), "{error}");
    }
}

#[test]
#[cfg(feature = "bzip2")]
fn bzip2() {
    let data = sample(250);
    let bz2 = v2(json!({"id": "bz2"}), 4);
    let (one, two) = (vector!("bz2"), vector!("bz2-streams"));
    for stream in [one, two] {
        assert_eq!(decode(&*bz2, stream, data.len()).unwrap(), data);
        assert_eq!(decode(&*bz2, stream, data.len() + 5).unwrap(), data);
        assert!(
            decode(&*bz2, stream, data.len() - 1).unwrap_err().to_string().contains("longer than declared")
        );
        for tail in [&b"\0\0\0"[..], b"BZ", b"BZh0", b"garbage"] {
            assert_eq!(decode(&*bz2, &[stream, tail].concat(), data.len()).unwrap(), data, "{tail:?}");
        }
        // A second stream must not be truncated, nor contain more than declared.
        for tail in [&b"BZh9"[..], &one[..one.len() - 1], one] {
            assert!(decode(&*bz2, &[stream, tail].concat(), data.len()).is_err(), "{tail:?}");
        }
    }
    assert!(decode(&*bz2, b"", 0).unwrap_err().to_string().contains("cut short"));
}

#[test]
#[cfg(feature = "lz4")]
fn lz4() {
    let data = sample(250);
    let lz4 = v2(json!({"id": "lz4"}), 4);
    assert_eq!(decode(&*lz4, vector!("lz4"), data.len()).unwrap(), data);
    assert_eq!(decode(&*lz4, vector!("lz4"), data.len() + 5).unwrap(), data);
    assert_eq!(decode(&*lz4, vector!("lz4-noise"), 300).unwrap().len(), 300);
    assert_eq!(encode(&*lz4, &data).unwrap(), vector!("lz4"));
    let error = decode(&*lz4, vector!("lz4"), data.len() - 1).unwrap_err().to_string();
    assert!(error.contains("holds 1000 bytes, more than the 999"), "{error}");
    // Bytes behind the block, and a wrong size.
    assert!(decode(&*lz4, &[vector!("lz4"), b"\0"].concat(), data.len()).is_err());
    for size in [0u32, 999, 1001, 1 << 31, u32::MAX] {
        let mut lying = vector!("lz4").to_vec();
        lying[..4].copy_from_slice(&size.to_le_bytes());
        assert!(decode(&*lz4, &lying, 2000).is_err(), "{size}");
    }
}

#[cfg(feature = "lzma")]
mod lzma {
    use super::*;

    const LZMA1: u64 = 0x4000_0000_0000_0001;

    #[test]
    fn streams_of_every_form() {
        let data = sample(250);
        let (xz, alone) = (json!({"id": "lzma"}), json!({"id": "lzma", "format": 2.0}));
        let gdal = json!({"id": "lzma", "preset": 6, "delta": 1});
        let raw =
            json!({"id": "lzma", "format": 3, "filters": [{"id": 3, "dist": 4}, {"id": 33, "preset": 1}]});
        let raw1 =
            json!({"id": "lzma", "format": 3, "filters": [{"id": LZMA1, "preset": 1, "lc": 2, "pb": 1}]});
        for (codec, stream) in [
            (&xz, vector!("lzma-xz")),
            (&xz, vector!("lzma-xz-nocheck")),
            (&xz, vector!("lzma-xz-crc32")),
            (&xz, vector!("lzma-xz-sha256")),
            (&xz, vector!("lzma-xz-delta")),
            (&gdal, vector!("lzma-xz-delta")),
            (&gdal, vector!("lzma-xz")),
            (&xz, vector!("lzma-xz-x86")),
            (&xz, vector!("lzma-xz-streams")),
            (&alone, vector!("lzma-alone")),
            (&alone, vector!("lzma-alone-streams")),
            (&raw, vector!("lzma-raw")),
            (&raw1, vector!("lzma-raw-lzma1")),
        ] {
            let filter = v2(codec.clone(), 4);
            for capacity in [data.len(), data.len() + 5, 100_000] {
                assert_eq!(decode(&*filter, stream, capacity).unwrap(), data, "{codec}");
            }
            let error = decode(&*filter, stream, data.len() - 1).unwrap_err().to_string();
            assert!(error.contains("longer than declared"), "{codec}: {error}");
            assert!(decode(&*filter, &stream[..stream.len() - 1], data.len()).is_err(), "{codec}");
            // A second stream exceeds the declared size.
            assert!(decode(&*filter, &[stream, stream].concat(), data.len()).is_err(), "{codec}");
            let twice = decode(&*filter, &[stream, stream].concat(), 2 * data.len()).unwrap();
            assert_eq!(twice, [&data[..], &data].concat(), "{codec}");
        }
        for (codec, stream) in [
            (&xz, vector!("lzma-alone")),
            (&alone, vector!("lzma-xz")),
            (&raw, vector!("lzma-xz")),
            (&xz, b""),
        ] {
            assert!(decode(&*v2(codec.clone(), 4), stream, data.len()).is_err(), "{codec}");
        }
    }

    #[test]
    fn trailing_bytes_after_an_lzma_stream() {
        let data = sample(250);
        let xz = v2(json!({"id": "lzma"}), 4);
        for tail in [&b"\0"[..], b"\0\0\0\0", b"garbage", b"\xfd7z"] {
            let stream = [vector!("lzma-xz"), tail].concat();
            assert_eq!(decode(&*xz, &stream, data.len()).unwrap(), data, "{tail:?}");
        }
        for tail in [&b"\xfd7zXZ\0"[..], b"\0\0\0\0\xfd7zXZ\0garbage"] {
            assert!(decode(&*xz, &[vector!("lzma-xz"), tail].concat(), data.len()).is_err(), "{tail:?}");
        }
        let alone = v2(json!({"id": "lzma", "format": 2}), 4);
        assert!(decode(&*alone, &[vector!("lzma-alone"), b"garbage"].concat(), data.len()).is_err());
    }

    /// Sizes in headers must not cause allocations.
    #[test]
    fn headers_cannot_demand_memory() {
        let data = sample(250);
        let alone = v2(json!({"id": "lzma", "format": 2}), 4);
        let mut stream = vector!("lzma-alone").to_vec();
        for dict in [0, 4096, 1 << 30, u32::MAX] {
            stream[1..5].copy_from_slice(&u32::to_le_bytes(dict));
            assert_eq!(decode(&*alone, &stream, data.len()).unwrap(), data, "{dict}");
        }
        stream[5..13].copy_from_slice(&(1u64 << 40).to_le_bytes());
        let error = decode(&*alone, &stream, data.len()).unwrap_err().to_string();
        assert!(error.contains("holds 1099511627776 bytes, more than the 1000"), "{error}");

        let dict = json!({"id": "lzma", "format": 3, "filters": [{"id": 33, "dict_size": u32::MAX}]});
        let raw = v2(dict, 4);
        let small = v2(json!({"id": "lzma", "format": 3, "filters": [{"id": 33, "preset": 0}]}), 4);
        let stream = encode(&*small, &data).unwrap();
        assert_eq!(decode(&*raw, &stream, data.len()).unwrap(), data);

        // The block header: its size, one filter, LZMA2, one byte for the dictionary, padding, CRC-32.
        let mut stream = vector!("lzma-xz").to_vec();
        assert_eq!(stream[12..20], [2, 0, 0x21, 1, 0x16, 0, 0, 0]);
        stream[16] = 40;
        let crc = flate2::Crc::new();
        let crc = {
            let mut crc = crc;
            crc.update(&stream[12..20]);
            crc.sum()
        };
        stream[20..24].copy_from_slice(&crc.to_le_bytes());
        let error = decode(&*v2(json!({"id": "lzma"}), 4), &stream, data.len()).unwrap_err().to_string();
        assert!(error.contains("more than 128 MiB of memory"), "{error}");
    }
}

#[test]
#[cfg(all(feature = "crc32", feature = "crc32c", feature = "adler32"))]
fn checksums() {
    let data = sample(250);
    for (id, start, end, default) in [
        ("crc32", vector!("crc32-start"), vector!("crc32-end"), "start"),
        ("adler32", vector!("adler32-start"), vector!("adler32-end"), "start"),
        ("crc32c", vector!("crc32c-start"), vector!("crc32c-end"), "end"),
    ] {
        let silent = v2(json!({"id": id}), 4);
        for (place, stream) in [("start", start), ("end", end)] {
            let filter = v2(json!({"id": id, "location": place}), 4);
            assert_eq!(encode(&*filter, &data).unwrap(), stream, "{id} {place}");
            assert_eq!(decode(&*filter, stream, data.len()).unwrap(), data, "{id} {place}");
            assert_eq!(decode(&*silent, stream, data.len()).is_ok(), place == default, "{id} {place}");
        }
        assert_eq!(encode(&*silent, &data).unwrap(), if default == "start" { start } else { end }, "{id}");
        for short in [0, 3] {
            assert!(
                decode(&*silent, &end[..short], 0).unwrap_err().to_string().contains("at least the 4 bytes")
            );
        }
        let mut damaged = end.to_vec();
        damaged[17] ^= 4;
        let error = decode(&*v2(json!({"id": id, "location": "end"}), 4), &damaged, data.len()).unwrap_err();
        assert!(error.to_string().contains("expected checksum 0x"), "{error}");
    }
}

#[test]
#[cfg(feature = "jenkins-lookup3")]
fn jenkins() {
    let data = sample(250);
    let prefix = json!({"id": "jenkins_lookup3", "initval": 0xdead_beef_u32, "prefix": b"before"});
    for (codec, data, stream) in [
        (json!({"id": "jenkins_lookup3", "initval": 0, "prefix": null}), &data[..999], vector!("jenkins")),
        (prefix, &data, vector!("jenkins-prefix")),
    ] {
        let filter = v2(codec, 4);
        assert_eq!(encode(&*filter, data).unwrap(), stream);
        assert_eq!(decode(&*filter, stream, data.len()).unwrap(), data);
    }
}

#[cfg(feature = "blosc")]
mod blosc {
    use super::*;

    /// Name, element size, stream.
    macro_rules! frames {
        ($($name:literal),* $(,)?) => {
            [$(($name, vector!($name))),*]
        };
    }

    const FRAMES: &[(&str, &[u8])] = &frames![
        "blosc-blosclz-0-4",
        "blosc-blosclz-1-1",
        "blosc-blosclz-1-4",
        "blosc-blosclz-1-8",
        "blosc-blosclz-2-1",
        "blosc-blosclz-2-4",
        "blosc-blosclz-2-8",
        "blosc-lz4-0-4",
        "blosc-lz4-1-1",
        "blosc-lz4-1-4",
        "blosc-lz4-1-8",
        "blosc-lz4-2-1",
        "blosc-lz4-2-4",
        "blosc-lz4-2-8",
        "blosc-lz4hc-0-4",
        "blosc-lz4hc-1-1",
        "blosc-lz4hc-1-4",
        "blosc-lz4hc-1-8",
        "blosc-lz4hc-2-1",
        "blosc-lz4hc-2-4",
        "blosc-lz4hc-2-8",
        "blosc-zlib-0-4",
        "blosc-zlib-1-1",
        "blosc-zlib-1-4",
        "blosc-zlib-1-8",
        "blosc-zlib-2-1",
        "blosc-zlib-2-4",
        "blosc-zlib-2-8",
        "blosc-zstd-0-4",
        "blosc-zstd-1-1",
        "blosc-zstd-1-4",
        "blosc-zstd-1-8",
        "blosc-zstd-2-1",
        "blosc-zstd-2-4",
        "blosc-zstd-2-8",
        "blosc-auto",
    ];

    #[test]
    fn frames_of_every_kind() {
        let all = sample(20_001);
        // The description must not matter.
        let filter = v2(json!({"id": "blosc", "cname": "zlib", "shuffle": 0}), 2);
        for (name, frame) in FRAMES {
            let len = if name.ends_with('8') { all.len() / 8 * 8 } else { all.len() };
            assert_eq!(decode(&*filter, frame, len).unwrap(), all[..len], "{name}");
            assert_eq!(decode(&*filter, frame, len + 7).unwrap(), all[..len], "{name}");
            let error = decode(&*filter, frame, len - 1).unwrap_err().to_string();
            assert!(error.contains(&format!("{len} bytes, more than the {}", len - 1)), "{error}");
            let longer = [frame, &b"beyond the frame"[..]].concat();
            assert_eq!(decode(&*filter, &longer, len).unwrap(), all[..len], "{name}");
        }
        assert_eq!(decode(&*filter, vector!("blosc-copy"), 200).unwrap(), all[..200]);
        assert_eq!(decode(&*filter, vector!("blosc-noise"), 300).unwrap().len(), 300);
        assert_eq!(decode(&*filter, vector!("blosc-empty"), 0).unwrap(), b"");
    }

    #[test]
    fn parts_of_frames_are_parts_of_the_whole() {
        let all = sample(20_001);
        let filter = v2(json!({"id": "blosc"}), 4);
        let wanted = [
            0..4,
            0..0,
            10..5000,
            8191..8193,
            65_535..65_537,
            0..70_000,
            80_000..80_000,
            79_990..80_000,
            4..8,
        ];
        let expected: Vec<u8> = wanted.iter().flat_map(|range| all[range.clone()].iter().copied()).collect();
        let mut several = 0;
        for (name, frame) in FRAMES {
            let len = if name.ends_with('8') { all.len() / 8 * 8 } else { all.len() };
            let mut memory = vec![0; expected.len()];
            let mut out = nczarr_codec::OutBuf::from_slice(&mut memory);
            match filter.decode_ranges(frame, len, &wanted, &mut out) {
                Some(outcome) => {
                    outcome.unwrap();
                    assert_eq!(out.filled(), expected, "{name}");
                    several += 1;
                }
                None => assert_eq!(*name, "blosc-auto"),
            }
            for (decoded, wrong) in [(len + 1, 0..1), (len, len..len + 1), (len, 0..usize::MAX)] {
                let mut out = nczarr_codec::OutBuf::from_slice(&mut memory);
                let outcome = filter.decode_ranges(frame, decoded, std::slice::from_ref(&wrong), &mut out);
                assert!(outcome.is_none() || outcome.unwrap().is_err(), "{name} {decoded} {wrong:?}");
            }
        }
        assert_eq!(several, FRAMES.len() - 1, "frames of several blocks");
    }

    #[test]
    fn units_of_frames_are_their_blocks() {
        let all = sample(20_001);
        let filter = v2(json!({"id": "blosc"}), 4);
        for (name, frame) in FRAMES {
            let len = if name.ends_with('8') { all.len() / 8 * 8 } else { all.len() };
            assert_eq!(filter.decode_unit(frame, len + 1), None, "{name}: of another length");
            let Some(unit) = filter.decode_unit(frame, len) else {
                assert_eq!(*name, "blosc-auto", "one block");
                continue;
            };
            let written = u32::from_le_bytes(frame[8..12].try_into().unwrap()) as usize;
            assert_eq!(unit, written, "{name}");
            for start in (0..len).step_by(unit) {
                let range = start..len.min(start + unit);
                let mut memory = vec![0; range.len()];
                let mut out = nczarr_codec::OutBuf::from_slice(&mut memory);
                filter.decode_ranges(frame, len, std::slice::from_ref(&range), &mut out).unwrap().unwrap();
                assert_eq!(out.filled(), &all[range.clone()], "{name} {range:?}");
            }
        }
        assert_eq!(filter.decode_unit(vector!("blosc-copy"), 200), Some(4), "a copy has elements");
    }

    #[test]
    #[cfg(not(feature = "blosc-snappy"))]
    fn a_snappy_frame_error_names_the_missing_feature() {
        // The lz4 frame with another compressor in its flags.
        let mut frame = vector!("blosc-lz4-1-4").to_vec();
        frame[2] = frame[2] & 0x1f | 2 << 5;
        let filter = v2(json!({"id": "blosc", "cname": "snappy"}), 4);
        for error in
            [decode(&*filter, &frame, 80_004).unwrap_err(), encode(&*filter, &sample(99)).unwrap_err()]
        {
            assert_eq!(error.kind(), nczarr_model::ErrorKind::NoFilter);
            assert!(error.to_string().contains("blosc-snappy"), "{error}");
        }
    }
}

/// The bytes of `kinds` in vectors/make_szip.py.
#[cfg(feature = "szip")]
fn szip_data(kind: u32, size: u64) -> Vec<u8> {
    let byte = |i: u64| match kind {
        0 => 0,
        1 => i / 7 % 256,
        2 => (i * i * 2_654_435_761 % (1 << 32)) >> 24,
        3 if i.is_multiple_of(97) => i % 256,
        3 => 0,
        _ => i % 8 / 5,
    };
    (0..size).map(|i| byte(i) as u8).collect()
}

#[test]
#[cfg(feature = "szip")]
fn szip_of_libaec() {
    use nczarr_codec::{ChunkInfo, ItemType};

    let mut vectors = vector!("szip");
    let mut cases = 0;
    while let Some((head, rest)) = vectors.split_first_chunk::<28>() {
        let [mask, block, bits, line, size, kind, coded] =
            std::array::from_fn(|at| u32::from_le_bytes(head.as_chunks::<4>().0[at]));
        let (coded, rest) = rest.split_at(coded as usize);
        (vectors, cases) = (rest, cases + 1);
        let item_size = bits as usize / 8;
        let data = szip_data(kind, size.into());
        let mut filter = crate::class("szip").parse_params(&[mask & 36, block]).unwrap();
        filter
            .bind(
                &ChunkInfo::new(ItemType::bytes(item_size), data.len() / item_size)
                    .chunk_bytes(data.len())
                    .row(line as usize)
                    .array_row(Some(line as usize))
                    .big_endian(mask & 16 != 0),
            )
            .unwrap();
        assert_eq!(*filter.working_params(), [mask, block, bits, line]);
        let stream = [&size.to_le_bytes(), coded].concat();
        let what = format!("{filter:?}, {size} bytes of kind {kind}");
        let found = decode(&*filter, &stream, data.len()).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(found == data, "{what}");
        // Of several codes of equal length any may be chosen.
        assert_eq!(encode(&*filter, &data).unwrap().len(), stream.len(), "{what}");
    }
    assert_eq!((cases, vectors.len()), (250, 0));
}
