//! Through the sequences of a block: each some literals, and a match before them.

use std::mem::MaybeUninit;

use super::copy::{COPY, copy};
use super::look::Look;
#[cfg(target_arch = "x86_64")]
use super::run::{Order, run};
use super::tables::Table;

/// What sequences are read with.
#[derive(Clone)]
pub(super) struct Tables {
    pub(super) literals: Table<512>,
    pub(super) lengths: Table<512>,
    pub(super) offsets: Table<256>,
    #[cfg(target_arch = "x86_64")]
    pub(super) orders: [Order; 6],
}

impl Tables {
    pub(super) const NONE: Self = Self {
        literals: Table::NONE,
        lengths: Table::NONE,
        offsets: Table::NONE,
        #[cfg(target_arch = "x86_64")]
        orders: Order::ALL,
    };
}

/// So many sequences of less than [`COPY`] literals are made before it is found out whether there were as many.
pub(super) const AT_ONCE: usize = 256;
/// So many bytes may be read behind literals.
pub(super) const BEHIND: usize = (AT_ONCE + 1) * COPY;
/// So many bytes may be read before the bits of sequences.
pub(super) const BEFORE: usize = 8;

/// The states that a sequence is read with.
#[derive(Clone, Copy)]
pub(super) struct States {
    pub(super) literals: usize,
    pub(super) lengths: usize,
    pub(super) offsets: usize,
}

/// Sequences, and what they are made of.
#[derive(Clone, Copy)]
pub(super) struct Work<'a> {
    pub(super) tables: &'a Tables,
    /// The bytes that hold the bits; [`BEFORE`] bytes before the first belong to it too.
    pub(super) bits: &'a [u8],
    /// Bits that are left.
    pub(super) left: usize,
    /// Literals; [`BEHIND`] bytes behind the last belong to it too.
    pub(super) literals: &'a [u8],
    pub(super) states: States,
    /// How many, at least one.
    pub(super) count: usize,
}

/// How far it went.
pub(super) struct Done {
    /// Bytes of the output.
    pub(super) made: usize,
    /// Literals that were taken.
    pub(super) taken: usize,
    /// Sequences that did not go the short way.
    pub(super) slow: usize,
}

/// Makes the sequences' bytes in `dst` from `made` on, all before which is initialised, and so it is up to what is answered.
///
/// # Safety
/// With `bmi` the machine has what [`has_bmi`](crate::bmi::has_bmi) asks for, and AVX.
pub(super) unsafe fn sequences(
    bmi: bool,
    work: &Work<'_>,
    repeats: &mut [u32; 3],
    dst: &mut [MaybeUninit<u8>],
    made: usize,
) -> Option<Done> {
    // SAFETY: as promised by the caller.
    unsafe {
        match bmi {
            #[cfg(target_arch = "x86_64")]
            true => with_bmi(work, repeats, dst, made),
            _ => walk::<false>(work, repeats, dst, made),
        }
    }
}

/// [`walk`] with the instructions of BMI1, BMI2 and AVX.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2,avx")]
fn with_bmi(work: &Work<'_>, repeats: &mut [u32; 3], dst: &mut [MaybeUninit<u8>], made: usize) -> Option<Done> {
    // SAFETY: the machine has them.
    unsafe { walk::<true>(work, repeats, dst, made) }
}

/// Where a walk stands.
pub(super) struct Place {
    pub(super) states: States,
    /// The byte of the next bit, and its number in it.
    pub(super) at: *const u8,
    pub(super) bit: u64,
    /// The next literal.
    pub(super) from: *const u8,
    /// Behind what is made.
    pub(super) to: *mut u8,
    /// The last three offsets.
    pub(super) last: [u32; 3],
    /// Sequences that are left.
    pub(super) count: usize,
}

/// Between what a walk stays.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    /// The first byte of the bits.
    pub(super) first: *const u8,
    pub(super) literals_end: *const u8,
    pub(super) start: *mut u8,
    pub(super) end: *mut u8,
}

