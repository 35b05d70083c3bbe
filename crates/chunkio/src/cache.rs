//! [`Cache`]: decoded chunks of one array in a byte budget, and the write-back buffer of partial writes.
//!
//! A table of slots in groups of [`WAYS`]: a chunk can stand in any slot of one group. A hit compares the tags of the
//! group, one line of memory, then takes that slot's own lock for reading, a few nanoseconds that no other chunk ever
//! waits for; a [`View`] beside the lock says where the elements are. Only insertion and removal share a lock,
//! and none is ever held while storage, filters or a pool of threads are called.
//!
//! What an entry's bytes mean is [`Entry`]'s to say; what is written when, [`crate::keeper`]'s.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use nczarr_dispatch::CacheConfig;
use nczarr_model::Result;

use crate::grid::ChunkIndex;
use crate::mask::Mask;
use crate::memory::{View, Viewed};
use crate::project::Part;

/// Slots a chunk may stand in.
const WAYS: usize = 8;

/// Groups whose last change in storage is remembered together.
const STAMPS: usize = 256;

/// How often pieces of a chunk are read before all of it is, to be kept: about what costs as much.
const TOUCHES: u8 = 16;

/// A chunk in memory.
#[derive(Debug)]
pub(crate) struct Entry<D> {
    pub(crate) index: ChunkIndex,
    /// The elements. Shared with whoever is writing them to storage; changed only after copying then.
    pub(crate) data: Arc<D>,
    pub(crate) cost: usize,
    /// Elements written since the entry last went to storage; `None`: unchanged.
    pub(crate) mask: Option<Mask>,
    /// Elements that are on their way to storage.
    pub(crate) flying: Option<Arc<Mask>>,
    /// Whether elements of neither mask hold what storage holds.
    pub(crate) filled: bool,
    /// Grows with every change.
    pub(crate) changed: u64,
}

impl<D> Entry<D> {
    /// Whether something must be written before the entry may go.
    pub(crate) fn is_dirty(&self) -> bool {
        self.mask.is_some() || self.flying.is_some()
    }

    /// Whether all elements were written here, so that nothing of what storage holds matters.
    pub(crate) fn is_complete(&self) -> bool {
        self.mask.as_ref().is_some_and(Mask::is_full)
    }

    /// Whether the elements of a part can be had from here.
    pub(crate) fn knows(&self, part: &Part) -> bool {
        let covers = |mask: Option<&Mask>| mask.is_some_and(|mask| mask.covers(part));
        self.filled || covers(self.mask.as_ref()) || covers(self.flying.as_deref())
    }

    /// The elements, to be changed.
    pub(crate) fn edit(&mut self, copy: impl FnOnce(&D) -> Result<D>) -> Result<&mut D> {
        if Arc::get_mut(&mut self.data).is_none() {
            self.data = Arc::new(copy(&self.data)?);
        }
        Ok(Arc::get_mut(&mut self.data).expect("nobody else has what was just made"))
    }

    /// The elements of a part were written.
    pub(crate) fn wrote(&mut self, part: &Part, elems: usize) {
        self.mask.get_or_insert_with(|| Mask::new(elems)).insert(part);
    }
}

/// An entry, and what a hit needs of it, on the line of the slot's lock.
#[derive(Debug)]
#[repr(C)]
struct Place<D> {
    /// Of the entry's elements, if all of them are known.
    view: View,
    entry: Entry<D>,
}

impl<D: Viewed> Place<D> {
    fn new(entry: Entry<D>) -> Self {
        let mut place = Self { view: View::NONE, entry };
        place.look_again();
        place
    }

    /// To be called after every change, before anybody else sees the entry.
    fn look_again(&mut self) {
        self.view = if self.entry.filled { self.entry.data.view() } else { View::NONE };
    }
}

#[derive(Debug)]
#[repr(C, align(64))]
struct Slot<D> {
    place: RwLock<Option<Place<D>>>,
    hot: AtomicBool,
}

impl<D> Slot<D> {
    fn empty() -> Self {
        Self { place: RwLock::new(None), hot: AtomicBool::new(false) }
    }

