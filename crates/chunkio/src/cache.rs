//! [`ChunkCache`]: the decoded chunks of one array within a byte budget, and the buffer of partial writes.
//!
//! A hash table of slots in groups of [`WAYS`]: a chunk may be in any slot of one group. A hit compares the
//! tags of the group, which are one cache line, then locks that slot for reading. This takes a few
//! nanoseconds and blocks no other chunk. A [`ByteView`] beside the lock gives the address of the elements.
//! Only insertion and removal share a lock. No lock is held during a call of storage, filters or a thread
//! pool.
//!
//! [`CachedChunk`] defines the state of a chunk; [`crate::engine`] decides when it is stored.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use nczarr_dispatch::CacheConfig;
use nczarr_model::Result;

use crate::grid::ChunkIndex;
use crate::mask::ElementMask;
use crate::memory::{ByteView, HasByteView};
use crate::project::ChunkPart;

/// The number of slots per group.
const WAYS: usize = 8;

/// The number of buckets for the time of the last change in storage.
const STAMPS: usize = 256;

/// A chunk is read whole and cached after this many partial reads, which cost about as much.
const TOUCHES: u8 = 16;

/// A chunk in memory.
#[derive(Debug)]
pub(crate) struct CachedChunk<D> {
    pub(crate) index: ChunkIndex,
    /// The elements. A running write-back shares them; a change during it copies them first.
    pub(crate) data: Arc<D>,
    pub(crate) cost: usize,
    /// Elements written since the last write-back; `None`: unchanged.
    pub(crate) mask: Option<ElementMask>,
    /// Elements of the running write-back.
    pub(crate) in_flight: Option<Arc<ElementMask>>,
    /// Whether elements outside both masks equal the stored ones.
    pub(crate) filled: bool,
    /// Grows with every change.
    pub(crate) changed: u64,
}

impl<D> CachedChunk<D> {
    /// Whether the chunk must be stored before eviction.
    pub(crate) fn is_dirty(&self) -> bool {
        self.mask.is_some() || self.in_flight.is_some()
    }

    /// Whether all elements were written, so that the stored chunk does not matter.
    pub(crate) fn is_complete(&self) -> bool {
        self.mask.as_ref().is_some_and(ElementMask::is_full)
    }

    /// Whether the elements of a part are known.
    pub(crate) fn has_part(&self, part: &ChunkPart) -> bool {
        let covers = |mask: Option<&ElementMask>| mask.is_some_and(|mask| mask.covers(part));
        self.filled || covers(self.mask.as_ref()) || covers(self.in_flight.as_deref())
    }

    /// Returns the elements for a change.
    pub(crate) fn edit(&mut self, copy: impl FnOnce(&D) -> Result<D>) -> Result<&mut D> {
        if Arc::get_mut(&mut self.data).is_none() {
            self.data = Arc::new(copy(&self.data)?);
        }
        Ok(Arc::get_mut(&mut self.data).expect("a new copy has one owner"))
    }

    /// Records that the elements of a part were written.
    pub(crate) fn mark_written(&mut self, part: &ChunkPart, elems: usize) {
        self.mask.get_or_insert_with(|| ElementMask::new(elems)).insert(part);
    }
}

/// A chunk, and the view that a hit needs, on the cache line of the slot's lock.
#[derive(Debug)]
#[repr(C)]
struct OccupiedSlot<D> {
    /// The elements, if all of them are known.
    view: ByteView,
    entry: CachedChunk<D>,
}

impl<D: HasByteView> OccupiedSlot<D> {
    fn new(entry: CachedChunk<D>) -> Self {
        let mut place = Self { view: ByteView::NONE, entry };
        place.refresh_view();
        place
    }

    /// Updates the view. Call it after every change, before other threads see the chunk.
    fn refresh_view(&mut self) {
        self.view = if self.entry.filled { self.entry.data.view() } else { ByteView::NONE };
    }
}

#[derive(Debug)]
#[repr(C, align(64))]
struct CacheSlot<D> {
    place: RwLock<Option<OccupiedSlot<D>>>,
    hot: AtomicBool,
}

impl<D> CacheSlot<D> {
    fn empty() -> Self {
        Self { place: RwLock::new(None), hot: AtomicBool::new(false) }
    }

