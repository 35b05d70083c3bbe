//! [`ElementMask`]: the written elements of a chunk.

use crate::odometer::Odometer;
use crate::project::ChunkPart;

/// A set of element positions, with one bit each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ElementMask {
    words: Vec<u64>,
    len: usize,
    set: usize,
}

impl ElementMask {
    /// Creates an empty set for `len` positions.
    pub(crate) fn new(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(64)], len, set: 0 }
    }

    /// Whether it contains every position.
    pub(crate) fn is_full(&self) -> bool {
        self.set == self.len
    }

    /// Whether it is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.set == 0
    }

    /// Adds the positions of a part.
    pub(crate) fn insert(&mut self, part: &ChunkPart) {
        match part.dims.split_first() {
            Some((inner, outer)) if inner.chunk == 1 => {
                for (start, _) in Odometer::new(outer, part.chunk_start, 0) {
                    self.insert_run(start, inner.n);
                }
            }
            _ => Odometer::each(&part.dims, part.chunk_start, 0, |at, _| self.insert_run(at, 1)),
        }
    }

    /// Adds `n` positions from `start` on.
    fn insert_run(&mut self, start: usize, n: usize) {
        let end = start + n;
        let (first, last) = (start.div_ceil(64), end / 64);
        if first >= last {
            return self.insert_bits(start, end);
        }
        self.insert_bits(start, first * 64);
        let words = &mut self.words[first..last];
        // Usually none of them is set, so counting is unnecessary.
        let known = match words.iter().fold(0, |all, word| all | word) {
            0 => 0,
            _ => words.iter().map(|word| word.count_ones() as usize).sum(),
        };
        words.fill(u64::MAX);
        self.set += words.len() * 64 - known;
        self.insert_bits(last * 64, end);
    }

    /// Adds the positions from `at` up to `end`, word by word.
    fn insert_bits(&mut self, mut at: usize, end: usize) {
        while at < end {
            let bit = at % 64;
            let take = (64 - bit).min(end - at);
            let bits = (u64::MAX >> (64 - take)) << bit;
            let word = &mut self.words[at / 64];
            self.set += match *word & bits {
                0 => take,
                known => take - known.count_ones() as usize,
            };
            *word |= bits;
            at += take;
        }
    }

    /// Adds every position of another mask of the same length.
    pub(crate) fn union_with(&mut self, other: &Self) {
        self.set = 0;
        for (word, bits) in self.words.iter_mut().zip(&other.words) {
            *word |= bits;
            self.set += word.count_ones() as usize;
        }
    }

    /// Whether it contains a position.
    pub(crate) fn contains(&self, at: usize) -> bool {
        self.words.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    /// Whether it contains all positions of a part.
    pub(crate) fn covers(&self, part: &ChunkPart) -> bool {
        let mut all = true;
        if !self.is_full() {
            Odometer::each(&part.dims, part.chunk_start, 0, |at, _| all = all && self.contains(at));
        }
        all
    }

    /// Calls `visit` with start and length of each maximal run of positions that are (or are not) in the set.
    pub(crate) fn runs(&self, inside: bool, mut visit: impl FnMut(usize, usize)) {
        let mut at = 0;
        while at < self.len {
            let start = self.find(at, inside);
            let end = self.find(start, !inside);
            if start < end {
                visit(start, end - start);
            }
            at = end;
        }
    }

    /// Returns the first position from `at` on that is (or is not) in the set; `len` if there is none.
    fn find(&self, mut at: usize, inside: bool) -> usize {
        while at < self.len {
            let word = if inside { self.words[at / 64] } else { !self.words[at / 64] } >> (at % 64);
            if word != 0 {
                return self.len.min(at + word.trailing_zeros() as usize);
            }
            at = (at / 64 + 1) * 64;
        }
        self.len
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::project::StridedRun;

    fn part(start: usize, dims: &[(usize, usize)]) -> ChunkPart {
        let mut part = ChunkPart { chunk_start: start, elems: 1, ..ChunkPart::default() };
        for &(n, chunk) in dims {
            part.elems *= n;
            part.dims.push(StridedRun { n, chunk, mem: 0 });
        }
        part
    }

    proptest! {
        #[test]
        fn a_mask_is_a_set(
            len in 1..400usize,
            parts in prop::collection::vec((0..400usize, prop_oneof![1..90usize, 100..400usize], 1..4usize, 1..5usize, 1..100usize), 0..6),
        ) {
            let (mut mask, mut oracle) = (ElementMask::new(len), vec![false; len]);
            for (start, n, step, rows, pitch) in parts {
                let part = part(start, &[(n, step), (rows, pitch)]);
                let places: Vec<_> =
                    (0..rows).flat_map(|row| (0..n).map(move |i| start + row * pitch + i * step)).collect();
                if places.iter().any(|&at| at >= len) {
                    continue;
                }
                prop_assert_eq!(mask.covers(&part), places.iter().all(|&at| oracle[at]));
                let before = mask.clone();
                mask.insert(&part);
                let mut united = ElementMask::new(len);
                united.insert(&part);
                united.union_with(&before);
                prop_assert_eq!(&united, &mask);
                places.iter().for_each(|&at| oracle[at] = true);
            }
            prop_assert_eq!((0..len).map(|at| mask.contains(at)).collect::<Vec<_>>(), oracle.clone());
            prop_assert_eq!(mask.is_empty(), !oracle.contains(&true));
            prop_assert_eq!(mask.is_full(), oracle.iter().all(|&set| set));
            for inside in [true, false] {
                let mut found = vec![!inside; len];
                let mut last = None;
                mask.runs(inside, |start, n| {
                    assert!(n > 0 && last.is_none_or(|last| start > last), "longest runs, in order");
                    last = Some(start + n);
                    found[start..start + n].fill(inside);
                });
                prop_assert_eq!(&found, &oracle);
            }
        }
    }
}
