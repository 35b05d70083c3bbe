//! [`SlabLayout`]: the offsets of a slab's elements in the store. [`PieceSplit`]: the pieces of a transfer.
//!
//! Elements have the same order in the store and in memory, and are adjacent in memory. So a piece is a range
//! of memory, and pieces have the same order on both sides. Steps here are bytes of the store.

use nczarr_model::Slab;
use nczarr_runtime::DimVec;

use crate::project::{ChunkPart, StridedRun};

/// A run of elements, or of runs, at equal distances.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct StrideLevel {
    /// The count.
    pub(super) n: usize,
    /// The distance in bytes.
    pub(super) step: u64,
}

/// The elements of a non-empty slab.
#[derive(Debug)]
pub(super) struct SlabLayout {
    /// The offset of the first.
    pub(super) start: u64,
    /// Nested runs, innermost first; adjacent ones are joined. Never empty.
    pub(super) levels: DimVec<StrideLevel>,
    /// The count.
    pub(super) elems: usize,
    /// The size of an element in the store.
    pub(super) item: usize,
}

impl SlabLayout {
    /// Computes the layout of a non-empty slab whose dimensions have steps of `steps` bytes. `None` on
    /// overflow of a count or an offset.
    pub(super) fn new(slab: &Slab<'_>, begin: u64, steps: &[u64], item: usize) -> Option<Self> {
        let mut lie = Self { start: begin, levels: DimVec::default(), elems: 1, item };
        for dim in (0..steps.len()).rev() {
            let n = usize::try_from(slab.count[dim]).ok()?;
            lie.start = lie.start.checked_add(slab.start[dim].checked_mul(steps[dim])?)?;
            lie.elems = lie.elems.checked_mul(n)?;
            if n > 1 {
                lie.nest(StrideLevel { n, step: steps[dim].checked_mul(slab.step(dim))? });
            }
        }
        if lie.levels.is_empty() {
            lie.levels.push(StrideLevel { n: 1, step: item as u64 });
        }
        let mut end = lie.start.checked_add(item as u64)?;
        for level in lie.levels.iter() {
            end = level.step.checked_mul(level.n as u64 - 1)?.checked_add(end)?;
        }
        Some(lie)
    }

    fn nest(&mut self, level: StrideLevel) {
        if let Some(inner) = self.levels.last_mut()
            && inner.step.checked_mul(inner.n as u64) == Some(level.step)
        {
            // The number of all elements fits, so this product does.
            inner.n *= level.n;
            return;
        }
        self.levels.push(level);
    }

    /// Returns the offset after the last byte.
    pub(super) fn end(&self) -> u64 {
        // Checked in `new`.
        self.start + span(&self.levels, self.item as u64)
    }
}

/// Returns the bytes from the first to the last of nested runs of items of `item` bytes.
fn span(levels: &[StrideLevel], item: u64) -> u64 {
    levels.iter().fold(item, |span, level| span + level.step * (level.n as u64 - 1))
}

/// The division of a slab into pieces along one level. All pieces of a run of that level but the last have
/// the same size.
#[derive(Debug)]
pub(super) struct PieceSplit<'a> {
    lie: &'a SlabLayout,
    /// The level that is divided.
    level: usize,
    /// The number of its indices per piece.
    most: usize,
    /// Levels below this one are moved as one run, including gaps.
    solid: usize,
    /// The elements per index of the level.
    inner: usize,
    /// The pieces per run of the level.
    in_run: usize,
    /// The number of pieces.
    pub(super) total: usize,
}

impl<'a> PieceSplit<'a> {
    /// Divides a slab into pieces of at most `target` bytes (at least one element). Gaps of less than `gap`
    /// bytes are moved too.
    pub(super) fn new(lie: &'a SlabLayout, gap: u64, target: u64) -> Self {
        let levels = &*lie.levels;
        let mut run = lie.item as u64;
        let mut solid = 0;
        for level in levels {
            // Levels do not overlap, so a step is never shorter than a run.
            if level.step.saturating_sub(run) >= gap {
                break;
            }
            run += level.step * (level.n as u64 - 1);
            solid += 1;
        }
        let last = levels.len() - 1;
        let mut cut = Self { lie, level: last, most: levels[last].n, solid, inner: 1, in_run: 1, total: 1 };
        let mut bytes = lie.item as u64;
        for (at, level) in levels.iter().enumerate() {
            let n = level.n as u64;
            let (next, most) = if at < solid {
                (
                    level.step.saturating_mul(n - 1).saturating_add(bytes),
                    target.saturating_sub(bytes) / level.step + 1,
                )
            } else {
                (bytes.saturating_mul(n), (target / bytes).max(1))
            };
            if next > target || at == last {
                cut.level = at;
                // Less than `n` if not all fit.
                cut.most = most.min(n) as usize;
                if at == 0 && cut.most < level.n && cut.most > ROUND {
                    cut.most -= cut.most % ROUND;
                }
                break;
            }
            bytes = next;
            cut.inner *= level.n;
        }
        cut.solid = solid.min(cut.level + 1);
        cut.in_run = levels[cut.level].n.div_ceil(cut.most);
        // There are at most as many pieces as elements.
        cut.total = levels[cut.level + 1..].iter().fold(cut.in_run, |total, level| total * level.n);
        cut
    }

