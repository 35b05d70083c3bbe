//! Finds data that a copy may skip: chunks of the target for which the source stores no data.
//!
//! Only chunks that read as the fill value are looked up in the source's storage, so dense data costs one
//! comparison per chunk. A stored chunk is copied even if it contains only fill values.

use std::ops::Range;

use nczarr::dispatch::{MemRef, VarData};
use nczarr_model::{FILL_VALUE, NcString, NcType, Result, Slab, Values, Var, VarFill};

use super::tiles::Tiles;

/// Returns whether it is a NaN with unusual bits.
fn is_odd_nan(fill: &Values) -> bool {
    match fill {
        Values::Float(v) => v.iter().any(|v| v.is_nan() && v.to_bits() != f32::NAN.to_bits()),
        Values::Double(v) => v.iter().any(|v| v.is_nan() && v.to_bits() != f64::NAN.to_bits()),
        _ => false,
    }
}

/// Start and count.
pub type BoxBounds = (Vec<u64>, Vec<u64>);

/// The elements of a block, in order.
pub enum BlockElements {
    /// The size of an element, and the bytes.
    Bytes(usize, Vec<u8>),
    /// Strings, or packed values.
    Strings(Vec<NcString>),
}

impl BlockElements {
    /// Returns the memory for a write. `ty`: the type of elements other than strings.
    pub fn memory(&self, ty: NcType) -> MemRef<'_> {
        match self {
            Self::Bytes(_, bytes) => MemRef::Fixed { ty, bytes },
            Self::Strings(list) => MemRef::Strings(list),
        }
    }

    fn are(&self, range: Range<usize>, fill: &BlockElements) -> bool {
        match (self, fill) {
            (Self::Bytes(item, bytes), Self::Bytes(_, fill)) => {
                bytes[range.start * item..range.end * item].chunks_exact(*item).all(|element| element == fill)
            }
            (Self::Strings(list), Self::Strings(fill)) => {
                let Some(fill) = fill.first() else { return false };
                list[range].iter().all(|element| element == fill && element.is_nil() == fill.is_nil())
            }
            _ => false,
        }
    }

    /// Copies a box of the elements.
    fn part(&self, rows: RowRanges) -> Self {
        match self {
            Self::Bytes(item, bytes) => {
                let mut part = Vec::with_capacity(rows.elements() * item);
                rows.for_each(|row| part.extend_from_slice(&bytes[row.start * item..row.end * item]));
                Self::Bytes(*item, part)
            }
            Self::Strings(list) => Self::Strings(rows.flat_map(|row| list[row].iter().cloned()).collect()),
        }
    }
}

/// A variable whose chunks may stay absent.
pub struct SparseVariable {
    shape: Vec<u64>,
    chunk: Vec<u64>,
    /// The fill value, as one element.
    fill: BlockElements,
}

impl SparseVariable {
    /// Returns `None` if everything must be written: without chunks, or if a reader might see other values in
    /// absent ones.
    pub fn new(shape: &[u64], chunk: Option<Vec<u64>>, from: &Var, to: &Var) -> Result<Option<Self>> {
        let Some(chunk) = chunk.filter(|chunk| chunk.len() == from.dims.len()) else { return Ok(None) };
        if from.fill_value().is_some_and(|fill| is_odd_nan(&fill)) {
            // Some formats cannot store the bits of a NaN fill value; as an element they stay.
            return Ok(None);
        }
        if to.fill == VarFill::NoFill && (from.fill != VarFill::NoFill || to.atts.contains_key(FILL_VALUE)) {
            // Other readers have no fill value, or a different one.
            return Ok(None);
        }
        Ok(match (one(from.xtype, from.fill_value()), one(to.xtype, to.fill_value())) {
            (Some(fill), Some(same)) if fill.are(0..1, &same) => {
                Some(Self { shape: shape.to_vec(), chunk, fill })
            }
            _ => None,
        })
    }

    /// Returns the parts of a block that must be written, each as start and elements; `None`: all of it.
    pub fn present(
        &self,
        source: &dyn VarData,
        start: &[u64],
        count: &[u64],
        elements: &BlockElements,
    ) -> Result<Option<Vec<(BoxBounds, BlockElements)>>> {
        let (mut present, mut absent) = (Vec::new(), false);
        let tile: Vec<u64> = self.chunk.iter().zip(count).map(|(&chunk, &count)| chunk.min(count)).collect();
        for (inside, part) in Tiles::new(count, &tile) {
            let at: Vec<u64> = start.iter().zip(&inside).map(|(start, inside)| start + inside).collect();
            let rows = || RowRanges::new(count, &inside, &part);
            let slab = Slab::new(&at, &part).check(&self.shape, |_| false)?;
            if rows().all(|row| elements.are(row, &self.fill)) && source.is_absent(&slab)? {
                absent = true;
            } else {
                present.push((inside, at, part));
            }
        }
        if !absent {
            return Ok(None);
        }
        let cut = |(inside, at, part): (Vec<u64>, Vec<u64>, Vec<u64>)| {
            let elements = elements.part(RowRanges::new(count, &inside, &part));
            ((at, part), elements)
        };
        Ok(Some(present.into_iter().map(cut).collect()))
    }
}

/// Returns one unwritten element.
fn one(ty: NcType, fill: Option<Values>) -> Option<BlockElements> {
    match (ty, fill) {
        (NcType::String, None) => Some(BlockElements::Strings(vec![NcString::new()])),
        (_, Some(Values::String(list) | Values::Packed(_, list))) if list.len() == 1 => {
            Some(BlockElements::Strings(list))
        }
        (ty, None) => ty.size().map(|size| BlockElements::Bytes(size, vec![0; size])),
        (ty, Some(value)) => {
            let size = ty.size()?;
            let bytes =
                value.to_native_bytes().filter(|bytes| value.nc_type() == ty && bytes.len() == size)?;
            Some(BlockElements::Bytes(size, bytes))
        }
    }
}

/// The rows of a box inside a block, as ranges of consecutive elements.
struct RowRanges {
    outer: Tiles,
    block: Vec<u64>,
    start: Vec<u64>,
    len: u64,
    left: u64,
}

impl RowRanges {
    fn new(block: &[u64], start: &[u64], count: &[u64]) -> Self {
        let outer = count.len().saturating_sub(1);
        Self {
            outer: Tiles::new(&count[..outer], &vec![1; outer]),
            block: block.to_vec(),
            start: start.to_vec(),
            len: count.last().copied().unwrap_or(1),
            left: count[..outer].iter().product(),
        }
    }

    fn elements(&self) -> usize {
        (self.left * self.len) as usize
    }
}

impl Iterator for RowRanges {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let (mut row, _) = self.outer.next()?;
        self.left -= 1;
        if !self.block.is_empty() {
            row.push(0);
        }
        let place = self.block.iter().zip(&self.start).zip(&row);
        let first = place.fold(0, |first, ((len, start), at)| first * len + start + at);
        Some(first as usize..(first + self.len) as usize)
    }
}
