//! [`Allocation`]: uninitialised memory for results and decoded chunks.
//!
//! Applies to allocations of 32 KiB or more: first use of small pages costs more than the copy into them.
//! Allocations of 32 KiB to 2 MiB are cut from [`HugePage`]s; larger ones get huge pages of their own;
//! smaller ones come from the global allocator. Falls back to small pages on systems without huge pages. A
//! huge page is freed with its last allocation, but up to [`KEPT`] empty ones are kept. The first one of a
//! process has small pages, so that small programs stay small; of several, only its used part is used again.
//! A thread that takes page after page finds the next one prepared ([`page_maker`]).
//!
//! Huge pages belong to pools with short locks. Each thread has one pool, so threads rarely contend. The
//! owner of an allocation tracks its initialised part: [`Buffer`](crate::Buffer).

use std::alloc::{Layout, alloc, dealloc};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nczarr_model::{ErrorKind, Result};

use crate::OutBuf;

pub(crate) mod page_maker;

/// The size of a cache line: streaming stores write whole ones.
const LINE: usize = 64;
/// The usual page size. Larger pages only make the system refuse a hint.
const PAGE: usize = 4 << 10;
/// The usual size of a huge page; also size and alignment of a [`HugePage`].
const HUGE_PAGE: usize = 2 << 20;
/// The unit of allocation within a huge page: one bit of a mask.
const UNIT: usize = HUGE_PAGE / u128::BITS as usize;
/// Smaller allocations use the global allocator.
const SMALLEST: usize = 32 << 10;
/// Unused small pages of an allocation of this size or more are populated at once, in half the time of single
/// page faults.
const AT_ONCE: usize = 128 << 10;
/// The number of empty huge pages kept in all pools together.
const KEPT: usize = 2;

/// The number of pools, a power of two.
const POOLS: usize = 16;

static SLABS: [Mutex<Vec<HugePage>>; POOLS] = [const { Mutex::new(Vec::new()) }; POOLS];

/// The number of empty huge pages in the pools.
static EMPTY: AtomicUsize = AtomicUsize::new(0);

/// Whether a huge page was allocated before.
static STARTED: AtomicBool = AtomicBool::new(false);

/// Memory with the size and alignment of a huge page.
struct HugePage {
    start: NonNull<u8>,
    /// One bit per allocated unit.
    used: u128,
    /// One bit per unit that needs no page faults: all units; with small pages those that were used before.
    ready: u128,
}

// SAFETY: a slab owns its memory; the pool's lock guards the mask.
unsafe impl Send for HugePage {}

impl HugePage {
    const LAYOUT: Layout = match Layout::from_size_align(HUGE_PAGE, HUGE_PAGE) {
        Ok(layout) => layout,
        Err(_) => panic!("the size of a page is a power of two"),
    };

    fn new() -> Option<Self> {
        // SAFETY: the layout has a size other than 0.
        let start = NonNull::new(unsafe { alloc(Self::LAYOUT) })?;
        let ready = if STARTED.swap(true, Ordering::Relaxed) {
            advise(start, HUGE_PAGE);
            u128::MAX
        } else {
            0
        };
        Some(Self { start, used: 0, ready })
    }

    /// Allocates `units` adjacent units that are all `ready`, or any units if this is the `only` page.
    /// Returns also whether all are ready.
    fn cut(&mut self, units: u32, only: bool) -> Option<(NonNull<u8>, bool)> {
        // Bit `i` stays set while the units from `i` on are free, for growing lengths.
        let able = if only { u128::MAX } else { self.ready };
        let (mut free, mut found) = (able & !self.used, 1);
        while found < units {
            let more = found.min(units - found);
            free &= free >> more;
            found += more;
        }
        if free == 0 {
            return None;
        }
        let at = free.trailing_zeros();
        let taken = mask(units) << at;
        let ready = self.ready & taken == taken;
        self.used |= taken;
        self.ready |= taken;
        // SAFETY: `at + units` is at most the number of units in the slab: bits shifted in from above are 0.
        Some((unsafe { self.start.add(at as usize * UNIT) }, ready))
    }
}

