//! [`BlockBands`]: blocks that form no grid, split along each dimension into bands that meet the same blocks.
//!
//! The number of an element follows from the sizes of the bands before it. The number of bands is limited.

use std::sync::atomic::{AtomicUsize, Ordering};

use nczarr_model::Result;

use super::super::cursor::damaged;
use super::element_run::{ElementRun, RunVisitor};

/// The bands that the selections of one dataset may still use.
#[derive(Debug)]
pub(crate) struct BandBudget(AtomicUsize);

impl Default for BandBudget {
    fn default() -> Self {
        Self(AtomicUsize::new(1 << 18))
    }
}

impl BandBudget {
    fn spend(&self, bands: usize) -> Result<()> {
        let spent = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bands));
        spent.map(drop).map_err(|_| damaged("selection: the blocks are too irregular"))
    }
}

/// Blocks, as bands along one dimension.
#[derive(Debug, Clone)]
pub(crate) struct BlockBands {
    list: Vec<Band>,
    count: u64,
}

#[derive(Debug, Clone)]
struct Band {
    start: u64,
    /// One more than the last index.
    end: u64,
    /// The number of its first element.
    first: u64,
    /// Elements at each index.
    each: u64,
    /// Bands along the next dimension; `None` for the last dimension.
    inner: Option<BlockBands>,
}

impl BlockBands {
    /// Splits blocks into bands.
    ///
    /// # Errors
    /// `NC_EHDFERR` if there are too many bands or elements.
    pub(crate) fn new(rank: usize, corners: &[(u64, u64)], work: &BandBudget) -> Result<Self> {
        let blocks: Vec<&[(u64, u64)]> = corners.chunks_exact(rank).collect();
        Self::cut(&blocks, work)
    }

    fn cut(blocks: &[&[(u64, u64)]], work: &BandBudget) -> Result<Self> {
        let mut sorted: Vec<&[(u64, u64)]> = blocks.to_vec();
        sorted.sort_unstable_by_key(|block| block[0].0);
        let mut cuts: Vec<u64> = blocks.iter().flat_map(|block| [block[0].0, block[0].1 + 1]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        let (mut list, mut count, mut next) = (Vec::<Band>::new(), 0u64, 0);
        let mut here: Vec<&[(u64, u64)]> = Vec::new();
        for pair in cuts.windows(2) {
            let (start, end) = (pair[0], pair[1]);
            here.retain(|block| block[0].1 >= start);
            while let Some(block) = sorted.get(next).filter(|block| block[0].0 <= start) {
                here.push(block);
                next += 1;
            }
            if here.is_empty() {
                continue;
            }
            work.spend(here.len())?;
            let inner = match here[0].len() {
                1 => None,
                _ => Some(Self::cut(&here.iter().map(|block| &block[1..]).collect::<Vec<_>>(), work)?),
            };
            let each = inner.as_ref().map_or(1, |inner| inner.count);
            let more = (end - start).checked_mul(each).and_then(|more| count.checked_add(more));
            match list.last_mut() {
                // The blocks are adjacent along the last dimension.
                Some(last) if inner.is_none() && last.end == start => last.end = end,
                _ => list.push(Band { start, end, first: count, each, inner }),
            }
            count = more.ok_or_else(|| damaged("selection: too many elements"))?;
        }
        Ok(Self { list, count })
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Whether some elements may lie in a box.
    pub(crate) fn meets(&self, low: &[u64], high: &[u64]) -> bool {
        let ends = low.first().zip(high.first());
        ends.is_some_and(|(&low, &high)| self.list.iter().any(|band| band.start < high && band.end > low))
    }

    /// Writes the index of an element to `place`, and returns the run that starts there.
    pub(crate) fn find(&self, number: u64, place: &mut [u64]) -> ElementRun {
        let at = self.list.partition_point(|band| band.first <= number);
        let (Some(band), Some((here, after))) =
            (at.checked_sub(1).and_then(|at| self.list.get(at)), place.split_first_mut())
        else {
            return ElementRun { count: 1, step: 1 };
        };
        let inside = number - band.first;
        *here = band.start + inside / band.each.max(1);
        match &band.inner {
            None => ElementRun { count: band.end - *here, step: 1 },
            Some(inner) => inner.find(inside % band.each.max(1), after),
        }
    }

    /// Calls `take` for each run of elements in the box from `low` to `high` (excluded).
    pub(crate) fn inside(&self, low: &[u64], high: &[u64], take: &mut RunVisitor<'_>) -> Result<()> {
        self.go(0, 0, &mut vec![0; low.len()], low, high, take)
    }

    fn go(
        &self,
        dim: usize,
        before: u64,
        place: &mut Vec<u64>,
        low: &[u64],
        high: &[u64],
        take: &mut RunVisitor<'_>,
    ) -> Result<()> {
        for band in &self.list[self.list.partition_point(|band| band.end <= low[dim])..] {
            let (from, to) = (band.start.max(low[dim]), band.end.min(high[dim]));
            if band.start >= high[dim] {
                break;
            }
            match &band.inner {
                None => {
                    place[dim] = from;
                    take(
                        before + band.first + (from - band.start),
                        place,
                        ElementRun { count: to - from, step: 1 },
                    )?;
                }
                Some(inner) => {
                    for index in from..to {
                        place[dim] = index;
                        let before = before + band.first + (index - band.start) * band.each;
                        inner.go(dim + 1, before, place, low, high, take)?;
                    }
                }
            }
        }
        Ok(())
    }
}
