//! Compares this decoder with libzstd on the same frames.

use std::mem::MaybeUninit;

use proptest::prelude::*;
use zstd_safe::{CCtx, CParameter, DCtx};

use super::*;

/// Bytes behind the output that must not change.
const BEYOND: usize = 64;
const UNTOUCHED: u8 = 0xa5;

fn decoders() -> Vec<SequenceDecoder> {
    let mut plain = SequenceDecoder::new();
    plain.bmi = false;
    vec![plain, SequenceDecoder::new()]
}

/// Decodes a frame into `room` bytes.
fn ours(decoder: &mut SequenceDecoder, frame: &[u8], room: usize) -> Option<Vec<u8>> {
    let mut memory = vec![MaybeUninit::new(UNTOUCHED); room + BEYOND];
    let outcome = decoder.frame(frame, room, &mut memory[..room], false);
    // SAFETY: all of it was initialised when it was made.
    let mut memory: Vec<u8> = memory.into_iter().map(|byte| unsafe { byte.assume_init() }).collect();
    assert!(memory[room..].iter().all(|&byte| byte == UNTOUCHED), "written beyond the room");
    memory.truncate(room);
    outcome.map(|made| {
        assert_eq!(made, room);
        memory
    })
}

/// Decodes it with libzstd.
fn theirs(frame: &[u8], room: usize) -> Option<Vec<u8>> {
    let mut memory = vec![0; room];
    let made = DCtx::create().decompress(&mut memory[..], frame).ok()?;
    (made == room).then_some(memory)
}

