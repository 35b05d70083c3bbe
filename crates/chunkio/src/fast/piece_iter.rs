//! [`PieceIter`]: divides a part of a chunk into pieces.
//!
//! Each piece is a range of the chunk's elements with whole iterations of the part's outermost run. It is
//! small enough for the processor's cache. [`super::streaming`] reads pieces from a file;
//! [`super::decode_units`] decodes them.

use std::ops::Range;

use crate::project::ChunkPart;

/// The approximate size of a piece in bytes.
const PIECE: usize = 256 << 10;

/// The division of a part of a chunk whose elements arrive in order.
#[derive(Debug)]
pub(super) struct PieceIter {
    pub(super) part: ChunkPart,
    /// The divided run: the outermost one in the chunk.
    pub(super) along: usize,
    /// The iterations per piece.
    per: usize,
    /// The elements of the chunk.
    elems: usize,
    /// The elements received so far.
    pub(super) came: usize,
    /// The iterations received so far.
    done: usize,
}

/// The next piece.
pub(super) struct NextPiece {
    /// The number of elements.
    pub(super) elems: usize,
    /// The iterations inside it.
    pub(super) some: Range<usize>,
    pub(super) last: bool,
}

impl PieceIter {
    /// `None` if the part cannot be divided, or a piece would be too large.
    pub(super) fn new(part: ChunkPart, item: usize, elems: usize) -> Option<Self> {
        let along = (0..part.dims.len()).max_by_key(|&run| part.dims[run].chunk)?;
        let step = part.dims[along].chunk;
        // One iteration ends before the next begins.
        let others = part.dims.iter().enumerate().filter(|(run, _)| *run != along);
        let inside: usize = others.map(|(_, dim)| (dim.n - 1) * dim.chunk).sum();
        let bytes = step.checked_mul(item).filter(|&bytes| bytes > 0 && bytes <= 2 * PIECE)?;
        let (reach, _) = part.extent();
        (inside < step && reach <= elems).then(|| Self {
            along,
            per: (PIECE / bytes).max(1),
            elems,
            came: 0,
            done: 0,
            part,
        })
    }

    /// As [`PieceIter::new`], with pieces of whole units of `unit` bytes. `None` also if a piece of whole
    /// units and whole iterations would be too large, or the whole chunk.
    pub(super) fn of_units(part: ChunkPart, item: usize, elems: usize, unit: usize) -> Option<Self> {
        let mut course = Self::new(part, item, elems)?;
        let bytes = course.part.dims[course.along].chunk * item;
        // Every `some` iterations end with a unit.
        let some = unit / gcd(bytes, unit)?;
        let per = (course.per / some).max(1) * some;
        let small = per.checked_mul(bytes).is_some_and(|piece| piece <= 2 * PIECE);
        let begins = course.part.chunk_start == 0;
        course.per = per;
        (small && begins && per < course.part.dims[course.along].n).then_some(course)
    }

    /// Returns the next piece; `None` if all elements were received.
    pub(super) fn next(&self) -> Option<NextPiece> {
        if self.came == self.elems {
            return None;
        }
        let run = self.part.dims[self.along];
        let until = self.done.saturating_add(self.per).min(run.n);
        let last = until == run.n;
        // An iteration that begins here belongs to the next piece.
        let end = if last { self.elems } else { self.part.chunk_start + until * run.chunk };
        Some(NextPiece { elems: end - self.came, some: self.done..until, last })
    }

    pub(super) fn advance(&mut self, next: &NextPiece) {
        self.came += next.elems;
        self.done = next.some.end;
    }
}

