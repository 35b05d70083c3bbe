//! [`Lie`]: where the elements of a slab lie in the store; [`Cut`]: the pieces a transfer is done in.
//!
//! Elements lie in the same order in the store and in memory, and in memory one after another. So a piece is a range
//! of memory, and pieces that follow one another in memory do so in the store. Steps here are in bytes of the store.

use dispatch::Small;
use model::Slab;

use crate::project::{Dim, Part};

/// Elements, or runs of them, that follow one another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Level {
    /// How many.
    pub(super) n: usize,
    /// Bytes from one to the next.
    pub(super) step: u64,
}

/// The elements of a slab; there is at least one.
#[derive(Debug)]
pub(super) struct Lie {
    /// The offset of the first.
    pub(super) start: u64,
    /// Nested runs, innermost first; adjacent ones are joined. Never empty.
    pub(super) levels: Small<Level>,
    /// How many.
    pub(super) elems: usize,
    /// Bytes of each in the store.
    pub(super) item: usize,
}

impl Lie {
    /// The elements of a slab that is not empty, whose dimensions have steps of `steps` bytes. `None` if they cannot
    /// be counted, or an offset does not fit 64 bits.
    pub(super) fn new(slab: &Slab<'_>, begin: u64, steps: &[u64], item: usize) -> Option<Self> {
        let mut lie = Self { start: begin, levels: Small::default(), elems: 1, item };
        for dim in (0..steps.len()).rev() {
            let n = usize::try_from(slab.count[dim]).ok()?;
            lie.start = lie.start.checked_add(slab.start[dim].checked_mul(steps[dim])?)?;
            lie.elems = lie.elems.checked_mul(n)?;
            if n > 1 {
                lie.nest(Level { n, step: steps[dim].checked_mul(slab.step(dim))? });
            }
        }
        if lie.levels.is_empty() {
            lie.levels.push(Level { n: 1, step: item as u64 });
        }
        let mut end = lie.start.checked_add(item as u64)?;
        for level in lie.levels.iter() {
            end = level.step.checked_mul(level.n as u64 - 1)?.checked_add(end)?;
        }
        Some(lie)
    }

    fn nest(&mut self, level: Level) {
        if let Some(inner) = self.levels.last_mut()
            && inner.step.checked_mul(inner.n as u64) == Some(level.step)
        {
            // The number of all elements fits, hence that of these.
            inner.n *= level.n;
            return;
        }
        self.levels.push(level);
    }

    /// One past the last byte.
    pub(super) fn end(&self) -> u64 {
        // Checked when it was made.
        self.start + span(&self.levels, self.item as u64)
    }
}

/// Bytes from the first to the last of nested runs of things of `item` bytes.
fn span(levels: &[Level], item: u64) -> u64 {
    levels.iter().fold(item, |span, level| span + level.step * (level.n as u64 - 1))
}

/// How the elements of a slab are cut into pieces: along one level, so that all pieces but the last of each run of that
/// level are alike.
#[derive(Debug)]
pub(super) struct Cut<'a> {
    lie: &'a Lie,
    /// The level that is cut.
    level: usize,
    /// Its indices in one piece.
    most: usize,
    /// Levels below this are moved as one run, with the gaps there are in between.
    solid: usize,
    /// Elements of one index of the level.
    inner: usize,
    /// Pieces of one run of the level.
    in_run: usize,
    /// How many pieces there are.
    pub(super) total: usize,
}

impl<'a> Cut<'a> {
    /// Pieces of at most `target` bytes (which is at least one element); gaps of less than `gap` bytes are moved too.
    pub(super) fn new(lie: &'a Lie, gap: u64, target: u64) -> Self {
        let levels = &*lie.levels;
        let mut run = lie.item as u64;
        let mut solid = 0;
        for level in levels {
            // Levels do not overlap, hence the step is never shorter than the run.
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
                (level.step.saturating_mul(n - 1).saturating_add(bytes), target.saturating_sub(bytes) / level.step + 1)
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
        // There are no more pieces than elements.
        cut.total = levels[cut.level + 1..].iter().fold(cut.in_run, |total, level| total * level.n);
        cut
    }

    /// Piece number `number`, which is less than [`Cut::total`].
    pub(super) fn piece(&self, number: usize) -> Piece<'_> {
        let level = self.lie.levels[self.level];
        let (outer, part) = (number / self.in_run, number % self.in_run);
        let first = part * self.most;
        let n = self.most.min(level.n - first);
        let start = self.lie.start + first as u64 * level.step + offset(&self.lie.levels[self.level + 1..], outer);
        Piece { cut: self, start, n, first: (outer * level.n + first) * self.inner, elems: n * self.inner }
    }
}

/// Elements per piece are a multiple of this where that is possible: whole lines of the processor's cache.
const ROUND: usize = 64;

/// The offset of index `number` of nested runs, counted through.
fn offset(levels: &[Level], number: usize) -> u64 {
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

/// Elements that are moved at once.
#[derive(Debug)]
pub(super) struct Piece<'c> {
    cut: &'c Cut<'c>,
    /// The offset of the first.
    pub(super) start: u64,
    /// Indices of the level that is cut.
    n: usize,
    /// The first in memory.
    pub(super) first: usize,
    /// How many.
    pub(super) elems: usize,
}

impl Piece<'_> {
    /// Its levels, innermost first; the last is cut.
    fn levels(&self) -> impl DoubleEndedIterator<Item = Level> + ExactSizeIterator {
        let cut = self.cut.level;
        let n = self.n;
        self.cut.lie.levels[..=cut].iter().enumerate().map(move |(at, &level)| match at == cut {
            true => Level { n, ..level },
            false => level,
        })
    }

    /// Bytes of one run, gaps between its elements included.
    pub(super) fn run(&self) -> usize {
        let item = self.cut.lie.item;
        // At most what a piece may be.
        self.levels().take(self.cut.solid).fold(item, |span, level| span + level.step as usize * (level.n - 1))
    }

    /// How many runs.
    pub(super) fn runs(&self) -> usize {
        self.levels().skip(self.cut.solid).fold(1, |runs, level| runs * level.n)
    }

    /// The offset of run number `number`.
    pub(super) fn run_start(&self, number: usize) -> u64 {
        self.start + offset(&self.cut.lie.levels[self.cut.solid..=self.cut.level], number)
    }

    /// Whether there is nothing between the elements of a run.
    pub(super) fn is_dense(&self) -> bool {
        match self.cut.solid {
            0 => true,
            1 => self.cut.lie.levels[0].step == self.cut.lie.item as u64,
            _ => false,
        }
    }

    /// Bytes from the first to the last; `None` if they cannot be counted.
    pub(super) fn span(&self) -> Option<usize> {
        let span = self.levels().fold(self.cut.lie.item as u64, |span, level| span + level.step * (level.n as u64 - 1));
        usize::try_from(span).ok()
    }

    /// Its elements in the store (`compact`: in the runs laid one after another) and in memory; steps of the store are
    /// in bytes.
    pub(super) fn part(&self, compact: bool) -> Part {
        let mut part = Part { elems: 1, ..Part::default() };
        let mut bytes = self.run();
        for (at, level) in self.levels().enumerate() {
            // Of all bytes from the first to the last, or of those in scratch, which can both be counted.
            let chunk = match compact && at >= self.cut.solid {
                true => bytes,
                false => level.step as usize,
            };
            if at >= self.cut.solid {
                bytes *= level.n;
            }
            let mem = part.elems;
            part.nest(Dim { n: level.n, chunk, mem });
        }
        part.finish();
        part
    }
}
