//! What need not be copied: chunks of the target of which the source has nothing.
//!
//! Only what reads as the fill value is looked up in the storage of the source, so that dense data costs one comparison
//! per chunk. A chunk that is stored is copied, also if it holds nothing but fill values.

use std::ops::Range;

use nczarr::dispatch::{MemRef, VarData};
use nczarr_model::{FILL_VALUE, Model, NcString, NcType, Result, Slab, Values, VarFill, VarId};

use super::tiles::Tiles;

/// Whether it is a NaN other than the usual one.
fn is_odd_nan(fill: &Values) -> bool {
    match fill {
        Values::Float(v) => v.iter().any(|v| v.is_nan() && v.to_bits() != f32::NAN.to_bits()),
        Values::Double(v) => v.iter().any(|v| v.is_nan() && v.to_bits() != f64::NAN.to_bits()),
        _ => false,
    }
}

/// Start and count.
pub type Place = (Vec<u64>, Vec<u64>);

/// Elements of a block, one after another.
pub enum Elements {
    /// Of so many bytes each.
    Bytes(usize, Vec<u8>),
    /// Strings, or packed ones.
    Strings(Vec<NcString>),
}

impl Elements {
    /// What a write takes. `ty`: the type of elements that are no strings.
    pub fn memory(&self, ty: NcType) -> MemRef<'_> {
        match self {
            Self::Bytes(_, bytes) => MemRef::Fixed { ty, bytes },
            Self::Strings(list) => MemRef::Strings(list),
        }
    }

    fn are(&self, range: Range<usize>, fill: &Elements) -> bool {
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

    /// A box of them, copied.
    fn part(&self, rows: Rows) -> Self {
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

/// A variable of which chunks may stay absent.
pub struct Sparse {
    chunk: Vec<u64>,
    /// One element.
    fill: Elements,
}

impl Sparse {
    /// `None` if everything must be written: there are no chunks, or not every reader would see there what the source has.
    pub fn new(chunk: Option<Vec<u64>>, from: (&Model, VarId), to: (&Model, VarId)) -> Result<Option<Self>> {
        let rank = from.0.shape(from.1)?.len();
        let Some(chunk) = chunk.filter(|chunk| chunk.len() == rank) else { return Ok(None) };
        let (from, to) = (from.0.var(from.1)?, to.0.var(to.1)?);
        if from.fill_value().is_some_and(|fill| is_odd_nan(&fill)) {
            // Not every format can say which NaN it is; as an element it stays what it is.
            return Ok(None);
        }
        if to.fill == VarFill::NoFill && (from.fill != VarFill::NoFill || to.atts.contains_key(FILL_VALUE)) {
            // There is no fill value for other readers, or one that is not what we read.
            return Ok(None);
        }
        Ok(match (one(from.xtype, from.fill_value()), one(to.xtype, to.fill_value())) {
            (Some(fill), Some(same)) if fill.are(0..1, &same) => Some(Self { chunk, fill }),
            _ => None,
        })
    }

    /// The parts of a block that must be written, each as start and elements; `None`: all of it.
    pub fn present(
        &self,
        source: &dyn VarData,
        start: &[u64],
        count: &[u64],
        elements: &Elements,
    ) -> Result<Option<Vec<(Place, Elements)>>> {
        let (mut present, mut absent) = (Vec::new(), false);
        let tile: Vec<u64> = self.chunk.iter().zip(count).map(|(&chunk, &count)| chunk.min(count)).collect();
        for (inside, part) in Tiles::new(count, &tile) {
            let at: Vec<u64> = start.iter().zip(&inside).map(|(start, inside)| start + inside).collect();
            let rows = || Rows::new(count, &inside, &part);
            if rows().all(|row| elements.are(row, &self.fill)) && source.is_absent(&Slab::new(&at, &part))? {
                absent = true;
            } else {
                present.push((inside, at, part));
            }
        }
        if !absent {
            return Ok(None);
        }
        let cut = |(inside, at, part): (Vec<u64>, Vec<u64>, Vec<u64>)| {
            let elements = elements.part(Rows::new(count, &inside, &part));
            ((at, part), elements)
        };
        Ok(Some(present.into_iter().map(cut).collect()))
    }
}

/// One element that was never written.
fn one(ty: NcType, fill: Option<Values>) -> Option<Elements> {
    match (ty, fill) {
        (NcType::String, None) => Some(Elements::Strings(vec![NcString::new()])),
        (_, Some(Values::String(list) | Values::Packed(_, list))) if list.len() == 1 => Some(Elements::Strings(list)),
        (ty, None) => ty.size().map(|size| Elements::Bytes(size, vec![0; size])),
        (ty, Some(value)) => {
            let size = ty.size()?;
            let bytes = value.to_native_bytes().filter(|bytes| value.nc_type() == ty && bytes.len() == size)?;
            Some(Elements::Bytes(size, bytes))
        }
    }
}

/// The rows of a box inside a block: ranges of elements that lie one after another.
struct Rows {
    outer: Tiles,
    block: Vec<u64>,
    start: Vec<u64>,
    len: u64,
    left: u64,
}

impl Rows {
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

impl Iterator for Rows {
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
