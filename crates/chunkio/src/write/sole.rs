//! The short way of a write that is one whole chunk and whose bytes are stored as the caller has them, at once: a record
//! appended where it waits for no others.
//!
//! Nothing is gathered, encoded or divided among threads, so nothing is made for that: the chunk's key is built in memory that
//! is kept, and the caller's bytes go to the map. Order and cache are those of every write: see [`crate::claims`] and
//! [`crate::cache`].

use std::cell::Cell;

use nczarr_dispatch::Key;
use nczarr_model::{NcType, Result, Slab};

use crate::grid::{ChunkIndex, Grid};
use crate::keeper::Keeper;
use crate::numbers::Numbers;

thread_local! {
    /// Taken while in use, never borrowed: a map may write another array meanwhile.
    static KEY: Cell<Key> = const { Cell::new(Key::root()) };
}

/// Writes a slab that was checked, as its memory was, if this is the way to do it.
pub(super) fn put(keeper: &Keeper<Numbers>, slab: &Slab<'_>, ty: NcType, bytes: &[u8]) -> Option<Result<()>> {
    let (form, plan) = (&keeper.form, &keeper.form.plan);
    let as_it_is = ty == form.ty && plan.half.is_none() && plan.layout.is_native() && !plan.has_filters();
    // Who watches is told of parts; shards are made of several chunks.
    if !as_it_is || keeper.shards.is_some() || keeper.options.progress.is_some() || bytes.len() != form.bytes() {
        return None;
    }
    let index = chunk_of(&keeper.grid, slab)?;
    // Far away the way in this process is nothing, and a batch knows best how to send what there is.
    if keeper.map().caps().remote {
        return None;
    }
    if keeper.lot(bytes.len()) > 1 && super::gathers(keeper, slab) {
        return None;
    }
    keeper.set_written();
    Some(store(keeper, &index, bytes))
}

/// The chunk that a slab is all of, if its elements lie in it as they do in memory.
fn chunk_of(grid: &Grid, slab: &Slab<'_>) -> Option<ChunkIndex> {
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

fn store(keeper: &Keeper<Numbers>, index: &ChunkIndex, bytes: &[u8]) -> Result<()> {
    let claim = keeper.claims.take(index);
    let mut key = KEY.take();
    keeper.locate(index, &mut key);
    let stored = keeper.map().write(&key, bytes);
    KEY.set(key);
    stored.map_err(|error| keeper.blame(error, index))?;
    keeper.cache.stale(index);
    keeper.cache.remove(index);
    drop(claim);
    Ok(())
}