    fn read(&self) -> RwLockReadGuard<'_, Option<Place<D>>> {
        self.place.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Option<Place<D>>> {
        self.place.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn touch(&self) {
        if !self.hot.load(Ordering::Relaxed) {
            self.hot.store(true, Ordering::Relaxed);
        }
    }
}

/// The slots a chunk can stand in: one line of memory until the first of them is used.
#[derive(Debug)]
#[repr(align(64))]
struct Group<D> {
    /// Of the chunk in each slot, never 0; 0: empty.
    tags: [AtomicU32; WAYS],
    slots: OnceLock<Box<[Slot<D>; WAYS]>>,
}

impl<D> Group<D> {
    /// The slots with this tag, and where they are.
    fn tagged(&self, tag: u32) -> impl Iterator<Item = (usize, &Slot<D>)> {
        let slots = self.slots.get().map_or(&[][..], |slots| &slots[..]);
        slots.iter().enumerate().filter(move |(at, _)| self.tags[*at].load(Ordering::Acquire) == tag)
    }

    /// The slots in use, and where they are.
    fn used(&self) -> impl Iterator<Item = (usize, &Slot<D>)> {
        let slots = self.slots.get().map_or(&[][..], |slots| &slots[..]);
        slots.iter().enumerate().filter(|(at, _)| self.tags[*at].load(Ordering::Acquire) != 0)
    }
}

#[derive(Debug)]
struct Table<D> {
    /// A power of two.
    groups: Box<[Group<D>]>,
}

/// The decoded chunks of one array.
#[derive(Debug)]
pub(crate) struct Cache<D> {
    budget: AtomicUsize,
    bytes: AtomicUsize,
    chunk_cost: usize,
    table: OnceLock<Table<D>>,
    /// Held while entries come and go.
    moving: Mutex<Hand>,
    clock: AtomicU64,
    /// Made at the first write: what is only read has none.
    stamps: OnceLock<Box<[AtomicU64]>>,
    /// Whether somebody said how much to keep.
    tuned: AtomicBool,
    /// How often pieces of chunks were read.
    touches: OnceLock<Box<[AtomicU8]>>,
}

#[derive(Debug, Default)]
struct Hand {
    at: usize,
}

/// What became of an insertion.
pub(crate) enum Inserted {
    Done,
    /// There is an entry of this chunk already.
    Present,
    /// All slots the chunk may stand in hold changed entries.
    Crowded,
}

/// A changed entry, as far as choosing among them needs.
#[derive(Debug)]
pub(crate) struct Changed {
    pub(crate) index: ChunkIndex,
    pub(crate) complete: bool,
    pub(crate) cost: usize,
    pub(crate) changed: u64,
}

impl Changed {
    /// An entry's, if it is changed.
    pub(crate) fn of<D>(entry: &Entry<D>) -> Option<Self> {
        let changed = |entry: &Entry<D>| Self {
            index: entry.index.clone(),
            complete: entry.is_complete(),
            cost: entry.cost,
            changed: entry.changed,
        };
        entry.is_dirty().then(|| changed(entry))
    }
}

impl<D: Viewed> Cache<D> {
    /// Of so many bytes as were asked for, for chunks that usually take `chunk_cost`.
    pub(crate) fn new(asked: Option<usize>, chunk_cost: usize) -> Self {
        Self {
            budget: AtomicUsize::new(asked.unwrap_or(CacheConfig::BUILT_IN.bytes)),
            bytes: AtomicUsize::new(0),
            chunk_cost: chunk_cost.max(1),
            table: OnceLock::new(),
            moving: Mutex::default(),
            clock: AtomicU64::new(0),
            stamps: OnceLock::new(),
            tuned: AtomicBool::new(asked.is_some()),
            touches: OnceLock::new(),
        }
    }

    /// The bytes it may hold.
    pub(crate) fn budget(&self) -> usize {
        self.budget.load(Ordering::Relaxed)
    }

    /// Changes the bytes it may hold, as the user wants it; nothing is given up yet.
    pub(crate) fn set_budget(&self, bytes: usize) {
        self.budget.store(bytes, Ordering::Relaxed);
        self.tuned.store(true, Ordering::Relaxed);
    }

    /// Whether a chunk, of which pieces could be read cheaply, should be read whole and kept: if the array of `all`
    /// bytes fits, and somebody asked for that or comes to this chunk again and again.
    pub(crate) fn wants(&self, index: &ChunkIndex, all: usize) -> bool {
        if all > self.budget() {
            return false;
        }
        if self.tuned.load(Ordering::Relaxed) {
            return true;
        }
        let touches = self.touches.get_or_init(|| (0..STAMPS).map(|_| AtomicU8::new(0)).collect());
        touches[hash(index) as usize % STAMPS].fetch_add(1, Ordering::Relaxed) % TOUCHES == TOUCHES - 1
    }

