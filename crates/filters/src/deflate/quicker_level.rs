//! Chooses a faster level where it compresses as well: level 4 takes the first match, level 5 also looks for
//! a longer match at the next byte.
//!
//! Applies to chunks whose numbers share most bytes with the number before. Samples are compressed at both
//! levels. Other chunks cost nothing, because samples are taken only if bytes repeat at a short distance. A
//! wrong guess makes a chunk slightly larger.

use super::incompressible::equal_bytes;

/// The lazy level, which looks for longer matches.
const LAZY: u32 = 5;
/// The greedy level.
const GREEDY: u32 = 4;
/// Shorter chunks have samples that are too short or too costly.
const SHORTEST: usize = 1 << 20;
/// Fraction of the chunk in each sample (one in this many).
const PART: usize = 128;
/// The greedy result may be larger by this fraction (one in this many).
const MORE: usize = 256;
/// Sizes in bytes of one or several numbers.
const DISTANCES: [usize; 7] = [4, 6, 8, 12, 16, 24, 32];
const FARTHEST: usize = 32;
/// Number of places examined, and of words of eight bytes at each.
const PLACES: usize = 8;
const WORDS: usize = 64;
/// Positions in a word at which three bytes begin.
const BEGIN: usize = 6;
/// Least and most positions, of this many hundred, where three bytes repeat. With more, matches are long and
/// any level is fast.
const HUNDRED: usize = 100;
const SOME: usize = 40;
const MANY: usize = 85;

/// Returns the level for a chunk. `len` returns the compressed size of a sample at a level, or `None` if it
/// fails.
pub(super) fn level(asked: u32, src: &[u8], mut len: impl FnMut(u32, &[u8]) -> Option<usize>) -> u32 {
    if asked != LAZY || src.len() < SHORTEST || !may_be(src) {
        return asked;
    }
    let part = src.len() / PART;
    let (mut greedy, mut lazy) = (0, 0);
    for start in [src.len() / 4, src.len() / 4 * 3] {
        let sample = &src[start..start + part];
        let (Some(one), Some(other)) = (len(GREEDY, sample), len(LAZY, sample)) else { return asked };
        (greedy, lazy) = (greedy + one, lazy + other);
        // The second sample cannot make up for it.
        if greedy > lazy + lazy / 64 {
            return asked;
        }
    }
    if greedy <= lazy + lazy / MORE { GREEDY } else { asked }
}

/// Whether sampling is worthwhile.
fn may_be(src: &[u8]) -> bool {
    let step = (src.len() - FARTHEST - 8 * WORDS) / (PLACES - 1);
    let most = PLACES * WORDS * BEGIN;
    let found = DISTANCES.map(|distance| {
        (0..PLACES).map(|place| repeated_triples(&src[place * step..], distance)).sum::<usize>()
    });
    let best = found.into_iter().max().unwrap_or(0) * HUNDRED;
    (SOME * most..=MANY * most).contains(&best)
}

/// Counts the positions of the first words where three bytes equal those at `distance` before.
fn repeated_triples(src: &[u8], distance: usize) -> usize {
    let (before, here) = (src[FARTHEST - distance..].as_chunks().0, src[FARTHEST..].as_chunks().0);
    let words = before.iter().zip(here).take(WORDS);
    let found = words.map(|(a, b)| {
        let alike = equal_bytes(*a, *b);
        (alike & alike >> 8 & alike >> 16).count_ones() as usize
    });
    found.sum()
}

#[cfg(test)]
mod tests {
    use nczarr_codec::OutBuf;

    use super::super::incompressible::tests::noise;
    use super::super::{Wrap, fast, pure};
    use super::*;

    /// Returns the output of the filter, and of libdeflate at the two levels.
    fn encoded(wrap: Wrap, src: &[u8]) -> [Vec<u8>; 3] {
        let mut memory = vec![0; fast::bound(wrap, src.len()).expect("a bound")];
        let mut out = OutBuf::from_slice(&mut memory);
        fast::encode(wrap, LAZY, src, &mut out).expect("there is room");
        let ours = out.filled().to_vec();
        let [greedy, lazy] = [GREEDY, LAZY].map(|level| {
            let mut out = OutBuf::from_slice(&mut memory);
            assert!(fast::encode_if_it_fits(wrap, level, src, &mut out).expect("a compressor"));
            out.filled().to_vec()
        });
        [ours, greedy, lazy]
    }

