//! A fast path for a write of one whole chunk in stored form, such as an appended record.
//!
//! Applies to one unfiltered, native chunk of local storage without shards or observer: the caller's bytes go
//! directly to the map, with a reused key. Falls back to [`crate::write`]. Claims and cache are used as in
//! every write.

use std::cell::Cell;

use nczarr_model::{CheckedSlab, NcType, Result};
use nczarr_storage::{Key, ZMapExt};

use crate::engine::ArrayEngine;
use crate::fast::store_together::gathers;
use crate::fixed_size::FixedSize;
use crate::grid::{ChunkGrid, ChunkIndex};

thread_local! {
    /// Moved out during use, since a map may write another array.
    static KEY: Cell<Key> = const { Cell::new(Key::root()) };
}

/// Writes a slab from checked memory; `None` if this path does not apply.
pub(crate) fn put(
    engine: &ArrayEngine<FixedSize>,
    slab: &CheckedSlab<'_>,
    ty: NcType,
    bytes: &[u8],
) -> Option<Result<()>> {
    let (form, plan) = (&engine.form, &engine.form.plan);
    let as_it_is = ty == form.ty && plan.half.is_none() && plan.layout.is_native() && !plan.has_filters();
    // Observers see parts, and shards have several chunks.
    if !as_it_is
        || engine.shards.is_some()
        || engine.options.progress.is_some()
        || bytes.len() != form.bytes()
    {
        return None;
    }
    let index = chunk_of(&engine.grid, slab)?;
    // For remote maps this overhead is negligible, and a batch sends requests better.
    if engine.map().caps().remote {
        return None;
    }
    if engine.batch_size(bytes.len()) > 1 && gathers(engine, slab) {
        return None;
    }
    engine.set_written();
    Some(store(engine, &index, bytes))
}

/// Returns the chunk that equals the slab, if elements have the same order in both.
fn chunk_of(grid: &ChunkGrid, slab: &CheckedSlab<'_>) -> Option<ChunkIndex> {
    let mut index = ChunkIndex::with_len(grid.rank());
    let mut dense = 1;
    for (dim, at) in index.iter_mut().enumerate().rev() {
        let (start, count, chunk) = (slab.start[dim], slab.count[dim], grid.chunk[dim]);
        if count != chunk {
            return None;
        }
        if chunk == 1 {
            *at = start;
            continue;
        }
        if slab.step(dim) != 1 || grid.strides[dim] != dense {
            return None;
        }
        if start != 0 {
            *at = start / chunk;
            if *at * chunk != start {
                return None;
            }
        }
        // The product of all lengths fits.
        dense *= chunk as usize;
    }
    Some(index)
}

fn store(engine: &ArrayEngine<FixedSize>, index: &ChunkIndex, bytes: &[u8]) -> Result<()> {
    let claim = engine.claims.take(index);
    let mut key = KEY.take();
    engine.locate(index, &mut key);
    let stored = engine.map().write(&key, bytes);
    KEY.set(key);
    stored.map_err(|error| engine.at_chunk(error, index))?;
    engine.cache.mark_stale(index);
    engine.cache.remove(index);
    drop(claim);
    Ok(())
}