fn packed(data: &[u8], parameters: &[CParameter]) -> Vec<u8> {
    let mut context = CCtx::create();
    for parameter in parameters {
        context.set_parameter(*parameter).unwrap();
    }
    let mut frame = vec![0; zstd_safe::compress_bound(data.len())];
    let len = context.compress2(&mut frame[..], data).unwrap();
    frame.truncate(len);
    frame
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// Elements of `width` bytes that repeat soon, later, or from far away, with runs, text and noise between.
fn elements(dice: &mut Dice, width: usize, len: usize) -> Vec<u8> {
    let mut data: Vec<u8> = (0..width * 40).map(|_| dice.below(256) as u8).collect();
    let letters = 2 + dice.below(60);
    while data.len() < len {
        let times = match dice.below(60) {
            0 => dice.below(700),
            1 => dice.below(70_000),
            2..5 => 1 + dice.below(40),
            _ => width * (1 + dice.below(3)),
        };
        match dice.below(12) {
            0 => data.extend((0..times).map(|_| dice.below(256) as u8)),
            1 => data.extend((0..times).map(|_| (dice.below(letters) * dice.below(letters) / letters) as u8)),
            kind => {
                let again = match kind {
                    2 => 1 + dice.below(20),
                    3 => 1 + dice.below(data.len()),
                    4..7 => width * (1 + dice.below(30)),
                    _ => width * (1 + dice.below(4000)),
                };
                let from = data.len() - again.min(data.len());
                (from..from + times).for_each(|at| data.push(data[at]));
                if dice.below(3) > 0 {
                    data.push(dice.below(256) as u8);
                }
            }
        }
    }
    data.truncate(len);
    data
}

/// Compression settings that use different features.
fn ways(dice: &mut Dice) -> Vec<CParameter> {
    let levels = [-50, -5, -1, 1, 2, 3, 4, 5, 7, 9, 12, 16, 19];
    let mut ways = vec![CParameter::CompressionLevel(levels[dice.below(levels.len())])];
    if dice.below(3) == 0 {
        ways.push(CParameter::WindowLog(10 + dice.below(12) as u32));
    }
    if dice.below(3) == 0 {
        ways.push(CParameter::MinMatch(3 + dice.below(5) as u32));
    }
    if dice.below(4) == 0 {
        ways.push(CParameter::TargetCBlockSize(1340 + dice.below(30_000) as u32));
    }
    ways
}

#[test]
fn frames_of_libzstd_decode_as_libzstd_decodes_them() {
    let mut decoders = decoders();
    let mut dice = Dice(7);
    for turn in 0..400 {
        let len = match dice.below(4) {
            // Shorter ones have no room for a step.
            0 => 64 + dice.below(300),
            1 => 64 + dice.below(5000),
            2 => 64 + dice.below(100_000),
            _ => 64 + dice.below(700_000),
        };
        let width = [1, 2, 3, 4, 8][dice.below(5)];
        let data = elements(&mut dice, width, len);
        let ways = ways(&mut dice);
        let frame = packed(&data, &ways);
        for decoder in &mut decoders {
            let found = ours(decoder, &frame, len);
            assert!(found.is_some_and(|found| found == data), "{turn}: {len} {ways:?}");
            // Another size does not match the frame.
            assert!(ours(decoder, &frame, len + 1).is_none());
            assert!(ours(decoder, &frame, len - 1).is_none());
        }
    }
}

/// A partial decode yields the requested bytes and the rest of the last block. Later blocks are not examined.
#[test]
fn a_start_is_the_start_of_the_whole() {
    let mut dice = Dice(11);
    let len = 500_000;
    let data = elements(&mut dice, 4, len);
    let frame = packed(&data, &[CParameter::CompressionLevel(3)]);
    for decoder in &mut decoders() {
        for until in [1, 100, 131_071, 131_072, 131_073, 262_145, 499_999] {
            let mut memory = vec![MaybeUninit::new(UNTOUCHED); len];
            let made = decoder.frame(&frame, until, &mut memory, false).unwrap();
            assert!(made >= until && made < until + BLOCK, "{until}: {made}");
            // SAFETY: all of it was initialised when it was made.
            let found: Vec<u8> = memory.into_iter().map(|byte| unsafe { byte.assume_init() }).collect();
            // A copy may write slightly beyond.
            let beyond = &found[(made + BEYOND).min(len)..];
            assert!(found[..made] == data[..made] && beyond.iter().all(|&byte| byte == UNTOUCHED));
        }
    }
}

/// With any damage, no byte outside the output changes, and decoded data equal those of libzstd.
#[test]
fn damage_is_never_read_as_something_else() {
    let mut decoders = decoders();
    let mut dice = Dice(3);
    let (mut same, mut declined) = (0, 0);
    for _ in 0..150 {
        let len = 200 + dice.below(40_000);
        let width = [1, 2, 4, 8][dice.below(4)];
        let data = elements(&mut dice, width, len);
        let frame = packed(&data, &ways(&mut dice));
        for _ in 0..40 {
            let mut damaged = frame.clone();
            // Damage in the first bytes of a frame and its blocks has most effects.
            let near = if dice.below(2) == 0 { damaged.len() } else { damaged.len().min(200) };
            for _ in 0..1 + dice.below(3) {
                let at = dice.below(near);
                match dice.below(3) {
                    0 => damaged[at] ^= 1 << dice.below(8),
                    1 => damaged[at] = dice.below(256) as u8,
                    _ => damaged[at] = [0, 255, 1, 128][dice.below(4)],
                }
            }
            if dice.below(8) == 0 {
                damaged.truncate(dice.below(damaged.len()));
            }
            for decoder in &mut decoders {
                match ours(decoder, &damaged, len) {
                    None => declined += 1,
                    Some(found) => {
                        same += 1;
                        assert!(theirs(&damaged, len).is_some_and(|expected| expected == found), "{len}");
                    }
                }
            }
        }
    }
    assert!(same > 100 && declined > 100, "{same} {declined}");
}

proptest! {
    /// Bytes that begin like a frame.
    #[test]
    fn noise_is_no_frame(bytes in prop::collection::vec(any::<u8>(), 0..300), len in 0_usize..200) {
        let head = [0x28, 0xb5, 0x2f, 0xfd, 0x20, len as u8];
        let frame = [&head[..], &bytes].concat();
        for decoder in &mut decoders() {
            if let Some(found) = ours(decoder, &frame, len) {
                prop_assert_eq!(theirs(&frame, len), Some(found));
            }
        }
    }
}

#[test]
fn the_machine_that_tests_takes_the_fast_way() {
    let mut decoder = SequenceDecoder::new();
    let mut state = Dice(5);
    // Rounded values with a little noise.
    let floats = (0..200_000).flat_map(|i| {
        let value = 280.0 + 20.0 * (f64::from(i) * 1e-3).sin() + state.below(100) as f64 / 128.0;
        (((value * 128.0).round() / 128.0) as f32).to_le_bytes()
    });
    let floats: Vec<u8> = floats.collect();
    let read = |decoder: &mut SequenceDecoder, data: &[u8], ways: &[CParameter]| {
        let mut memory = vec![MaybeUninit::new(0); data.len()];
        decoder.decode(&packed(data, ways), data.len(), &mut memory).map(|_| {
            // SAFETY: all of it was initialised when it was made.
            let same = memory.iter().zip(data).all(|(found, byte)| unsafe { found.assume_init() } == *byte);
            assert!(same);
        })
    };
    let level = [CParameter::CompressionLevel(3)];
    assert_eq!(read(&mut decoder, &floats, &level).is_some(), decoder.bmi);
    // Frames with a checksum, one value, incompressible data, coded literals, or little data are left to
    // libzstd.
    let checked = [CParameter::CompressionLevel(3), CParameter::ChecksumFlag(true)];
    assert!(read(&mut decoder, &floats, &checked).is_none());
    let noise: Vec<u8> = (0..100_000).map(|_| state.below(256) as u8).collect();
    let coded: Vec<u8> = noise.iter().map(|byte| byte / 10).collect();
    for data in [&vec![7; 100_000], &noise, &coded, &floats[..SHORT - 1]] {
        assert!(read(&mut decoder, data, &level).is_none());
    }
    assert_eq!(decoder.decline, 0);
    // With many near repetitions libzstd is as fast, so some more frames are declined.
    let numbers = (0..100_000_u64).scan(0, |time, _| {
        *time += 1 + state.below(4) as u64;
        Some(time.to_le_bytes())
    });
    let numbers: Vec<u8> = numbers.flatten().collect();
    assert!(read(&mut decoder, &numbers, &level).is_none());
    if decoder.bmi {
        assert_eq!(decoder.decline, ALIKE);
        for _ in 0..ALIKE {
            assert!(read(&mut decoder, &floats, &level).is_none());
        }
        assert!(read(&mut decoder, &floats, &level).is_some());
    }
}