    fn read(&self) -> RwLockReadGuard<'_, Option<OccupiedSlot<D>>> {
        self.place.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Option<OccupiedSlot<D>>> {
        self.place.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn touch(&self) {
        if !self.hot.load(Ordering::Relaxed) {
            self.hot.store(true, Ordering::Relaxed);
        }
    }
}

/// The slots of a group: one cache line until the first is used.
#[derive(Debug)]
#[repr(align(64))]
struct SlotGroup<D> {
    /// The tag of each slot's chunk; 0: empty.
    tags: [AtomicU32; WAYS],
    slots: OnceLock<Box<[CacheSlot<D>; WAYS]>>,
}

impl<D> SlotGroup<D> {
    /// Returns the slots with this tag, and their positions.
    fn tagged(&self, tag: u32) -> impl Iterator<Item = (usize, &CacheSlot<D>)> {
        let slots = self.slots.get().map_or(&[][..], |slots| &slots[..]);
        slots.iter().enumerate().filter(move |(at, _)| self.tags[*at].load(Ordering::Acquire) == tag)
    }

    /// Returns the used slots, and their positions.
    fn used(&self) -> impl Iterator<Item = (usize, &CacheSlot<D>)> {
        let slots = self.slots.get().map_or(&[][..], |slots| &slots[..]);
        slots.iter().enumerate().filter(|(at, _)| self.tags[*at].load(Ordering::Acquire) != 0)
    }
}

#[derive(Debug)]
struct SlotTable<D> {
    /// A power of two.
    groups: Box<[SlotGroup<D>]>,
}

/// The decoded chunks of one array.
#[derive(Debug)]
pub(crate) struct ChunkCache<D> {
    budget: AtomicUsize,
    bytes: AtomicUsize,
    chunk_cost: usize,
    table: OnceLock<SlotTable<D>>,
    /// Held during insertion and removal.
    moving: Mutex<ClockHand>,
    clock: AtomicU64,
    /// Created by the first write.
    stamps: OnceLock<Box<[AtomicU64]>>,
    /// Whether the user set the budget.
    tuned: AtomicBool,
    /// The number of partial reads of chunks.
    touches: OnceLock<Box<[AtomicU8]>>,
}

#[derive(Debug, Default)]
struct ClockHand {
    at: usize,
}

/// The result of an insertion.
pub(crate) enum InsertOutcome {
    Done,
    /// The chunk is cached already.
    Present,
    /// All slots of the group hold changed chunks.
    Crowded,
}

/// A changed chunk, with the properties that select chunks for write-back.
#[derive(Debug)]
pub(crate) struct DirtyChunk {
    pub(crate) index: ChunkIndex,
    pub(crate) complete: bool,
    pub(crate) cost: usize,
    pub(crate) changed: u64,
}

impl DirtyChunk {
    /// Sorts by the position in the grid.
    pub(crate) fn sort_by_index(chunks: &mut [Self]) {
        chunks.sort_unstable_by(|a, b| a.index.cmp(&b.index));
    }

    /// Sorts by the order of write-back: complete chunks first, then the ones that changed earlier.
    pub(crate) fn sort_by_age(chunks: &mut [Self]) {
        chunks.sort_unstable_by_key(|entry| (!entry.complete, entry.changed));
    }

    /// Describes a chunk, if it is changed.
    pub(crate) fn of<D>(entry: &CachedChunk<D>) -> Option<Self> {
        let changed = |entry: &CachedChunk<D>| Self {
            index: entry.index.clone(),
            complete: entry.is_complete(),
            cost: entry.cost,
            changed: entry.changed,
        };
        entry.is_dirty().then(|| changed(entry))
    }
}

impl<D: HasByteView> ChunkCache<D> {
    /// Creates a cache of `asked` bytes, for chunks that usually take `chunk_cost`.
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

    /// Returns the budget in bytes.
    pub(crate) fn budget(&self) -> usize {
        self.budget.load(Ordering::Relaxed)
    }

    /// Sets the budget on behalf of the user. Evicts nothing yet.
    pub(crate) fn set_budget(&self, bytes: usize) {
        self.budget.store(bytes, Ordering::Relaxed);
        self.tuned.store(true, Ordering::Relaxed);
    }

