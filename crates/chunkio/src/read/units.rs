//! A chunk whose filter decodes it in units, placed piece by piece.
//!
//! A chunk that is to be scattered is decoded into memory first: as many bytes as it has, which are far from the
//! processor when the last of them are there. Where the one filter decodes units on their own (blocks of a blosc
//! frame), a few of them at a time are decoded and put in place.

use nczarr_model::{Error, ErrorKind, Result};

use super::Get;
use super::course::Course;
use crate::memory::with_scratch;
use crate::project::{Cover, Part};
use crate::scatter::Slot;

impl Get<'_> {
    /// Places all of a chunk so. The slot comes back, and nothing happened, if it is better decoded at once.
    pub(super) fn place_units<'s>(&self, slot: Slot<'s>, stored: &[u8], part: &Part) -> Result<Option<Slot<'s>>> {
        let form = &self.keeper.form;
        let able = form.plan.range_filter().filter(|_| part.cover != Cover::Some);
        let Some(filter) = able else { return Ok(Some(slot)) };
        let unit = filter.decode_unit(stored, form.bytes());
        let course = unit.and_then(|unit| Course::of_units(part.clone(), form.item(), form.elems, unit));
        let Some(mut course) = course else { return Ok(Some(slot)) };
        let (layout, convert) = (&form.plan.layout, self.convert.as_ref());
        let mut out_of_range = false;
        while let Some(next) = course.next() {
            let (start, len) = (course.came * form.item(), next.elems * form.item());
            with_scratch(|pair| {
                let bytes =
                    pair.one.fill(len, |out| form.plan.decode_range(stored, form.bytes(), start..start + len, out))?;
                if bytes.len() != len {
                    let found = bytes.len();
                    return Err(ErrorKind::Filter.context(format!("{len} bytes of units expected, {found} found")));
                }
                let some = (course.along, next.some.clone());
                out_of_range |= slot.load_some(bytes, course.came, layout, &course.part, some, convert);
                Ok::<_, Error>(())
            })?;
            course.advance(&next);
        }
        slot.complete();
        self.moved(part, out_of_range);
        Ok(None)
    }
}