impl Drop for HugePage {
    fn drop(&mut self) {
        debug_assert_eq!(self.used, 0);
        // SAFETY: allocated in `new` with this layout, and no piece of it is left.
        unsafe { dealloc(self.start.as_ptr(), Self::LAYOUT) }
    }
}

fn mask(units: u32) -> u128 {
    u128::MAX >> (u128::BITS - units)
}

/// Uninitialised memory of a fixed size: 64-byte aligned from 64 bytes on, else 8-byte aligned.
pub struct Allocation {
    start: NonNull<MaybeUninit<u8>>,
    len: usize,
    home: MemoryOwner,
}

#[derive(Clone, Copy)]
enum MemoryOwner {
    Nowhere,
    Alone(Layout),
    Pool(usize),
    /// A mapping of this length.
    #[cfg(all(target_os = "linux", not(miri)))]
    Mapped(usize),
}

// SAFETY: a piece owns its memory, like a boxed slice.
unsafe impl Send for Allocation {}
// SAFETY: shared access only reads.
unsafe impl Sync for Allocation {}

#[repr(align(64))]
struct CacheLine;

impl Allocation {
    /// Allocates `len` bytes.
    pub const EMPTY: Self =
        Self { start: NonNull::<CacheLine>::dangling().cast(), len: 0, home: MemoryOwner::Nowhere };

    /// Allocates `len` bytes.
    ///
    /// # Errors
    /// [`ErrorKind::NoMem`] if memory is short.
    pub fn new(len: usize) -> Result<Self> {
        if !(SMALLEST..=HUGE_PAGE).contains(&len) {
            return Self::unpooled(len);
        }
        let units = len.div_ceil(UNIT) as u32;
        let pool = own_pool();
        let (start, ready) = take_units(pool, units).ok_or_else(|| no_memory(len))?;
        if !ready && len >= AT_ONCE {
            populate(start.addr().get(), len / PAGE * PAGE);
        }
        Ok(Self { start: start.cast(), len, home: MemoryOwner::Pool(pool) })
    }

    /// Allocates `len` bytes outside the pools, for memory that is kept and reused.
    ///
    /// # Errors
    /// As [`Allocation::new`].
    pub fn unpooled(len: usize) -> Result<Self> {
        if len == 0 {
            return Ok(Self::EMPTY);
        }
        let align = match len {
            HUGE_PAGE.. => HUGE_PAGE,
            LINE.. => LINE,
            // The alignment of every allocator.
            _ => align_of::<u64>(),
        };
        let layout = Layout::from_size_align(len, align).map_err(|_| no_memory(len))?;
        // SAFETY: the layout has a size other than 0.
        let start = NonNull::new(unsafe { alloc(layout) }).ok_or_else(|| no_memory(len))?;
        advise(start, len);
        Ok(Self { start: start.cast(), len, home: MemoryOwner::Alone(layout) })
    }

    /// Allocates `len` zero bytes outside the pools. The system provides large ones already zeroed.
    ///
    /// # Errors
    /// As [`Allocation::new`].
    pub fn zeroed(len: usize) -> Result<Self> {
        #[cfg(all(target_os = "linux", not(miri)))]
        if len >= HUGE_PAGE {
            use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
            let whole = len.checked_next_multiple_of(HUGE_PAGE).ok_or_else(|| no_memory(len))?;
            let access = ProtFlags::READ | ProtFlags::WRITE;
            // SAFETY: a new mapping where the system likes touches nothing that is there.
            let start = unsafe { mmap_anonymous(std::ptr::null_mut(), whole, access, MapFlags::PRIVATE) };
            let start = start
                .ok()
                .and_then(|start| NonNull::new(start.cast::<u8>()))
                .ok_or_else(|| no_memory(len))?;
            advise(start, whole);
            return Ok(Self { start: start.cast(), len, home: MemoryOwner::Mapped(whole) });
        }
        let mut piece = Self::unpooled(len)?;
        piece.uninit_bytes().fill(MaybeUninit::new(0));
        Ok(piece)
    }

