//! [`Piece`]: uninitialised memory for results and decoded chunks.
//!
//! Fresh small pages cost more than what is copied to them. So pieces of 32 KiB to 2 MiB are cut from slabs of one
//! huge page each, and larger ones get huge pages of their own, where the system has them; small ones are
//! the allocator's. A slab goes back to the system with its last piece; at most [`KEPT`] empty ones are kept for
//! what comes next. The first slab of a process has small pages: programs that read little stay small. Where there are more,
//! only what was used of it before is used again, since its fresh pages cost several times as much; those of a large piece
//! are asked for at once, which halves that.
//! Who takes slab after slab and gives none back finds the next one made, its page cleared by another thread ([`ahead`]).
//!
//! Slabs belong to pools, each with a lock that is held while a few words are looked at; a thread cuts from the
//! pool it was given, so that threads rarely meet. What is written in a piece, its owner knows: [`Buffer`](crate::Buffer).

use std::alloc::{Layout, alloc, dealloc};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nczarr_model::{ErrorKind, Result};

use crate::OutBuf;

pub(crate) mod ahead;

/// One line of the processor's cache: streaming stores need whole ones.
const LINE: usize = 64;
/// The usual size of a page; where they are larger, what is asked for by this one is refused, and nothing lost.
const PAGE: usize = 4 << 10;
/// The usual size of a huge page, and the size and alignment of a slab.
const HUGE_PAGE: usize = 2 << 20;
/// What slabs are cut in: one bit of a mask each.
const UNIT: usize = HUGE_PAGE / u128::BITS as usize;
/// Smaller pieces are the allocator's.
const SMALLEST: usize = 32 << 10;
/// Fresh small pages of a piece of so many bytes or more are asked for at once: one by one they take twice the time.
const AT_ONCE: usize = 128 << 10;
/// Empty slabs kept in all pools together.
const KEPT: usize = 2;

/// A power of two. Many threads that read at once share them evenly.
const POOLS: usize = 16;

static SLABS: [Mutex<Vec<Slab>>; POOLS] = [const { Mutex::new(Vec::new()) }; POOLS];

/// Empty slabs in the pools.
static EMPTY: AtomicUsize = AtomicUsize::new(0);

/// Whether there was a slab before.
static STARTED: AtomicBool = AtomicBool::new(false);

/// Memory of a huge page's size and alignment.
struct Slab {
    start: NonNull<u8>,
    /// One bit per unit that is part of a piece.
    used: u128,
    /// One bit per unit that costs no more than in another slab: all, or with small pages those that were used before.
    ready: u128,
}

// SAFETY: a slab owns its memory; the pool's lock guards the mask.
unsafe impl Send for Slab {}

impl Slab {
    const LAYOUT: Layout = match Layout::from_size_align(HUGE_PAGE, HUGE_PAGE) {
        Ok(layout) => layout,
        Err(_) => panic!("the size of a page is a power of two"),
    };

    fn new() -> Option<Self> {
        // SAFETY: the layout has a size other than 0.
        let start = NonNull::new(unsafe { alloc(Self::LAYOUT) })?;
        let ready = match STARTED.swap(true, Ordering::Relaxed) {
            true => {
                advise(start, HUGE_PAGE);
                u128::MAX
            }
            false => 0,
        };
        Some(Self { start, used: 0, ready })
    }

