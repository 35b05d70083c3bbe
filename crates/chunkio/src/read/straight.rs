//! A few elements that lie one after another in one chunk, as they are in memory: the shortest way from storage.
//!
//! One look at the slab, one range of one object. Everything else goes the way of all reads, and says what is wrong.

use std::cell::Cell;

use dispatch::{Key, MissingChunks, OutBuf};
use model::{NcType, Result, Slab};

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
    let (form, caps) = (&keeper.form, keeper.map().caps());
    let ranged = caps.range_read && !caps.remote && keeper.shards.is_none() && form.plan.is_plain();
    if !ranged || out.capacity() > MOST || keeper.options.progress.is_some() {
        return OTHER;
    }
    let mut part = Part::default();
    if !part.single(&keeper.grid, slab) || part.elems * form.item() != out.capacity() {
        return OTHER;
    }
    let Some((range, bytes)) = ranges::straight(&part, form.item(), form.elems) else { return OTHER };
    // Who reads all there is of a chunk is told if the object is not what it should be.
    let grid = &keeper.grid;
    if (0..grid.rank()).all(|dim| slab.count[dim] == grid.inside(dim, part.index[dim], grid.len(dim))) {
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

/// Reads one element of the array's own type. `false`: this is not the way, whyever, and what is in `out` means nothing.
pub(super) fn pick(keeper: &Keeper<Numbers>, at: &[u64], ty: NcType, out: &mut [u8]) -> bool {
    let (form, grid) = (&keeper.form, &keeper.grid);
    let item = form.item();
    // What is known of a chunk, or is to be kept of it, is the business of others.
    if !keeper.cache.is_empty() || ty != form.ty || out.len() != item || keeper.may_keep(1) || !keeper.picks() {
        return false;
    }
    let mut index = [0; PEEKED];
    let Some(place) = grid.element(at, &mut index) else { return false };
    let index = &index[..at.len()];
    // As in `read`.
    if index.iter().enumerate().all(|(dim, &at)| grid.inside(dim, at, grid.len(dim)) == 1) {
        return false;
    }
    let mut into = OutBuf::over(out);
    match ask(keeper, index, (place * item) as u64, &mut into) {
        Ok(true) => into.filled().len() == item,
        Ok(false) if keeper.options.missing_chunks == MissingChunks::Fill => into.put(&form.fill).is_ok(),
        _ => false,
    }
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
    /// Whether single elements can be read the shortest way as long as nobody changes the array, as far as its form and its
    /// storage are concerned.
    fn picks(&self) -> bool {
        let picks = || {
            let caps = self.map().caps();
            let ranged = caps.range_read && !caps.remote && self.shards.is_none() && self.form.plan.is_plain();
            ranged && self.form.elems > 1 && self.options.progress.is_none()
        };
        *self.picks.get_or_init(picks)
    }
}
