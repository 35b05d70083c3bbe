//! [`SelectedElements`]: the elements of a selection in order; the last dimension varies fastest.
//!
//! Most selections are grids: some indices along each dimension, in all combinations. Others are blocks, kept
//! as bands ([`super::bands`]). Both find the n-th element, and the elements in a box.

use nczarr_model::Result;

use super::super::cursor::damaged;
use super::bands::{BandBudget, BlockBands};
use super::element_run::{ElementRun, RunVisitor};
use super::selection::{DataspaceSelection, SelectionAxis, UNLIMITED};

/// Indices along one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AxisSpan {
    axis: SelectionAxis,
    pub(crate) len: u64,
}

impl AxisSpan {
    /// Selects `len` indices of an axis.
    pub(crate) fn new(axis: SelectionAxis, len: u64) -> Result<Self> {
        let last = len.checked_sub(1).map_or(Some(axis.start), |last| axis.at(last));
        if last.is_some_and(|last| last < u64::MAX >> 1) {
            Ok(Self { axis, len })
        } else {
            Err(damaged(format!("selection: {len} indices of {axis:?} are out of range")))
        }
    }

    /// Selects all of a dimension.
    fn all(len: u64) -> Self {
        Self { axis: SelectionAxis { start: 0, stride: len.max(1), count: 1, block: len.max(1) }, len }
    }

    /// Returns an index. `slice` must be valid.
    pub(crate) fn at(&self, slice: u64) -> u64 {
        self.axis.at(slice).unwrap_or(u64::MAX)
    }

    /// Returns the number of indices below `end`.
    pub(crate) fn below(&self, end: u64) -> u64 {
        let SelectionAxis { start, stride, block, .. } = self.axis;
        let Some(room) = end.checked_sub(start).filter(|&room| room > 0) else { return 0 };
        if block == UNLIMITED {
            return room.min(self.len);
        }
        let blocks = (room - 1) / stride;
        let slices = blocks.saturating_mul(block).saturating_add((room - blocks * stride).min(block));
        slices.min(self.len)
    }

    /// Returns the run of equally spaced indices from `slice` on.
    pub(crate) fn run(&self, slice: u64) -> ElementRun {
        let SelectionAxis { stride, block, .. } = self.axis;
        let left = self.len - slice;
        match block {
            1 => ElementRun { count: left, step: stride },
            _ if block >= stride => ElementRun { count: left, step: 1 },
            _ => ElementRun { count: (block - slice % block).min(left), step: 1 },
        }
    }
}

/// The elements of a selection.
#[derive(Debug, Clone)]
pub(crate) enum SelectedElements {
    Grid(Vec<AxisSpan>),
    Bands(BlockBands),
}

impl SelectedElements {
    /// Selects elements of a dataset of a shape. `slices` limits an unlimited dimension.
    ///
    /// # Errors
    /// `NC_EHDFERR` if the rank differs, or if there are too many bands.
    pub(crate) fn of(
        selection: &DataspaceSelection,
        shape: &[u64],
        slices: u64,
        work: &BandBudget,
    ) -> Result<Self> {
        let alike = |rank: usize| {
            if rank == shape.len() {
                Ok(())
            } else {
                Err(damaged(format!("selection: wrong rank (expected {}, found {rank})", shape.len())))
            }
        };
        Ok(match selection {
            DataspaceSelection::None => {
                Self::Grid(shape.iter().map(|_| AxisSpan { len: 0, ..AxisSpan::all(1) }).collect())
            }
            DataspaceSelection::All => Self::Grid(shape.iter().map(|&len| AxisSpan::all(len)).collect()),
            DataspaceSelection::Regular(axes) => {
                alike(axes.len())?;
                let len = |axis: &SelectionAxis| if axis.is_unlimited() { slices } else { axis.slices(0) };
                Self::Grid(axes.iter().map(|axis| AxisSpan::new(*axis, len(axis))).collect::<Result<_>>()?)
            }
            DataspaceSelection::Blocks { rank, corners } => {
                alike(*rank)?;
                match grid(*rank, corners) {
                    Some(spans) => Self::Grid(spans),
                    None => Self::Bands(BlockBands::new(*rank, corners, work)?),
                }
            }
        })
    }

    /// Returns the number of elements.
    pub(crate) fn count(&self) -> Result<u64> {
        match self {
            Self::Grid(spans) => {
                let count = spans.iter().try_fold(1u64, |count, span| count.checked_mul(span.len));
                count.ok_or_else(|| damaged(format!("selection: {spans:?} has too many elements")))
            }
            Self::Bands(bands) => Ok(bands.count()),
        }
    }

