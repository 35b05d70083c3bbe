//! Copies elements of one cached chunk.
//!
//! Applies to a slab or an element in one cached chunk, of the array's type. Falls back to the other paths.

use nczarr_model::{CheckedSlab, NcType};
use nczarr_runtime::OutBuf;

use crate::engine::ArrayEngine;
use crate::fast::MAX_RANK;
use crate::fixed_size::FixedSize;
use crate::kernel;
use crate::project::ChunkPart;

/// Copies a slab inside one cached chunk, without conversion: a fast path for the most frequent access.
/// `false`: not applicable, nothing happened.
pub(crate) fn copy_cached(
    engine: &ArrayEngine<FixedSize>,
    slab: &CheckedSlab<'_>,
    ty: NcType,
    out: &mut OutBuf<'_>,
) -> bool {
    let form = &engine.form;
    if engine.cache.is_empty() || ty != form.ty || engine.options.progress.is_some() {
        return false;
    }
    let mut part = ChunkPart::default();
    if !part.single(&engine.grid, slab) || part.elems * form.item() != out.capacity() {
        return false;
    }
    let copied = engine.cache.with_chunk(&part.index, |entry| {
        let known = entry.has_part(&part);
        if known {
            kernel::load_part(&entry.data, &form.memory_layout(), &part, out);
        }
        known
    });
    copied == Some(true)
}

/// Copies one element of a cached chunk, without conversion. `false`: not applicable, nothing happened.
pub(crate) fn get_cached_element(
    engine: &ArrayEngine<FixedSize>,
    at: &[u64],
    ty: NcType,
    out: &mut [u8],
) -> bool {
    let item = engine.form.item();
    let cache = &engine.cache;
    if cache.is_empty() || ty != engine.form.ty || out.len() != item || engine.options.progress.is_some() {
        return false;
    }
    let mut index = [0; MAX_RANK];
    let Some(place) = engine.grid.element(at, &mut index) else { return false };
    // Inside a chunk, so the product fits.
    cache.copy(&index[..at.len()], place * item, out)
}
