//! Through the sequences of a block: each some literals, and a match before them.

use std::mem::MaybeUninit;
use std::ptr;

use super::codes::REPEATS;
use super::copy::{COPY, copy};
use super::look::Look;
use super::tables::Table;

/// What sequences are read with.
pub(super) struct Tables {
    pub(super) literals: Table<512>,
    pub(super) lengths: Table<512>,
    pub(super) offsets: Table<256>,
}

/// So many bytes may be read behind literals.
pub(super) const BEHIND: usize = 2 * COPY;
/// So many bytes may be read before the bits of sequences.
pub(super) const BEFORE: usize = 8;

/// Literals and matches of less go the short way.
const MANY: usize = 2 * COPY;
/// A step on that way writes at most so many bytes.
const ROOM: usize = 2 * MANY;

/// The states that the first sequence is read with.
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
/// With `bmi` the machine has what [`has_bmi`](crate::bmi::has_bmi) asks for.
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

/// [`walk`] with the instructions of BMI1 and BMI2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2")]
fn with_bmi(work: &Work<'_>, repeats: &mut [u32; 3], dst: &mut [MaybeUninit<u8>], made: usize) -> Option<Done> {
    // SAFETY: the machine has them.
    unsafe { walk::<true>(work, repeats, dst, made) }
}

/// What ends a walk that is not to go on.
#[cold]
#[inline(never)]
fn odd() -> Option<Done> {
    None
}

/// The offset that comes again: the last one, or one of the others; after no literals, the one after that. `older` are the one before the
/// last, and above it the one before that.
#[cold]
#[inline(never)]
fn again(which: u64, last: u64, older: u64) -> (u64, u64) {
    const LOW: u64 = u32::MAX as u64;
    match which {
        0 => (last, older),
        1 => (older & LOW, older & !LOW | last),
        2 => (older >> 32, older << 32 | last),
        _ => (last - 1, older << 32 | last),
    }
}

