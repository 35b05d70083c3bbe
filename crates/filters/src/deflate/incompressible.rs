//! Finds ranges of a chunk without repetitions, much faster than by compressing: noise, which no compressor
//! shrinks, and bytes that shrink by Huffman codes alone.
//!
//! Applies: to shuffled numbers whose low bytes are noise, perhaps rounded. There a compressor spends most of
//! its time on matches that do not exist or do not pay. Falls back: to ordinary compression. A wrong guess
//! makes a chunk slightly larger, never wrong.
//!
//! Noise has all byte values about equally often, and hardly any four bytes that occurred in the window.
//! Literals have unequal frequencies, hardly any repeated words long enough to pay for a match, and no more
//! equal bytes at short distances than by chance.

use std::ops::{Range, RangeInclusive};

/// Bytes that are judged together.
const GRANULE: usize = 8 << 10;
/// Shorter ranges do not pay for cutting the rest.
const SHORTEST: usize = 2 * GRANULE;
/// Bytes of a granule whose sample rules out most other data.
const SAMPLE: usize = 1 << 10;
/// Least fraction of all bytes that must be in ranges (one in this many).
const PART: usize = 16;

/// Largest [`unevenness`] of a noise sample. True noise has 255 ± 23.
const UNEVEN_SAMPLE: usize = 400;
/// Largest unevenness of a noise granule. Codes would save about four thousandths.
const UNEVEN: usize = 620;
/// All words of a granule are recorded. In each step of this many bytes, some are looked up.
const STEP: usize = 2 << 10;
const LOOKED_FOR: usize = 512;
/// Most repeated bytes, of those looked up in a granule.
const REPEATED: usize = GRANULE / STEP * LOOKED_FOR / 128;
/// Most repeated bytes at the shortest word length, where chance repeats more.
const REPEATED_BY_CHANCE: usize = 4 * REPEATED;
/// Approximate bits of a match. Shorter words do not pay for one.
const MATCH: f32 = 24.0;
/// Bits of information of words that are long enough to be rare and short enough to be found.
const WORTH: RangeInclusive<f32> = 21.0..=36.0;
/// Bytes with fewer bits of information are left to the compressor, because matches must be long.
const FEWEST: f32 = 2.8;
/// Bytes compared with those at each distance up to the greatest.
const HEARD: usize = 512;
const FARTHEST: usize = 256;
/// After repeated data, which are costly to detect, at most this many granules are assumed to repeat too.
const PAUSE: usize = 7;
/// The greatest distance of a match.
const WINDOW: usize = 32 << 10;
const SLOTS: usize = 1 << 13;
/// The longest word in bytes.
const LONGEST: usize = 12;

/// A range of a chunk without repetitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IncompressibleRange {
    pub(super) place: Range<usize>,
    pub(super) kind: RangeKind,
}

/// The best encoding of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RangeKind {
    /// Stored.
    Noise,
    /// A code for each byte.
    Literals,
}

/// State kept between chunks.
pub(super) struct IncompressibleFinder {
    /// A hash table of words at every fourth position: a longer hash, and below it the position plus one.
    seen: Box<[u64; SLOTS]>,
    /// Length of these words in bytes.
    word: usize,
}

impl IncompressibleFinder {
    pub(super) fn new() -> Self {
        Self { seen: Box::new([0; SLOTS]), word: 0 }
    }

