//! [`Pour`]: a large chunk without filters, taken as storage brings it.
//!
//! What is read of a file and scattered right away is still near the processor; of many megabytes read at once the first are
//! far away when the last arrive. [`Course`] says how a part is cut so that each piece of the chunk holds whole
//! iterations of the part's outermost run.

use std::ops::Range;

use dispatch::Sink;
use model::{ErrorKind, Result};

use super::Get;
use crate::project::Part;
use crate::scatter::Slot;

/// Chunks of fewer bytes are near enough as a whole.
pub(super) const LARGE: usize = 2 << 20;

/// About so many bytes are taken at once.
const PIECE: usize = 256 << 10;

/// How a part is taken from a chunk whose elements come in their order.
#[derive(Debug)]
struct Course {
    part: Part,
    /// Which run of the part is cut: the one that is outermost in the chunk.
    along: usize,
    /// Iterations of it in a piece.
    per: usize,
    /// Elements of the chunk.
    elems: usize,
    /// Elements that came.
    came: usize,
    /// Iterations that came.
    done: usize,
}

/// The next piece.
struct Next {
    /// How many elements.
    elems: usize,
    /// The iterations that lie in it.
    some: Range<usize>,
    last: bool,
}

impl Course {
    /// `None` if the part cannot be cut, or a piece would not be small.
    fn new(part: Part, item: usize, elems: usize) -> Option<Self> {
        let along = (0..part.dims.len()).max_by_key(|&run| part.dims[run].chunk)?;
        let step = part.dims[along].chunk;
        // What is inside one iteration ends before the next begins.
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

    /// What comes next; `None` if all came.
    fn next(&self) -> Option<Next> {
        if self.came == self.elems {
            return None;
        }
        let run = self.part.dims[self.along];
        let until = self.done.saturating_add(self.per).min(run.n);
        let last = until == run.n;
        // An iteration that begins here is in the next piece.
        let end = if last { self.elems } else { self.part.chunk_start + until * run.chunk };
        Some(Next { elems: end - self.came, some: self.done..until, last })
    }

    fn advance(&mut self, next: &Next) {
        self.came += next.elems;
        self.done = next.some.end;
    }
}

/// A chunk on its way to its place.
pub(super) struct Pour<'g> {
    get: &'g Get<'g>,
    number: usize,
    course: Course,
    /// Taken when there is something to write.
    slot: Option<Slot<'g>>,
    out_of_range: bool,
}

impl<'g> Pour<'g> {
    /// Of the part with this number; `None` if it is better read as a whole.
    pub(super) fn new(get: &'g Get<'g>, number: usize, part: &Part) -> Option<Self> {
        let form = &get.keeper.form;
        let course = Course::new(part.clone(), form.item(), form.elems)?;
        Some(Self { get, number, course, slot: None, out_of_range: false })
    }

    fn wanted(&self, next: &Next) -> usize {
        // One more byte after the last shows that the object goes on.
        next.elems * self.get.keeper.form.item() + usize::from(next.last)
    }
}

impl Sink for Pour<'_> {
    fn wants(&self) -> usize {
        self.course.next().map_or(0, |next| self.wanted(&next))
    }

    fn take(&mut self, piece: &[u8]) -> Result<()> {
        let (get, course) = (self.get, &mut self.course);
        let form = &get.keeper.form;
        let Some(next) = course.next() else {
            return Err(ErrorKind::Internal.context("the map brought more than was wanted"));
        };
        if piece.len() != next.elems * form.item() {
            return Err(form.plan.wrong_size(course.came * form.item() + piece.len()));
        }
        let slot = match self.slot.take() {
            Some(slot) => slot,
            None => get.board.slot(self.number)?,
        };
        let (part, along) = (&course.part, course.along);
        let convert = get.convert.as_ref();
        self.out_of_range |=
            slot.load_some(piece, course.came, &form.plan.layout, part, (along, next.some.clone()), convert);
        if next.last {
            slot.complete();
            get.moved(part, self.out_of_range);
        } else {
            self.slot = Some(slot);
        }
        course.advance(&next);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    use dispatch::Limits;
    use model::Slab;
    use proptest::prelude::*;

    use super::*;
    use crate::grid::Grid;
    use crate::odometer::Odometer;
    use crate::project::Projection;
    use crate::{ArrayDim, Order};

    proptest! {
        /// Whatever the slab and the order: the pieces are all of the chunk, and hold the whole part, each element once.
        #[test]
        fn the_pieces_hold_the_part(
            axes in prop::collection::vec((1u64..9, 1u64..7, 0u64..30, 1u64..9, 1u64..5), 1..4),
            last_first in any::<bool>(), per in 1usize..4,
        ) {
            let dims = axes.iter().map(|axis| ArrayDim { len: Arc::new(AtomicU64::new(axis.0 * 5)), unlimited: false });
            let chunk: Vec<u64> = axes.iter().map(|axis| axis.1).collect();
            let order = if last_first { Order::C } else { Order::F };
            let grid = Grid::new(dims.collect(), chunk, &order, 4, &Limits::default()).unwrap();
            let start: Vec<u64> = axes.iter().map(|axis| axis.2 % (axis.0 * 5)).collect();
            let step: Vec<u64> = axes.iter().map(|axis| axis.4).collect();
            let count: Vec<u64> = (axes.iter().zip(&start)).map(|(axis, start)| axis.3.min((axis.0 * 5 - start).div_ceil(axis.4))).collect();
            let slab = Slab { start: &start, count: &count, stride: Some(&step) };
            let projection = Projection::new(&grid, &slab, &grid.shape(), None).unwrap();
            for number in 0..projection.total {
                let part = projection.get(number);
                let mut expected = vec![None; part.extent().1];
                Odometer::each(&part.dims, part.chunk_start, part.mem_start, |at, mem| expected[mem] = Some(at));
                let Some(mut course) = Course::new(part, 4, grid.elems) else {
                    prop_assert!(false, "a part of a slab can be cut");
                    continue;
                };
                course.per = per;
                let mut found = vec![None; expected.len()];
                while let Some(next) = course.next() {
                    let some = course.part.some(course.along, next.some.clone());
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
    }
}
