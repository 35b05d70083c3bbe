//! Stretches of a chunk that no compressor makes smaller, found far quicker than by trying.
//!
//! Shuffled numbers have them where their low bytes are noise: a compressor spends most of its time there, looking for
//! matches that are not. Taken for noise is what has all values of a byte about equally often, and hardly any four bytes
//! that stood in the window before. A guess: what is wrongly taken for something is stored a little larger, never wrongly.

use std::ops::Range;

/// So many bytes are looked at together.
const GRANULE: usize = 8 << 10;
/// Shorter stretches are not worth cutting the rest.
const SHORTEST: usize = 2 * GRANULE;
/// Of a granule so many are enough to know most of what is no noise.
const SAMPLE: usize = 1 << 10;
/// Part of all bytes (one in so many) that has to be noise.
const PART: usize = 8;

/// How uneven a sample may be, as [`unevenness`] tells: of true noise it is 255, give or take 23.
const UNEVEN_SAMPLE: usize = 400;
/// How uneven a granule may be: codes for its bytes would save some four thousandths.
const UNEVEN: usize = 620;
/// Of each step of a granule, all of whose words are noted, so many bytes are looked for.
const STEP: usize = 2 << 10;
const LOOKED_FOR: usize = 512;
/// Bytes of these, in a granule, that may be found again.
const REPEATED: usize = GRANULE / STEP * LOOKED_FOR / 128;
/// After what comes again, which costs most to find out, at most so many granules are taken for the same.
const PAUSE: usize = 7;
/// No match reaches farther.
const WINDOW: usize = 32 << 10;
const SLOTS: usize = 1 << 13;

/// What is kept from chunk to chunk.
pub(super) struct Finder {
    /// Of words at every fourth place, by a hash: the word, and below it its place and one more.
    seen: Box<[u64; SLOTS]>,
}

impl Finder {
    pub(super) fn new() -> Self {
        Self { seen: Box::new([0; SLOTS]) }
    }

    /// The stretches of noise, in their order; none if they are not much of the whole.
    pub(super) fn find(&mut self, src: &[u8]) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        if src.len() < SHORTEST || u32::try_from(src.len()).is_err() {
            return found;
        }
        let (mut fresh, mut pause, mut next) = (true, 0, 0);
        for (number, granule) in src.chunks_exact(GRANULE).enumerate() {
            if number < next {
                // What follows may refer to it.
                self.note(granule, number * GRANULE);
                continue;
            }
            if unevenness(&granule[..SAMPLE]) > UNEVEN_SAMPLE || unevenness(granule) > UNEVEN {
                continue;
            }
            if std::mem::take(&mut fresh) {
                self.seen.fill(0);
            }
            let place = number * GRANULE..(number + 1) * GRANULE;
            if self.repeats(src, place.clone()) {
                pause = (2 * pause + 1).min(PAUSE);
                next = number + 1 + pause;
                continue;
            }
            pause = 0;
            match found.last_mut().filter(|last| last.end == place.start) {
                Some(last) => last.end = place.end,
                None => found.push(place),
            }
        }
        found.retain(|stretch| stretch.len() >= SHORTEST);
        if found.iter().map(Range::len).sum::<usize>() < src.len() / PART {
            found.clear();
        }
        found
    }

    /// Whether more than a few bytes of a granule stood in the window before.
    fn repeats(&mut self, src: &[u8], granule: Range<usize>) -> bool {
        let (mut matched, mut place) = (0, granule.start);
        for step in src[granule].chunks_exact(STEP) {
            let mut at = 0;
            while at < LOOKED_FOR {
                let word = u32::from_le_bytes([step[at], step[at + 1], step[at + 2], step[at + 3]]);
                let seen = self.seen[slot(word)];
                at += 1;
                if (seen >> 32) as u32 == word && is_near(seen as u32 as usize, place + at) {
                    matched += size_of::<u32>();
                    at += size_of::<u32>() - 1;
                }
            }
            self.note(step, place);
            place += STEP;
        }
        matched > REPEATED
    }

    /// Notes the words of some bytes, which stand at `place`.
    fn note(&mut self, bytes: &[u8], place: usize) {
        for (number, word) in bytes.as_chunks::<4>().0.iter().enumerate() {
            let word = u32::from_le_bytes(*word);
            self.seen[slot(word)] = u64::from(word) << 32 | (place + number * size_of::<u32>() + 1) as u64;
        }
    }
}

