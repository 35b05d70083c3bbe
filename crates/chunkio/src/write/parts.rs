//! A chunk gathered part by part: each is still in the nearer caches when the map takes it, and none takes more memory than
//! that.
//!
//! Only where the bytes of the chunk are the gathered ones, in the order of its elements. A chunk that is not written
//! completely is one part, since elements outside have to be filled in.

use std::ops::Range;

use nczarr_dispatch::PutPart;
use nczarr_model::Result;

use super::Put;
use crate::kernel;
use crate::memory::with_scratch;
use crate::project::{Cover, Part};

/// Bytes of a part, a quarter of an AMD Zen 3's second cache: the rows it is gathered from and the pages it is written to
/// pass through that, too.
const PART: usize = 128 << 10;

/// Whether the chunks of a write are to be had in parts.
pub(super) fn has_parts(put: &Put<'_>) -> bool {
    let form = &put.keeper.form;
    !form.plan.has_filters() && !form.plan.layout.planes && form.bytes() > PART
}

/// Hands over one part of a chunk after another.
pub(super) fn put_parts(put: &Put<'_>, part: &Part, take: &mut PutPart<'_>) -> Result<()> {
    if let Some(bytes) = put.as_stored(part) {
        return take(bytes);
    }
    let form = &put.keeper.form;
    let (run, per) = cut(part, form.item());
    let n = if per == 0 { 1 } else { part.dims[run].n };
    with_scratch(|pair| {
        for start in (0..n).step_by(per.max(1)) {
            let (piece, len) = match per {
                0 => (part.clone(), form.bytes()),
                per => piece(part, run, start..n.min(start + per), form.item()),
            };
            let gathered = pair.one.fill(len, |out| {
                let (convert, layout) = (put.convert.as_ref(), &form.plan.layout);
                let range = kernel::save_out(put.bytes, &piece, convert, layout, &form.fill, len, out)?;
                put.outcome.range(range);
                Ok(())
            })?;
            take(gathered)?;
        }
        Ok(())
    })
}

/// The outermost run of a whole chunk, and how many of its iterations make a part; 0 if there is but one.
fn cut(part: &Part, item: usize) -> (usize, usize) {
    let (run, outer) = part.dims.iter().enumerate().max_by_key(|(_, dim)| dim.chunk).expect("a part has runs");
    let per = if part.cover == Cover::All { (PART / (outer.chunk * item).max(1)).max(1) } else { 0 };
    (run, per)
}

/// Some iterations of the outermost run, as if they were a chunk, and its bytes.
fn piece(part: &Part, run: usize, some: Range<usize>, item: usize) -> (Part, usize) {
    let mut piece = part.some(run, some);
    piece.chunk_start = 0;
    let len = piece.elems * item;
    (piece, len)
}
