//! [`StreamingRead`]: scatters a large unfiltered chunk while it is read.
//!
//! Applies to unfiltered chunks of [`LARGE`] bytes or more: a piece is scattered while it is in the
//! processor's cache. Smaller chunks fall back to a read of the whole chunk.

use nczarr_model::{ErrorKind, Result};
use nczarr_storage::batch::ObjectSink;

use super::piece_iter::{NextPiece, PieceIter};
use crate::output::OutputPart;
use crate::project::{ChunkPart, RunSlice};
use crate::read::chunk_read::ChunkRead;

/// The smallest chunk that is streamed, in bytes.
pub(crate) const LARGE: usize = 2 << 20;

/// A chunk that is being scattered.
pub(crate) struct StreamingRead<'g> {
    get: &'g ChunkRead<'g>,
    number: usize,
    course: PieceIter,
    /// Claimed when the first piece arrives.
    slot: Option<OutputPart<'g>>,
    out_of_range: bool,
}

impl<'g> StreamingRead<'g> {
    /// Creates it for a part; `None` if reading the whole chunk is better.
    pub(crate) fn new(get: &'g ChunkRead<'g>, number: usize, part: &ChunkPart) -> Option<Self> {
        let form = &get.engine.form;
        let course = PieceIter::new(part.clone(), form.item(), form.elems)?;
        Some(Self { get, number, course, slot: None, out_of_range: false })
    }

    fn wanted(&self, next: &NextPiece) -> usize {
        // One byte beyond the end detects a longer object.
        next.elems * self.get.engine.form.item() + usize::from(next.last)
    }
}

impl ObjectSink for StreamingRead<'_> {
    fn wants(&self) -> usize {
        self.course.next().map_or(0, |next| self.wanted(&next))
    }

    fn take(&mut self, piece: &[u8]) -> Result<()> {
        let (get, course) = (self.get, &mut self.course);
        let form = &get.engine.form;
        let Some(next) = course.next() else {
            return Err(ErrorKind::Internal.context("the map delivered more than was wanted"));
        };
        if piece.len() != next.elems * form.item() {
            return Err(form.plan.wrong_size(course.came * form.item() + piece.len()));
        }
        let slot = match self.slot.take() {
            Some(slot) => slot,
            None => get.output.claim_part(self.number)?,
        };
        let slice = RunSlice { run: course.along, some: next.some.clone() };
        let convert = get.convert.as_ref();
        self.out_of_range |=
            slot.load_some(piece, course.came, &form.plan.layout, &course.part, slice, convert);
        if next.last {
            slot.complete();
            get.moved(&course.part, self.out_of_range);
        } else {
            self.slot = Some(slot);
        }
        course.advance(&next);
        Ok(())
    }
}