    fn assert_read(stream: &[u8], wrap: Wrap, src: &[u8]) {
        for decode in [pure::decode, fast::decode] {
            let mut memory = vec![0; src.len()];
            let mut out = OutBuf::from_slice(&mut memory);
            assert_eq!(decode(wrap, stream, &mut out).expect("a sound stream"), stream.len());
            assert!(out.filled() == src);
        }
    }

    /// Waves with noise, as doubles that are multiples of one part in `parts`.
    fn doubles(len: usize, parts: f64) -> Vec<u8> {
        let some = noise(4 * len, 3);
        let some =
            some.as_chunks::<4>().0.iter().map(|four| four.map(f64::from).iter().sum::<f64>() / 512.0 - 1.0);
        let numbers = some.enumerate().map(|(at, some)| {
            let (x, y) = ((at % 64) as f64, (at / 64) as f64);
            280.0 + 4.0 * (x / 27.0).sin() + 9.0 * (y / 90.0).cos() + some / 6.0
        });
        numbers.flat_map(|value| ((value * parts).round() / parts).to_le_bytes()).collect()
    }

    #[test]
    fn the_quicker_level_is_taken_where_it_makes_no_more() {
        let src = doubles(1 << 18, 512.0);
        for (wrap, src) in [(Wrap::Zlib, &src), (Wrap::Gzip, &src), (Wrap::Zlib, &doubles(1 << 19, 16.0))] {
            let [ours, greedy, lazy] = encoded(wrap, src);
            assert!(ours == greedy && ours != lazy);
            assert!(ours.len() <= lazy.len() + lazy.len() / 100, "{} {}", ours.len(), lazy.len());
            assert_read(&ours, wrap, src);
        }
        // A short chunk is not sampled.
        let src = &src[..SHORTEST - 1];
        assert_eq!(level(LAZY, src, |_, _| panic!("a sample")), LAZY);
    }

    /// Little is lost on any data, and data without repeats are not sampled.
    #[test]
    fn other_data_keep_the_requested_level() {
        let len = 1 << 20;
        let some = noise(len, 4);
        let text: Vec<u8> =
            some.iter().map(|byte| b"etaoin shrdlu cmfwyp"[usize::from(*byte) % 20]).collect();
        let shorts = some
            .iter()
            .enumerate()
            .flat_map(|(at, byte)| (at as u16 / 9 + u16::from(*byte)).to_le_bytes())
            .collect();
        let rare = some.iter().map(|byte| u8::from(*byte < 3)).collect();
        for src in [text, shorts, rare, some.clone()] {
            assert_eq!(level(LAZY, &src, |_, _| panic!("a sample")), LAZY);
        }
        let floats: Vec<u8> = doubles(len / 4, 128.0)
            .as_chunks::<8>()
            .0
            .iter()
            .flat_map(|double| (f64::from_le_bytes(*double) as f32).to_le_bytes())
            .collect();
        let ints: Vec<u8> =
            some.iter().take(len / 2).flat_map(|byte| u32::from(byte & 7).to_le_bytes()).collect();
        for src in [floats, ints, doubles(len / 4, 10.0), doubles(len / 4, 1000.0), doubles(len / 4, 0.5)] {
            let [ours, greedy, lazy] = encoded(Wrap::Zlib, &src);
            assert!(
                ours.len() <= lazy.len() + lazy.len() / 100,
                "{} {} {}",
                ours.len(),
                greedy.len(),
                lazy.len()
            );
            assert_read(&ours, Wrap::Zlib, &src);
        }
    }

    /// Both samples decide the level. If they do not fit, nothing changes.
    #[test]
    fn samples_decide() {
        let src = doubles(1 << 18, 128.0);
        let by = |lens: [[usize; 2]; 2]| {
            let mut lens = lens.into_iter().flatten();
            level(LAZY, &src, |_, sample| {
                assert_eq!(sample.len(), src.len() / PART);
                lens.next()
            })
        };
        assert_eq!(by([[1000, 1000], [1000, 1000]]), GREEDY);
        assert_eq!(by([[1003, 1000], [1003, 1000]]), GREEDY);
        assert_eq!(by([[1010, 1000], [995, 1000]]), GREEDY);
        assert_eq!(by([[1005, 1000], [1005, 1000]]), LAZY);
        assert_eq!(by([[1020, 1000], [1, 1000]]), LAZY);
        assert_eq!(level(LAZY, &src, |_, _| None), LAZY);
        for asked in [1, 4, 6, 9] {
            assert_eq!(level(asked, &src, |_, _| panic!("a sample")), asked);
        }
    }
}
