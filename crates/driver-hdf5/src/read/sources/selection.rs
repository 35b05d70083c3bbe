//! [`Selection`]: the elements of a dataset that a mapping of a virtual one names, as they are stored.
//!
//! Nothing is made of them here but what is needed to be sure of them: [`super::picked`] knows their order. Points are
//! refused: HDF5 has no virtual datasets of points.
//! Source: HDF5 File Format Specification, "Dataspace selection".

use nczarr_model::Result;

use super::super::cursor::{Cursor, UNDEFINED, bad};

/// A count or a block without end.
pub(crate) const UNLIMITED: u64 = u64::MAX;

/// The most dimensions that a dataset has.
const RANK: usize = 32;

/// Which elements are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Selection {
    None,
    All,
    /// Blocks at equal distances, along each dimension.
    Regular(Vec<Axis>),
    /// Blocks: first and last index along each dimension, one block after another.
    Blocks {
        rank: usize,
        corners: Vec<(u64, u64)>,
    },
}

/// Along one dimension: `count` blocks of `block` elements, one each `stride`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Axis {
    pub(crate) start: u64,
    pub(crate) stride: u64,
    pub(crate) count: u64,
    pub(crate) block: u64,
}

impl Axis {
    /// Whether it has no end.
    pub(crate) fn is_unlimited(&self) -> bool {
        self.count == UNLIMITED || self.block == UNLIMITED
    }

    /// How many elements of the axis lie below `end`, or all of one that has an end.
    pub(crate) fn slices(&self, end: u64) -> u64 {
        if !self.is_unlimited() {
            return self.count * self.block;
        }
        let Some(room) = end.checked_sub(self.start).filter(|&room| room > 0) else { return 0 };
        if self.block == UNLIMITED || self.block == self.stride {
            return room;
        }
        let before = (room - 1) / self.stride;
        before * self.block + (room - before * self.stride).min(self.block)
    }

    /// The index of one of its elements.
    pub(crate) fn at(&self, slice: u64) -> Option<u64> {
        let offset = match self.block {
            UNLIMITED => slice,
            block => (slice / block).checked_mul(self.stride)?.checked_add(slice % block)?,
        };
        self.start.checked_add(offset)
    }

    fn check(&self) -> Result<()> {
        let Self { start, stride, count, block } = *self;
        let apart = count <= 1 || block <= stride;
        let ends = self.is_unlimited() || {
            let last = count.checked_mul(block).filter(|&slices| slices > 0).and_then(|slices| self.at(slices - 1));
            last.is_some_and(|last| last < u64::MAX >> 1)
        };
        match apart && ends && stride > 0 && block > 0 && count > 0 && start < u64::MAX >> 1 {
            true => Ok(()),
            false => Err(bad(format!("selection: {count} blocks of {block} from {start} on, one each {stride}"))),
        }
    }
}

impl Selection {
    /// Reads one.
    ///
    /// # Errors
    /// `NC_EHDFERR` if it is damaged, or one of points.
    pub(crate) fn parse(at: &mut Cursor<'_>) -> Result<Self> {
        let (kind, version) = (at.u32()?, at.u32()?);
        match (kind, version) {
            (0 | 3, 1) => {
                at.skip(8)?;
                Ok(if kind == 0 { Self::None } else { Self::All })
            }
            (1, _) => Err(bad("selection: points, of which HDF5 makes no virtual datasets")),
            (2, 1) => {
                at.skip(8)?;
                let rank = rank(at)?;
                let count = at.u32()?;
                blocks(at, rank, count.into(), 4)
            }
            (2, 2 | 3) => {
                let regular = at.u8()? & 1 != 0;
                let width = if version == 3 { at.u8()? } else { 8 };
                at.skip(if version == 2 { 4 } else { 0 })?;
                if ![2, 4, 8].contains(&width) {
                    return Err(bad(format!("selection: numbers of {width} bytes")));
                }
                let rank = rank(at)?;
                if regular {
                    let axes = (0..rank).map(|_| axis(at, width)).collect::<Result<Vec<_>>>()?;
                    return match axes.iter().filter(|axis| axis.is_unlimited()).count() {
                        0 | 1 => Ok(Self::Regular(axes)),
                        count => Err(bad(format!("selection: without end along {count} dimensions"))),
                    };
                }
                let count = at.uint(width)?;
                blocks(at, rank, count, width)
            }
            _ => Err(bad(format!("selection: type {kind} of version {version}, of which nothing is known"))),
        }
    }

    /// The axis without end, and its dimension.
    pub(crate) fn unlimited(&self) -> Option<(usize, Axis)> {
        let Self::Regular(axes) = self else { return None };
        axes.iter().copied().enumerate().find(|(_, axis)| axis.is_unlimited())
    }

    /// One more than the last index along each dimension that has one. Nothing of all and none.
    pub(crate) fn bounds(&self) -> Vec<Option<u64>> {
        match self {
            Self::None | Self::All => Vec::new(),
            Self::Regular(axes) => {
                let end = |axis: &Axis| (!axis.is_unlimited()).then(|| axis.at(axis.slices(0) - 1)).flatten();
                axes.iter().map(|axis| end(axis).map(|last| last + 1)).collect()
            }
            Self::Blocks { rank, corners } => {
                let mut ends = vec![None; *rank];
                for block in corners.chunks_exact(*rank) {
                    for (end, &(_, last)) in ends.iter_mut().zip(block) {
                        *end = (*end).max(Some(last + 1));
                    }
                }
                ends
            }
        }
    }
}

fn rank(at: &mut Cursor<'_>) -> Result<usize> {
    match at.u32()? as usize {
        rank @ 1..=RANK => Ok(rank),
        rank => Err(bad(format!("selection: {rank} dimensions"))),
    }
}

fn axis(at: &mut Cursor<'_>, width: u8) -> Result<Axis> {
    // As of an address, all ones means that there is none.
    let (start, stride) = (at.uint(width)?, at.uint(width)?);
    let (count, block) = (at.address(width)?, at.address(width)?);
    const { assert!(UNDEFINED == UNLIMITED) };
    let axis = Axis { start, stride, count, block };
    axis.check()?;
    // Of one block the distance says nothing; an endless one is alone.
    Ok(match (count, block) {
        (_, UNLIMITED) => Axis { count: 1, stride: 1, ..axis },
        (1, _) => Axis { stride: block, ..axis },
        _ => axis,
    })
}

fn blocks(at: &mut Cursor<'_>, rank: usize, count: u64, width: u8) -> Result<Selection> {
    let bytes = count.checked_mul(2 * rank as u64 * u64::from(width));
    if bytes.is_none_or(|bytes| bytes > at.rest().len() as u64) {
        return Err(bad(format!("selection: {count} blocks in {} bytes", at.rest().len())));
    }
    let mut corners = Vec::new();
    for _ in 0..count {
        let first = (0..rank).map(|_| at.uint(width)).collect::<Result<Vec<_>>>()?;
        for first in first {
            let last = at.uint(width)?;
            if last < first || last >= u64::MAX >> 1 {
                return Err(bad(format!("selection: a block from {first} to {last}")));
            }
            corners.push((first, last));
        }
    }
    Ok(Selection::Blocks { rank, corners })
}