    /// Returns the incompressible ranges of a chunk in order, or none if they are a small part.
    pub(super) fn find(&mut self, src: &[u8]) -> Vec<IncompressibleRange> {
        let mut found: Vec<IncompressibleRange> = Vec::new();
        if src.len() < SHORTEST || u32::try_from(src.len()).is_err() {
            return found;
        }
        self.word = 0;
        let (mut pause, mut next) = (0, 0);
        for (number, granule) in src.chunks_exact(GRANULE).enumerate() {
            let place = number * GRANULE..(number + 1) * GRANULE;
            if number < next {
                if self.word > 0 && next - number <= WINDOW / GRANULE {
                    // Later bytes may refer to these.
                    self.note(src, place);
                }
                continue;
            }
            let Some((kind, bits)) = judge(granule) else { continue };
            let has_order = kind == RangeKind::Literals && repeats_at_short_distance(granule, bits);
            let is_fresh = !has_order && self.set_word_length(bits);
            if has_order {
                // No words are looked up now.
                self.word = 0;
            }
            if has_order || self.repeats(src, place.clone(), kind) {
                pause = (2 * pause + 1).min(PAUSE);
                next = number + 1 + pause;
                continue;
            }
            pause = 0;
            // No words that it could refer to were recorded.
            if is_fresh && kind == RangeKind::Literals {
                continue;
            }
            match found.last_mut().filter(|last| last.place.end == place.start && last.kind == kind) {
                Some(last) => last.place.end = place.end,
                None => found.push(IncompressibleRange { place, kind }),
            }
        }
        found.retain(|stretch| stretch.place.len() >= SHORTEST);
        if found.iter().map(|stretch| stretch.place.len()).sum::<usize>() < src.len() / PART {
            found.clear();
        }
        found
    }

    /// Sets the word length for bytes with this much information. Returns whether it changed; then the table
    /// is empty.
    fn set_word_length(&mut self, bits: f32) -> bool {
        let is_fresh = !WORTH.contains(&(self.word as f32 * bits));
        if is_fresh {
            self.seen.fill(0);
            self.word = (MATCH / bits).ceil().clamp(4.0, LONGEST as f32) as usize;
        }
        is_fresh
    }

    /// Whether more than a few bytes of a granule occurred in the window.
    fn repeats(&mut self, src: &[u8], granule: Range<usize>, kind: RangeKind) -> bool {
        let most = match kind {
            RangeKind::Noise => REPEATED,
            RangeKind::Literals => REPEATED_BY_CHANCE,
        };
        let (mut matched, mut place) = (0, granule.start);
        while place < granule.end && matched <= most {
            let mut at = place;
            while at < place + LOOKED_FOR {
                let Some(word) = self.word_at(src, at) else { break };
                let seen = self.seen[slot(word)];
                at += 1;
                if (seen >> 32) as u32 == word && is_near(seen as u32 as usize, at) {
                    matched += self.word;
                    at += self.word - 1;
                }
            }
            self.note(src, place..place + STEP);
            place += STEP;
        }
        // Later bytes may refer to the rest, too.
        self.note(src, place..granule.end);
        matched > most
    }

    /// Records the words that begin in a range.
    fn note(&mut self, src: &[u8], place: Range<usize>) {
        for at in place.step_by(4) {
            let Some(word) = self.word_at(src, at) else { return };
            self.seen[slot(word)] = u64::from(word) << 32 | (at + 1) as u64;
        }
    }

    /// Returns the word at a position, or the hash of a long word; `None` near the end.
    #[inline(always)]
    fn word_at(&self, src: &[u8], at: usize) -> Option<u32> {
        let bytes = src.get(at..)?.first_chunk::<LONGEST>()?;
        let [low, high, more] =
            [0, 4, 8].map(|i| u32::from_le_bytes([bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]]));
        if self.word <= 4 {
            return Some(low);
        }
        let eight = u64::from(low) | u64::from(high) << 32;
        let some = if self.word < 8 { eight & ((1 << (8 * self.word)) - 1) } else { eight };
        let more = if self.word > 8 { u64::from(more) } else { 0 };
        Some(((some ^ more << 29).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32)
    }
}

/// Judges a granule by its byte frequencies. Returns the kind, and the bits of information of a byte: two
/// bytes are equal in one of 2 to that many cases. `None` if there is little information.
fn judge(granule: &[u8]) -> Option<(RangeKind, f32)> {
    let squares = squares(&granule[..SAMPLE]);
    if unevenness(squares, SAMPLE) <= UNEVEN_SAMPLE && unevenness(self::squares(granule), GRANULE) <= UNEVEN {
        return Some((RangeKind::Noise, 8.0));
    }
    let pairs = SAMPLE * (SAMPLE - 1);
    let bits = (pairs as f32 / (squares - SAMPLE).max(1) as f32).log2();
    (bits >= FEWEST).then_some((RangeKind::Literals, bits))
}