/// Returns the greatest common divisor; `None` if a number is 0.
fn gcd(mut a: usize, mut b: usize) -> Option<usize> {
    if a == 0 || b == 0 {
        return None;
    }
    while b > 0 {
        (a, b) = (b, a % b);
    }
    Some(a)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    use nczarr_dispatch::Limits;
    use nczarr_model::Slab;
    use proptest::prelude::*;

    use super::*;
    use crate::grid::ChunkGrid;
    use crate::odometer::Odometer;
    use crate::project::Projection;
    use crate::{ArrayDim, DimOrder};

    proptest! {
        /// For any slab and order, the pieces cover the chunk and hold each element of the part once.
        #[test]
        fn the_pieces_hold_the_part(
            axes in prop::collection::vec((1u64..9, 1u64..7, 0u64..30, 1u64..9, 1u64..5), 1..4),
            last_first in any::<bool>(), per in 1usize..4,
        ) {
            let dims = axes.iter().map(|axis| ArrayDim { len: Arc::new(AtomicU64::new(axis.0 * 5)), unlimited: false });
            let chunk: Vec<u64> = axes.iter().map(|axis| axis.1).collect();
            let order = if last_first { DimOrder::C } else { DimOrder::F };
            let grid = ChunkGrid::new(dims.collect(), chunk, &order, 4, &Limits::default()).unwrap();
            let start: Vec<u64> = axes.iter().map(|axis| axis.2 % (axis.0 * 5)).collect();
            let step: Vec<u64> = axes.iter().map(|axis| axis.4).collect();
            let count: Vec<u64> = (axes.iter().zip(&start)).map(|(axis, start)| axis.3.min((axis.0 * 5 - start).div_ceil(axis.4))).collect();
            let slab = Slab { start: &start, count: &count, stride: Some(&step) };
            let projection = Projection::new(&grid, &slab, &grid.shape(), None).unwrap();
            for number in 0..projection.total {
                let part = projection.get(number);
                let mut expected = vec![None; part.extent().1];
                Odometer::each(&part.dims, part.chunk_start, part.mem_start, |at, mem| expected[mem] = Some(at));
                let Some(mut course) = PieceIter::new(part, 4, grid.elems) else {
                    prop_assert!(false, "a part of a slab can be cut");
                    continue;
                };
                course.per = per;
                let mut found = vec![None; expected.len()];
                while let Some(next) = course.next() {
                    let some = course.part.slice_run(course.along, next.some.clone());
                    let here = course.came..course.came + next.elems;
                    Odometer::each(&some.dims, some.chunk_start, some.mem_start, |at, mem| {
                        assert!(here.contains(&at) && found[mem].is_none());
                        found[mem] = Some(at);
                    });
                    prop_assert_eq!(next.last, here.end == grid.elems);
                    course.advance(&next);
                }
                prop_assert_eq!((course.came, found), (grid.elems, expected));
            }
        }

        /// Pieces of units begin at a unit boundary and hold whole iterations.
        #[test]
        fn pieces_of_units_begin_with_one(
            n in 2usize..400, step in 1usize..400, item in 1usize..9, unit in 1usize..5000, skip in 0usize..2,
        ) {
            let mut part = ChunkPart { dims: nczarr_runtime::DimVec::with_len(1), chunk_start: skip, ..ChunkPart::default() };
            part.dims[0] = crate::project::StridedRun { n, chunk: step, mem: 1 };
            let elems = n * step + skip;
            let Some(mut course) = PieceIter::of_units(part, item, elems, unit) else {
                let whole = step * item / gcd(step * item, unit).unwrap() * unit;
                prop_assert!(skip > 0 || whole > 2 * PIECE || PIECE / whole * whole >= n * step * item || whole >= n * step * item);
                return Ok(());
            };
            prop_assert_eq!(skip, 0);
            let (mut pieces, mut iterations) = (0, 0);
            while let Some(next) = course.next() {
                prop_assert_eq!(course.came * item % unit, 0);
                prop_assert_eq!(next.some.start, iterations);
                prop_assert!(next.last || next.elems == next.some.len() * step && next.elems * item <= 2 * PIECE);
                iterations = next.some.end;
                pieces += 1;
                course.advance(&next);
            }
            prop_assert!(pieces > 1 && iterations == n && course.came == elems);
        }
    }
}
