//! Decodes the symbols of a block: fast while there is room on both sides, with checks near the ends.

use std::mem::MaybeUninit;

use super::bits::DeflateBits;
use super::tables::{InflateTables, LongSymbol, SymbolEntry};

/// The greatest distance.
const FARTHEST: usize = 32 << 10;
/// Most bytes that a fast step writes: two entries of at most 258 bytes, and 16 bytes beyond a copy.
const ROOM: usize = 2 * 258 + 16;
/// Most bytes that a step reads ahead: it reads 8 bytes twice, and advances by at most 7 between.
const AHEAD: usize = 16;

/// The byte of every literal, at [`SymbolEntry::distance`]. There is padding, because 16 bytes are copied
/// from each.
static LITERALS: [u8; SymbolEntry::LITERAL_FROM + 256 + 15] = {
    let mut bytes = [0; SymbolEntry::LITERAL_FROM + 256 + 15];
    let mut byte = 0;
    while byte < 256 {
        bytes[SymbolEntry::LITERAL_FROM + byte] = byte as u8;
        byte += 1;
    }
    bytes
};

/// Decodes the symbols of a block to `dst` from `made` on. Returns the new number of bytes, all initialised.
/// The first `made` bytes must be initialised.
///
/// # Safety
/// With `bmi`, the processor must have the features of [`has_bmi`](crate::bmi::has_bmi).
pub(super) unsafe fn block(
    bmi: bool,
    tables: &InflateTables,
    bits: &mut DeflateBits<'_>,
    dst: &mut [MaybeUninit<u8>],
    mut made: usize,
) -> Option<usize> {
    loop {
        // SAFETY: as promised by the caller.
        let stop = unsafe {
            match bmi {
                #[cfg(target_arch = "x86_64")]
                true => with_bmi(tables, bits, dst, &mut made),
                _ => enter::<false>(tables, bits, dst, &mut made),
            }
        };
        match stop? {
            WalkEnd::Block => return Some(made),
            WalkEnd::Room => {}
        }
        match careful(tables, bits, dst, &mut made)? {
            WalkEnd::Block => return Some(made),
            WalkEnd::Room => {}
        }
    }
}

/// The reason why a walk ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WalkEnd {
    /// End of the block.
    Block,
    /// Near the end of a buffer.
    Room,
}

/// Decodes one symbol with every access checked.
fn careful(
    tables: &InflateTables,
    bits: &mut DeflateBits<'_>,
    dst: &mut [MaybeUninit<u8>],
    made: &mut usize,
) -> Option<WalkEnd> {
    bits.refill();
    let entry = tables.entry(bits.buffer);
    let (distance, length) = if !entry.is_slow() {
        // SAFETY: no processor features are needed.
        let distance = unsafe { entry.distance::<false>(bits.buffer) };
        bits.skip(entry.bits())?;
        if entry.is_literal() {
            dst.get_mut(*made)?.write(LITERALS[distance]);
            *made += 1;
            return Some(WalkEnd::Room);
        }
        (distance, entry.made())
    } else {
        let (symbol, code) = tables.symbol(entry, bits.buffer)?;
        bits.skip(code)?;
        match symbol {
            LongSymbol::Literal(byte) => {
                dst.get_mut(*made)?.write(byte);
                *made += 1;
                return Some(WalkEnd::Room);
            }
            LongSymbol::End => return Some(WalkEnd::Block),
            LongSymbol::Length(base, extra) => {
                let length = base + bits.take(extra)? as usize;
                bits.refill();
                let step = tables.step(bits.buffer)?;
                // SAFETY: no processor features are needed.
                let distance = unsafe { step.distance::<false>(bits.buffer) };
                bits.skip(step.bits())?;
                (distance, length)
            }
        }
    };
    let from = made.checked_sub(distance)?;
    let end = *made + length;
    dst.get(..end)?;
    for place in from..from + length {
        dst[place + distance] = dst[place];
    }
    *made = end;
    Some(WalkEnd::Room)
}

/// The state of the fast walk.
#[derive(Clone, Copy)]
struct WalkState {
    /// The next bytes to write and to read.
    to: *mut u8,
    from: *const u8,
    buffer: u64,
    /// Its lowest 6 bits are the number of bits in the buffer. The other bits have no meaning.
    have: u64,
}

