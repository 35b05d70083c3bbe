//! Type conversion between chunk and memory: a row function converts one piece of a row.

use std::mem::MaybeUninit;

use nczarr_model::convert::{self, Half, Linear, Row};
use nczarr_model::{ErrorKind, NcType, Result};

use super::linear::LinearTransform;
use super::row_side::{PIECE, RowSide, run_through_stack};
use super::{ChunkLayout, KernelRows, each_row};

/// A conversion between the stored type and a memory type.
pub(crate) struct Convert {
    how: Conversion,
    /// The size of an element in memory.
    pub(crate) mem_item: usize,
}

enum Conversion {
    /// Conversion between types: for native stored elements, and for swapped ones.
    Plain([Row; 2]),
    /// With scale and offset, for reads only.
    Linear(LinearTransform),
}

impl std::fmt::Debug for Convert {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Convert({} bytes in memory)", self.mem_item)
    }
}

impl Convert {
    /// Returns the conversion for a read; `None` if the types are equal.
    ///
    /// # Errors
    /// As [`convert::check`].
    pub(crate) fn reading(stored: NcType, memory: NcType) -> Result<Option<Self>> {
        Self::new(stored, memory, memory, convert::read_row)
    }

    /// Returns the conversion for a write; `None` if the types are equal.
    ///
    /// # Errors
    /// As [`convert::check`].
    pub(crate) fn writing(memory: NcType, stored: NcType) -> Result<Option<Self>> {
        Self::new(memory, stored, memory, convert::write_row)
    }

    /// Returns the conversion for a write of elements that are stored as half floats and cached as singles.
    ///
    /// # Errors
    /// As [`convert::half_row`].
    pub(crate) fn halving(memory: NcType, half: Half) -> Result<Self> {
        let no_number = || ErrorKind::BadType.context(format!("memory of type {}", memory.name()));
        Ok(Self {
            how: Conversion::Plain([convert::half_row(memory, half)?; 2]),
            mem_item: memory.size().ok_or_else(no_number)?,
        })
    }

    /// Returns the conversion for a read with scale and offset.
    ///
    /// # Errors
    /// As [`Linear::check`]; `NC_EBADTYPE` if missing values are not of the stored type.
    pub(crate) fn scaling(stored: NcType, memory: NcType, linear: &Linear) -> Result<Self> {
        let transform = LinearTransform::new(stored, memory, linear)?;
        Ok(Self { mem_item: transform.mem_item(), how: Conversion::Linear(transform) })
    }

    /// Disables vector instructions.
    #[cfg(test)]
    pub(super) fn plainly(self) -> Self {
        match self.how {
            Conversion::Linear(transform) => Self { how: Conversion::Linear(transform.plainly()), ..self },
            Conversion::Plain(_) => self,
        }
    }

    fn new(
        from: NcType,
        to: NcType,
        memory: NcType,
        row: fn(NcType, NcType, bool) -> Result<Row>,
    ) -> Result<Option<Self>> {
        convert::check(from, to)?;
        match memory.size() {
            Some(mem_item) if from != to => Ok(Some(Self {
                how: Conversion::Plain([row(from, to, false)?, row(from, to, true)?]),
                mem_item,
            })),
            _ => Ok(None),
        }
    }

    /// Converts one native element for memory. Returns also whether it is out of range.
    pub(crate) fn element(&self, value: &[u8]) -> ([u8; 8], bool) {
        let row = match &self.how {
            Conversion::Plain([row, _]) => row,
            Conversion::Linear(transform) => return transform.element(value),
        };
        let mut out = [MaybeUninit::new(0); 8];
        let out_of_range = row(value, &mut out[..self.mem_item]);
        (
            out.map(|byte| {
                // SAFETY: initialised above, and a row function leaves nothing uninitialised.
                unsafe { byte.assume_init() }
            }),
            out_of_range,
        )
    }

    /// Loads from chunk to memory. Returns whether a value was out of range.
    ///
    /// # Safety
    /// See [`Kernel`](super::Kernel).
    pub(super) unsafe fn load(
        &self,
        layout: &ChunkLayout,
        src: *const u8,
        dst: *mut u8,
        rows: &KernelRows,
        stream: bool,
    ) -> bool {
        let (row, item) = match &self.how {
            Conversion::Plain(rows) => (rows[usize::from(layout.swap)], layout.item),
            Conversion::Linear(transform) => {
                // SAFETY: the same contract.
                return unsafe { transform.load(layout, src, dst, rows, stream) };
            }
        };
        // The row function swaps bytes, so the kernel before it must not.
        let gather =
            RowSide::new(&ChunkLayout { swap: false, ..*layout }, item, rows.src[0], rows.pitch, true, false);
        let scatter =
            RowSide::new(&ChunkLayout::native(self.mem_item), self.mem_item, rows.dst[0], 0, false, stream);
        let mut out_of_range = false;
        each_row!(src, dst, rows, |s, d| {
            for start in (0..rows.n[0]).step_by(PIECE) {
                let n = PIECE.min(rows.n[0] - start);
                // SAFETY: the piece lies inside the row, hence inside both sides.
                unsafe {
                    let (s, d) = (s.add(start * rows.src[0]), d.add(start * rows.dst[0]));
                    out_of_range |= piece(row, n, &gather, s, &scatter, d);
                }
            }
        });
        out_of_range
    }

    /// Stores from memory to chunk. Returns whether a value was out of range.
    ///
    /// # Safety
    /// See [`Kernel`](super::Kernel).
    pub(super) unsafe fn save(
        &self,
        layout: &ChunkLayout,
        src: *const u8,
        dst: *mut u8,
        rows: &KernelRows,
    ) -> bool {
        let (row, item) = match &self.how {
            Conversion::Plain(rows) => (rows[usize::from(layout.swap)], layout.item),
            Conversion::Linear(_) => unreachable!("made for reading"),
        };
        let gather =
            RowSide::new(&ChunkLayout::native(self.mem_item), self.mem_item, rows.src[0], 0, true, false);
        let scatter = RowSide::new(
            &ChunkLayout { swap: false, ..*layout },
            item,
            rows.dst[0],
            rows.pitch,
            false,
            false,
        );
        let mut out_of_range = false;
        each_row!(src, dst, rows, |s, d| {
            for start in (0..rows.n[0]).step_by(PIECE) {
                let n = PIECE.min(rows.n[0] - start);
                // SAFETY: as in `load`.
                unsafe {
                    let (s, d) = (s.add(start * rows.src[0]), d.add(start * rows.dst[0]));
                    out_of_range |= piece(row, n, &gather, s, &scatter, d);
                }
            }
        });
        out_of_range
    }
}

/// Converts `n` elements with a row function.
///
/// # Safety
/// As [`run_through_stack`].
unsafe fn piece(row: Row, n: usize, from: &RowSide, src: *const u8, to: &RowSide, dst: *mut u8) -> bool {
    let (taken, given) = (n * from.item, n * to.item);
    // SAFETY: the caller's promise; the row function initialises all of its output.
    unsafe {
        run_through_stack(n, from, src, to, dst, |src, dst| {
            row(std::slice::from_raw_parts(src, taken), std::slice::from_raw_parts_mut(dst.cast(), given))
        })
    }
}