    /// Whether some elements may lie in a box.
    pub(crate) fn meets(&self, low: &[u64], high: &[u64]) -> bool {
        match self {
            Self::Grid(spans) => spans
                .iter()
                .zip(low.iter().zip(high))
                .all(|(span, (&low, &high))| span.below(low) < span.below(high)),
            Self::Bands(bands) => bands.meets(low, high),
        }
    }

    /// Writes the index of an element to `place`, and returns the run that starts there.
    pub(crate) fn find(&self, number: u64, place: &mut [u64]) -> ElementRun {
        match self {
            Self::Grid(spans) => {
                let (mut rest, mut run) = (number, ElementRun { count: 1, step: 1 });
                for (at, (span, place)) in spans.iter().zip(place).enumerate().rev() {
                    let slice = rest % span.len.max(1);
                    rest /= span.len.max(1);
                    *place = span.at(slice);
                    if at + 1 == spans.len() {
                        run = span.run(slice);
                    }
                }
                run
            }
            Self::Bands(bands) => bands.find(number, place),
        }
    }

    /// Calls `take` for each run of elements in a box.
    pub(crate) fn inside(&self, low: &[u64], high: &[u64], take: &mut RunVisitor<'_>) -> Result<()> {
        match self {
            Self::Grid(spans) => in_grid(spans, low, high, take),
            Self::Bands(bands) => bands.inside(low, high, take),
        }
    }
}

/// Returns the grid that the blocks form, if they form one. HDF5 stores some regular selections as blocks.
fn grid(rank: usize, corners: &[(u64, u64)]) -> Option<Vec<AxisSpan>> {
    let count = corners.len() / rank;
    let (mut spans, mut together) = (Vec::with_capacity(rank), 1u64);
    for dim in 0..rank {
        let mut along: Vec<(u64, u64)> = corners.iter().skip(dim).step_by(rank).copied().collect();
        along.sort_unstable();
        along.dedup();
        let &(start, last) = along.first()?;
        let block = last - start + 1;
        let stride = along.get(1).map_or(block, |next| next.0 - start);
        let axis = SelectionAxis { start, stride: stride.max(1), count: along.len() as u64, block };
        let equal = |(at, &(first, last)): (usize, &(u64, u64))| {
            last - first + 1 == block
                && (at as u64).checked_mul(stride).and_then(|by| start.checked_add(by)) == Some(first)
        };
        if (along.len() > 1 && block > stride) || !along.iter().enumerate().all(equal) {
            return None;
        }
        together = together.checked_mul(along.len() as u64)?;
        spans.push(AxisSpan::new(axis, axis.count.checked_mul(block)?).ok()?);
    }
    // The count of blocks matches, so they form a grid unless one occurs twice.
    let mut all: Vec<&[(u64, u64)]> = corners.chunks_exact(rank).collect();
    all.sort_unstable();
    all.dedup();
    (together == count as u64 && all.len() == count).then_some(spans)
}

fn in_grid(spans: &[AxisSpan], low: &[u64], high: &[u64], take: &mut RunVisitor<'_>) -> Result<()> {
    let range = |(span, (&low, &high)): (&AxisSpan, (&u64, &u64))| (span.below(low), span.below(high));
    let ranges: Vec<(u64, u64)> = spans.iter().zip(low.iter().zip(high)).map(range).collect();
    if ranges.iter().any(|(from, to)| from >= to) {
        return Ok(());
    }
    let mut slices: Vec<u64> = ranges.iter().map(|range| range.0).collect();
    let mut place: Vec<u64> = spans.iter().zip(&slices).map(|(span, &slice)| span.at(slice)).collect();
    loop {
        let number = spans.iter().zip(&slices).fold(0, |number, (span, &slice)| number * span.len + slice);
        let mut dim = spans.len();
        let mut moved = 1;
        if let (Some(span), Some(range)) = (spans.last(), ranges.last()) {
            let run = span.run(slices[dim - 1]);
            moved = run.count.min(range.1 - slices[dim - 1]);
            take(number, &place, ElementRun { count: moved, ..run })?;
        } else {
            take(number, &place, ElementRun { count: 1, step: 1 })?;
        }
        // Advance to the next index.
        loop {
            let Some(at) = dim.checked_sub(1) else { return Ok(()) };
            dim = at;
            slices[dim] += moved;
            moved = 1;
            if slices[dim] < ranges[dim].1 {
                place[dim] = spans[dim].at(slices[dim]);
                break;
            }
            slices[dim] = ranges[dim].0;
            place[dim] = spans[dim].at(slices[dim]);
        }
    }
}