/// [`enter`] with BMI1 and BMI2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2")]
fn with_bmi(
    tables: &InflateTables,
    bits: &mut DeflateBits<'_>,
    dst: &mut [MaybeUninit<u8>],
    made: &mut usize,
) -> Option<WalkEnd> {
    // SAFETY: the machine has them.
    unsafe { enter::<true>(tables, bits, dst, made) }
}

/// Runs the fast walk as far as possible.
///
/// # Safety
/// With `BMI`, the processor must have BMI1 and BMI2.
#[inline(always)]
unsafe fn enter<const BMI: bool>(
    tables: &InflateTables,
    bits: &mut DeflateBits<'_>,
    dst: &mut [MaybeUninit<u8>],
    made: &mut usize,
) -> Option<WalkEnd> {
    let src = bits.src();
    let (Some(last), Some(full)) = (src.len().checked_sub(AHEAD), dst.len().checked_sub(ROOM)) else {
        return Some(WalkEnd::Room);
    };
    if bits.next >= last || *made >= full {
        return Some(WalkEnd::Room);
    }
    let start: *mut u8 = dst.as_mut_ptr().cast();
    // SAFETY: all places are within the buffers; the walks stop a step's length before their ends.
    let (at, stop) = unsafe {
        let last = src.as_ptr().add(last);
        let mut at = WalkState {
            to: start.add(*made),
            from: src.as_ptr().add(bits.next),
            buffer: bits.buffer,
            have: u64::from(bits.have),
        };
        let mut stop = Some(WalkEnd::Room);
        if *made < FARTHEST {
            stop = walk::<BMI, true>(tables, &mut at, last, start.add(full.min(FARTHEST)), start);
        }
        if stop == Some(WalkEnd::Room) && at.to.offset_from(start) as usize >= FARTHEST {
            stop = walk::<BMI, false>(tables, &mut at, last, start.add(full), start);
        }
        *made = at.to.offset_from(start) as usize;
        bits.next = at.from.offset_from(src.as_ptr()) as usize;
        (at, stop)
    };
    bits.have = (at.have & 63) as u32;
    bits.buffer = at.buffer & !(u64::MAX << bits.have);
    stop
}

/// Runs steps of one or two entries up to `last` and `full`. `NEAR`: the output may be shorter than a
/// distance, so distances are checked. Beyond [`FARTHEST`] no distance leads out of it.
///
/// # Safety
/// The memory from `at.to` to [`ROOM`] bytes beyond `full` must be writable. All bytes from `start` to
/// `at.to` must be initialised. All bytes before `last`, and [`AHEAD`] bytes from it, must be readable.
/// Without `NEAR` there must be [`FARTHEST`] bytes before `at.to`. With `BMI`, the processor must have BMI1
/// and BMI2.
#[inline(always)]
unsafe fn walk<const BMI: bool, const NEAR: bool>(
    tables: &InflateTables,
    at: &mut WalkState,
    last: *const u8,
    full: *mut u8,
    start: *mut u8,
) -> Option<WalkEnd> {
    let WalkState { mut to, mut from, mut buffer, mut have } = *at;
    // The buffer's bits above `have` equal those of the byte at `from`, so adding them again changes nothing.
    macro_rules! refill {
        () => {
            // SAFETY: before `last` and at most 7 beyond 8 bytes may be read, by the promise of the caller.
            unsafe {
                buffer |= from.cast::<u64>().read_unaligned().to_le() << (have & 63);
                from = from.add(7 - (have >> 3 & 7) as usize);
            }
            have |= 56;
        };
    }
    macro_rules! is_outside {
        ($distance:expr) => {
            // SAFETY: both are in the output.
            NEAR && $distance > unsafe { to.offset_from(start) } as usize
        };
    }
    macro_rules! take {
        ($entry:expr $(, $then:expr)?) => {
            let entry: SymbolEntry = $entry;
            let here = buffer;
            buffer >>= entry.bits();
            have = have.wrapping_sub(entry.0);
            // Everything waits for this lookup, so it comes first.
            $($then;)?
            // SAFETY: as promised by the caller.
            let distance = unsafe { entry.distance::<BMI>(here) };
            if is_outside!(distance) && !entry.is_literal() {
                return None;
            }
            let literal = LITERALS.as_ptr().wrapping_add(distance);
            let back = to.wrapping_sub(distance).cast_const();
            let source = core::hint::select_unpredictable(entry.is_literal(), literal, back);
            // SAFETY: there is room, and `source` is in the output or a literal.
            unsafe {
                copy(source, to, distance, entry.made());
                to = to.add(entry.made());
            }
        };
    }
    let stop = loop {
        if from >= last || to >= full {
            break WalkEnd::Room;
        }
        refill!();
        let mut entry = tables.entry(buffer);
        if !entry.is_slow() {
            let first = entry;
            // At most 24 of 56 bits are used.
            take!(first, entry = tables.entry(buffer));
            if !entry.is_slow() {
                take!(entry);
                continue;
            }
            refill!();
        }
        // A symbol takes at most 48 bits.
        let (symbol, code) = tables.symbol(entry, buffer)?;
        buffer >>= code;
        have = have.wrapping_sub(u64::from(code));
        match symbol {
            LongSymbol::End => break WalkEnd::Block,
            LongSymbol::Literal(byte) => {
                // SAFETY: there is room.
                unsafe {
                    to.write(byte);
                    to = to.add(1);
                }
            }
            LongSymbol::Length(base, extra) => {
                let length = base + (buffer & !(u64::MAX << extra)) as usize;
                buffer >>= extra;
                have = have.wrapping_sub(u64::from(extra));
                let step = tables.step(buffer)?;
                // SAFETY: as promised by the caller.
                let distance = unsafe { step.distance::<BMI>(buffer) };
                buffer >>= step.bits();
                have = have.wrapping_sub(step.0);
                if is_outside!(distance) {
                    return None;
                }
                // SAFETY: there is room, and the distance leads to written bytes.
                unsafe {
                    copy(to.sub(distance), to, distance, length);
                    to = to.add(length);
                }
            }
        }
    };
    *at = WalkState { to, from, buffer, have };
    Some(stop)
}