    /// Returns piece `number`, which is less than [`PieceSplit::total`].
    pub(super) fn piece(&self, number: usize) -> SlabPiece<'_> {
        let level = self.lie.levels[self.level];
        let (outer, part) = (number / self.in_run, number % self.in_run);
        let first = part * self.most;
        let n = self.most.min(level.n - first);
        let start =
            self.lie.start + first as u64 * level.step + offset(&self.lie.levels[self.level + 1..], outer);
        SlabPiece {
            cut: self,
            start,
            n,
            first: (outer * level.n + first) * self.inner,
            elems: n * self.inner,
        }
    }
}

/// The number of elements per piece is a multiple of this if possible: whole cache lines.
const ROUND: usize = 64;

/// Returns the offset of index `number`, counted through nested runs.
fn offset(levels: &[StrideLevel], number: usize) -> u64 {
    let (mut rest, mut offset) = (number, 0);
    for level in levels {
        if rest == 0 {
            break;
        }
        offset += (rest % level.n) as u64 * level.step;
        rest /= level.n;
    }
    offset
}

/// Elements that are moved together.
#[derive(Debug)]
pub(super) struct SlabPiece<'c> {
    cut: &'c PieceSplit<'c>,
    /// The offset of the first.
    pub(super) start: u64,
    /// The number of indices of the divided level.
    n: usize,
    /// The first element in memory.
    pub(super) first: usize,
    /// The count.
    pub(super) elems: usize,
}