    /// Whether a chunk should be read whole and cached, although parts could be read cheaply. That is so if
    /// the array of `all` bytes fits, and the user set a budget or reads this chunk repeatedly.
    pub(crate) fn should_keep(&self, index: &ChunkIndex, all: usize) -> bool {
        if all > self.budget() {
            return false;
        }
        if self.tuned.load(Ordering::Relaxed) {
            return true;
        }
        let touches = self.touches.get_or_init(|| (0..STAMPS).map(|_| AtomicU8::new(0)).collect());
        touches[hash(index) as usize % STAMPS].fetch_add(1, Ordering::Relaxed) % TOUCHES == TOUCHES - 1
    }

    /// Returns the bytes beyond the budget.
    pub(crate) fn excess(&self) -> usize {
        self.bytes.load(Ordering::Relaxed).saturating_sub(self.budget())
    }

    /// Whether the cache is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.load(Ordering::Acquire) == 0
    }

    /// Returns the current time, for [`ChunkCache::insert_read`].
    pub(crate) fn now(&self) -> u64 {
        self.clock.load(Ordering::SeqCst)
    }

    /// Records that the stored chunk changed: results of earlier reads must not be cached.
    pub(crate) fn mark_stale(&self, index: &ChunkIndex) {
        let now = self.clock.fetch_add(1, Ordering::SeqCst) + 1;
        let stamps = self.stamps.get_or_init(|| (0..STAMPS).map(|_| AtomicU64::new(0)).collect());
        stamps[place_of_stamp(index)].fetch_max(now, Ordering::SeqCst);
    }

    /// Returns the time when this chunk, or another of its bucket, last changed in storage.
    fn changed_at(&self, index: &ChunkIndex) -> u64 {
        self.stamps.get().map_or(0, |stamps| stamps[place_of_stamp(index)].load(Ordering::SeqCst))
    }

    /// Calls `look` with the chunk's entry, if there is one.
    pub(crate) fn with_chunk<R>(&self, index: &[u64], look: impl FnOnce(&CachedChunk<D>) -> R) -> Option<R> {
        let (group, tag) = self.table.get()?.find(index);
        for (_, slot) in group.tagged(tag) {
            let place = slot.read();
            if let Some(OccupiedSlot { entry, .. }) =
                place.as_ref().filter(|place| *place.entry.index == *index)
            {
                slot.touch();
                return Some(look(entry));
            }
        }
        None
    }

