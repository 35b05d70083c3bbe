//! A few elements that lie one after another in one chunk, as they are in memory: the shortest way from storage.
//!
//! One look at the slab, one range of one object. Everything else goes the way of all reads, and says what is wrong.

use std::cell::Cell;

use nczarr_dispatch::{Key, MissingChunks, OutBuf};
use nczarr_model::{NcType, Result, Slab};

use crate::grid::Grid;
use crate::keeper::Keeper;
use crate::numbers::Numbers;
use crate::project::Part;
use crate::ranges;

use super::PEEKED;

/// More bytes than this are worth finding out what is best.
const MOST: usize = 4 << 10;

thread_local! {
    /// Taken while in use, never borrowed: what a map does to read is its own business.
    static KEY: Cell<Key> = const { Cell::new(Key::root()) };
}

/// What became of it.
pub(super) enum Straight {
    /// They were read, or could not be.
    Done(Result<()>),
    /// Nothing happened. `keep`: the chunk is to be read as a whole, and kept.
    Other { keep: bool },
}

/// Reads a slab that was checked and is not empty into memory of the array's own type.
pub(super) fn read(keeper: &Keeper<Numbers>, slab: &Slab<'_>, out: &mut OutBuf<'_>) -> Straight {
    const OTHER: Straight = Straight::Other { keep: false };
    let form = &keeper.form;
    if out.capacity() > MOST || !keeper.gives_ranges() {
        return OTHER;
    }
    let mut part = Part::default();
    if !part.single(&keeper.grid, slab) || part.elems * form.item() != out.capacity() {
        return OTHER;
    }
    let Some((range, bytes)) = ranges::straight(&part, form.item(), form.elems) else { return OTHER };
    if is_all(&keeper.grid, &part.index, |dim| slab.count[dim]) {
        return OTHER;
    }
    // What is known of it, or is to be stored, is not what storage holds.
    if !keeper.cache.is_empty() && keeper.cache.look(&part.index, |_| ()).is_some() {
        return OTHER;
    }
    if keeper.may_keep(1) && keeper.wants(&part) {
        return Straight::Other { keep: true };
    }
    Straight::Done(fetch(keeper, &part, range.offset, bytes, out).map_err(|error| keeper.blame(error, &part.index)))
}

fn fetch(keeper: &Keeper<Numbers>, part: &Part, offset: u64, bytes: usize, out: &mut OutBuf<'_>) -> Result<()> {
    let form = &keeper.form;
    if !ask(keeper, &part.index, offset, out)? {
        keeper.missing(&part.index)?;
        return (0..part.elems).try_for_each(|_| out.put(&form.fill));
    }
    match out.filled().len() {
        found if found == bytes => Ok(()),
        found => Err(form.plan.wrong_size(found).at("a range of the chunk")),
    }
}

/// Reads one element of the array's own type from storage, if nothing else of its chunk is to be read or kept. `false`: it
/// is not so, or did not go well, and what is in `out` means nothing.
pub(crate) fn pick(keeper: &Keeper<Numbers>, at: &[u64], ty: NcType, out: &mut [u8]) -> bool {
    let (form, grid) = (&keeper.form, &keeper.grid);
    let item = form.item();
    // What is known of a chunk, or is to be kept of it, is the business of others.
    if !keeper.cache.is_empty() || ty != form.ty || out.len() != item || keeper.may_keep(1) || !keeper.gives_ranges() {
        return false;
    }
    let mut index = [0; PEEKED];
    let Some(place) = grid.element(at, &mut index) else { return false };
    let index = &index[..at.len()];
    if is_all(grid, index, |_| 1) {
        return false;
    }
    let mut into = OutBuf::from_slice(out);
    match ask(keeper, index, (place * item) as u64, &mut into) {
        Ok(true) => into.filled().len() == item,
        Ok(false) if keeper.options.missing_chunks == MissingChunks::Fill => into.put(&form.fill).is_ok(),
        _ => false,
    }
}

/// Whether so many elements are all there are of a chunk inside the array. Who reads them all is told if the object is not
/// what it should be.
fn is_all(grid: &Grid, index: &[u64], count: impl Fn(usize) -> u64) -> bool {
    index.iter().enumerate().all(|(dim, &at)| count(dim) == grid.inside(dim, at, grid.len(dim)))
}

/// Reads a range of the object of a chunk; whether there is one.
fn ask(keeper: &Keeper<Numbers>, index: &[u64], offset: u64, out: &mut OutBuf<'_>) -> Result<bool> {
    let mut key = KEY.take();
    keeper.locate(index, &mut key);
    out.clear();
    let found = keeper.map().read_into(&key, offset, out);
    KEY.set(key);
    found
}

impl Keeper<Numbers> {
    /// Whether storage gives ranges of a chunk as they are in memory, cheaply, and nobody is to be told of each.
    fn gives_ranges(&self) -> bool {
        let ranged = || {
            let caps = self.map().caps();
            let plain = self.shards.is_none() && self.form.plan.is_plain();
            plain && caps.range_read && !caps.remote && self.options.progress.is_none()
        };
        *self.ranged.get_or_init(ranged)
    }
}
