//! A few elements that lie one after another in one chunk, as they are in memory: the shortest way from storage.
//!
//! One look at the slab, one range of one object. Everything else goes the way of all reads, and says what is wrong.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use dispatch::{ByteRange, Found, Key, OutBuf, Ranges, ReadJob, ReadTicket, Version};
use model::{ErrorKind, Result, Slab};

use crate::keeper::Keeper;
use crate::numbers::Numbers;
use crate::project::Part;
use crate::ranges;

/// More bytes than this are worth finding out what is best.
const MOST: usize = 4 << 10;

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
    out.clear();
    let state = Mutex::new(State { out, result: None });
    let job = Job { keeper, part: &part, range, bytes, taken: AtomicBool::new(false), state };
    keeper.map().read_batch(&job);
    let state = job.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    let lost = || Err(ErrorKind::Internal.context("the map did not deliver its only ticket"));
    Straight::Done(state.result.unwrap_or_else(lost).map_err(|error| keeper.blame(error, &part.index)))
}

/// The one range.
struct Job<'a, 'o> {
    keeper: &'a Keeper<Numbers>,
    part: &'a Part,
    range: ByteRange,
    bytes: usize,
    /// Whether somebody has the ticket.
    taken: AtomicBool,
    /// Of which nobody but one thread has the use.
    state: Mutex<State<'a, 'o>>,
}

struct State<'a, 'o> {
    out: &'a mut OutBuf<'o>,
    result: Option<Result<()>>,
}

impl Job<'_, '_> {
    fn take(&self, found: Result<Option<(Found<'_>, Option<Version>)>>, out: &mut OutBuf<'_>) -> Result<()> {
        let form = &self.keeper.form;
        match found? {
            Some((Found::Bytes(bytes), _)) if bytes.len() == self.bytes => out.put(bytes),
            Some((found, _)) => {
                let found = if let Found::Bytes(bytes) = found { bytes.len() } else { 0 };
                Err(form.plan.wrong_size(found).at("a range of the chunk"))
            }
            None => {
                self.keeper.missing(&self.part.index)?;
                (0..self.part.elems).try_for_each(|_| out.put(&form.fill))
            }
        }
    }
}

impl ReadJob for Job<'_, '_> {
    fn threads(&self) -> usize {
        1
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        // Asked twice by every map: only the first time is paid for.
        if self.taken.load(Ordering::Relaxed) || self.taken.swap(true, Ordering::Relaxed) {
            return None;
        }
        self.keeper.locate(&self.part.index, key);
        let (ranges, bytes) = (Ranges::One(self.range), self.bytes);
        Some(ReadTicket { index: 0, ranges, hint: bytes, limit: bytes, versioned: false, into: None })
    }

    fn done(&self, _: ReadTicket<'_>, found: Result<Option<(Found<'_>, Option<Version>)>>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *state;
        if state.result.is_none() {
            state.result = Some(self.take(found, state.out));
        }
    }
}