/// # Safety
/// With `BMI` the machine has BMI1 and BMI2.
#[inline(always)]
unsafe fn walk<const BMI: bool>(
    work: &Work<'_>,
    repeats: &mut [u32; 3],
    dst: &mut [MaybeUninit<u8>],
    made: usize,
) -> Option<Done> {
    let Work { tables, bits, left, literals, states, mut count } = *work;
    let States { literals: mut ll_state, lengths: mut ml_state, offsets: mut of_state } = states;
    let (literals_len, bits_len) = (literals.len().checked_sub(BEHIND)?, bits.len().checked_sub(BEFORE)?);
    let easy = dst.len().checked_sub(ROOM)?;
    let known = ll_state < tables.literals.entries.len()
        && ml_state < tables.lengths.entries.len()
        && of_state < tables.offsets.entries.len();
    if !known || made > dst.len() || left >= bits_len * 8 || count == 0 {
        return None;
    }
    let start = dst.as_mut_ptr().cast::<u8>();
    // SAFETY: `made` lies in the memory, and the others in the slices, as was found out.
    let (mut to, easy, end, mut from, literals_end, first) = unsafe {
        let from = literals.as_ptr();
        let end = start.add(dst.len());
        (start.add(made), start.add(easy), end, from, from.add(literals_len), bits.as_ptr().add(BEFORE))
    };
    let (mut at, mut bit) = (first.wrapping_add(left / 8), left as u64 % 8);
    let mut slow = 0;
    let mut last = u64::from(repeats[0]);
    let mut older = u64::from(repeats[1]) | u64::from(repeats[2]) << 32;
    loop {
        // SAFETY: `at` is within the bits.
        let mut look = unsafe { Look::new(at, bit) };
        // SAFETY: a state is below the length of its table: so the first is, and `next` and what its bits add to it.
        let (ll_entry, ml_entry, of_entry) = unsafe {
            (
                tables.literals.entries.get_unchecked(ll_state),
                tables.lengths.entries.get_unchecked(ml_state),
                tables.offsets.entries.get_unchecked(of_state),
            )
        };
        let (mut ll, mut ml) = (ll_entry.marked() as usize, ml_entry.marked() as usize);
        // SAFETY: as promised by the caller.
        let mut offset = u64::from(of_entry.base()) + unsafe { look.take::<BMI>(of_entry.extra) } as u64;
        if of_entry.extra > REPEATS {
            older = older << 32 | last;
        } else if offset == 0 && ll > 0 {
            offset = last;
        } else {
            (offset, older) = again(offset + u64::from(ll == 0), last, older);
            if offset == 0 {
                return odd();
            }
        }
        last = offset;
        let short = ll | ml < MANY;
        if !short {
            (ll, ml) = (ll_entry.base() as usize, ml_entry.base() as usize);
            // SAFETY: the bits are looked at again after it was found out that there are some.
            unsafe {
                if look.have < u64::from(ll_entry.extra + ml_entry.extra) {
                    (at, bit) = look.place();
                    if at < first {
                        return odd();
                    }
                    look = Look::new(at, bit);
                }
                ml += look.take::<BMI>(ml_entry.extra);
                ll += look.take::<BMI>(ll_entry.extra);
                (at, bit) = look.place();
                if at < first {
                    return odd();
                }
                look = Look::new(at, bit);
            }
        }
        let before = look;
        // SAFETY: as promised by the caller. Offsets and states have at most 56 bits.
        unsafe {
            ll_state = usize::from(ll_entry.next) + look.take::<BMI>(ll_entry.bits);
            ml_state = usize::from(ml_entry.next) + look.take::<BMI>(ml_entry.bits);
            of_state = usize::from(of_entry.next) + look.take::<BMI>(of_entry.bits);
        }
        // The next step waits for these: they are made before anything is copied, not behind it, where what they are made of would have
        // to be kept in memory meanwhile.
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if BMI {
            // SAFETY: no instruction.
            unsafe {
                std::arch::asm!(
                    "/* {} {} {} {} */",
                    inout(reg) ll_state,
                    inout(reg) ml_state,
                    inout(reg) of_state,
                    inout(reg) look.have,
                    options(nomem, nostack, preserves_flags)
                );
            }
        }
        (at, bit) = look.place();

        let offset = offset as usize;
        if short && to <= easy && offset >= COPY {
            // SAFETY: all that is copied fits, as many may be read behind any literal, and what is `offset` bytes before has
            // been written, as is found out.
            unsafe {
                ptr::copy_nonoverlapping(from, to, COPY);
                if ll > COPY {
                    ptr::copy_nonoverlapping(from.add(COPY), to.add(COPY), COPY);
                }
                from = from.add(ll);
                to = to.add(ll);
                if offset > to as usize - start as usize {
                    return odd();
                }
                let source = to.sub(offset).cast_const();
                ptr::copy_nonoverlapping(source, to, COPY);
                if ml > COPY {
                    ptr::copy_nonoverlapping(source.add(COPY), to.add(COPY), COPY);
                }
                to = to.add(ml);
            }
            if from > literals_end {
                return odd();
            }
        } else {
            slow += 1;
            let rest = end as usize - to as usize;
            let written = to as usize - start as usize;
            if ll > literals_end as usize - from as usize || ll + ml > rest || offset > written + ll {
                return odd();
            }
            // SAFETY: so many literals there are, so much room there is, and the offset leads to what is written.
            unsafe {
                copy(from, to, ll, ml, offset, rest);
                from = from.add(ll);
                to = to.add(ll + ml);
            }
        }
        count -= 1;
        if count == 0 {
            if before.place() != (first, 0) {
                return odd();
            }
            break;
        }
        if at < first {
            return odd();
        }
    }
    *repeats = [last as u32, older as u32, (older >> 32) as u32];
    Some(Done { made: to as usize - start as usize, taken: from as usize - literals.as_ptr() as usize, slow })
}
