//! Decodes a run of simple sequences: few literals, and a short match without overlap.
//!
//! The values that the next sequence needs stay in registers. There are no data-dependent branches: a
//! permutation of the last offsets handles repeated and new offsets alike. Literals, bits and room are
//! checked for many sequences at once.

use std::arch::asm;
use std::arch::x86_64::{
    __m128i, _bzhi_u64, _mm_cvtsi128_si32, _mm_insert_epi32, _mm_load_si128, _mm_set_epi32, _mm_shuffle_epi8,
    _mm_storeu_si128,
};
use std::ptr;

use super::copy::COPY;
use super::walk::{AT_ONCE, FseStates, SequenceTables, WalkBounds, WalkPosition};

/// Shorter matches are simple, and so are literals without extra bits, which are fewer than [`COPY`].
const MANY: u32 = 2 * COPY as u32;
/// Most bytes that a sequence writes.
const ROOM: usize = 4 * COPY;
/// Most bytes of bits that a sequence reads: 30 bits of an offset; 9, 9 and 8 of states.
const BITS: usize = 8;

/// Whether the processor has the other features that [`run`] needs beside BMI2.
pub(super) fn able() -> bool {
    std::is_x86_feature_detected!("avx")
}

/// Decodes several sequences, but never the last one. Returns `false` if more simple ones may follow. Returns
/// `true` if the next one is not simple, or too little of anything is left. The caller checks the number of
/// literals.
///
/// # Safety
/// The processor must have BMI2 and AVX. `place` must be within `bounds`, except for its literals.
#[inline(always)]
pub(super) unsafe fn run(tables: &SequenceTables, bounds: &WalkBounds, place: &mut WalkPosition) -> bool {
    let start = bounds.start as usize;
    let bits = (place.at as usize - bounds.first as usize) / BITS;
    let room = (bounds.end as usize - place.to as usize) / ROOM;
    let most = bits.min(room).min(place.count - 1).min(AT_ONCE);
    if most == 0 || (place.to as usize) < start + COPY || place.from > bounds.literals_end {
        return true;
    }
    let [last, second, third] = place.last.map(u32::cast_signed);
    // SAFETY: the machine has the instructions.
    let mut three = unsafe { _mm_set_epi32(0, third, second, last) };
    let (mut at, mut have, mut from, mut to) = (place.at, place.bit | 56, place.from, place.to);
    let FseStates { mut literals, mut lengths, mut offsets } = place.states;
    let mut rest = most;
    loop {
        // SAFETY: a state is below the length of its table: so the first is, and `next` and what its bits add
        // to it. There are as many bits as so many sequences take, and 8 bytes before them.
        let (ll_entry, ml_entry, of_entry, word) = unsafe {
            (
                tables.literals.entries.get_unchecked(literals),
                tables.lengths.entries.get_unchecked(lengths),
                tables.offsets.entries.get_unchecked(offsets),
                u64::from_le(at.sub(7).cast::<u64>().read_unaligned()),
            )
        };
        let (ll, ml) = (ll_entry.marked(), ml_entry.marked());
        if ll | ml >= MANY {
            break;
        }
        let (ll, ml) = (ll as usize, ml as usize);
        // SAFETY: the machine has the instruction.
        let mut take = |count: u8| unsafe {
            have = have.wrapping_sub(u64::from(count));
            _bzhi_u64(word >> (have & 63), u32::from(count)) as usize
        };
        let value = take(of_entry.extra) | 1 << (of_entry.extra & 63);
        // The last offset, the one before, and that before; all others are new. 4 marks an invalid value,
        // also for a new offset of 1.
        let which = (value + usize::from(ll == 0)).min(5);
        // SAFETY: the machine has the instructions, and there are six orders.
        let (after, offset) = unsafe {
            let all = _mm_insert_epi32::<3>(three, value.wrapping_sub(3) as i32);
            let after =
                _mm_shuffle_epi8(all, _mm_load_si128(tables.orders.get_unchecked(which).0.as_ptr().cast()));
            (after, _mm_cvtsi128_si32(after) as u32 as usize)
        };
        let end = to.wrapping_add(ll);
        if which == 4 || offset.wrapping_sub(COPY) > end as usize - start - COPY {
            have += u64::from(of_entry.extra);
            break;
        }
        three = after;
        literals = usize::from(ll_entry.next) + take(ll_entry.bits);
        lengths = usize::from(ml_entry.next) + take(ml_entry.bits);
        offsets = usize::from(of_entry.next) + take(of_entry.bits);
        at = at.wrapping_add((have >> 3) as usize).wrapping_sub(7);
        have |= 56;
        // The next step needs these values. Computing them before the copies avoids spilling their inputs to
        // memory.
        #[cfg(not(miri))]
        // SAFETY: no instruction.
        unsafe {
            asm!(
                "/* {} {} {} {} */",
                inout(reg) literals,
                inout(reg) lengths,
                inout(reg) offsets,
                inout(reg) have,
                options(nomem, nostack, preserves_flags)
            );
        }
        // SAFETY: all that is copied fits, as many may be read behind any literal, and what is `offset` bytes
        // before has been written, as is found out.
        unsafe {
            ptr::copy_nonoverlapping(from, to, COPY);
            from = from.add(ll);
            let source = end.sub(offset).cast_const();
            ptr::copy_nonoverlapping(source, end, COPY);
            if ml > COPY {
                ptr::copy_nonoverlapping(source.add(COPY), end.add(COPY), COPY);
            }
            to = end.add(ml);
        }
        rest -= 1;
        if rest == 0 {
            break;
        }
    }
    let mut last = [0_u32; 4];
    // SAFETY: as many bytes there are.
    unsafe { _mm_storeu_si128(last.as_mut_ptr().cast::<__m128i>(), three) };
    let states = FseStates { literals, lengths, offsets };
    let count = place.count - (most - rest);
    *place = WalkPosition { states, at, bit: have & 7, from, to, last: [last[0], last[1], last[2]], count };
    rest > 0
}