    /// Bytes held beyond the budget.
    pub(crate) fn excess(&self) -> usize {
        self.bytes.load(Ordering::Relaxed).saturating_sub(self.budget())
    }

    /// Whether it holds nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.load(Ordering::Acquire) == 0
    }

    /// A point in time, for [`Cache::insert_read`].
    pub(crate) fn now(&self) -> u64 {
        self.clock.load(Ordering::SeqCst)
    }

    /// Storage holds something new for this chunk: what was read before must not be kept.
    pub(crate) fn stale(&self, index: &ChunkIndex) {
        let now = self.clock.fetch_add(1, Ordering::SeqCst) + 1;
        let stamps = self.stamps.get_or_init(|| (0..STAMPS).map(|_| AtomicU64::new(0)).collect());
        stamps[place_of_stamp(index)].fetch_max(now, Ordering::SeqCst);
    }

    /// When storage last got something new for this chunk, or one of the same group.
    fn changed_at(&self, index: &ChunkIndex) -> u64 {
        self.stamps.get().map_or(0, |stamps| stamps[place_of_stamp(index)].load(Ordering::SeqCst))
    }

    /// Calls `look` with the chunk's entry, if there is one.
    pub(crate) fn look<R>(&self, index: &[u64], look: impl FnOnce(&Entry<D>) -> R) -> Option<R> {
        let (group, tag) = self.table.get()?.find(index);
        for (_, slot) in group.tagged(tag) {
            let place = slot.read();
            if let Some(Place { entry, .. }) = place.as_ref().filter(|place| *place.entry.index == *index) {
                slot.touch();
                return Some(look(entry));
            }
        }
        None
    }

    /// Copies bytes of a chunk, from `start` on, if there is an entry and all of it is known. `false`: nothing happened.
    pub(crate) fn copy(&self, index: &[u64], start: usize, out: &mut [u8]) -> bool {
        let Some(table) = self.table.get() else { return false };
        let (group, tag) = table.find(index);
        for (_, slot) in group.tagged(tag) {
            let place = slot.read();
            if let Some(Place { view, .. }) = place.as_ref().filter(|place| same(&place.entry.index, index)) {
                slot.touch();
                // SAFETY: the view is of this entry's elements, which live and stay as they are while the lock is held.
                let bytes = unsafe { view.bytes() };
                let Some(bytes) = bytes.get(start..).and_then(|rest| rest.get(..out.len())) else { return false };
                match bytes.len() {
                    4 => out.copy_from_slice(&bytes[..4]),
                    8 => out.copy_from_slice(&bytes[..8]),
                    _ => out.copy_from_slice(bytes),
                }
                return true;
            }
        }
        false
    }

    /// Calls `change` with the chunk's entry, if there is one; nobody else sees it meanwhile.
    pub(crate) fn change<R>(&self, index: &[u64], change: impl FnOnce(&mut Entry<D>) -> R) -> Option<R> {
        let (group, tag) = self.table.get()?.find(index);
        for (_, slot) in group.tagged(tag) {
            let mut place = slot.write();
            if let Some(place) = place.as_mut().filter(|place| *place.entry.index == *index) {
                slot.hot.store(true, Ordering::Relaxed);
                // Should `change` panic, no view of elements that are gone stays behind.
                place.view = View::NONE;
                let entry = &mut place.entry;
                entry.changed = self.clock.fetch_add(1, Ordering::SeqCst) + 1;
                let before = entry.cost;
                let result = change(entry);
                self.count(before, entry.cost);
                place.look_again();
                return Some(result);
            }
        }
        None
    }

    fn count(&self, before: usize, after: usize) {
        if after >= before {
            self.bytes.fetch_add(after - before, Ordering::AcqRel);
        } else {
            self.bytes.fetch_sub(before - after, Ordering::AcqRel);
        }
    }

    /// Adds an entry that was written.
    pub(crate) fn insert(&self, entry: Entry<D>) -> Inserted {
        self.place(entry, &mut self.moving())
    }

    /// Adds a chunk that was read from storage, all of it, at or after `since`, unless that is no longer what storage holds.
    pub(crate) fn insert_read(&self, index: &ChunkIndex, data: Arc<D>, cost: usize, since: u64) {
        let mut hand = self.moving();
        if self.changed_at(index) > since || cost > self.budget() {
            return;
        }
        let entry =
            Entry { index: index.clone(), data, cost, mask: None, flying: None, filled: true, changed: self.now() };
        self.place(entry, &mut hand);
        while self.excess() > 0 && self.evict_one(&mut hand) {}
    }

