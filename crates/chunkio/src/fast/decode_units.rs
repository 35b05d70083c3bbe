//! Decodes a chunk unit by unit and scatters each.
//!
//! Applies to chunks whose only filter has independent units, such as the blocks of a blosc frame. A few
//! units are decoded and scattered in the processor's cache. Falls back to decoding the whole chunk.

use nczarr_model::{Error, ErrorKind, Result};

use super::piece_iter::PieceIter;
use crate::memory::with_scratch;
use crate::output::OutputPart;
use crate::project::{ChunkPart, Coverage, RunSlice};
use crate::read::chunk_read::ChunkRead;

impl ChunkRead<'_> {
    /// Places a chunk unit by unit. Returns the slot unused if decoding the whole chunk is better.
    pub(crate) fn place_units<'s>(
        &self,
        slot: OutputPart<'s>,
        stored: &[u8],
        part: &ChunkPart,
    ) -> Result<Option<OutputPart<'s>>> {
        let form = &self.engine.form;
        let able = form.plan.range_filter().filter(|_| part.cover != Coverage::Some);
        let Some(filter) = able else { return Ok(Some(slot)) };
        let unit = filter.decode_unit(stored, form.bytes());
        let course = unit.and_then(|unit| PieceIter::of_units(part.clone(), form.item(), form.elems, unit));
        let Some(mut course) = course else { return Ok(Some(slot)) };
        let (layout, convert) = (&form.plan.layout, self.convert.as_ref());
        let mut out_of_range = false;
        while let Some(next) = course.next() {
            let (start, len) = (course.came * form.item(), next.elems * form.item());
            with_scratch(|pair| {
                let bytes = pair
                    .one
                    .fill(len, |out| form.plan.decode_range(stored, form.bytes(), start..start + len, out))?;
                if bytes.len() != len {
                    let found = bytes.len();
                    return Err(ErrorKind::Filter.context(format!(
                        "wrong size of the decoded units (expected {len} bytes, found {found})"
                    )));
                }
                let slice = RunSlice { run: course.along, some: next.some.clone() };
                out_of_range |= slot.load_some(bytes, course.came, layout, &course.part, slice, convert);
                Ok::<_, Error>(())
            })?;
            course.advance(&next);
        }
        slot.complete();
        self.moved(part, out_of_range);
        Ok(None)
    }
}
