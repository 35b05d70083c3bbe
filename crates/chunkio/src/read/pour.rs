//! [`Pour`]: a large chunk without filters, taken as storage brings it.
//!
//! What is read of a file and scattered right away is still near the processor; of many megabytes read at once the first are
//! far away when the last arrive.

use nczarr_dispatch::ObjectSink;
use nczarr_model::{ErrorKind, Result};

use super::Get;
use super::course::{Course, Next};
use crate::project::Part;
use crate::scatter::Slot;

/// Chunks of fewer bytes are near enough as a whole.
pub(super) const LARGE: usize = 2 << 20;

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

impl ObjectSink for Pour<'_> {
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
