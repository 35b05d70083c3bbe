//! [`DataspaceSelection`]: the elements of a dataset that a mapping selects, as stored.
//!
//! It is only parsed and checked here. [`super::selected`] knows the order of elements. Point selections are
//! refused, because HDF5 has no virtual datasets of points. Source: HDF5 File Format Specification,
//! "Dataspace selection".

use nczarr_model::Result;

use super::super::cursor::{MetadataCursor, UNDEFINED, damaged};

/// An unlimited count or block.
pub(crate) const UNLIMITED: u64 = u64::MAX;

/// The largest rank of a dataset.
const RANK: usize = 32;

/// The selected elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DataspaceSelection {
    None,
    All,
    /// Blocks at equal distances along each dimension.
    Regular(Vec<SelectionAxis>),
    /// Single blocks: first and last index along each dimension, block by block.
    Blocks {
        rank: usize,
        corners: Vec<(u64, u64)>,
    },
}

/// Along one dimension: `count` blocks of `block` elements, `stride` apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SelectionAxis {
    pub(crate) start: u64,
    pub(crate) stride: u64,
    pub(crate) count: u64,
    pub(crate) block: u64,
}

impl SelectionAxis {
    /// Whether it is unlimited.
    pub(crate) fn is_unlimited(&self) -> bool {
        self.count == UNLIMITED || self.block == UNLIMITED
    }

    /// Returns the number of elements below `end`, or all elements of a limited axis.
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

    /// Returns the index of an element.
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
            let last =
                count.checked_mul(block).filter(|&slices| slices > 0).and_then(|slices| self.at(slices - 1));
            last.is_some_and(|last| last < u64::MAX >> 1)
        };
        if apart && ends && stride > 0 && block > 0 && count > 0 && start < u64::MAX >> 1 {
            Ok(())
        } else {
            Err(damaged(format!(
                "selection: invalid hyperslab (start {start}, stride {stride}, count {count}, block {block})"
            )))
        }
    }
}

impl DataspaceSelection {
    /// Parses a selection.
    ///
    /// # Errors
    /// `NC_EHDFERR` if it is damaged, or a selection of points.
    pub(crate) fn parse(at: &mut MetadataCursor<'_>) -> Result<Self> {
        let (kind, version) = (at.u32()?, at.u32()?);
        match (kind, version) {
            (0 | 3, 1) => {
                at.skip(8)?;
                Ok(if kind == 0 { Self::None } else { Self::All })
            }
            (1, _) => Err(damaged("selection: point selections are not supported")),
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
                    return Err(damaged(format!("selection: invalid number size of {width} bytes")));
                }
                let rank = rank(at)?;
                if regular {
                    let axes = (0..rank).map(|_| axis(at, width)).collect::<Result<Vec<_>>>()?;
                    return match axes.iter().filter(|axis| axis.is_unlimited()).count() {
                        0 | 1 => Ok(Self::Regular(axes)),
                        count => Err(damaged(format!(
                            "selection: {count} dimensions are unlimited (expected at most 1)"
                        ))),
                    };
                }
                let count = at.uint(width)?;
                blocks(at, rank, count, width)
            }
            _ => Err(damaged(format!("selection: unknown type {kind} of version {version}"))),
        }
    }

    /// Returns the unlimited axis and its dimension.
    pub(crate) fn unlimited(&self) -> Option<(usize, SelectionAxis)> {
        let Self::Regular(axes) = self else { return None };
        axes.iter().copied().enumerate().find(|(_, axis)| axis.is_unlimited())
    }

    /// Returns one more than the last index along each limited dimension. Empty for the selections of all and
    /// of no elements.
    pub(crate) fn bounds(&self) -> Vec<Option<u64>> {
        match self {
            Self::None | Self::All => Vec::new(),
            Self::Regular(axes) => {
                let end = |axis: &SelectionAxis| {
                    (!axis.is_unlimited()).then(|| axis.at(axis.slices(0) - 1)).flatten()
                };
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

fn rank(at: &mut MetadataCursor<'_>) -> Result<usize> {
    match at.u32()? as usize {
        rank @ 1..=RANK => Ok(rank),
        rank => Err(damaged(format!("selection: invalid rank {rank}"))),
    }
}

fn axis(at: &mut MetadataCursor<'_>, width: u8) -> Result<SelectionAxis> {
    // All ones mean unlimited, as in an address.
    let (start, stride) = (at.uint(width)?, at.uint(width)?);
    let (count, block) = (at.address(width)?, at.address(width)?);
    const { assert!(UNDEFINED == UNLIMITED) };
    let axis = SelectionAxis { start, stride, count, block };
    axis.check()?;
    // The stride of a single block is irrelevant. An unlimited block is the only one.
    Ok(match (count, block) {
        (_, UNLIMITED) => SelectionAxis { count: 1, stride: 1, ..axis },
        (1, _) => SelectionAxis { stride: block, ..axis },
        _ => axis,
    })
}

fn blocks(at: &mut MetadataCursor<'_>, rank: usize, count: u64, width: u8) -> Result<DataspaceSelection> {
    let bytes = count.checked_mul(2 * rank as u64 * u64::from(width));
    if bytes.is_none_or(|bytes| bytes > at.rest().len() as u64) {
        return Err(damaged(format!(
            "selection: too short (expected {count} blocks, found {} bytes)",
            at.rest().len()
        )));
    }
    let mut corners = Vec::new();
    for _ in 0..count {
        let first = (0..rank).map(|_| at.uint(width)).collect::<Result<Vec<_>>>()?;
        for first in first {
            let last = at.uint(width)?;
            if last < first || last >= u64::MAX >> 1 {
                return Err(damaged(format!("selection: invalid block from {first} to {last}")));
            }
            corners.push((first, last));
        }
    }
    Ok(DataspaceSelection::Blocks { rank, corners })
}