    /// Takes `units` units that follow one another, if there are so many of which all are [`Slab::ready`], or the slab is
    /// the only one; and whether all are ready.
    fn cut(&mut self, units: u32, only: bool) -> Option<(NonNull<u8>, bool)> {
        // Bit `i` stays as long as the units from `i` on are free, of ever more units.
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

impl Drop for Slab {
    fn drop(&mut self) {
        debug_assert_eq!(self.used, 0);
        // SAFETY: allocated in `new` with this layout, and no piece of it is left.
        unsafe { dealloc(self.start.as_ptr(), Self::LAYOUT) }
    }
}

fn mask(units: u32) -> u128 {
    u128::MAX >> (u128::BITS - units)
}

/// Uninitialised memory of a fixed size: 64-byte aligned if it has so many bytes, else 8-byte aligned.
pub struct Piece {
    start: NonNull<MaybeUninit<u8>>,
    len: usize,
    home: Home,
}

#[derive(Clone, Copy)]
enum Home {
    Nowhere,
    Alone(Layout),
    Pool(usize),
    /// A mapping of so many bytes.
    #[cfg(all(target_os = "linux", not(miri)))]
    Mapped(usize),
}

// SAFETY: a piece owns its memory, like a boxed slice.
unsafe impl Send for Piece {}
// SAFETY: shared access only reads.
unsafe impl Sync for Piece {}

#[repr(align(64))]
struct Line;

impl Piece {
    /// Without memory.
    pub const EMPTY: Self = Self { start: NonNull::<Line>::dangling().cast(), len: 0, home: Home::Nowhere };

    /// `len` bytes.
    ///
    /// # Errors
    /// [`ErrorKind::NoMem`] if there is no such memory.
    pub fn new(len: usize) -> Result<Self> {
        if !(SMALLEST..=HUGE_PAGE).contains(&len) {
            return Self::alone(len);
        }
        let units = len.div_ceil(UNIT) as u32;
        let pool = own_pool();
        let (start, ready) = cut(pool, units).ok_or_else(|| no_memory(len))?;
        if !ready && len >= AT_ONCE {
            populate(start.addr().get(), len / PAGE * PAGE);
        }
        Ok(Self { start: start.cast(), len, home: Home::Pool(pool) })
    }

    /// `len` bytes that share no slab: for memory that is kept and used again.
    ///
    /// # Errors
    /// As [`Piece::new`].
    pub fn alone(len: usize) -> Result<Self> {
        if len == 0 {
            return Ok(Self::EMPTY);
        }
        let align = match len {
            HUGE_PAGE.. => HUGE_PAGE,
            LINE.. => LINE,
            // What every allocator gives without searching for it.
            _ => align_of::<u64>(),
        };
        let layout = Layout::from_size_align(len, align).map_err(|_| no_memory(len))?;
        // SAFETY: the layout has a size other than 0.
        let start = NonNull::new(unsafe { alloc(layout) }).ok_or_else(|| no_memory(len))?;
        advise(start, len);
        Ok(Self { start: start.cast(), len, home: Home::Alone(layout) })
    }

    /// `len` zero bytes that share no slab. Large ones the system gives so, and nobody has to write them.
    ///
    /// # Errors
    /// As [`Piece::new`].
    pub fn zeros(len: usize) -> Result<Self> {
        #[cfg(all(target_os = "linux", not(miri)))]
        if len >= HUGE_PAGE {
            use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
            let whole = len.checked_next_multiple_of(HUGE_PAGE).ok_or_else(|| no_memory(len))?;
            let access = ProtFlags::READ | ProtFlags::WRITE;
            // SAFETY: a new mapping where the system likes touches nothing that is there.
            let start = unsafe { mmap_anonymous(std::ptr::null_mut(), whole, access, MapFlags::PRIVATE) };
            let start = start.ok().and_then(|start| NonNull::new(start.cast::<u8>())).ok_or_else(|| no_memory(len))?;
            advise(start, whole);
            return Ok(Self { start: start.cast(), len, home: Home::Mapped(whole) });
        }
        let mut piece = Self::alone(len)?;
        piece.bytes().fill(MaybeUninit::new(0));
        Ok(piece)
    }

    /// How many bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no memory.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first byte's place. What is behind it may not be initialised.
    pub fn start(&self) -> NonNull<MaybeUninit<u8>> {
        self.start
    }

    /// The memory, to be written.
    pub fn bytes(&mut self) -> &mut [MaybeUninit<u8>] {
        // SAFETY: `start` and `len` are those of memory that `self` owns (or 0); `MaybeUninit` needs no contents.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        match self.home {
            Home::Nowhere => {}
            // SAFETY: allocated with this very layout, in `alone`.
            Home::Alone(layout) => unsafe { dealloc(self.start.as_ptr().cast(), layout) },
            Home::Pool(pool) => put_back(pool, self.start.addr().get(), self.len.div_ceil(UNIT) as u32),
            #[cfg(all(target_os = "linux", not(miri)))]
            // SAFETY: mapped with this very length, in `zeros`; nobody else knows of it.
            Home::Mapped(whole) => drop(unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), whole) }),
        }
    }
}

fn no_memory(len: usize) -> nczarr_model::Error {
    ErrorKind::NoMem.context(format!("{len} bytes"))
}

/// The pool this thread cuts from.
fn own_pool() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static POOL: usize = THREADS.fetch_add(1, Ordering::Relaxed) % POOLS;
    }
    POOL.try_with(|pool| *pool).unwrap_or(0)
}

fn lock(pool: usize) -> MutexGuard<'static, Vec<Slab>> {
    SLABS[pool % POOLS].lock().unwrap_or_else(PoisonError::into_inner)
}