    fn place(&self, entry: Entry<D>, _hand: &mut Hand) -> Inserted {
        let table = self.table.get_or_init(|| Table::new(self.budget(), self.chunk_cost));
        let (group, tag) = table.find(&entry.index);
        let here = |slot: &Slot<D>| slot.read().as_ref().is_some_and(|place| place.entry.index == entry.index);
        if group.tagged(tag).any(|(_, slot)| here(slot)) {
            return Inserted::Present;
        }
        let slots = group.slots.get_or_init(|| Box::new(std::array::from_fn(|_| Slot::empty())));
        let free = (0..WAYS).find(|&at| group.tags[at].load(Ordering::Acquire) == 0);
        let Some(at) = free.or_else(|| (0..WAYS).find(|&at| self.evict(group, at))) else {
            return Inserted::Crowded;
        };
        let slot = &slots[at];
        self.count(0, entry.cost);
        slot.hot.store(true, Ordering::Relaxed);
        *slot.write() = Some(Place::new(entry));
        group.tags[at].store(tag, Ordering::Release);
        Inserted::Done
    }

    /// Empties a slot that holds an unchanged entry nobody is looking at. Only while `moving` is held.
    fn evict(&self, group: &Group<D>, at: usize) -> bool {
        let Some(slot) = group.slots.get().map(|slots| &slots[at]) else { return false };
        let Ok(mut place) = slot.place.try_write() else { return false };
        match place.as_ref() {
            Some(Place { entry, .. }) if !entry.is_dirty() => {
                self.count(entry.cost, 0);
                group.tags[at].store(0, Ordering::Release);
                *place = None;
                true
            }
            _ => false,
        }
    }

    /// Gives up one unchanged entry that was not used lately.
    fn evict_one(&self, hand: &mut Hand) -> bool {
        let Some(table) = self.table.get() else { return false };
        let slots = table.groups.len() * WAYS;
        // Twice around: the first round may only find entries used lately.
        for _ in 0..2 * slots {
            let at = hand.at % slots;
            hand.at = at + 1;
            let (group, at) = (&table.groups[at / WAYS], at % WAYS);
            if group.tags[at].load(Ordering::Relaxed) != 0
                && let Some(slots) = group.slots.get()
                && !slots[at].hot.swap(false, Ordering::Relaxed)
                && self.evict(group, at)
            {
                return true;
            }
        }
        false
    }

    /// Gives up unchanged entries until the budget is kept, or none is left.
    pub(crate) fn evict_clean(&self) {
        let mut hand = self.moving();
        while self.excess() > 0 && self.evict_one(&mut hand) {}
    }

    /// Gives up an entry, changed or not: storage holds newer elements.
    pub(crate) fn remove(&self, index: &ChunkIndex) {
        self.remove_if(index, |_| true);
    }

    /// Gives up an entry if it is unchanged.
    pub(crate) fn remove_clean(&self, index: &ChunkIndex) {
        self.remove_if(index, |entry| !entry.is_dirty());
    }

    /// Gives up every unchanged entry.
    pub(crate) fn clear(&self) {
        let Some(table) = self.table.get() else { return };
        let _moving = self.moving();
        for group in &table.groups {
            self.empty(group, group.used(), |entry| !entry.is_dirty());
        }
    }

    fn remove_if(&self, index: &ChunkIndex, condition: impl Fn(&Entry<D>) -> bool) {
        // Before looking whether there is anything: somebody may be putting the first chunk in, read before `stale`.
        let _moving = self.moving();
        if self.is_empty() {
            return;
        }
        let Some(table) = self.table.get() else { return };
        let (group, tag) = table.find(index);
        self.empty(group, group.tagged(tag), |entry| entry.index == *index && condition(entry));
    }

    /// Empties those of the slots of a group whose entries meet a condition.
    fn empty<'a>(
        &self,
        group: &Group<D>,
        slots: impl Iterator<Item = (usize, &'a Slot<D>)>,
        condition: impl Fn(&Entry<D>) -> bool,
    ) where
        D: 'a,
    {
        for (at, slot) in slots {
            let mut place = slot.write();
            if let Some(Place { entry, .. }) = place.as_ref()
                && condition(entry)
            {
                self.count(entry.cost, 0);
                group.tags[at].store(0, Ordering::Release);
                *place = None;
            }
        }
    }