/// # Safety
/// With `BMI` the machine has BMI2 and AVX.
#[inline(always)]
unsafe fn walk<const BMI: bool>(
    work: &Work<'_>,
    repeats: &mut [u32; 3],
    dst: &mut [MaybeUninit<u8>],
    made: usize,
) -> Option<Done> {
    let Work { tables, bits, left, literals, states, count } = *work;
    let (literals_len, bits_len) = (literals.len().checked_sub(BEHIND)?, bits.len().checked_sub(BEFORE)?);
    let known = states.literals < tables.literals.entries.len()
        && states.lengths < tables.lengths.entries.len()
        && states.offsets < tables.offsets.entries.len();
    if !known || made > dst.len() || left >= bits_len * 8 || count == 0 {
        return None;
    }
    // Where they lie by the stack's own register, one more is free.
    let tables = &tables.clone();
    let (start, from) = (dst.as_mut_ptr().cast::<u8>(), literals.as_ptr());
    // SAFETY: `made` lies in the memory, and the others in the slices, as was found out.
    let (bounds, to) = unsafe {
        let (first, literals_end) = (bits.as_ptr().add(BEFORE), from.add(literals_len));
        (Bounds { first, literals_end, start, end: start.add(dst.len()) }, start.add(made))
    };
    let (at, bit) = (bounds.first.wrapping_add(left / 8), left as u64 % 8);
    let mut place = Place { states, at, bit, from, to, last: *repeats, count };
    let mut slow = 0;
    while place.count > 0 {
        // SAFETY: as promised by the caller; `place` is within the bounds, as it was found out, and so is what comes of it.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            if BMI && !run(tables, &bounds, &mut place) {
                continue;
            }
            if place.from > bounds.literals_end {
                return None;
            }
            step(tables, &bounds, &mut place)?;
        }
        slow += 1;
    }
    if (place.at, place.bit) != (bounds.first, 0) {
        return None;
    }
    *repeats = place.last;
    Some(Done { made: place.to as usize - start as usize, taken: place.from as usize - from as usize, slow })
}

/// One sequence, whatever it is; after the last one no states are read.
///
/// # Safety
/// What `place` says is within `bounds`.
#[inline(always)]
unsafe fn step(tables: &Tables, bounds: &Bounds, place: &mut Place) -> Option<()> {
    // SAFETY: a state is below the length of its table: so the first is, and `next` and what its bits add to it.
    let (literals, lengths, offsets) = unsafe {
        (
            tables.literals.entries.get_unchecked(place.states.literals),
            tables.lengths.entries.get_unchecked(place.states.lengths),
            tables.offsets.entries.get_unchecked(place.states.offsets),
        )
    };
    // SAFETY: `at` is among the bits, or not looked at.
    unsafe {
        let mut look = Look::new(place.at, place.bit);
        let value = (1_u64 << offsets.extra) + look.take(offsets.extra);
        look = look.again(bounds.first)?;
        let ml = lengths.base() as usize + look.take(lengths.extra) as usize;
        let ll = literals.base() as usize + look.take(literals.extra) as usize;
        look = look.again(bounds.first)?;

        let [last, second, third] = place.last;
        place.last = match value + u64::from(ll == 0) {
            _ if value > 3 => [(value - 3) as u32, last, second],
            1 => [last, second, third],
            2 => [second, last, third],
            3 => [third, last, second],
            _ => [last - 1, last, second],
        };
        let (offset, rest) = (place.last[0] as usize, bounds.end as usize - place.to as usize);
        let written = place.to as usize - bounds.start as usize;
        let least = bounds.literals_end as usize - place.from as usize;
        if offset == 0 || ll > least || ll + ml > rest || offset > written + ll {
            return None;
        }
        // So many literals there are, so much room there is, and the offset leads to what is written.
        copy(place.from, place.to, ll, ml, offset, rest);
        place.from = place.from.add(ll);
        place.to = place.to.add(ll + ml);
        place.count -= 1;
        if place.count > 0 {
            place.states = States {
                literals: usize::from(literals.next) + look.take(literals.bits) as usize,
                lengths: usize::from(lengths.next) + look.take(lengths.bits) as usize,
                offsets: usize::from(offsets.next) + look.take(offsets.bits) as usize,
            };
        }
        (place.at, place.bit) = look.place();
        (place.at >= bounds.first).then_some(())
    }
}