/// Bytes that may be partly uninitialised.
type Word = MaybeUninit<u32>;
type Block = MaybeUninit<u128>;
const STEP: usize = size_of::<Block>();

/// Copies `length` bytes, and writes up to 15 more. `from` is `distance` before `to`, or elsewhere.
///
/// # Safety
/// `length` and 16 bytes must be writable at `to` and readable at `from`. The first `distance` bytes at
/// `from` must be initialised.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, distance: usize, length: usize) {
    const WORD: usize = size_of::<Word>();
    // SAFETY: as promised by the caller.
    unsafe {
        if distance < WORD {
            return near(from, to, distance, length);
        }
        // Most matches are this short. Arrays repeat elements, and few are smaller.
        to.cast::<Word>().write_unaligned(from.cast::<Word>().read_unaligned());
        to.add(WORD).cast::<Word>().write_unaligned(from.add(WORD).cast::<Word>().read_unaligned());
        to.add(2 * WORD).cast::<Word>().write_unaligned(from.add(2 * WORD).cast::<Word>().read_unaligned());
        to.add(3 * WORD).cast::<Word>().write_unaligned(from.add(3 * WORD).cast::<Word>().read_unaligned());
        if length > 4 * WORD {
            long(from, to, distance, length);
        }
    }
}

/// Copies the rest after 16 bytes. The distance is at least 4.
#[inline(never)]
unsafe fn long(from: *const u8, to: *mut u8, distance: usize, length: usize) {
    // SAFETY: as promised by the caller of `copy`; a step is begun within the length and writes 16 bytes.
    unsafe {
        if distance < STEP {
            return near(from, to, distance, length);
        }
        let mut done = STEP;
        while done < length {
            to.add(done).cast::<Block>().write_unaligned(from.add(done).cast::<Block>().read_unaligned());
            done += STEP;
        }
    }
}

/// Copies over a distance of less than 16 bytes.
#[cold]
unsafe fn near(from: *const u8, to: *mut u8, distance: usize, length: usize) {
    // SAFETY: as promised by the caller of `copy`; a step is begun within the length and writes 8 bytes.
    unsafe {
        if distance == 1 {
            return std::ptr::write_bytes(to, *from, length);
        }
        // The next steps overwrite what a step writes beyond the distance.
        let step = distance.min(8);
        let mut done = 0;
        while done < length.min(STEP) {
            let word = from.add(done).cast::<MaybeUninit<u64>>().read_unaligned();
            to.add(done).cast::<MaybeUninit<u64>>().write_unaligned(word);
            done += step;
        }
        // The bytes also repeat after every multiple of the distance.
        let period = distance * STEP.div_ceil(distance);
        while done < length {
            let block = to.add(done).sub(period).cast::<Block>().read_unaligned();
            to.add(done).cast::<Block>().write_unaligned(block);
            done += STEP;
        }
    }
}
