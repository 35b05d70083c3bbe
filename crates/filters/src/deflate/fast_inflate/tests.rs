//! Compares this decoder with libdeflate on the same streams.

use std::io::Write;
use std::mem::MaybeUninit;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use libdeflate_sys as sys;

use super::*;

/// Bytes behind the output that must not change.
const BEYOND: usize = 64;
const UNTOUCHED: u8 = 0xa5;

fn decoders() -> Vec<FastInflate> {
    let mut plain = FastInflate::new();
    plain.bmi = false;
    vec![plain, FastInflate::new()]
}

/// Decodes a whole stream into `room` bytes. Returns the bytes used, and the output.
fn ours(decoder: &mut FastInflate, src: &[u8], room: usize) -> Option<(usize, Vec<u8>)> {
    let mut memory = vec![MaybeUninit::new(UNTOUCHED); room + BEYOND];
    let outcome = decoder.stream(src, &mut memory[..room], false);
    // SAFETY: all of it was initialised when it was made.
    let memory: Vec<u8> = memory.into_iter().map(|byte| unsafe { byte.assume_init() }).collect();
    assert!(memory[room..].iter().all(|&byte| byte == UNTOUCHED), "written beyond the room");
    outcome.map(|(taken, made)| (taken, memory[..made].to_vec()))
}

/// Decodes it with libdeflate.
fn theirs(src: &[u8], room: usize) -> Option<(usize, Vec<u8>)> {
    let mut memory = vec![0_u8; room];
    let (mut taken, mut made) = (0, 0);
    // SAFETY: the lengths are those of the memory; the decompressor is freed once.
    let result = unsafe {
        let decompressor = sys::libdeflate_alloc_decompressor();
        let result = sys::libdeflate_deflate_decompress_ex(
            decompressor,
            src.as_ptr().cast(),
            src.len(),
            memory.as_mut_ptr().cast(),
            room,
            &raw mut taken,
            &raw mut made,
        );
        sys::libdeflate_free_decompressor(decompressor);
        result
    };
    memory.truncate(made);
    (result == sys::libdeflate_result_LIBDEFLATE_SUCCESS).then_some((taken, memory))
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

fn deflated(level: u32, data: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(level));
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// Elements of `width` bytes that repeat soon, later, or at the greatest distance, with runs and noise
/// between.
fn elements(dice: &mut Dice, width: usize, len: usize) -> Vec<u8> {
    let mut data: Vec<u8> = (0..width * 40).map(|_| dice.below(256) as u8).collect();
    while data.len() < len {
        let again = match dice.below(10) {
            0 => (32 << 10) - dice.below(3),
            1 => 1 + dice.below(20),
            2..5 => width * (1 + dice.below(30)),
            _ => width * (1 + dice.below(4000)),
        };
        let times = if dice.below(60) == 0 { dice.below(700) } else { width * (1 + dice.below(3)) };
        let from = data.len() - again.min(data.len());
        for place in from..from + times {
            data.push(data[place]);
        }
        if dice.below(4) == 0 {
            data.push(dice.below(256) as u8);
        }
    }
    data.truncate(len);
    data
}

#[test]
fn arrays_of_all_widths_and_levels() {
    let mut dice = Dice(1);
    for decoder in &mut decoders() {
        for width in [1, 2, 3, 4, 8, 12] {
            for level in [0, 1, 3, 5, 6, 9] {
                let len = 40_000 + dice.below(100_000);
                let data = elements(&mut dice, width, len);
                let stream = deflated(level, &data);
                let with_tail = [&stream[..], b"tail"].concat();
                for room in [len, len + 1, len + 1000] {
                    for src in [&stream, &with_tail] {
                        let (used, made) = ours(decoder, src, room).expect("a good stream");
                        assert_eq!(used, stream.len(), "width {width} level {level}");
                        assert!(made == data, "width {width} level {level}");
                    }
                }
                assert!(ours(decoder, &stream, len - 1).is_none(), "no room for the last byte");
            }
        }
    }
}

#[test]
fn every_distance_and_length() {
    for decoder in &mut decoders() {
        for distance in (1..70).chain([255, 256, 257, 32_767, 32_768]) {
            let mut dice = Dice(distance as u64);
            let mut data: Vec<u8> = (0..distance).map(|_| dice.below(4) as u8).collect();
            for length in (3..40).chain([66, 130, 257, 258, 259, 515]) {
                let from = data.len() - distance;
                for place in from..from + length {
                    data.push(data[place]);
                }
                data.push(4 + dice.below(3) as u8);
            }
            let stream = deflated(9, &data);
            let (used, made) = ours(decoder, &stream, data.len()).expect("a good stream");
            assert!(used == stream.len() && made == data, "distance {distance}");
        }
    }
}

/// Stored blocks, fixed codes and dynamic codes.
#[test]
fn blocks_of_all_kinds() {
    let mut dice = Dice(6);
    let mut decoders = decoders();
    for _ in 0..40 {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(6));
        let mut data = Vec::new();
        for _ in 0..8 {
            let len = [3, 60, 900, 20_000][dice.below(4)];
            let part = match dice.below(2) {
                0 => elements(&mut dice, 4, len),
                _ => (0..len).map(|_| dice.below(256) as u8).collect(),
            };
            encoder.write_all(&part).unwrap();
            encoder.flush().unwrap();
            data.extend_from_slice(&part);
        }
        let stream = encoder.finish().unwrap();
        for decoder in &mut decoders {
            let (used, made) = ours(decoder, &stream, data.len()).expect("a good stream");
            assert!(used == stream.len() && made == data);
            assert!(ours(decoder, &stream, data.len() - 1).is_none());
        }
    }
}

