//! [`Picked`]: the elements of a selection in their order, which is that of a dataset's elements: the last dimension is the fastest.
//!
//! Most selections are a grid: along each dimension some indices, and all that they make together. What is none are
//! blocks side by side, in bands ([`super::bands`]). Both answer where their n-th element is, and which of theirs lie in a box.

use nczarr_model::Result;

use super::super::cursor::bad;
use super::bands::{Bands, Work};
use super::selection::{Axis, Selection, UNLIMITED};

/// Elements one after another, along the last dimension: where the first is, how many, and how far apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) count: u64,
    pub(crate) step: u64,
}

/// What is done with a run: the number of its first element, where that is, and the run.
pub(super) type Take<'a> = dyn FnMut(u64, &[u64], Run) -> Result<()> + 'a;

/// The indices along one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    axis: Axis,
    pub(crate) len: u64,
}

impl Span {
    /// Some indices of an axis.
    pub(crate) fn new(axis: Axis, len: u64) -> Result<Self> {
        let last = len.checked_sub(1).map_or(Some(axis.start), |last| axis.at(last));
        match last.is_some_and(|last| last < u64::MAX >> 1) {
            true => Ok(Self { axis, len }),
            false => Err(bad(format!("selection: {len} indices of {axis:?}"))),
        }
    }

    /// All of a dimension.
    fn all(len: u64) -> Self {
        Self { axis: Axis { start: 0, stride: len.max(1), count: 1, block: len.max(1) }, len }
    }

    /// An index: what was picked is not beyond.
    pub(crate) fn at(&self, slice: u64) -> u64 {
        self.axis.at(slice).unwrap_or(u64::MAX)
    }

    /// How many indices are below `end`.
    pub(crate) fn below(&self, end: u64) -> u64 {
        let Axis { start, stride, block, .. } = self.axis;
        let Some(room) = end.checked_sub(start).filter(|&room| room > 0) else { return 0 };
        if block == UNLIMITED {
            return room.min(self.len);
        }
        let blocks = (room - 1) / stride;
        let slices = blocks.saturating_mul(block).saturating_add((room - blocks * stride).min(block));
        slices.min(self.len)
    }

    /// How many indices from `slice` on have one distance, and which.
    pub(crate) fn run(&self, slice: u64) -> Run {
        let Axis { stride, block, .. } = self.axis;
        let left = self.len - slice;
        match block {
            1 => Run { count: left, step: stride },
            _ if block >= stride => Run { count: left, step: 1 },
            _ => Run { count: (block - slice % block).min(left), step: 1 },
        }
    }
}

/// The elements of a selection.
#[derive(Debug, Clone)]
pub(crate) enum Picked {
    Grid(Vec<Span>),
    Bands(Bands),
}

impl Picked {
    /// Those of a dataset of such a shape; `slices` are meant along a dimension without end.
    ///
    /// # Errors
    /// `NC_EHDFERR` if the selection is of another rank, or its blocks are too many in one another.
    pub(crate) fn of(selection: &Selection, shape: &[u64], slices: u64, work: &Work) -> Result<Self> {
        let alike = |rank: usize| match rank == shape.len() {
            true => Ok(()),
            false => Err(bad(format!("selection: {rank} dimensions of {}", shape.len()))),
        };
        Ok(match selection {
            Selection::None => Self::Grid(shape.iter().map(|_| Span { len: 0, ..Span::all(1) }).collect()),
            Selection::All => Self::Grid(shape.iter().map(|&len| Span::all(len)).collect()),
            Selection::Regular(axes) => {
                alike(axes.len())?;
                let len = |axis: &Axis| if axis.is_unlimited() { slices } else { axis.slices(0) };
                Self::Grid(axes.iter().map(|axis| Span::new(*axis, len(axis))).collect::<Result<_>>()?)
            }
            Selection::Blocks { rank, corners } => {
                alike(*rank)?;
                match grid(*rank, corners) {
                    Some(spans) => Self::Grid(spans),
                    None => Self::Bands(Bands::new(*rank, corners, work)?),
                }
            }
        })
    }

    /// How many there are.
    pub(crate) fn count(&self) -> Result<u64> {
        match self {
            Self::Grid(spans) => {
                let count = spans.iter().try_fold(1u64, |count, span| count.checked_mul(span.len));
                count.ok_or_else(|| bad(format!("selection: {spans:?}")))
            }
            Self::Bands(bands) => Ok(bands.count()),
        }
    }

    /// Whether some may be in a box.
    pub(crate) fn meets(&self, low: &[u64], high: &[u64]) -> bool {
        match self {
            Self::Grid(spans) => {
                spans.iter().zip(low.iter().zip(high)).all(|(span, (&low, &high))| span.below(low) < span.below(high))
            }
            Self::Bands(bands) => bands.meets(low, high),
        }
    }

    /// Where an element is, and how it goes on from there.
    pub(crate) fn find(&self, number: u64, place: &mut [u64]) -> Run {
        match self {
            Self::Grid(spans) => {
                let (mut rest, mut run) = (number, Run { count: 1, step: 1 });
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

    /// Those in a box from `low` to before `high`, run by run: the number of the first, where it is, and the run.
    pub(crate) fn inside(&self, low: &[u64], high: &[u64], take: &mut Take<'_>) -> Result<()> {
        match self {
            Self::Grid(spans) => in_grid(spans, low, high, take),
            Self::Bands(bands) => bands.inside(low, high, take),
        }
    }
}

/// The spans that make the blocks together, if such there are: so HDF5 stores what was selected at equal distances.
fn grid(rank: usize, corners: &[(u64, u64)]) -> Option<Vec<Span>> {
    let count = corners.len() / rank;
    let (mut spans, mut together) = (Vec::with_capacity(rank), 1u64);
    for dim in 0..rank {
        let mut along: Vec<(u64, u64)> = corners.iter().skip(dim).step_by(rank).copied().collect();
        along.sort_unstable();
        along.dedup();
        let &(start, last) = along.first()?;
        let block = last - start + 1;
        let stride = along.get(1).map_or(block, |next| next.0 - start);
        let axis = Axis { start, stride: stride.max(1), count: along.len() as u64, block };
        let equal = |(at, &(first, last)): (usize, &(u64, u64))| {
            last - first + 1 == block
                && (at as u64).checked_mul(stride).and_then(|by| start.checked_add(by)) == Some(first)
        };
        if (along.len() > 1 && block > stride) || !along.iter().enumerate().all(equal) {
            return None;
        }
        together = together.checked_mul(along.len() as u64)?;
        spans.push(Span::new(axis, axis.count.checked_mul(block)?).ok()?);
    }
    // As many as there may be: then all are there, unless one is there twice.
    let mut all: Vec<&[(u64, u64)]> = corners.chunks_exact(rank).collect();
    all.sort_unstable();
    all.dedup();
    (together == count as u64 && all.len() == count).then_some(spans)
}

fn in_grid(spans: &[Span], low: &[u64], high: &[u64], take: &mut Take<'_>) -> Result<()> {
    let range = |(span, (&low, &high)): (&Span, (&u64, &u64))| (span.below(low), span.below(high));
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
            take(number, &place, Run { count: moved, ..run })?;
        } else {
            take(number, &place, Run { count: 1, step: 1 })?;
        }
        // The next one.
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
