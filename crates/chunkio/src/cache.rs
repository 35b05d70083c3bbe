//! [`Cache`]: decoded chunks of one array in a byte budget, and the write-back buffer of partial writes.
//!
//! A table of slots in groups of [`WAYS`]: a chunk can stand in any slot of one group. A hit compares tags,
//! then takes that slot's own lock for reading, a few nanoseconds that no other chunk ever waits for. Only
//! insertion and removal share a lock, and none is ever held while storage, filters or a pool of threads are called.
//!
//! What an entry's bytes mean is [`Entry`]'s to say; what is written when, [`crate::keeper`]'s.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use dispatch::CacheConfig;
use model::Result;

use crate::grid::ChunkIndex;
use crate::mask::Mask;
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

#[derive(Debug)]
struct Slot<D> {
    hot: AtomicBool,
    entry: RwLock<Option<Box<Entry<D>>>>,
}

#[derive(Debug)]
struct Table<D> {
    /// A hash of the chunk in each slot, never 0; 0: empty.
    tags: Box<[AtomicU64]>,
    slots: Box<[Slot<D>]>,
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

impl<D> Cache<D> {
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
        touches[tag(index) as usize % STAMPS].fetch_add(1, Ordering::Relaxed) % TOUCHES == TOUCHES - 1
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
    pub(crate) fn look<R>(&self, index: &ChunkIndex, look: impl FnOnce(&Entry<D>) -> R) -> Option<R> {
        let table = self.table.get()?;
        let tag = tag(index);
        for at in table.group(tag) {
            if table.tags[at].load(Ordering::Acquire) == tag {
                let slot = &table.slots[at];
                let entry = slot.entry.read().unwrap_or_else(PoisonError::into_inner);
                if let Some(entry) = entry.as_deref().filter(|entry| entry.index == *index) {
                    if !slot.hot.load(Ordering::Relaxed) {
                        slot.hot.store(true, Ordering::Relaxed);
                    }
                    return Some(look(entry));
                }
            }
        }
        None
    }