    /// The changed entries of the slots that `index` may stand in.
    pub(crate) fn crowd(&self, index: &ChunkIndex) -> Vec<Changed> {
        self.table.get().map_or_else(Vec::new, |table| changed(std::slice::from_ref(table.find(index).0)))
    }

    /// All changed entries.
    pub(crate) fn changed(&self) -> Vec<Changed> {
        self.table.get().map_or_else(Vec::new, |table| changed(&table.groups))
    }

    fn moving(&self) -> MutexGuard<'_, Hand> {
        self.moving.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D> Table<D> {
    fn new(budget: usize, chunk_cost: usize) -> Self {
        // Twice as many slots as chunks fit, so that groups rarely overflow.
        let slots = (budget / chunk_cost).saturating_mul(2).clamp(256, 1 << 16).next_power_of_two();
        let group = || Group { tags: [const { AtomicU32::new(0) }; WAYS], slots: OnceLock::new() };
        Self { groups: (0..slots / WAYS).map(|_| group()).collect() }
    }

    /// The group a chunk can stand in, and its tag.
    fn find(&self, index: &[u64]) -> (&Group<D>, u32) {
        let hash = hash(index);
        (&self.groups[hash as usize & (self.groups.len() - 1)], (hash >> 32) as u32 | 1 << 31)
    }
}

/// The changed entries of some groups.
fn changed<D>(groups: &[Group<D>]) -> Vec<Changed> {
    let mut list = Vec::new();
    for (_, slot) in groups.iter().flat_map(Group::used) {
        let place = slot.read();
        list.extend(place.as_ref().and_then(|place| Changed::of(&place.entry)));
    }
    list
}

/// Whether two lists are the same: they are too short for a call.
fn same(one: &[u64], other: &[u64]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one == other)
}

fn place_of_stamp(index: &ChunkIndex) -> usize {
    (hash(index) >> 32) as usize % STAMPS
}

/// A hash of a chunk's coordinates.
///
/// Quick rather than strong: coordinates come from the caller's own slabs, and a flood of equal hashes does no more
/// than slow down whoever asked for it.
fn hash(index: &[u64]) -> u64 {
    let mut hash = 0u64;
    for &at in index {
        hash = (hash ^ at).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        hash ^= hash >> 32;
    }
    hash ^ (hash >> 29)
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::memory::Block;

    fn block(byte: u8) -> Arc<Block> {
        Arc::new(Block::new(4, |out| out.put(&[byte; 4]), |_| nczarr_model::ErrorKind::Internal.into()).unwrap())
    }

    fn peek(cache: &Cache<Block>, index: &[u64], start: usize) -> Option<u8> {
        let mut out = [0; 1];
        cache.copy(index, start, &mut out).then_some(out[0])
    }

    #[test]
    fn what_is_copied_is_what_the_entry_holds_now() {
        let cache = Cache::new(Some(1 << 10), 4);
        let indices: Vec<ChunkIndex> = (0..40).map(|at| ChunkIndex::from(&[at, at / 3][..])).collect();
        for (byte, index) in indices.iter().enumerate() {
            assert_eq!(peek(&cache, index, 0), None);
            cache.insert_read(index, block(byte as u8), 4, cache.now());
        }
        for (byte, index) in indices.iter().enumerate() {
            assert_eq!((peek(&cache, index, 3), peek(&cache, index, 4)), (Some(byte as u8), None));
        }
        let first = &indices[0];
        cache.change(first, |entry| entry.data = block(100));
        assert_eq!(peek(&cache, first, 0), Some(100));
        cache.change(first, |entry| entry.edit(Block::try_clone).map(|data| data[1] = 101)).unwrap().unwrap();
        assert_eq!((peek(&cache, first, 0), peek(&cache, first, 1)), (Some(100), Some(101)));
        cache.change(first, |entry| entry.filled = false);
        assert_eq!(peek(&cache, first, 0), None, "not all of it is known");
        let second = &indices[1];
        let stopped = catch_unwind(AssertUnwindSafe(|| {
            cache.change(second, |entry| {
                entry.data = block(102);
                panic!("a change that does not end");
            })
        }));
        assert!(stopped.is_err());
        assert_eq!(peek(&cache, second, 0), None, "nothing is seen of elements that went");
        cache.clear();
        assert!(cache.is_empty() && indices.iter().all(|index| peek(&cache, index, 0).is_none()));
    }
}