/// Whether bytes equal those at a short distance more often than by chance, as in wide numbers, similar rows
/// and smooth data.
fn repeats_at_short_distance(granule: &[u8], bits: f32) -> bool {
    let chance = HEARD as f32 / bits.exp2();
    let most = (chance + 5.0 * chance.sqrt() + 2.0) as u32;
    let bytes = sample_words(granule, FARTHEST);
    (1..=FARTHEST).any(|distance| same(bytes, sample_words(granule, FARTHEST - distance)) > most)
}

/// Returns some bytes from a position on, as words of eight.
fn sample_words(granule: &[u8], start: usize) -> &[[u8; 8]] {
    granule[start..start + HEARD].as_chunks().0
}

/// Counts the equal bytes of at most 255 words. It works on whole words, because not all compilers vectorize
/// the loop over bytes.
fn same(a: &[[u8; 8]], b: &[[u8; 8]]) -> u32 {
    let mut counts = 0;
    for (a, b) in a.iter().zip(b) {
        counts += equal_bytes(*a, *b) >> 7;
    }
    counts.to_le_bytes().map(u32::from).iter().sum()
}

/// Sets the highest bit of each byte that is equal.
#[inline(always)]
pub(super) const fn equal_bytes(a: [u8; 8], b: [u8; 8]) -> u64 {
    const LOW: u64 = u64::MAX / 255 * 0x7f;
    let apart = u64::from_le_bytes(a) ^ u64::from_le_bytes(b);
    // The highest bit of each byte with any bit set.
    let differs = ((apart & LOW) + LOW) | apart;
    !differs & !LOW
}

fn slot(word: u32) -> usize {
    word.wrapping_mul(0x9e37_79b1) as usize >> (u32::BITS - SLOTS.ilog2()) & (SLOTS - 1)
}

/// Whether a position was recorded and is in the window before another.
fn is_near(before: usize, at: usize) -> bool {
    before != 0 && at - before <= WINDOW
}

/// Counts each byte value.
pub(super) fn histogram(bytes: &[u8]) -> [u32; 256] {
    // With one table each count would wait for the one before if a value repeats.
    let (mut even, mut odd) = ([0_u32; 256], [0_u32; 256]);
    let (pairs, rest) = bytes.as_chunks::<2>();
    for &[a, b] in pairs {
        even[usize::from(a)] += 1;
        odd[usize::from(b)] += 1;
    }
    rest.iter().for_each(|&byte| even[usize::from(byte)] += 1);
    even.iter_mut().zip(odd).for_each(|(even, odd)| *even += odd);
    even
}

/// Returns the sum of squares of the counts of byte values.
fn squares(bytes: &[u8]) -> usize {
    histogram(bytes).iter().map(|&count| (count as usize).pow(2)).sum()
}

