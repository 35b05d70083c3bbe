//! Reads one element from its unfiltered object.
//!
//! Applies to an element of the array's type in local storage, if its chunk is neither cached nor worth
//! caching. Falls back to the other paths, which also report errors.

use nczarr_dispatch::MissingChunks;
use nczarr_model::NcType;
use nczarr_runtime::OutBuf;

use super::single_range::{ask, is_all};
use crate::engine::ArrayEngine;
use crate::fast::MAX_RANK;
use crate::fixed_size::FixedSize;

/// Reads one element of the array's type from storage, if its chunk is neither cached nor worth caching.
/// `false`: not applicable or failed; `out` is undefined.
pub(crate) fn get_stored_element(
    engine: &ArrayEngine<FixedSize>,
    at: &[u64],
    ty: NcType,
    out: &mut [u8],
) -> bool {
    let (form, grid) = (&engine.form, &engine.grid);
    let item = form.item();
    // Cached chunks, and chunks worth caching, take the other path.
    if !engine.cache.is_empty()
        || ty != form.ty
        || out.len() != item
        || engine.may_keep(1)
        || !engine.gives_ranges()
    {
        return false;
    }
    let mut index = [0; MAX_RANK];
    let Some(place) = grid.element(at, &mut index) else { return false };
    let index = &index[..at.len()];
    if is_all(grid, index, |_| 1) {
        return false;
    }
    let mut into = OutBuf::from_slice(out);
    match ask(engine, index, (place * item) as u64, &mut into) {
        Ok(true) => into.filled().len() == item,
        Ok(false) if engine.options.missing_chunks == MissingChunks::Fill => into.put(&form.fill).is_ok(),
        _ => false,
    }
}