/// Memory of so many units, and whether its pages are there or huge.
fn cut(pool: usize, units: u32) -> Option<(NonNull<u8>, bool)> {
    let mut slabs = lock(pool);
    let only = slabs.len() == 1;
    // The newest slabs are the least full.
    for at in (0..slabs.len()).rev() {
        let slab = &mut slabs[at];
        let empty = slab.used == 0;
        if let Some(taken) = slab.cut(units, only) {
            if empty {
                EMPTY.fetch_sub(1, Ordering::Relaxed);
                let slab = slabs.remove(at);
                slabs.push(slab);
                drop(slabs);
                ahead::begun(pool);
            }
            return Some(taken);
        }
    }
    let mut slab = match EMPTY.load(Ordering::Relaxed) {
        0 => Slab::new()?,
        _ => match empty_of_another(pool) {
            Some(slab) => slab,
            None => Slab::new()?,
        },
    };
    let taken = slab.cut(units, true);
    slabs.push(slab);
    drop(slabs);
    ahead::begun(pool);
    taken
}

/// An empty slab of another pool. Nobody waits here: a pool in use is passed over.
fn empty_of_another(pool: usize) -> Option<Slab> {
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
    let inside = |slab: &Slab| addr.checked_sub(slab.start.addr().get()).filter(|&offset| offset < HUGE_PAGE);
    let found = slabs.iter().enumerate().find_map(|(at, slab)| inside(slab).map(|offset| (at, offset / UNIT)));
    let Some((at, unit)) = found else {
        debug_assert!(false, "a piece lies in a slab of its pool");
        return;
    };
    let slab = &mut slabs[at];
    slab.used &= !(mask(units) << unit);
    if slab.used != 0 {
        return;
    }
    ahead::ended();
    if EMPTY.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| (n < KEPT).then_some(n + 1)).is_err() {
        let gone = slabs.swap_remove(at);
        // The system takes its time.
        drop(slabs);
        drop(gone);
    }
}