    /// Allocates `len` bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the size is 0.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the address of the first byte. The memory may be uninitialised.
    pub fn start(&self) -> NonNull<MaybeUninit<u8>> {
        self.start
    }

    /// Returns the memory for writing.
    pub fn uninit_bytes(&mut self) -> &mut [MaybeUninit<u8>] {
        // SAFETY: `start` and `len` are those of memory that `self` owns (or 0); `MaybeUninit` needs no
        // contents.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        match self.home {
            MemoryOwner::Nowhere => {}
            // SAFETY: allocated with this very layout, in `unpooled`.
            MemoryOwner::Alone(layout) => unsafe { dealloc(self.start.as_ptr().cast(), layout) },
            MemoryOwner::Pool(pool) => {
                put_back(pool, self.start.addr().get(), self.len.div_ceil(UNIT) as u32)
            }
            #[cfg(all(target_os = "linux", not(miri)))]
            MemoryOwner::Mapped(whole) => {
                // SAFETY: the mapping of this length begins there, and its only owner drops it.
                let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), whole) };
            }
        }
    }
}

fn no_memory(len: usize) -> nczarr_model::Error {
    ErrorKind::NoMem.context(format!("{len} bytes"))
}

/// Returns the pool of this thread.
fn own_pool() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static POOL: usize = THREADS.fetch_add(1, Ordering::Relaxed) % POOLS;
    }
    POOL.try_with(|pool| *pool).unwrap_or(0)
}

fn lock(pool: usize) -> MutexGuard<'static, Vec<HugePage>> {
    SLABS[pool % POOLS].lock().unwrap_or_else(PoisonError::into_inner)
}

/// Allocates `units` units. Returns the address, and whether the pages are present or huge.
fn take_units(pool: usize, units: u32) -> Option<(NonNull<u8>, bool)> {
    let mut slabs = lock(pool);
    let only = slabs.len() == 1;
    // The newest pages are the least full.
    for at in (0..slabs.len()).rev() {
        let slab = &mut slabs[at];
        let empty = slab.used == 0;
        if let Some(taken) = slab.cut(units, only) {
            if empty {
                EMPTY.fetch_sub(1, Ordering::Relaxed);
                let slab = slabs.remove(at);
                slabs.push(slab);
                drop(slabs);
                page_maker::huge_page_started(pool);
            }
            return Some(taken);
        }
    }
    let mut slab = match EMPTY.load(Ordering::Relaxed) {
        0 => HugePage::new()?,
        _ => match empty_of_another(pool) {
            Some(slab) => slab,
            None => HugePage::new()?,
        },
    };
    let taken = slab.cut(units, true);
    slabs.push(slab);
    drop(slabs);
    page_maker::huge_page_started(pool);
    taken
}

/// Takes an empty huge page of another pool, skipping locked pools.
fn empty_of_another(pool: usize) -> Option<HugePage> {
    for other in (0..POOLS).filter(|&other| other != pool % POOLS) {
        let Ok(mut slabs) = SLABS[other].try_lock() else { continue };
        if let Some(at) = slabs.iter().position(|slab| slab.used == 0) {
            EMPTY.fetch_sub(1, Ordering::Relaxed);
            return Some(slabs.swap_remove(at));
        }
    }
    None
}

fn put_back(pool: usize, addr: usize, units: u32) {
    let mut slabs = lock(pool);
    let inside =
        |slab: &HugePage| addr.checked_sub(slab.start.addr().get()).filter(|&offset| offset < HUGE_PAGE);
    let found =
        slabs.iter().enumerate().find_map(|(at, slab)| inside(slab).map(|offset| (at, offset / UNIT)));
    let Some((at, unit)) = found else {
        debug_assert!(false, "a piece lies in a slab of its pool");
        return;
    };
    let slab = &mut slabs[at];
    slab.used &= !(mask(units) << unit);
    if slab.used != 0 {
        return;
    }
    page_maker::huge_page_freed();
    if EMPTY.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| (n < KEPT).then_some(n + 1)).is_err() {
        let gone = slabs.swap_remove(at);
        // Freeing takes long: the lock is released first.
        drop(slabs);
        drop(gone);
    }
}

