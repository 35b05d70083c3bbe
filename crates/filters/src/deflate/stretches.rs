//! Stretches of a chunk in which nothing comes again, found far quicker than by trying: noise, which no compressor makes smaller,
//! and bytes that become smaller by codes for each alone, without a match.
//!
//! Shuffled numbers have them where their low bytes are noise, or the few bits of it that rounding left: a compressor spends most of its
//! time there, looking for matches that are not, or that take more room than what they stand for. Taken for noise is what has all values of a byte about
//! equally often, and hardly any four bytes that stood in the window before; for literals what has some values more often, and
//! hardly any words that stood in the window before and are long enough to be worth a match, nor at any
//! short distance more bytes that are the same than by chance. A guess: what is wrongly taken for
//! something is stored a little larger, never wrongly.

use std::ops::{Range, RangeInclusive};

/// So many bytes are looked at together.
const GRANULE: usize = 8 << 10;
/// Shorter stretches are not worth cutting the rest.
const SHORTEST: usize = 2 * GRANULE;
/// Of a granule so many are enough to know most of what is no noise.
const SAMPLE: usize = 1 << 10;
/// Part of all bytes (one in so many) that has to be in stretches.
const PART: usize = 16;

/// How uneven a sample may be, as [`unevenness`] tells: of true noise it is 255, give or take 23.
const UNEVEN_SAMPLE: usize = 400;
/// How uneven a granule may be: codes for its bytes would save some four thousandths.
const UNEVEN: usize = 620;
/// Of each step of a granule, all of whose words are noted, so many bytes are looked for.
const STEP: usize = 2 << 10;
const LOOKED_FOR: usize = 512;
/// Bytes of these, in a granule, that may be found again.
const REPEATED: usize = GRANULE / STEP * LOOKED_FOR / 128;
/// As many more of them stand in the window by chance, where a word is as short as can be.
const REPEATED_BY_CHANCE: usize = 4 * REPEATED;
/// A match takes about so many bits: shorter words are worth none.
const MATCH: f32 = 24.0;
/// Words of so many bits are long enough to be rare and short enough to be found.
const WORTH: RangeInclusive<f32> = 21.0..=36.0;
/// Bytes worth fewer bits are left to the compressor: a match has to be long.
const FEWEST: f32 = 2.8;
/// So many bytes are compared with those of each distance up to the farthest.
const HEARD: usize = 512;
const FARTHEST: usize = 256;
/// After what comes again, which costs most to find out, at most so many granules are taken for the same.
const PAUSE: usize = 7;
/// No match reaches farther.
const WINDOW: usize = 32 << 10;
const SLOTS: usize = 1 << 13;
/// The longest word.
const LONGEST: usize = 12;

/// A part of a chunk in which nothing comes again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) place: Range<usize>,
    pub(super) kind: Kind,
}

/// What a stretch is best made into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Stored as it is.
    Noise,
    /// A code for each byte.
    Literals,
}

/// What is kept from chunk to chunk.
pub(super) struct Finder {
    /// Of words at every fourth place, by a hash: a longer hash, and below it the word's place and one more.
    seen: Box<[u64; SLOTS]>,
    /// So many bytes each of them has.
    word: usize,
}

impl Finder {
    pub(super) fn new() -> Self {
        Self { seen: Box::new([0; SLOTS]), word: 0 }
    }

    /// The stretches of a chunk, in their order; none if they are not much of the whole.
    pub(super) fn find(&mut self, src: &[u8]) -> Vec<Stretch> {
        let mut found: Vec<Stretch> = Vec::new();
        if src.len() < SHORTEST || u32::try_from(src.len()).is_err() {
            return found;
        }
        self.word = 0;
        let (mut pause, mut next) = (0, 0);
        for (number, granule) in src.chunks_exact(GRANULE).enumerate() {
            let place = number * GRANULE..(number + 1) * GRANULE;
            if number < next {
                if self.word > 0 && next - number <= WINDOW / GRANULE {
                    // What follows may refer to it.
                    self.note(src, place);
                }
                continue;
            }
            let Some((kind, bits)) = judge(granule) else { continue };
            let has_order = kind == Kind::Literals && echoes(granule, bits);
            let is_fresh = !has_order && self.look_for(bits);
            if has_order {
                // Nothing is looked for.
                self.word = 0;
            }
            if has_order || self.repeats(src, place.clone(), kind) {
                pause = (2 * pause + 1).min(PAUSE);
                next = number + 1 + pause;
                continue;
            }
            pause = 0;
            // Of what it may refer to nothing was noted.
            if is_fresh && kind == Kind::Literals {
                continue;
            }
            match found.last_mut().filter(|last| last.place.end == place.start && last.kind == kind) {
                Some(last) => last.place.end = place.end,
                None => found.push(Stretch { place, kind }),
            }
        }
        found.retain(|stretch| stretch.place.len() >= SHORTEST);
        if found.iter().map(|stretch| stretch.place.len()).sum::<usize>() < src.len() / PART {
            found.clear();
        }
        found
    }

