//! Decodes the sequences of a block. Each is some literals and a match.

use std::mem::MaybeUninit;

use super::bit_window::BitWindow;
use super::copy::{COPY, copy};
#[cfg(target_arch = "x86_64")]
use super::short_sequences::run;
use super::walk::{AT_ONCE, FseStates, SequenceTables, WalkBounds, WalkPosition};

/// Readable bytes required behind the literals.
pub(super) const BEHIND: usize = (AT_ONCE + 1) * COPY;
/// Readable bytes required before the bits of sequences.
pub(super) const BEFORE: usize = 8;

/// The sequences of a block and their inputs.
#[derive(Clone, Copy)]
pub(super) struct SequenceSection<'a> {
    pub(super) tables: &'a SequenceTables,
    /// The bytes with the bits. [`BEFORE`] bytes before the first must be readable.
    pub(super) bits: &'a [u8],
    /// Number of bits left.
    pub(super) left: usize,
    /// The literals. [`BEHIND`] bytes behind the last must be readable.
    pub(super) literals: &'a [u8],
    pub(super) states: FseStates,
    /// Number of sequences, at least one.
    pub(super) count: usize,
}

/// The result of decoding a section.
pub(super) struct SectionResult {
    /// Bytes of output.
    pub(super) made: usize,
    /// Literals used.
    pub(super) taken: usize,
    /// Number of slow sequences.
    pub(super) slow: usize,
}

/// Decodes the sequences to `dst` from `made` on. The first `made` bytes must be initialised; then all up to
/// the result are.
///
/// # Safety
/// With `bmi`, the processor must have AVX and the features of [`has_bmi`](crate::bmi::has_bmi).
pub(super) unsafe fn sequences(
    bmi: bool,
    work: &SequenceSection<'_>,
    repeats: &mut [u32; 3],
    dst: &mut [MaybeUninit<u8>],
    made: usize,
) -> Option<SectionResult> {
    // SAFETY: as promised by the caller.
    unsafe {
        match bmi {
            #[cfg(target_arch = "x86_64")]
            true => with_bmi(work, repeats, dst, made),
            _ => walk::<false>(work, repeats, dst, made),
        }
    }
}

/// [`walk`] with BMI1, BMI2 and AVX.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2,avx")]
fn with_bmi(
    work: &SequenceSection<'_>,
    repeats: &mut [u32; 3],
    dst: &mut [MaybeUninit<u8>],
    made: usize,
) -> Option<SectionResult> {
    // SAFETY: the machine has them.
    unsafe { walk::<true>(work, repeats, dst, made) }
}

/// Decodes all sequences.
///
/// # Safety
/// With `BMI`, the processor must have BMI2 and AVX.
#[inline(always)]
unsafe fn walk<const BMI: bool>(
    work: &SequenceSection<'_>,
    repeats: &mut [u32; 3],
    dst: &mut [MaybeUninit<u8>],
    made: usize,
) -> Option<SectionResult> {
    let SequenceSection { tables, bits, left, literals, states, count } = *work;
    let (literals_len, bits_len) = (literals.len().checked_sub(BEHIND)?, bits.len().checked_sub(BEFORE)?);
    let known = states.literals < tables.literals.entries.len()
        && states.lengths < tables.lengths.entries.len()
        && states.offsets < tables.offsets.entries.len();
    if !known || made > dst.len() || left >= bits_len * 8 || count == 0 {
        return None;
    }
    // Copies on the stack free a register, because they are addressed by the stack pointer.
    let tables = &tables.clone();
    let (start, from) = (dst.as_mut_ptr().cast::<u8>(), literals.as_ptr());
    // SAFETY: `made` lies in the memory, and the others in the slices, as was found out.
    let (bounds, to) = unsafe {
        let (first, literals_end) = (bits.as_ptr().add(BEFORE), from.add(literals_len));
        (WalkBounds { first, literals_end, start, end: start.add(dst.len()) }, start.add(made))
    };
    let (at, bit) = (bounds.first.wrapping_add(left / 8), left as u64 % 8);
    let mut place = WalkPosition { states, at, bit, from, to, last: *repeats, count };
    let mut slow = 0;
    while place.count > 0 {
        // SAFETY: as promised by the caller; `place` is within the bounds, as it was found out, and so is
        // what comes of it.
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
    Some(SectionResult {
        made: place.to as usize - start as usize,
        taken: place.from as usize - from as usize,
        slow,
    })
}

/// Decodes any one sequence. After the last one no states are read.
///
/// # Safety
/// `place` must be within `bounds`.
#[inline(always)]
unsafe fn step(tables: &SequenceTables, bounds: &WalkBounds, place: &mut WalkPosition) -> Option<()> {
    // SAFETY: a state is below the length of its table: so the first is, and `next` and what its bits add to
    // it.
    let (literals, lengths, offsets) = unsafe {
        (
            tables.literals.entries.get_unchecked(place.states.literals),
            tables.lengths.entries.get_unchecked(place.states.lengths),
            tables.offsets.entries.get_unchecked(place.states.offsets),
        )
    };
    // SAFETY: `at` is among the bits, or not looked at.
    unsafe {
        let mut look = BitWindow::new(place.at, place.bit);
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
        // There are enough literals and enough room, and the offset leads to written bytes.
        copy(place.from, place.to, ll, ml, offset, rest);
        place.from = place.from.add(ll);
        place.to = place.to.add(ll + ml);
        place.count -= 1;
        if place.count > 0 {
            place.states = FseStates {
                literals: usize::from(literals.next) + look.take(literals.bits) as usize,
                lengths: usize::from(lengths.next) + look.take(lengths.bits) as usize,
                offsets: usize::from(offsets.next) + look.take(offsets.bits) as usize,
            };
        }
        (place.at, place.bit) = look.place();
        (place.at >= bounds.first).then_some(())
    }
}
