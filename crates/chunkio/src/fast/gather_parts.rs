//! Gathers a chunk part by part.
//!
//! Applies to unfiltered chunks, in the order of their elements. Each part is in the processor's caches when
//! the map takes it, and the whole chunk is never in memory. A partial chunk falls back to a single part,
//! because the elements outside must be filled.

use std::ops::Range;

use nczarr_model::Result;
use nczarr_storage::batch::PutPart;

use crate::kernel;
use crate::memory::with_scratch;
use crate::project::{ChunkPart, Coverage};
use crate::write::chunk_write::ChunkWrite;

/// The size of a part: a quarter of an AMD Zen 3's second-level cache, which gathered rows and written pages
/// also use.
const PART: usize = 128 << 10;

/// Whether the chunks of a write have parts.
pub(crate) fn has_parts(put: &ChunkWrite<'_>) -> bool {
    let form = &put.engine.form;
    !form.plan.has_filters() && !form.plan.layout.planes && form.bytes() > PART
}

/// Passes the parts of a chunk to `take`.
pub(crate) fn put_parts(put: &ChunkWrite<'_>, part: &ChunkPart, take: &mut PutPart<'_>) -> Result<()> {
    if let Some(bytes) = put.as_stored(part) {
        return take(bytes);
    }
    let form = &put.engine.form;
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

/// Returns the outermost run of a whole chunk, and its iterations per part; 0 for a single part.
fn cut(part: &ChunkPart, item: usize) -> (usize, usize) {
    let (run, outer) =
        part.dims.iter().enumerate().max_by_key(|(_, dim)| dim.chunk).expect("a part has runs");
    let per = if part.cover == Coverage::All { (PART / (outer.chunk * item).max(1)).max(1) } else { 0 };
    (run, per)
}

/// Returns some iterations of the outermost run as a chunk, and its size in bytes.
fn piece(part: &ChunkPart, run: usize, some: Range<usize>, item: usize) -> (ChunkPart, usize) {
    let mut piece = part.slice_run(run, some);
    piece.chunk_start = 0;
    let len = piece.elems * item;
    (piece, len)
}
