//! Decodes only the needed ranges of a chunk.
//!
//! Applies to a part of a chunk whose only filter can decode ranges, such as a zstd frame up to the end of
//! the part. Falls back to decoding the whole chunk.

use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::OutBuf;

use crate::memory::with_scratch;
use crate::output::OutputPart;
use crate::project::{ChunkPart, Coverage};
use crate::ranges;
use crate::read::chunk_read::ChunkRead;

impl ChunkRead<'_> {
    /// Decodes only the needed ranges, if the filter supports that; otherwise returns the slot.
    pub(crate) fn place_ranges<'s>(
        &self,
        slot: OutputPart<'s>,
        stored: &[u8],
        part: &ChunkPart,
    ) -> Result<Option<OutputPart<'s>>> {
        let form = &self.engine.form;
        let Some(filter) = form.plan.range_filter().filter(|_| part.cover == Coverage::Some) else {
            return Ok(Some(slot));
        };
        let Some(pieces) = self.pieces(part, ranges::worth_decoding()) else { return Ok(Some(slot)) };
        let wanted = pieces.wanted();
        with_scratch(|pair| {
            let mut able = true;
            let decode = |out: &mut OutBuf<'_>| {
                filter.decode_ranges(stored, form.bytes(), &wanted, out).unwrap_or_else(|| {
                    able = false;
                    Ok(())
                })
            };
            let bytes = pair.one.fill(pieces.bytes, decode)?;
            if !able {
                return Ok(Some(slot));
            }
            if bytes.len() != pieces.bytes {
                let (expected, found) = (pieces.bytes, bytes.len());
                return Err(ErrorKind::Filter.context(format!(
                    "wrong size of the decoded ranges (expected {expected} bytes, found {found})"
                )));
            }
            let range = slot.load(bytes, &form.plan.layout, &pieces.part, self.convert.as_ref());
            self.moved(part, range);
            Ok(None)
        })
    }
}
