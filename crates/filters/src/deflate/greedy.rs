//! Chunks of which a compressor makes no less if it takes the first match it finds, instead of looking whether the next byte begins a
//! longer one: numbers most of whose bytes are those of the number before.
//!
//! Which are such is found by trying: of some samples the quicker level has to make as little as the one asked for, or nearly so. So that other
//! chunks cost nothing, they are not tried if few bytes are those of a number before. A guess: what is wrongly taken for such is stored
//! a little larger, never wrongly.

use super::stretches::alike;

/// The level that looks for longer ones.
const LAZY: u32 = 5;
/// The one that does not.
const GREEDY: u32 = 4;
/// Of shorter chunks samples would be too short, or cost too much.
const SHORTEST: usize = 1 << 20;
/// One part in so many is tried at each place.
const PART: usize = 128;
/// It may make more by one part in so many: samples are no nearer to the whole.
const MORE: usize = 256;
/// Bytes of a number, or of several.
const DISTANCES: [usize; 7] = [4, 6, 8, 12, 16, 24, 32];
const FARTHEST: usize = 32;
/// So many places are looked at, so many words of eight bytes at each.
const PLACES: usize = 8;
const WORDS: usize = 64;
/// Places in a word at which three bytes begin.
const BEGIN: usize = 6;
/// Of so many hundred places so many have to begin three bytes that are those of a number before. If it is more, matches are long, and
/// all is quick.
const HUNDRED: usize = 100;
const SOME: usize = 40;
const MANY: usize = 85;

/// The level to compress a chunk with; `len` answers how many bytes a level makes of a sample, `None` if it cannot.
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
        // The second would not make up for it.
        if greedy > lazy + lazy / 64 {
            return asked;
        }
    }
    if greedy <= lazy + lazy / MORE { GREEDY } else { asked }
}

/// Whether it is worth trying.
fn may_be(src: &[u8]) -> bool {
    let step = (src.len() - FARTHEST - 8 * WORDS) / (PLACES - 1);
    let most = PLACES * WORDS * BEGIN;
    let found =
        DISTANCES.map(|distance| (0..PLACES).map(|place| threes(&src[place * step..], distance)).sum::<usize>());
    let best = found.into_iter().max().unwrap_or(0) * HUNDRED;
    (SOME * most..=MANY * most).contains(&best)
}

/// At how many places of the first words three bytes begin that are those at a distance before.
fn threes(src: &[u8], distance: usize) -> usize {
    let (before, here) = (src[FARTHEST - distance..].as_chunks().0, src[FARTHEST..].as_chunks().0);
    let words = before.iter().zip(here).take(WORDS);
    let found = words.map(|(a, b)| {
        let alike = alike(*a, *b);
        (alike & alike >> 8 & alike >> 16).count_ones() as usize
    });
    found.sum()
}

#[cfg(test)]
mod tests {
    use nczarr_dispatch::OutBuf;

    use super::super::stretches::tests::noise;
    use super::super::{Wrap, fast, pure};
    use super::*;

    /// What the filter makes, and what libdeflate makes at the two levels.
    fn encoded(wrap: Wrap, src: &[u8]) -> [Vec<u8>; 3] {
        let mut memory = vec![0; fast::bound(wrap, src.len()).expect("a bound")];
        let mut out = OutBuf::over(&mut memory);
        fast::encode(wrap, LAZY, src, &mut out).expect("there is room");
        let ours = out.filled().to_vec();
        let [greedy, lazy] = [GREEDY, LAZY].map(|level| {
            let mut out = OutBuf::over(&mut memory);
            assert!(fast::encode_if_it_fits(wrap, level, src, &mut out).expect("a compressor"));
            out.filled().to_vec()
        });
        [ours, greedy, lazy]
    }

    fn assert_read(stream: &[u8], wrap: Wrap, src: &[u8]) {
        for decode in [pure::decode, fast::decode] {
            let mut memory = vec![0; src.len()];
            let mut out = OutBuf::over(&mut memory);
            assert_eq!(decode(wrap, stream, &mut out).expect("a sound stream"), stream.len());
            assert!(out.filled() == src);
        }
    }

    /// Waves with noise, as doubles of so many parts of one.
    fn doubles(len: usize, parts: f64) -> Vec<u8> {
        let some = noise(4 * len, 3);
        let some = some.as_chunks::<4>().0.iter().map(|four| four.map(f64::from).iter().sum::<f64>() / 512.0 - 1.0);
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
        // No sample of a short chunk is tried.
        let src = &src[..SHORTEST - 1];
        assert_eq!(level(LAZY, src, |_, _| panic!("a sample")), LAZY);
    }

    /// Whatever is compressed, little is lost, and what is not like the number before is not tried.
    #[test]
    fn elsewhere_all_is_as_asked() {
        let len = 1 << 20;
        let some = noise(len, 4);
        let text: Vec<u8> = some.iter().map(|byte| b"etaoin shrdlu cmfwyp"[usize::from(*byte) % 20]).collect();
        let shorts =
            some.iter().enumerate().flat_map(|(at, byte)| (at as u16 / 9 + u16::from(*byte)).to_le_bytes()).collect();
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
        let ints: Vec<u8> = some.iter().take(len / 2).flat_map(|byte| u32::from(byte & 7).to_le_bytes()).collect();
        for src in [floats, ints, doubles(len / 4, 10.0), doubles(len / 4, 1000.0), doubles(len / 4, 0.5)] {
            let [ours, greedy, lazy] = encoded(Wrap::Zlib, &src);
            assert!(ours.len() <= lazy.len() + lazy.len() / 100, "{} {} {}", ours.len(), greedy.len(), lazy.len());
            assert_read(&ours, Wrap::Zlib, &src);
        }
    }

    /// The level follows from both samples, and without room for them nothing changes.
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