/// Returns how far byte values are from equal frequency: Pearson's chi squared with 255 degrees of freedom.
const fn unevenness(squares: usize, len: usize) -> usize {
    squares * 256 / len - len
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Makes bytes without any order.
    pub(in crate::deflate) fn noise(len: usize, seed: u64) -> Vec<u8> {
        let mut state = seed;
        let next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        std::iter::repeat_with(next).take(len).collect()
    }

    /// Returns the noise ranges.
    fn noise_in(src: &[u8]) -> Vec<Range<usize>> {
        let found = IncompressibleFinder::new().find(src);
        found
            .into_iter()
            .filter(|stretch| stretch.kind == RangeKind::Noise)
            .map(|stretch| stretch.place)
            .collect()
    }

    #[test]
    fn the_same_bytes_are_counted() {
        for (seed, mask) in [(1, 0xff), (2, 3), (3, 1), (4, 0x80), (5, 0)] {
            let bytes: Vec<u8> = noise(2 * HEARD, seed).iter().map(|byte| byte & mask).collect();
            let (a, b) = bytes.split_at(HEARD);
            let slow = a.iter().zip(b).filter(|(a, b)| a == b).count();
            assert_eq!(same(sample_words(a, 0), sample_words(b, 0)) as usize, slow, "{mask}");
        }
    }

    #[test]
    fn noise_is_located() {
        let (flat, some) = (vec![0; 100_000], noise(300_000, 1));
        let data = [&flat[..], &some, &flat].concat();
        let found = noise_in(&data);
        assert_eq!(found.len(), 1);
        assert!((100_000..100_000 + GRANULE).contains(&found[0].start), "{found:?}");
        assert!((400_000 - GRANULE..=400_000).contains(&found[0].end), "{found:?}");
        let all = noise(1 << 20, 2);
        assert_eq!(noise_in(&all), vec![0..1 << 20]);
    }

    /// The data are noise of a few bits, like after rounding, or values with different frequencies.
    #[test]
    fn data_without_matches_are_found() {
        let len = 1 << 18;
        let bits = |mask: u8| noise(len, 9).iter().map(|byte| byte & mask).collect::<Vec<_>>();
        let bell = noise(4 * len, 10)
            .as_chunks::<4>()
            .0
            .iter()
            .map(|four| four.map(|byte| byte / 8).iter().sum())
            .collect();
        for data in [bits(7), bits(0b1001_1000), bits(15), bits(63), bits(127), bell] {
            let found = IncompressibleFinder::new().find(&data);
            // The first granule has nothing before it.
            assert_eq!(found, vec![IncompressibleRange { place: GRANULE..len, kind: RangeKind::Literals }]);
        }
    }

    #[test]
    fn compressible_data_are_not_marked() {
        let mut finder = IncompressibleFinder::new();
        let len = 1 << 20;
        let ramp: Vec<u8> = (0..len).map(|i| i as u8).collect();
        let part = [&noise(len / 40, 4)[..], &vec![7; len]].concat();
        let bit: Vec<u8> = noise(len, 3).iter().map(|byte| byte & 1).collect();
        // Each step is one of three.
        let walk: Vec<u8> = noise(len, 4)
            .iter()
            .scan(0_u8, |at, step| {
                Some({
                    *at = at.wrapping_add(step % 3);
                    *at
                })
            })
            .collect();
        let words: Vec<Vec<u8>> =
            (0..500).map(|i| noise(3 + i % 7, i as u64).iter().map(|byte| byte & 15).collect()).collect();
        let text: Vec<u8> = noise(len / 6, 5)
            .as_chunks::<2>()
            .0
            .iter()
            .flat_map(|at| &words[usize::from(u16::from_le_bytes(*at)) % 500])
            .copied()
            .collect();
        for data in [ramp, part, bit, walk, text] {
            assert_eq!(finder.find(&data), []);
        }
        // Data that repeat from as far as a match reaches.
        for period in [300, 4096, 5001, 32_000] {
            for mask in [0xff, 0x0f, 0x07] {
                let some: Vec<u8> = noise(period, 5).iter().map(|byte| byte & mask).collect();
                let data: Vec<u8> = some.iter().copied().cycle().take(len).collect();
                let found = finder.find(&data);
                assert!(
                    found.iter().all(|stretch| stretch.place.end <= period + GRANULE),
                    "{period} {found:?}"
                );
            }
        }
    }

    /// Noise after repeated data is found, with little delay.
    #[test]
    fn the_pause_ends() {
        let period: Vec<u8> = noise(4096, 7).iter().copied().cycle().take(1 << 18).collect();
        let data = [&period[..], &noise(1 << 18, 8)].concat();
        let found = noise_in(&data);
        let last = found.last().expect("noise");
        assert!(
            (1 << 18..=(1 << 18) + PAUSE * GRANULE).contains(&last.start) && last.end == data.len(),
            "{found:?}"
        );
    }

    #[test]
    fn short_chunks_are_left_alone() {
        for len in [0, 1, 1000, SHORTEST - 1] {
            assert!(IncompressibleFinder::new().find(&noise(len, 6)).is_empty());
        }
        assert_eq!(noise_in(&noise(SHORTEST + 5, 6)), vec![0..SHORTEST]);
    }
}
