//! Damaged streams cause no panic, and no output beyond the buffer or the declared size. A stream with a
//! checksum never gives wrong data.

use nczarr_codec::{Filter, OutBuf};
use serde_json::json;

use crate::round_trip::all_filters;
use crate::{decode, encode, noise, sample};

/// Whether the stream detects every change of a byte.
fn checked(filter: &dyn Filter) -> bool {
    match filter.info().name {
        "fletcher32" | "deflate" | "bzip2" | "crc32" | "crc32c" | "adler32" | "jenkins_lookup3" => true,
        "lzma" => {
            let codec = filter.to_json(nczarr_codec::ZarrFormat::V2);
            codec.get("delta").is_some() || codec["format"] == json!(1) && codec["check"] != json!(0)
        }
        "zstd" => filter.to_json(nczarr_codec::ZarrFormat::V2).get("checksum") == Some(&json!(true)),
        _ => false,
    }
}

/// Decodes whole and in parts. Wrong data fail the test only if a checksum should detect them.
fn attack(filter: &dyn Filter, stream: &[u8], data: &[u8], what: &str) {
    match decode(filter, stream, data.len()) {
        Ok(found) => {
            assert!(found.len() <= data.len());
            let noticed = found == data || found.len() < data.len();
            assert!(!checked(filter) || noticed, "{filter:?} {what} is not noticed");
        }
        Err(error) => assert_eq!(error.kind(), nczarr_model::ErrorKind::Filter, "{filter:?} {what}: {error}"),
    }
    let mut memory = [0xa5; 40];
    let (inside, guard) = memory.split_at_mut(30);
    let _ = filter.decode_ranges(stream, data.len(), &[10..20, 5..25], &mut OutBuf::from_slice(inside));
    assert!(guard.iter().all(|&byte| byte == 0xa5));
}

#[test]
fn every_truncation_and_every_changed_byte() {
    let data = sample(150);
    for filter in all_filters(4) {
        if filter.info().name == "shuffle" {
            continue;
        }
        let stream = encode(&*filter, &data).unwrap();
        for end in 0..stream.len() {
            // A truncated stream may be valid, but never of the declared length.
            let found = decode(&*filter, &stream[..end], data.len());
            // Szip pads scanlines, so its data are complete without the padding.
            let whole = |found: &Vec<u8>| filter.info().name == "szip" && *found == data;
            let fine = found.is_err() || found.is_ok_and(|found| found.len() < data.len() || whole(&found));
            assert!(fine, "{filter:?} cut at {end}");
            attack(&*filter, &stream[..end], &data, "cut");
        }
        let mut damaged = stream.clone();
        for at in 0..stream.len() {
            for change in [0x01, 0x80, 0xff] {
                damaged[at] ^= change;
                attack(&*filter, &damaged, &data, &format!("byte {at} ^ {change:#x}"));
                damaged[at] = stream[at];
            }
        }
    }
}

#[test]
fn several_blocks_with_changed_bytes() {
    let data = sample(20_000);
    for filter in all_filters(4).iter().filter(|filter| filter.info().name == "blosc").step_by(7) {
        let stream = encode(&**filter, &data).unwrap();
        let places = (0..30).chain((30..stream.len()).step_by(stream.len() / 40 + 1));
        let mut damaged = stream.clone();
        for at in places {
            for change in [0x01, 0xf0] {
                damaged[at] ^= change;
                attack(&**filter, &damaged, &data, &format!("byte {at} ^ {change:#x}"));
                damaged[at] = stream[at];
            }
        }
    }
}

#[test]
fn noise_is_no_stream() {
    for filter in all_filters(4) {
        if filter.info().name == "shuffle" {
            continue;
        }
        for len in [0, 1, 3, 4, 15, 16, 17, 100, 1000] {
            assert!(decode(&*filter, &noise(len), 5000).is_err(), "{filter:?} {len}");
        }
    }
}

#[test]
fn bombs_stop_at_the_capacity() {
    let zeros = vec![0; 1 << 20];
    for filter in all_filters(4).iter().step_by(3) {
        let stream = encode(&**filter, &zeros).unwrap();
        for capacity in [0, 1, 1000] {
            let error = decode(&**filter, &stream, capacity).unwrap_err();
            assert_eq!(error.kind(), nczarr_model::ErrorKind::Filter, "{filter:?}");
        }
    }
}

/// Sets every field of a blosc header to harmful values.
#[test]
#[cfg(feature = "blosc")]
fn wrong_blosc_headers_are_errors() {
    let data = sample(20_000);
    let filters = all_filters(4);
    for filter in filters.iter().filter(|filter| filter.info().name == "blosc").step_by(5) {
        let stream = encode(&**filter, &data).unwrap();
        let numbers = [
            0,
            1,
            2,
            3,
            5,
            15,
            16,
            17,
            127,
            1 << 16,
            79_999,
            80_001,
            1 << 30,
            (1 << 31) - 1,
            1 << 31,
            u32::MAX,
        ];
        // Decoded size, block size, frame size, and the first block positions.
        for field in [4, 8, 12, 16, 20, 24] {
            for number in numbers {
                let mut lying = stream.clone();
                lying[field..field + 4].copy_from_slice(&number.to_le_bytes());
                attack(&**filter, &lying, &data, &format!("{number} at byte {field}"));
                for typesize in [0, 1, 3, 5, 16, 17, 255] {
                    lying[3] = typesize;
                    attack(
                        &**filter,
                        &lying,
                        &data,
                        &format!("{number} at byte {field}, elements of {typesize}"),
                    );
                }
            }
        }
        for flags in 0..=255 {
            let mut lying = stream.clone();
            lying[2] = flags;
            if cfg!(feature = "blosc-snappy") || flags >> 5 != 2 {
                attack(&**filter, &lying, &data, &format!("flags {flags:#x}"));
            }
        }
    }
}

/// Wrong sizes, streams that are too long, and codes for too much data.
#[test]
#[cfg(feature = "szip")]
fn wrong_szip_sizes_are_errors() {
    let data = sample(1000);
    for filter in all_filters(4).iter().filter(|filter| filter.info().name == "szip") {
        let stream = encode(&**filter, &data).unwrap();
        // Within the last scanline a wrong size cannot be detected, but the result differs from the declared
        // size.
        for size in [0, 1, 1000, 3000, 4100, 1 << 20, u32::MAX] {
            let mut lying = stream.clone();
            lying[..4].copy_from_slice(&size.to_le_bytes());
            let error = decode(&**filter, &lying, 1 << 20).unwrap_err();
            assert_eq!(error.kind(), nczarr_model::ErrorKind::Filter, "{filter:?} {size}: {error}");
        }
        let longer = [&stream[..], &[0]].concat();
        assert!(
            decode(&**filter, &longer, data.len()).unwrap_err().to_string().contains("to end"),
            "{filter:?}"
        );
        // Short streams that code for very long scanlines or numbers.
        for byte in [0x08, 0x00, 0x10, 0xff] {
            let mut bomb = u32::MAX.to_le_bytes().to_vec();
            bomb.resize(2000, byte);
            assert!(decode(&**filter, &bomb, 1 << 20).is_err(), "{filter:?}");
            bomb[..4].copy_from_slice(&(1u32 << 20).to_le_bytes());
            attack(&**filter, &bomb, &vec![0; 1 << 20], "bomb");
        }
    }
}