impl SlabPiece<'_> {
    /// Returns its levels, innermost first; the last is divided.
    fn levels(&self) -> impl DoubleEndedIterator<Item = StrideLevel> + ExactSizeIterator {
        let cut = self.cut.level;
        let n = self.n;
        self.cut.lie.levels[..=cut]
            .iter()
            .enumerate()
            .map(move |(at, &level)| if at == cut { StrideLevel { n, ..level } } else { level })
    }

    /// Returns the bytes of a run, including gaps.
    pub(super) fn run(&self) -> usize {
        let item = self.cut.lie.item;
        // At most the size of a piece.
        self.levels()
            .take(self.cut.solid)
            .fold(item, |span, level| span + level.step as usize * (level.n - 1))
    }

    /// Returns the number of runs.
    pub(super) fn runs(&self) -> usize {
        self.levels().skip(self.cut.solid).fold(1, |runs, level| runs * level.n)
    }

    /// Returns the offset of run `number`.
    pub(super) fn run_start(&self, number: usize) -> u64 {
        self.start + offset(&self.cut.lie.levels[self.cut.solid..=self.cut.level], number)
    }

    /// Whether the elements of a run are adjacent.
    pub(super) fn is_dense(&self) -> bool {
        match self.cut.solid {
            0 => true,
            1 => self.cut.lie.levels[0].step == self.cut.lie.item as u64,
            _ => false,
        }
    }

    /// Returns the bytes from the first to the last element; `None` on overflow.
    pub(super) fn span(&self) -> Option<usize> {
        let span = self
            .levels()
            .fold(self.cut.lie.item as u64, |span, level| span + level.step * (level.n as u64 - 1));
        usize::try_from(span).ok()
    }

    /// Returns the part between store and memory. Steps of the store are in bytes; with `compact` they refer
    /// to the concatenated runs.
    pub(super) fn part(&self, compact: bool) -> ChunkPart {
        let mut part = ChunkPart { elems: 1, ..ChunkPart::default() };
        let mut bytes = self.run();
        for (at, level) in self.levels().enumerate() {
            // Offsets within the span, or within the scratch buffer; both fit.
            let chunk = if compact && at >= self.cut.solid { bytes } else { level.step as usize };
            if at >= self.cut.solid {
                bytes *= level.n;
            }
            let mem = part.elems;
            part.nest(StridedRun { n: level.n, chunk, mem });
        }
        part.finish();
        part
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::odometer::Odometer;

    /// The chunk offsets of all elements, in memory order.
    fn slow(slab: &Slab<'_>, begin: u64, steps: &[u64]) -> Vec<u64> {
        let mut offsets = vec![begin];
        for (dim, step) in steps.iter().enumerate() {
            let place = |i| (slab.start[dim] + i * slab.step(dim)) * step;
            offsets =
                offsets.iter().flat_map(|&at| (0..slab.count[dim]).map(move |i| at + place(i))).collect();
        }
        offsets
    }

    /// Returns the offset of each element in memory order, as `part` gives it.
    fn places(part: &ChunkPart, base: u64) -> Vec<u64> {
        let mut offsets = vec![u64::MAX; part.elems];
        Odometer::each(&part.dims, part.chunk_start, part.mem_start, |chunk, mem| {
            offsets[mem] = base + chunk as u64
        });
        offsets
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn pieces_are_all_elements_in_order(
            dims in prop::collection::vec((0..3u64, 1..7u64, 1..4u64, 0..3u64), 0..5),
            item in prop::sample::select(vec![1u64, 2, 4, 8]),
            gap in 1..100u64, target in 8..400u64, extra in 0..50u64,
        ) {
            let (mut start, mut count, mut stride, mut steps) = (vec![], vec![], vec![], vec![]);
            let mut bytes = item;
            for (at, &(from, n, by, rest)) in dims.iter().enumerate() {
                start.insert(0, from);
                count.insert(0, n);
                stride.insert(0, by);
                // The slowest dimension may be the record dimension.
                bytes += if at + 1 == dims.len() { extra } else { 0 };
                steps.insert(0, bytes);
                bytes *= from + n * by + rest;
            }
            let slab = Slab { start: &start, count: &count, stride: Some(&stride) };
            let offsets = slow(&slab, 3, &steps);
            let lie = SlabLayout::new(&slab, 3, &steps, item as usize).unwrap();
            prop_assert_eq!(lie.elems, offsets.len());
            prop_assert_eq!(lie.end(), offsets.last().unwrap() + item);
            let cut = PieceSplit::new(&lie, gap, target);
            let mut done = 0;
            for number in 0..cut.total {
                let piece = cut.piece(number);
                let expected = &offsets[done..done + piece.elems];
                prop_assert_eq!((piece.first, piece.start), (done, expected[0]));
                prop_assert_eq!(piece.span(), Some((expected.last().unwrap() + item - piece.start) as usize));
                prop_assert_eq!(&places(&piece.part(false), piece.start), expected);
                // The runs, in order, hold the elements at the places that the compact part gives.
                let run = piece.run();
                prop_assert!((run * piece.runs()) as u64 <= target.max(item));
                let compact = piece.part(true);
                let in_runs: Vec<u64> = places(&compact, 0)
                    .iter()
                    .map(|&at| piece.run_start(at as usize / run) + at % run as u64)
                    .collect();
                prop_assert_eq!(&in_runs, expected);
                if piece.is_dense() {
                    prop_assert_eq!(run * piece.runs(), piece.elems * item as usize);
                }
                done += piece.elems;
            }
            prop_assert_eq!(done, offsets.len());
        }
    }

    #[test]
    fn adjacent_runs_are_joined() {
        let lie =
            |slab: &Slab<'_>, steps: &[u64]| SlabLayout::new(slab, 0, steps, 4).unwrap().levels.to_vec();
        let level = |n, step| StrideLevel { n, step };
        assert_eq!(lie(&Slab::new(&[0; 3], &[2, 3, 4]), &[48, 16, 4]), [level(24, 4)]);
        assert_eq!(lie(&Slab::new(&[0; 3], &[2, 3, 4]), &[52, 16, 4]), [level(12, 4), level(2, 52)]);
        assert_eq!(lie(&Slab::new(&[0; 3], &[2, 2, 4]), &[48, 16, 4]), [level(8, 4), level(2, 48)]);
        let every = Slab { start: &[0, 1], count: &[3, 2], stride: Some(&[1, 2]) };
        assert_eq!(lie(&every, &[16, 4]), [level(6, 8)]);
        assert_eq!(lie(&Slab::new(&[], &[]), &[]), [level(1, 4)]);
        assert!(SlabLayout::new(&Slab::new(&[u64::MAX], &[1]), 0, &[4], 4).is_none());
        assert!(SlabLayout::new(&Slab::new(&[0], &[1]), u64::MAX - 3, &[4], 4).is_none());
        assert!(
            SlabLayout::new(&Slab { start: &[0], count: &[3], stride: Some(&[1 << 62]) }, 0, &[4], 4)
                .is_none()
        );
    }
}