    /// Copies bytes of a chunk from `start` on, if the chunk is cached and all elements are known. `false`:
    /// nothing happened.
    pub(crate) fn copy(&self, index: &[u64], start: usize, out: &mut [u8]) -> bool {
        let Some(table) = self.table.get() else { return false };
        let (group, tag) = table.find(index);
        for (_, slot) in group.tagged(tag) {
            let place = slot.read();
            if let Some(OccupiedSlot { view, .. }) =
                place.as_ref().filter(|place| same(&place.entry.index, index))
            {
                slot.touch();
                // SAFETY: the view is of this chunk's elements, which do not change while the lock is held.
                let bytes = unsafe { view.bytes() };
                let Some(bytes) = bytes.get(start..).and_then(|rest| rest.get(..out.len())) else {
                    return false;
                };
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

    /// Calls `change` with the chunk, if it is cached. Other threads do not see it meanwhile.
    pub(crate) fn update<R>(
        &self,
        index: &[u64],
        change: impl FnOnce(&mut CachedChunk<D>) -> R,
    ) -> Option<R> {
        let (group, tag) = self.table.get()?.find(index);
        for (_, slot) in group.tagged(tag) {
            let mut place = slot.write();
            if let Some(place) = place.as_mut().filter(|place| *place.entry.index == *index) {
                slot.hot.store(true, Ordering::Relaxed);
                // If `change` panics, no view of freed elements remains.
                place.view = ByteView::NONE;
                let entry = &mut place.entry;
                entry.changed = self.clock.fetch_add(1, Ordering::SeqCst) + 1;
                let before = entry.cost;
                let result = change(entry);
                self.count(before, entry.cost);
                place.refresh_view();
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

    /// Adds a written chunk.
    pub(crate) fn insert(&self, entry: CachedChunk<D>) -> InsertOutcome {
        self.place(entry, &mut self.moving())
    }

    /// Adds a complete chunk that was read from storage at or after `since`, unless the stored chunk changed
    /// meanwhile.
    pub(crate) fn insert_read(&self, index: &ChunkIndex, data: Arc<D>, cost: usize, since: u64) {
        let mut hand = self.moving();
        if self.changed_at(index) > since || cost > self.budget() {
            return;
        }
        let entry = CachedChunk {
            index: index.clone(),
            data,
            cost,
            mask: None,
            in_flight: None,
            filled: true,
            changed: self.now(),
        };
        self.place(entry, &mut hand);
        while self.excess() > 0 && self.evict_one(&mut hand) {}
    }

    fn place(&self, entry: CachedChunk<D>, _hand: &mut ClockHand) -> InsertOutcome {
        let table = self.table.get_or_init(|| SlotTable::new(self.budget(), self.chunk_cost));
        let (group, tag) = table.find(&entry.index);
        let here =
            |slot: &CacheSlot<D>| slot.read().as_ref().is_some_and(|place| place.entry.index == entry.index);
        if group.tagged(tag).any(|(_, slot)| here(slot)) {
            return InsertOutcome::Present;
        }
        let slots = group.slots.get_or_init(|| Box::new(std::array::from_fn(|_| CacheSlot::empty())));
        let free = (0..WAYS).find(|&at| group.tags[at].load(Ordering::Acquire) == 0);
        let Some(at) = free.or_else(|| (0..WAYS).find(|&at| self.evict(group, at))) else {
            return InsertOutcome::Crowded;
        };
        let slot = &slots[at];
        self.count(0, entry.cost);
        slot.hot.store(true, Ordering::Relaxed);
        *slot.write() = Some(OccupiedSlot::new(entry));
        group.tags[at].store(tag, Ordering::Release);
        InsertOutcome::Done
    }

    /// Empties a slot with an unchanged chunk that no thread reads. `moving` must be held.
    fn evict(&self, group: &SlotGroup<D>, at: usize) -> bool {
        let Some(slot) = group.slots.get().map(|slots| &slots[at]) else { return false };
        let Ok(mut place) = slot.place.try_write() else { return false };
        match place.as_ref() {
            Some(OccupiedSlot { entry, .. }) if !entry.is_dirty() => {
                self.count(entry.cost, 0);
                group.tags[at].store(0, Ordering::Release);
                *place = None;
                true
            }
            _ => false,
        }
    }

    /// Evicts one unchanged chunk that was not used recently.
    fn evict_one(&self, hand: &mut ClockHand) -> bool {
        let Some(table) = self.table.get() else { return false };
        let slots = table.groups.len() * WAYS;
        // Two rounds: the first may find only recently used chunks.
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

    /// Evicts unchanged chunks until the budget is met or none is left.
    pub(crate) fn evict_clean(&self) {
        let mut hand = self.moving();
        while self.excess() > 0 && self.evict_one(&mut hand) {}
    }

    /// Removes a chunk, changed or not: storage has newer elements.
    pub(crate) fn remove(&self, index: &ChunkIndex) {
        self.remove_if(index, |_| true);
    }

    /// Removes a chunk if it is unchanged.
    pub(crate) fn remove_clean(&self, index: &ChunkIndex) {
        self.remove_if(index, |entry| !entry.is_dirty());
    }

    /// Removes all unchanged chunks.
    pub(crate) fn clear(&self) {
        let Some(table) = self.table.get() else { return };
        let _moving = self.moving();
        for group in &table.groups {
            self.empty(group, group.used(), |entry| !entry.is_dirty());
        }
    }

    fn remove_if(&self, index: &ChunkIndex, condition: impl Fn(&CachedChunk<D>) -> bool) {
        // Locked before the test for emptiness, because another thread may be inserting the first chunk,
        // which it read before `mark_stale`.
        let _moving = self.moving();
        if self.is_empty() {
            return;
        }
        let Some(table) = self.table.get() else { return };
        let (group, tag) = table.find(index);
        self.empty(group, group.tagged(tag), |entry| entry.index == *index && condition(entry));
    }

    /// Empties the slots of a group whose chunks meet a condition.
    fn empty<'a>(
        &self,
        group: &SlotGroup<D>,
        slots: impl Iterator<Item = (usize, &'a CacheSlot<D>)>,
        condition: impl Fn(&CachedChunk<D>) -> bool,
    ) where
        D: 'a,
    {
        for (at, slot) in slots {
            let mut place = slot.write();
            if let Some(OccupiedSlot { entry, .. }) = place.as_ref()
                && condition(entry)
            {
                self.count(entry.cost, 0);
                group.tags[at].store(0, Ordering::Release);
                *place = None;
            }
        }
    }

    /// Returns the changed chunks of the group of `index`.
    pub(crate) fn dirty_in_group(&self, index: &ChunkIndex) -> Vec<DirtyChunk> {
        self.table.get().map_or_else(Vec::new, |table| changed(std::slice::from_ref(table.find(index).0)))
    }

    /// Returns all changed chunks.
    pub(crate) fn changed(&self) -> Vec<DirtyChunk> {
        self.table.get().map_or_else(Vec::new, |table| changed(&table.groups))
    }

    fn moving(&self) -> MutexGuard<'_, ClockHand> {
        self.moving.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D> SlotTable<D> {
    fn new(budget: usize, chunk_cost: usize) -> Self {
        // Twice as many slots as chunks, so that groups rarely overflow.
        let slots = (budget / chunk_cost).saturating_mul(2).clamp(256, 1 << 16).next_power_of_two();
        let group = || SlotGroup { tags: [const { AtomicU32::new(0) }; WAYS], slots: OnceLock::new() };
        Self { groups: (0..slots / WAYS).map(|_| group()).collect() }
    }

    /// Returns the group of a chunk, and its tag.
    fn find(&self, index: &[u64]) -> (&SlotGroup<D>, u32) {
        let hash = hash(index);
        (&self.groups[hash as usize & (self.groups.len() - 1)], (hash >> 32) as u32 | 1 << 31)
    }
}

/// Returns the changed chunks of some groups.
fn changed<D>(groups: &[SlotGroup<D>]) -> Vec<DirtyChunk> {
    let mut list = Vec::new();
    for (_, slot) in groups.iter().flat_map(SlotGroup::used) {
        let place = slot.read();
        list.extend(place.as_ref().and_then(|place| DirtyChunk::of(&place.entry)));
    }
    list
}

/// Whether two lists are equal. They are too short for a library call.
fn same(one: &[u64], other: &[u64]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one == other)
}

fn place_of_stamp(index: &ChunkIndex) -> usize {
    (hash(index) >> 32) as usize % STAMPS
}

/// A hash of a chunk's coordinates.
///
/// Fast rather than strong: coordinates come from the caller's slabs, and collisions only slow down that
/// caller.
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
    use crate::memory::ChunkBuffer;

    fn block(byte: u8) -> Arc<ChunkBuffer> {
        Arc::new(
            ChunkBuffer::new(4, |out| out.put(&[byte; 4]), |_| nczarr_model::ErrorKind::Internal.into())
                .unwrap(),
        )
    }

    fn peek(cache: &ChunkCache<ChunkBuffer>, index: &[u64], start: usize) -> Option<u8> {
        let mut out = [0; 1];
        cache.copy(index, start, &mut out).then_some(out[0])
    }

    #[test]
    fn copies_have_the_current_bytes_of_an_entry() {
        let cache = ChunkCache::new(Some(1 << 10), 4);
        let indices: Vec<ChunkIndex> = (0..40).map(|at| ChunkIndex::from(&[at, at / 3][..])).collect();
        for (byte, index) in indices.iter().enumerate() {
            assert_eq!(peek(&cache, index, 0), None);
            cache.insert_read(index, block(byte as u8), 4, cache.now());
        }
        for (byte, index) in indices.iter().enumerate() {
            assert_eq!((peek(&cache, index, 3), peek(&cache, index, 4)), (Some(byte as u8), None));
        }
        let first = &indices[0];
        cache.update(first, |entry| entry.data = block(100));
        assert_eq!(peek(&cache, first, 0), Some(100));
        cache
            .update(first, |entry| entry.edit(ChunkBuffer::try_clone).map(|data| data[1] = 101))
            .unwrap()
            .unwrap();
        assert_eq!((peek(&cache, first, 0), peek(&cache, first, 1)), (Some(100), Some(101)));
        cache.update(first, |entry| entry.filled = false);
        assert_eq!(peek(&cache, first, 0), None, "not all of it is known");
        let second = &indices[1];
        let stopped = catch_unwind(AssertUnwindSafe(|| {
            cache.update(second, |entry| {
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