    /// Sets the length of words looked for to what bytes worth so many bits need; whether that is another one, and nothing noted.
    fn look_for(&mut self, bits: f32) -> bool {
        let is_fresh = !WORTH.contains(&(self.word as f32 * bits));
        if is_fresh {
            self.seen.fill(0);
            self.word = (MATCH / bits).ceil().clamp(4.0, LONGEST as f32) as usize;
        }
        is_fresh
    }

    /// Whether more than a few bytes of a granule stood in the window before.
    fn repeats(&mut self, src: &[u8], granule: Range<usize>, kind: Kind) -> bool {
        let most = match kind {
            Kind::Noise => REPEATED,
            Kind::Literals => REPEATED_BY_CHANCE,
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
        // What follows may refer to the rest, too.
        self.note(src, place..granule.end);
        matched > most
    }

    /// Notes the words that begin in some bytes.
    fn note(&mut self, src: &[u8], place: Range<usize>) {
        for at in place.step_by(4) {
            let Some(word) = self.word_at(src, at) else { return };
            self.seen[slot(word)] = u64::from(word) << 32 | (at + 1) as u64;
        }
    }

    /// The word at a place, or of a long one a hash; `None` too near to the end.
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

/// What a granule may be, by how often its values come, and how many bits a byte of it is worth: two of them are the same in one of two to
/// that many cases. `None` if these are few.
fn judge(granule: &[u8]) -> Option<(Kind, f32)> {
    let squares = squares(&granule[..SAMPLE]);
    if unevenness(squares, SAMPLE) <= UNEVEN_SAMPLE && unevenness(self::squares(granule), GRANULE) <= UNEVEN {
        return Some((Kind::Noise, 8.0));
    }
    let pairs = SAMPLE * (SAMPLE - 1);
    let bits = (pairs as f32 / (squares - SAMPLE).max(1) as f32).log2();
    (bits >= FEWEST).then_some((Kind::Literals, bits))
}

/// Whether bytes are the same as those some places before more often than by chance: numbers of several bytes, rows that are alike, and what is smooth.
fn echoes(granule: &[u8], bits: f32) -> bool {
    let chance = HEARD as f32 / bits.exp2();
    let most = (chance + 5.0 * chance.sqrt() + 2.0) as u32;
    let bytes = heard(granule, FARTHEST);
    (1..=FARTHEST).any(|distance| same(bytes, heard(granule, FARTHEST - distance)) > most)
}

/// So many bytes from a place on, in words of eight.
fn heard(granule: &[u8], start: usize) -> &[[u8; 8]] {
    granule[start..start + HEARD].as_chunks().0
}

/// How many bytes of at most 255 words are the same. In whole words, however the program is linked: compilers do not make them of
/// bytes everywhere.
fn same(a: &[[u8; 8]], b: &[[u8; 8]]) -> u32 {
    let mut counts = 0;
    for (a, b) in a.iter().zip(b) {
        counts += alike(*a, *b) >> 7;
    }
    counts.to_le_bytes().map(u32::from).iter().sum()
}

/// The highest bit of each byte that is the same.
#[inline(always)]
pub(super) const fn alike(a: [u8; 8], b: [u8; 8]) -> u64 {
    const LOW: u64 = u64::MAX / 255 * 0x7f;
    let apart = u64::from_le_bytes(a) ^ u64::from_le_bytes(b);
    // The highest bit of each byte in which a bit is set.
    let differs = ((apart & LOW) + LOW) | apart;
    !differs & !LOW
}

fn slot(word: u32) -> usize {
    word.wrapping_mul(0x9e37_79b1) as usize >> (u32::BITS - SLOTS.ilog2()) & (SLOTS - 1)
}

/// Whether a place was noted, and is in the window before another.
fn is_near(before: usize, at: usize) -> bool {
    before != 0 && at - before <= WINDOW
}

/// How often each value comes.
pub(super) fn histogram(bytes: &[u8]) -> [u32; 256] {
    // Of one table each count would wait for the one before, where a value comes twice.
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

/// The sum of squares of how often each value comes.
fn squares(bytes: &[u8]) -> usize {
    histogram(bytes).iter().map(|&count| (count as usize).pow(2)).sum()
}

/// How far values of bytes are from being equally frequent: Pearson's chi squared, for 255 degrees of freedom.
const fn unevenness(squares: usize, len: usize) -> usize {
    squares * 256 / len - len
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Bytes without any order.
    pub(in crate::deflate) fn noise(len: usize, seed: u64) -> Vec<u8> {
        let mut state = seed;
        let next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        std::iter::repeat_with(next).take(len).collect()
    }

    /// Where there is noise.
    fn noise_in(src: &[u8]) -> Vec<Range<usize>> {
        let found = Finder::new().find(src);
        found.into_iter().filter(|stretch| stretch.kind == Kind::Noise).map(|stretch| stretch.place).collect()
    }

    #[test]
    fn the_same_bytes_are_counted() {
        for (seed, mask) in [(1, 0xff), (2, 3), (3, 1), (4, 0x80), (5, 0)] {
            let bytes: Vec<u8> = noise(2 * HEARD, seed).iter().map(|byte| byte & mask).collect();
            let (a, b) = bytes.split_at(HEARD);
            let slow = a.iter().zip(b).filter(|(a, b)| a == b).count();
            assert_eq!(same(heard(a, 0), heard(b, 0)) as usize, slow, "{mask}");
        }
    }

    #[test]
    fn noise_is_found_where_it_is() {
        let (flat, some) = (vec![0; 100_000], noise(300_000, 1));
        let data = [&flat[..], &some, &flat].concat();
        let found = noise_in(&data);
        assert_eq!(found.len(), 1);
        assert!((100_000..100_000 + GRANULE).contains(&found[0].start), "{found:?}");
        assert!((400_000 - GRANULE..=400_000).contains(&found[0].end), "{found:?}");
        let all = noise(1 << 20, 2);
        assert_eq!(noise_in(&all), vec![0..1 << 20]);
    }

    /// Some bits of noise, as rounding leaves them, and values of which some are rare.
    #[test]
    fn what_is_worth_codes_alone_is_found() {
        let len = 1 << 18;
        let bits = |mask: u8| noise(len, 9).iter().map(|byte| byte & mask).collect::<Vec<_>>();
        let bell =
            noise(4 * len, 10).as_chunks::<4>().0.iter().map(|four| four.map(|byte| byte / 8).iter().sum()).collect();
        for data in [bits(7), bits(0b1001_1000), bits(15), bits(63), bits(127), bell] {
            let found = Finder::new().find(&data);
            // The first granule has nothing before it.
            assert_eq!(found, vec![Stretch { place: GRANULE..len, kind: Kind::Literals }]);
        }
    }

    #[test]
    fn what_can_be_compressed_is_left_alone() {
        let mut finder = Finder::new();
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
        // What comes again from as far as a match reaches.
        for period in [300, 4096, 5001, 32_000] {
            for mask in [0xff, 0x0f, 0x07] {
                let some: Vec<u8> = noise(period, 5).iter().map(|byte| byte & mask).collect();
                let data: Vec<u8> = some.iter().copied().cycle().take(len).collect();
                let found = finder.find(&data);
                assert!(found.iter().all(|stretch| stretch.place.end <= period + GRANULE), "{period} {found:?}");
            }
        }
    }

    /// Noise that follows what comes again is found, not much later.
    #[test]
    fn the_pause_ends() {
        let period: Vec<u8> = noise(4096, 7).iter().copied().cycle().take(1 << 18).collect();
        let data = [&period[..], &noise(1 << 18, 8)].concat();
        let found = noise_in(&data);
        let last = found.last().expect("noise");
        assert!((1 << 18..=(1 << 18) + PAUSE * GRANULE).contains(&last.start) && last.end == data.len(), "{found:?}");
    }

    #[test]
    fn short_chunks_are_left_alone() {
        for len in [0, 1, 1000, SHORTEST - 1] {
            assert!(Finder::new().find(&noise(len, 6)).is_empty());
        }
        assert_eq!(noise_in(&noise(SHORTEST + 5, 6)), vec![0..SHORTEST]);
    }
}