/// Symbols of very different frequency have codes of up to 15 bits.
#[test]
fn long_codes() {
    let mut dice = Dice(3);
    let mut data = Vec::new();
    for decoder in &mut decoders() {
        for shift in [1, 2] {
            while data.len() < 300_000 {
                let mut level = 0;
                while level < 25 && dice.below(1 << shift) == 0 {
                    level += 1;
                }
                let byte = (level * 10 + dice.below(2)) as u8;
                data.extend(std::iter::repeat_n(byte, 1 + dice.below(3) * 3));
            }
            for level in [1, 6, 9] {
                let stream = deflated(level, &data);
                let (used, made) = ours(decoder, &stream, data.len()).expect("a good stream");
                assert!(used == stream.len() && made == data);
            }
            data.clear();
        }
    }
}

/// A damaged stream never decodes to other data than in libdeflate.
#[test]
fn damaged_streams() {
    let mut dice = Dice(4);
    let (mut good, mut bad) = (0, 0);
    let rounds = std::env::var("NCZ_TEST_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
    for decoder in &mut decoders() {
        for round in 0..rounds {
            let len = 3000 + dice.below(3000);
            let data = elements(&mut dice, [2, 4, 8][round % 3], len);
            let stream = deflated([1, 5, 6, 9][round % 4], &data);
            let mut look = |src: &[u8], room: usize| match ours(decoder, src, room) {
                Some(outcome) => {
                    good += 1;
                    assert!(theirs(src, room).as_ref() == Some(&outcome), "{src:?}");
                }
                None => bad += 1,
            };
            for _ in 0..100 {
                let mut damaged = stream.clone();
                for _ in 0..=dice.below(3) {
                    // Damage in headers has more effects.
                    let end = if dice.below(2) == 0 { damaged.len() } else { damaged.len().min(100) };
                    damaged[dice.below(end)] ^= 1 << dice.below(8);
                }
                look(&damaged, data.len());
                look(&damaged, data.len() + 700);
            }
            for _ in 0..20 {
                look(&stream[..dice.below(stream.len())], data.len());
                look(&stream, dice.below(data.len()));
            }
        }
    }
    assert!(good > 100 && bad > 1000, "{good} were decoded, {bad} declined");
}

#[test]
fn the_fast_decoder_is_used_where_it_pays() {
    let mut dice = Dice(5);
    let mut decoder = FastInflate::new();
    let mut choice = |data: &[u8]| {
        let mut memory = vec![MaybeUninit::uninit(); data.len()];
        decoder.decode(&deflated(6, data), &mut memory).is_some()
    };
    let repeated = elements(&mut dice, 4, 100_000);
    assert_eq!(choice(&repeated), crate::bmi::has_bmi());
    assert!(!choice(&repeated[..20_000]), "too short");
    assert!(!choice(&[7; 100_000]), "long matches");
    let noise: Vec<u8> = (0..100_000).map(|_| dice.below(90) as u8).collect();
    assert!(!choice(&noise), "literals");
}

/// Literals with some short matches. They are worthwhile while branches are often mispredicted.
#[test]
fn literals_between_short_matches() {
    let mut dice = Dice(8);
    let mut decoder = FastInflate::new();
    for (between, worth) in [(4, true), (40, false)] {
        let mut data: Vec<u8> = (0..3000).map(|_| dice.below(90) as u8).collect();
        while data.len() < 200_000 {
            let literals = dice.below(between);
            data.extend((0..literals).map(|_| dice.below(90) as u8));
            let from = data.len() - 300 - dice.below(2000);
            data.extend_from_within(from..from + 4 + dice.below(3));
        }
        let stream = deflated(5, &data);
        let mut memory = vec![MaybeUninit::uninit(); data.len()];
        let outcome = decoder.decode(&stream, &mut memory);
        let expected = (worth && crate::bmi::has_bmi()).then_some((stream.len(), data.len()));
        assert_eq!(outcome, expected, "up to {between} literals between");
        let (used, made) = ours(&mut decoder, &stream, data.len()).expect("a good stream");
        assert!(used == stream.len() && made == data, "up to {between} literals between");
    }
}

/// The last block ends where the decoder stops, and has the mark.
#[test]
#[cfg(feature = "fast-deflate")]
fn seams_of_all_levels() {
    let mut dice = Dice(7);
    let mut decoder = FastInflate::new();
    for width in [1, 4, 8] {
        for level in [0, 1, 3, 6, 9] {
            let len = 1 + dice.below(200_000);
            let stream = deflated(level, &elements(&mut dice, width, len));
            let seam = decoder.last_block(&[&stream[..], b"tail"].concat()).expect("a good stream");
            assert_eq!(seam.end.div_ceil(8), stream.len(), "width {width} level {level}");
            assert!(seam.last + 3 < seam.end && stream[seam.last / 8] >> (seam.last % 8) & 1 == 1);
            // Without its mark the block is not the last. The stream goes on, and there is nothing.
            let mut open = stream.clone();
            open[seam.last / 8] &= !(1 << (seam.last % 8));
            assert_eq!(decoder.last_block(&open), None);
            assert_eq!(decoder.last_block(&stream[..stream.len() - 1]), None);
        }
    }
}
