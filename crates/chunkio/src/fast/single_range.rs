//! A fast path for a few adjacent elements of one chunk in native form.
//!
//! Applies to slabs of up to [`MOST`] bytes in one unfiltered chunk of local storage: one check, then one
//! range read. All other slabs fall back to [`crate::read`], which also reports errors.

use std::cell::Cell;

use nczarr_model::{CheckedSlab, Result};
use nczarr_runtime::OutBuf;
use nczarr_storage::Key;

use crate::engine::ArrayEngine;
use crate::fixed_size::FixedSize;
use crate::grid::ChunkGrid;
use crate::project::ChunkPart;
use crate::ranges;

/// The largest slab for this path, in bytes.
const MOST: usize = 4 << 10;

thread_local! {
    /// Moved out during use, since a map may enter this code again.
    static KEY: Cell<Key> = const { Cell::new(Key::root()) };
}

/// The result of the fast path.
pub(crate) enum SingleRangeRead {
    /// The elements were read, or reading failed.
    Done(Result<()>),
    /// Not applicable. `keep`: the chunk should be read whole and cached.
    Other { keep: bool },
}

/// Reads a non-empty slab into memory of the array's type.
pub(crate) fn read(
    engine: &ArrayEngine<FixedSize>,
    slab: &CheckedSlab<'_>,
    out: &mut OutBuf<'_>,
) -> SingleRangeRead {
    const OTHER: SingleRangeRead = SingleRangeRead::Other { keep: false };
    let form = &engine.form;
    if out.capacity() > MOST || !engine.gives_ranges() {
        return OTHER;
    }
    let mut part = ChunkPart::default();
    if !part.single(&engine.grid, slab) || part.elems * form.item() != out.capacity() {
        return OTHER;
    }
    let Some((range, bytes)) = ranges::single_range(&part, form.item(), form.elems) else { return OTHER };
    if is_all(&engine.grid, &part.index, |dim| slab.count[dim]) {
        return OTHER;
    }
    // A cached chunk may differ from the stored one.
    if !engine.cache.is_empty() && engine.cache.with_chunk(&part.index, |_| ()).is_some() {
        return OTHER;
    }
    if engine.may_keep(1) && engine.wants(&part) {
        return SingleRangeRead::Other { keep: true };
    }
    SingleRangeRead::Done(
        fetch(engine, &part, range.offset, bytes, out).map_err(|error| engine.at_chunk(error, &part.index)),
    )
}

fn fetch(
    engine: &ArrayEngine<FixedSize>,
    part: &ChunkPart,
    offset: u64,
    bytes: usize,
    out: &mut OutBuf<'_>,
) -> Result<()> {
    let form = &engine.form;
    if !ask(engine, &part.index, offset, out)? {
        engine.missing(&part.index)?;
        return (0..part.elems).try_for_each(|_| out.put(&form.fill));
    }
    match out.filled().len() {
        found if found == bytes => Ok(()),
        found => Err(form.plan.wrong_size(found).at("a range of the chunk")),
    }
}

/// Whether the slab covers all elements of a chunk inside the array. Such reads must check the object's size.
pub(super) fn is_all(grid: &ChunkGrid, index: &[u64], count: impl Fn(usize) -> u64) -> bool {
    index.iter().enumerate().all(|(dim, &at)| count(dim) == grid.inside(dim, at, grid.len(dim)))
}

/// Reads a range of a chunk's object. Returns whether the object exists.
pub(super) fn ask(
    engine: &ArrayEngine<FixedSize>,
    index: &[u64],
    offset: u64,
    out: &mut OutBuf<'_>,
) -> Result<bool> {
    let mut key = KEY.take();
    engine.locate(index, &mut key);
    out.clear();
    let found = engine.map().read_into(&key, offset, out);
    KEY.set(key);
    found
}

impl ArrayEngine<FixedSize> {
    /// Whether storage supports cheap range reads of chunks in native form, and no observer is set.
    pub(super) fn gives_ranges(&self) -> bool {
        let ranged = || {
            let caps = self.map().caps();
            let plain = self.shards.is_none() && self.form.plan.is_plain();
            plain && caps.range_read && !caps.remote && self.options.progress.is_none()
        };
        *self.ranged.get_or_init(ranged)
    }
}