fn slot(word: u32) -> usize {
    word.wrapping_mul(0x9e37_79b1) as usize >> (u32::BITS - SLOTS.ilog2()) & (SLOTS - 1)
}

/// Whether a place was noted, and is in the window before another.
fn is_near(before: usize, at: usize) -> bool {
    before != 0 && at - before <= WINDOW
}

/// How far values of bytes are from being equally frequent: Pearson's chi squared, for 255 degrees of freedom.
fn unevenness(bytes: &[u8]) -> usize {
    // Of one table each count would wait for the one before, where a value comes twice.
    let (mut even, mut odd) = ([0_u32; 256], [0_u32; 256]);
    for &[a, b] in bytes.as_chunks::<2>().0 {
        even[usize::from(a)] += 1;
        odd[usize::from(b)] += 1;
    }
    let mut squares = 0;
    for value in 0..256 {
        let count = u64::from(even[value] + odd[value]);
        squares += count * count;
    }
    let len = bytes.len() as u64;
    usize::try_from(squares * 256 / len - len).unwrap_or(usize::MAX)
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

    #[test]
    fn noise_is_found_where_it_is() {
        let (flat, some) = (vec![0; 100_000], noise(300_000, 1));
        let data = [&flat[..], &some, &flat].concat();
        let found = Finder::new().find(&data);
        assert_eq!(found.len(), 1);
        assert!((100_000..100_000 + GRANULE).contains(&found[0].start), "{found:?}");
        assert!((400_000 - GRANULE..=400_000).contains(&found[0].end), "{found:?}");
        let all = noise(1 << 20, 2);
        assert_eq!(Finder::new().find(&all), vec![0..1 << 20]);
    }

    #[test]
    fn what_can_be_compressed_is_no_noise() {
        let mut finder = Finder::new();
        let len = 1 << 20;
        let ramp: Vec<u8> = (0..len).map(|i| i as u8).collect();
        let floats: Vec<u8> = (0..len / 4).flat_map(|i| (i as f32).sin().to_le_bytes()).collect();
        let text: Vec<u8> = noise(len, 3).iter().map(|byte| byte % 200).collect();
        let part = [&noise(len / 20, 4)[..], &vec![7; len]].concat();
        for data in [ramp, floats, text, part] {
            assert!(finder.find(&data).is_empty());
        }
        // What comes again from as far as a match reaches.
        for period in [300, 4096, 5001, 32_000] {
            let some = noise(period, 5);
            let data: Vec<u8> = some.iter().copied().cycle().take(len).collect();
            let found = finder.find(&data);
            assert!(found.iter().all(|stretch| stretch.end <= period + GRANULE), "{period} {found:?}");
        }
    }

    /// Noise that follows what comes again is found, not much later.
    #[test]
    fn the_pause_ends() {
        let period: Vec<u8> = noise(4096, 7).iter().copied().cycle().take(1 << 18).collect();
        let data = [&period[..], &noise(1 << 18, 8)].concat();
        let found = Finder::new().find(&data);
        let last = found.last().expect("noise");
        assert!((1 << 18..=(1 << 18) + PAUSE * GRANULE).contains(&last.start) && last.end == data.len(), "{found:?}");
    }

    #[test]
    fn short_chunks_are_left_alone() {
        for len in [0, 1, 1000, SHORTEST - 1] {
            assert!(Finder::new().find(&noise(len, 6)).is_empty());
        }
        assert_eq!(Finder::new().find(&noise(SHORTEST + 5, 6)), vec![0..SHORTEST]);
    }
}