/// Asks for huge pages, for as many as lie in the memory. A system without them is no worse off.
#[cfg(all(target_os = "linux", not(miri)))]
fn advise(start: NonNull<u8>, bytes: usize) {
    if bytes >= HUGE_PAGE {
        let whole = bytes / HUGE_PAGE * HUGE_PAGE;
        // SAFETY: pages of an allocation of ours that starts where a huge page does; the advice changes no contents.
        let _ = unsafe { rustix::mm::madvise(start.as_ptr().cast(), whole, rustix::mm::Advice::LinuxHugepage) };
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn advise(_: NonNull<u8>, _: usize) {}

/// Pages of the memory of an output, for which the system is asked before anything is written there: who waits for a
/// network has the time.
#[derive(Debug, Clone, Copy)]
pub struct Pages {
    start: usize,
    len: usize,
}

impl Pages {
    /// Those of all of an output's memory, but for what is less than a huge page.
    #[must_use]
    pub fn of(out: &OutBuf<'_>) -> Self {
        Self::whole(out, HUGE_PAGE)
    }

    /// Those of all of an output's memory, but for what is less than a page.
    #[must_use]
    pub fn all_of(out: &OutBuf<'_>) -> Self {
        Self::whole(out, PAGE)
    }

    fn whole(out: &OutBuf<'_>, page: usize) -> Self {
        let start = out.filled().as_ptr() as usize;
        let first = start.next_multiple_of(page);
        let end = (start + out.capacity()) / page * page;
        Self { start: first, len: end.saturating_sub(first) }
    }

    /// Asks for those of `len` bytes from byte `from` of them on, as far as there are so many. What is written there stays, and
    /// may be written meanwhile. Whether that can be done at all.
    pub fn prepare_some(self, from: usize, len: usize) -> bool {
        match self.len.checked_sub(from) {
            None | Some(0) => true,
            Some(rest) => populate(self.start + from, len.min(rest)),
        }
    }

    /// How many bytes they are.
    pub fn bytes(self) -> usize {
        self.len
    }
}

/// Asks for pages; whether the system can do that.
///
/// The system clears a huge page towards the page that was asked for: who asks for the last one has it cleared from its first
/// byte to its last, in two thirds of the time that it takes backwards.
#[cfg(all(target_os = "linux", not(miri)))]
fn populate(start: usize, len: usize) -> bool {
    let ask = |start, len| {
        let start = std::ptr::without_provenance_mut(start);
        // SAFETY: the system makes pages present that are not, changes no contents, and refuses what is no memory.
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

    /// The slabs of all pools: how many, and how many of them are empty.
    fn slabs() -> (usize, usize) {
        let pools: Vec<_> = (0..POOLS).map(lock).collect();
        let all = || pools.iter().flat_map(|slabs| slabs.iter());
        (all().count(), all().filter(|slab| slab.used == 0).count())
    }

    #[test]
    fn pages_that_are_prepared_keep_what_is_written() {
        let mut memory = vec![0; 5 * HUGE_PAGE];
        memory.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at / 4096) as u8);
        let pages = Pages::of(&OutBuf::over(&mut memory));
        assert!((3 * HUGE_PAGE..=5 * HUGE_PAGE).contains(&pages.len));
        pages.prepare_some(0, pages.bytes());
        assert!(memory.iter().enumerate().all(|(at, byte)| *byte == (at / 4096) as u8));
        for from in [0, HUGE_PAGE, pages.bytes() - 1, pages.bytes(), usize::MAX] {
            pages.prepare_some(from, HUGE_PAGE);
            pages.prepare_some(from, usize::MAX);
        }
        assert!(memory.iter().enumerate().all(|(at, byte)| *byte == (at / 4096) as u8));
        let none = Pages::of(&OutBuf::over(&mut [0; 9]));
        assert!(none.bytes() == 0 && none.prepare_some(0, HUGE_PAGE));
        let none = Pages::all_of(&OutBuf::over(&mut [0; 9]));
        assert!(none.bytes() == 0 && none.prepare_some(0, PAGE));
        let all = Pages::all_of(&OutBuf::over(&mut memory[..10_000 << 3]));
        assert!((9_000 << 3..=10_000 << 3).contains(&all.bytes()));
        all.prepare_some(0, all.bytes());
        assert!(memory.iter().enumerate().all(|(at, byte)| *byte == (at / 4096) as u8));
    }

    fn fill(piece: &mut Piece, byte: u8) {
        piece.bytes().fill(MaybeUninit::new(byte));
    }

    fn holds(piece: &mut Piece, byte: u8) -> bool {
        // SAFETY: written by `fill` before.
        piece.bytes().iter().all(|found| unsafe { found.assume_init() } == byte)
    }

    #[test]
    fn units_are_found_wherever_they_fit() {
        let mut slab = Slab::new().unwrap();
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
        // Every place and length against the obvious search.
        for used in [0x0f0f_0f0f_0f0f_0f0f_0f0f_0f0f_0f0f_0f0f, 0x8000_0000_ff00_0000_0000_0000_0000_0101, !0 << 100] {
            for units in 1..=128u32 {
                let place = (0..=128 - units).find(|&at| used & (mask(units) << at) == 0);
                assert_eq!(at(used, units).0, place.map(|at| at as usize), "{used:x} {units}");
            }
        }
    }

    #[test]
    fn small_pages_are_used_again_only() {
        let mut slab = Slab::new().unwrap();
        let base = slab.start.addr().get();
        slab.ready = 0;
        let place = |(start, ready): (NonNull<u8>, bool)| ((start.addr().get() - base) / UNIT, ready);
        let mut at = |units, only| slab.cut(units, only).map(place);
        let (fresh, again) = (|at| Some((at, false)), |at| Some((at, true)));
        assert_eq!((at(2, false), at(2, true), at(1, false), at(3, true)), (None, fresh(0), None, fresh(2)));
        slab.used = 0b10;
        let mut at = |units, only| slab.cut(units, only).map(place);
        assert_eq!((at(4, false), at(3, false), at(1, false), at(1, false)), (None, again(2), again(0), None));
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
        let mut pieces: Vec<Piece> = Vec::new();
        for round in 0..3 {
            for (i, &len) in sizes.iter().enumerate() {
                let mut piece = Piece::new(len).unwrap();
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
    fn memory_goes_back() {
        let pieces: Vec<Piece> = (0..200).map(|i| Piece::new(SMALLEST + i * 4000).unwrap()).collect();
        let bytes: usize = pieces.iter().map(Piece::len).sum();
        let (all, _) = slabs();
        assert!(all * HUGE_PAGE >= bytes, "{all} slabs");
        drop(pieces);
        // Other tests hold some; what is empty is bounded whatever they do.
        let (_, empty) = slabs();
        assert!(empty <= KEPT, "{empty} empty slabs");
    }

    #[test]
    fn what_no_memory_has_is_an_error() {
        for len in [usize::MAX, isize::MAX as usize, isize::MAX as usize - HUGE_PAGE] {
            assert_eq!(Piece::new(len).map(drop).unwrap_err().kind(), ErrorKind::NoMem);
        }
    }

    #[test]
    fn threads_cut_and_give_back_at_once() {
        let rounds = if cfg!(miri) { 5 } else { 300 };
        let (give, take) = std::sync::mpsc::channel::<(Piece, u8)>();
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let give = give.clone();
                scope.spawn(move || {
                    let mut state = thread + 1;
                    let mut held: Vec<(Piece, u8)> = Vec::new();
                    for round in 0..rounds {
                        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                        let (len, byte) = (SMALLEST + (state >> 33) as usize % (1 << 18), (state >> 20) as u8);
                        let mut piece = Piece::new(len).unwrap();
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
            // Pieces of other threads' pools come to an end here.
            for (mut piece, byte) in take {
                assert!(holds(&mut piece, byte));
            }
        });
        assert!(slabs().1 <= KEPT);
    }
}