    /// Calls `change` with the chunk's entry, if there is one; nobody else sees it meanwhile.
    pub(crate) fn change<R>(&self, index: &ChunkIndex, change: impl FnOnce(&mut Entry<D>) -> R) -> Option<R> {
        let table = self.table.get()?;
        let tag = tag(index);
        for at in table.group(tag) {
            if table.tags[at].load(Ordering::Acquire) == tag {
                let slot = &table.slots[at];
                let mut entry = slot.entry.write().unwrap_or_else(PoisonError::into_inner);
                if let Some(entry) = entry.as_deref_mut().filter(|entry| entry.index == *index) {
                    slot.hot.store(true, Ordering::Relaxed);
                    entry.changed = self.clock.fetch_add(1, Ordering::SeqCst) + 1;
                    let before = entry.cost;
                    let result = change(entry);
                    self.count(before, entry.cost);
                    return Some(result);
                }
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

    fn place(&self, entry: Entry<D>, hand: &mut Hand) -> Inserted {
        let table = self.table.get_or_init(|| Table::new(self.budget(), self.chunk_cost));
        let tag = tag(&entry.index);
        let mut free = None;
        for at in table.group(tag) {
            match table.tags[at].load(Ordering::Acquire) {
                0 => free = free.or(Some(at)),
                found if found == tag => {
                    let here = table.slots[at].entry.read().unwrap_or_else(PoisonError::into_inner);
                    if here.as_deref().is_some_and(|here| here.index == entry.index) {
                        return Inserted::Present;
                    }
                }
                _ => {}
            }
        }
        let Some(at) = free.or_else(|| table.group(tag).find(|&at| self.evict(table, at))) else {
            return Inserted::Crowded;
        };
        let _ = hand;
        let slot = &table.slots[at];
        self.count(0, entry.cost);
        slot.hot.store(true, Ordering::Relaxed);
        *slot.entry.write().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(entry));
        table.tags[at].store(tag, Ordering::Release);
        Inserted::Done
    }

    /// Empties a slot that holds an unchanged entry nobody is looking at. Only while `moving` is held.
    fn evict(&self, table: &Table<D>, at: usize) -> bool {
        let slot = &table.slots[at];
        let Ok(mut entry) = slot.entry.try_write() else { return false };
        match entry.as_deref() {
            Some(found) if !found.is_dirty() => {
                self.count(found.cost, 0);
                table.tags[at].store(0, Ordering::Release);
                *entry = None;
                true
            }
            _ => false,
        }
    }

    /// Gives up one unchanged entry that was not used lately.
    fn evict_one(&self, hand: &mut Hand) -> bool {
        let Some(table) = self.table.get() else { return false };
        // Twice around: the first round may only find entries used lately.
        for _ in 0..2 * table.slots.len() {
            let at = hand.at % table.slots.len();
            hand.at = at + 1;
            if table.tags[at].load(Ordering::Relaxed) != 0
                && !table.slots[at].hot.swap(false, Ordering::Relaxed)
                && self.evict(table, at)
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
        for at in 0..table.slots.len() {
            self.empty(table, at, |entry| !entry.is_dirty());
        }
    }

    fn remove_if(&self, index: &ChunkIndex, condition: impl Fn(&Entry<D>) -> bool) {
        // Before looking whether there is anything: somebody may be putting the first chunk in, read before `stale`.
        let _moving = self.moving();
        if self.is_empty() {
            return;
        }
        let Some(table) = self.table.get() else { return };
        let tag = tag(index);
        for at in table.group(tag) {
            if table.tags[at].load(Ordering::Acquire) == tag {
                self.empty(table, at, |entry| entry.index == *index && condition(entry));
            }
        }
    }

    fn empty(&self, table: &Table<D>, at: usize, condition: impl Fn(&Entry<D>) -> bool) {
        if table.tags[at].load(Ordering::Acquire) == 0 {
            return;
        }
        let mut entry = table.slots[at].entry.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = entry.as_deref()
            && condition(found)
        {
            self.count(found.cost, 0);
            table.tags[at].store(0, Ordering::Release);
            *entry = None;
        }
    }

    /// The changed entries of the slots that `index` may stand in.
    pub(crate) fn crowd(&self, index: &ChunkIndex) -> Vec<Changed> {
        self.table.get().map_or_else(Vec::new, |table| table.changed(table.group(tag(index))))
    }

    /// All changed entries.
    pub(crate) fn changed(&self) -> Vec<Changed> {
        self.table.get().map_or_else(Vec::new, |table| table.changed(0..table.slots.len()))
    }

    fn moving(&self) -> MutexGuard<'_, Hand> {
        self.moving.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D> Table<D> {
    fn new(budget: usize, chunk_cost: usize) -> Self {
        // Twice as many slots as chunks fit, so that groups rarely overflow.
        let slots = (budget / chunk_cost).saturating_mul(2).clamp(256, 1 << 16).next_power_of_two();
        Self {
            tags: (0..slots).map(|_| AtomicU64::new(0)).collect(),
            slots: (0..slots).map(|_| Slot { hot: AtomicBool::new(false), entry: RwLock::new(None) }).collect(),
        }
    }

    fn group(&self, tag: u64) -> std::ops::Range<usize> {
        let start = tag as usize % (self.slots.len() / WAYS) * WAYS;
        start..start + WAYS
    }

    fn changed(&self, slots: std::ops::Range<usize>) -> Vec<Changed> {
        let mut list = Vec::new();
        for at in slots.filter(|&at| self.tags[at].load(Ordering::Acquire) != 0) {
            let entry = self.slots[at].entry.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(entry) = entry.as_deref().filter(|entry| entry.is_dirty()) {
                let (index, complete) = (entry.index.clone(), entry.is_complete());
                list.push(Changed { index, complete, cost: entry.cost, changed: entry.changed });
            }
        }
        list
    }
}

fn place_of_stamp(index: &ChunkIndex) -> usize {
    (tag(index) >> 32) as usize % STAMPS
}

/// A hash of a chunk's coordinates, never 0.
///
/// Quick rather than strong: coordinates come from the caller's own slabs, and a flood of equal hashes does no more
/// than slow down whoever asked for it.
fn tag(index: &[u64]) -> u64 {
    let mut hash = 0u64;
    for &at in index {
        hash = (hash ^ at).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        hash ^= hash >> 32;
    }
    (hash ^ (hash >> 29)) | 1 << 63
}