/// Requests huge pages for new memory of any alignment.
pub(crate) fn advise_unaligned(memory: &mut [MaybeUninit<u8>]) {
    let start = memory.as_mut_ptr().cast::<u8>();
    let before = start.align_offset(HUGE_PAGE);
    if let Some(rest) = memory.len().checked_sub(before)
        && let Some(start) = NonNull::new(start.wrapping_add(before))
    {
        advise(start, rest);
    }
}

/// Requests huge pages for the part of the memory that can have them. Systems without them ignore it.
#[cfg(all(target_os = "linux", not(miri)))]
fn advise(start: NonNull<u8>, bytes: usize) {
    if bytes >= HUGE_PAGE {
        let whole = bytes / HUGE_PAGE * HUGE_PAGE;
        // SAFETY: pages of an allocation of ours that starts where a huge page does; the advice changes no
        // contents.
        let _ =
            unsafe { rustix::mm::madvise(start.as_ptr().cast(), whole, rustix::mm::Advice::LinuxHugepage) };
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn advise(_: NonNull<u8>, _: usize) {}

/// Pages of an output's memory that are populated before the output is written, for example while a request
/// is pending.
#[derive(Debug, Clone, Copy)]
pub struct PageRange {
    start: usize,
    len: usize,
}

impl PageRange {
    /// Returns the whole huge pages of an output's memory.
    #[must_use]
    pub fn huge_pages_of(out: &OutBuf<'_>) -> Self {
        Self::whole(out, HUGE_PAGE)
    }

    /// Returns the whole pages of an output's memory.
    #[must_use]
    pub fn pages_of(out: &OutBuf<'_>) -> Self {
        Self::whole(out, PAGE)
    }

    fn whole(out: &OutBuf<'_>, page: usize) -> Self {
        let start = out.filled().as_ptr() as usize;
        let first = start.next_multiple_of(page);
        let end = (start + out.capacity()) / page * page;
        Self { start: first, len: end.saturating_sub(first) }
    }

    /// Populates `len` bytes from byte `from` of the range on, up to its end. Content is kept, and may be
    /// written meanwhile. Returns whether the system supports this.
    pub fn populate_range(self, from: usize, len: usize) -> bool {
        match self.len.checked_sub(from) {
            None | Some(0) => true,
            Some(rest) => populate(self.start + from, len.min(rest)),
        }
    }

    /// Returns the length in bytes.
    pub fn bytes(self) -> usize {
        self.len
    }
}

/// Populates pages. Returns whether the system supports this.
///
/// The system clears a huge page towards the requested small page. Requesting the last one clears it
/// forwards, in two thirds of the time.
#[cfg(all(target_os = "linux", not(miri)))]
fn populate(start: usize, len: usize) -> bool {
    let ask = |start, len| {
        let start = std::ptr::without_provenance_mut(start);
        // SAFETY: the system makes pages present that are not, changes no contents, and refuses what is no
        // memory.
        unsafe { rustix::mm::madvise(start, len, rustix::mm::Advice::LinuxPopulateWrite) }.is_ok()
    };
    for end in (start.next_multiple_of(HUGE_PAGE)..=start + len).step_by(HUGE_PAGE).skip(1) {
        ask(end - PAGE, PAGE);
    }
    ask(start, len)
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn populate(_: usize, _: usize) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of slabs of all pools and the number of empty ones.
    fn slabs() -> (usize, usize) {
        let pools: Vec<_> = (0..POOLS).map(lock).collect();
        let all = || pools.iter().flat_map(|slabs| slabs.iter());
        (all().count(), all().filter(|slab| slab.used == 0).count())
    }

    #[test]
    fn prepared_pages_keep_written_bytes() {
        let mut memory = vec![0; 5 * HUGE_PAGE];
        memory.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at / 4096) as u8);
        let pages = PageRange::huge_pages_of(&OutBuf::from_slice(&mut memory));
        assert!((3 * HUGE_PAGE..=5 * HUGE_PAGE).contains(&pages.len));
        pages.populate_range(0, pages.bytes());
        assert!(memory.iter().enumerate().all(|(at, byte)| *byte == (at / 4096) as u8));
        for from in [0, HUGE_PAGE, pages.bytes() - 1, pages.bytes(), usize::MAX] {
            pages.populate_range(from, HUGE_PAGE);
            pages.populate_range(from, usize::MAX);
        }
        assert!(memory.iter().enumerate().all(|(at, byte)| *byte == (at / 4096) as u8));
        let none = PageRange::huge_pages_of(&OutBuf::from_slice(&mut [0; 9]));
        assert!(none.bytes() == 0 && none.populate_range(0, HUGE_PAGE));
        let none = PageRange::pages_of(&OutBuf::from_slice(&mut [0; 9]));
        assert!(none.bytes() == 0 && none.populate_range(0, PAGE));
        let all = PageRange::pages_of(&OutBuf::from_slice(&mut memory[..10_000 << 3]));
        assert!((9_000 << 3..=10_000 << 3).contains(&all.bytes()));
        all.populate_range(0, all.bytes());
        assert!(memory.iter().enumerate().all(|(at, byte)| *byte == (at / 4096) as u8));
    }

    fn fill(piece: &mut Allocation, byte: u8) {
        piece.uninit_bytes().fill(MaybeUninit::new(byte));
    }

    fn holds(piece: &mut Allocation, byte: u8) -> bool {
        // SAFETY: `fill` wrote these bytes before.
        piece.uninit_bytes().iter().all(|found| unsafe { found.assume_init() } == byte)
    }

    #[test]
    fn free_units_are_found_at_every_offset() {
        let mut slab = HugePage::new().unwrap();
        let base = slab.start.addr().get();
        let mut at = |used: u128, units| {
            slab.used = used;
            let place = slab.cut(units, true).map(|(start, _)| (start.addr().get() - base) / UNIT);
            let now = slab.used;
            slab.used = 0;
            (place, now)
        };
        assert_eq!(at(0, 1), (Some(0), 1));
        assert_eq!(at(0, 128), (Some(0), u128::MAX));
        assert_eq!(at(1, 128), (None, 1));
        assert_eq!(at(1, 127), (Some(1), u128::MAX));
        assert_eq!(at(1 << 127, 127), (Some(0), u128::MAX));
        assert_eq!(at(0b1001, 2), (Some(1), 0b1111));
        assert_eq!(at(0b1001, 3), (Some(4), 0b111_1001));
        assert_eq!(at(u128::MAX, 1), (None, u128::MAX));
        // Compares every position and length to a simple search.
        for used in
            [0x0f0f_0f0f_0f0f_0f0f_0f0f_0f0f_0f0f_0f0f, 0x8000_0000_ff00_0000_0000_0000_0000_0101, !0 << 100]
        {
            for units in 1..=128u32 {
                let place = (0..=128 - units).find(|&at| used & (mask(units) << at) == 0);
                assert_eq!(at(used, units).0, place.map(|at| at as usize), "{used:x} {units}");
            }
        }
    }

    #[test]
    fn small_pages_are_used_again_only() {
        let mut slab = HugePage::new().unwrap();
        let base = slab.start.addr().get();
        slab.ready = 0;
        let place = |(start, ready): (NonNull<u8>, bool)| ((start.addr().get() - base) / UNIT, ready);
        let mut at = |units, only| slab.cut(units, only).map(place);
        let (fresh, again) = (|at| Some((at, false)), |at| Some((at, true)));
        assert_eq!((at(2, false), at(2, true), at(1, false), at(3, true)), (None, fresh(0), None, fresh(2)));
        slab.used = 0b10;
        let mut at = |units, only| slab.cut(units, only).map(place);
        assert_eq!(
            (at(4, false), at(3, false), at(1, false), at(1, false)),
            (None, again(2), again(0), None)
        );
        slab.used = 0b1111;
        let mut at = |units, only| slab.cut(units, only).map(place);
        assert_eq!(at(2, true), fresh(4), "what lies behind was never used");
        slab.used = 0b1000;
        assert_eq!(slab.cut(4, true).map(place), fresh(4), "some of it was, some was not");
        slab.used = 0;
    }

    #[test]
    fn pieces_of_every_size_are_apart_and_aligned() {
        let sizes = [
            0,
            1,
            7,
            8,
            63,
            64,
            1000,
            SMALLEST - 1,
            SMALLEST,
            SMALLEST + 1,
            100_000,
            1 << 20,
            (1 << 20) + 1,
            HUGE_PAGE - 1,
            HUGE_PAGE,
            HUGE_PAGE + 1,
            3 * HUGE_PAGE + 5,
        ];
        let mut pieces: Vec<Allocation> = Vec::new();
        for round in 0..3 {
            for (i, &len) in sizes.iter().enumerate() {
                let mut piece = Allocation::new(len).unwrap();
                assert_eq!((piece.len(), piece.is_empty()), (len, len == 0));
                let align = if len >= 64 || len == 0 { 64 } else { 8 };
                assert!(piece.start().addr().get().is_multiple_of(align), "{len}");
                fill(&mut piece, (round * sizes.len() + i) as u8);
                pieces.push(piece);
            }
        }
        for (i, piece) in pieces.iter_mut().enumerate() {
            assert!(holds(piece, i as u8), "{i}");
        }
    }

    #[test]
    fn freed_slabs_are_returned() {
        let pieces: Vec<Allocation> =
            (0..200).map(|i| Allocation::new(SMALLEST + i * 4000).unwrap()).collect();
        let bytes: usize = pieces.iter().map(Allocation::len).sum();
        let (all, _) = slabs();
        assert!(all * HUGE_PAGE >= bytes, "{all} slabs");
        drop(pieces);
        // Other tests hold some slabs. The number of empty slabs is bounded all the same.
        let (_, empty) = slabs();
        assert!(empty <= KEPT, "{empty} empty slabs");
    }

    #[test]
    fn impossible_sizes_are_errors() {
        for len in [usize::MAX, isize::MAX as usize, isize::MAX as usize - HUGE_PAGE] {
            assert_eq!(Allocation::new(len).map(drop).unwrap_err().kind(), ErrorKind::NoMem);
        }
    }

    #[test]
    fn threads_cut_and_give_back_at_once() {
        let rounds = if cfg!(miri) { 5 } else { 300 };
        let (give, take) = std::sync::mpsc::channel::<(Allocation, u8)>();
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let give = give.clone();
                scope.spawn(move || {
                    let mut state = thread + 1;
                    let mut held: Vec<(Allocation, u8)> = Vec::new();
                    for round in 0..rounds {
                        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                        let (len, byte) =
                            (SMALLEST + (state >> 33) as usize % (1 << 18), (state >> 20) as u8);
                        let mut piece = Allocation::new(len).unwrap();
                        fill(&mut piece, byte);
                        match round % 3 {
                            0 => give.send((piece, byte)).unwrap(),
                            _ => held.push((piece, byte)),
                        }
                        if held.len() > 8 {
                            let (mut piece, byte) = held.swap_remove((state >> 40) as usize % held.len());
                            assert!(holds(&mut piece, byte));
                        }
                    }
                    assert!(held.iter_mut().all(|(piece, byte)| holds(piece, *byte)));
                });
            }
            drop(give);
            // Pieces from other threads' pools are freed here.
            for (mut piece, byte) in take {
                assert!(holds(&mut piece, byte));
            }
        });
        assert!(slabs().1 <= KEPT);
    }
}
