//! The tables of a block. One lookup of the next bits yields a literal, or length and distance of a match.
//!
//! A [`SymbolEntry`] holds, from the lowest bit: total bits (8), position of the extra bits of the distance
//! (8), their number (8), flags (8), length (16), distance without extra bits (16). The first field is where
//! a shift needs no other instruction. The second and third are the operand of `bextr`.

use super::codes::PrefixCodes;

/// Bits of a lookup for a literal or match. One more would double the table, which then exceeds the
/// first-level cache.
const BITS: u32 = 11;
const SIZE: usize = 1 << BITS;
/// Bits of a lookup for a distance.
const DISTANCE_BITS: u32 = 10;
const DISTANCES: usize = 1 << DISTANCE_BITS;

/// Base length and number of extra bits of each length symbol.
const LENGTHS: [(u16, u32); 29] = {
    let mut table = spans(3, 4);
    // The longest length has its own symbol.
    table[28] = (258, 0);
    table
};
/// Base distance and number of extra bits of each distance symbol.
const STEPS: [(u16, u32); 30] = spans(1, 2);

/// Consecutive spans from `first` on. After each `group` of symbols but the first their size doubles.
const fn spans<const N: usize>(first: u16, group: usize) -> [(u16, u32); N] {
    let mut table = [(first, 0); N];
    let (mut symbol, mut base) = (0, first);
    while symbol < N {
        let extra = (symbol / group).saturating_sub(1) as u32;
        table[symbol] = (base, extra);
        base += 1 << extra;
        symbol += 1;
    }
    table
}

/// The symbol that ends a block.
pub(super) const END: usize = 256;

/// The meaning of the next bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SymbolEntry(pub(super) u64);

impl SymbolEntry {
    const EXTRA_FROM: u32 = 8;
    const EXTRA: u32 = 16;
    const SLOW: u64 = 1 << 30;
    const LITERAL: u64 = 1 << 31;
    const LENGTH: u32 = 32;
    const DISTANCE: u32 = 48;
    /// Added to the byte of a literal, which stands in the field of the distance. So a copy never treats it
    /// as near.
    pub(super) const LITERAL_FROM: usize = 16;

    fn literal(byte: usize, code: u32) -> Self {
        let distance = (byte + Self::LITERAL_FROM) as u64;
        Self(u64::from(code) | Self::LITERAL | 1 << Self::LENGTH | distance << Self::DISTANCE)
    }

    fn distance_of(symbol: usize, code: u32) -> Self {
        let (base, extra) = STEPS[symbol];
        let bits = code + extra;
        Self(
            u64::from(bits)
                | u64::from(code) << Self::EXTRA_FROM
                | u64::from(extra) << Self::EXTRA
                | u64::from(base) << Self::DISTANCE,
        )
    }

    /// Makes an entry for a length, or for the end of the block (length 0), without a distance.
    fn partial(length: u16, extra: u32, code: u32) -> Self {
        Self(
            u64::from(code)
                | u64::from(extra) << Self::EXTRA
                | Self::SLOW
                | u64::from(length) << Self::LENGTH,
        )
    }

    /// Returns the bits that a length adds to the entry of a distance.
    fn length(length: u64, bits: u32) -> u64 {
        u64::from(bits) | u64::from(bits) << Self::EXTRA_FROM | length << Self::LENGTH
    }

    /// Returns the total number of bits.
    #[inline(always)]
    pub(super) const fn bits(self) -> u32 {
        (self.0 & 63) as u32
    }

    /// Returns the position of the extra bits of the distance, behind all codes.
    #[inline(always)]
    const fn codes(self) -> u32 {
        (self.0 >> Self::EXTRA_FROM & 63) as u32
    }

    #[inline(always)]
    pub(super) const fn is_slow(self) -> bool {
        self.0 & Self::SLOW != 0
    }

    #[inline(always)]
    pub(super) const fn is_literal(self) -> bool {
        self.0 & Self::LITERAL != 0
    }

    /// Returns the number of bytes it makes: 1 to 258.
    #[inline(always)]
    pub(super) const fn made(self) -> usize {
        (self.0 >> Self::LENGTH & 0x1ff) as usize
    }

    /// Returns the distance of a match, given its bits; for a literal, [`Self::LITERAL_FROM`] plus its byte.
    ///
    /// # Safety
    /// With `BMI`, the processor must have BMI1.
    #[inline(always)]
    pub(super) unsafe fn distance<const BMI: bool>(self, bits: u64) -> usize {
        #[cfg(target_arch = "x86_64")]
        let extra = if BMI {
            // SAFETY: as promised by the caller.
            unsafe { core::arch::x86_64::_bextr2_u64(bits, self.0 >> Self::EXTRA_FROM) }
        } else {
            self.extra(bits)
        };
        #[cfg(not(target_arch = "x86_64"))]
        let extra = self.extra(bits);
        (self.0 >> Self::DISTANCE) as usize + extra as usize
    }

    #[inline(always)]
    const fn extra(self, bits: u64) -> u64 {
        bits >> self.codes() & !(u64::MAX << (self.0 >> Self::EXTRA & 63))
    }
}

/// A symbol that [`InflateTables::entry`] does not cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LongSymbol {
    Literal(u8),
    /// Length without its extra bits, and their number.
    Length(usize, u32),
    End,
}

/// The tables of one block.
pub(super) struct InflateTables {
    joint: [SymbolEntry; SIZE],
    distances: [SymbolEntry; DISTANCES],
    symbols: PrefixCodes,
    steps: PrefixCodes,
}

impl InflateTables {
    pub(super) fn new() -> Box<Self> {
        let (joint, distances) =
            ([SymbolEntry(SymbolEntry::SLOW); SIZE], [SymbolEntry(SymbolEntry::SLOW); DISTANCES]);
        Box::new(Self { joint, distances, symbols: PrefixCodes::new(), steps: PrefixCodes::new() })
    }

    /// Makes the tables from code lengths: of literals and lengths, and of distances. `None` if the codes are
    /// incomplete.
    pub(super) fn set(&mut self, lengths: &[u8], steps: &[u8]) -> Option<()> {
        let Self { joint, distances, symbols, steps: codes } = self;
        distances.fill(SymbolEntry(SymbolEntry::SLOW));
        codes.set(steps, |symbol, bits, code| {
            if bits <= DISTANCE_BITS && symbol < STEPS.len() {
                let entry = SymbolEntry::distance_of(symbol, bits);
                distances[code..].iter_mut().step_by(1 << bits).for_each(|place| *place = entry);
            }
        })?;
        joint.fill(SymbolEntry(SymbolEntry::SLOW));
        symbols.set(lengths, |symbol, bits, code| {
            if bits > BITS {
                return;
            }
            let mut fill =
                |entry| joint[code..].iter_mut().step_by(1 << bits).for_each(|place| *place = entry);
            if symbol < END {
                fill(SymbolEntry::literal(symbol, bits));
            } else if symbol == END {
                fill(SymbolEntry::partial(0, 0, bits));
            } else if let Some(&(base, extra)) = LENGTHS.get(symbol - END - 1) {
                let partial = SymbolEntry::partial(base, extra, bits);
                let used = bits + extra;
                if used >= BITS {
                    return fill(partial);
                }
                let room = BITS - used;
                for more in 0..1 << extra {
                    let add = SymbolEntry::length(u64::from(base) + more, used);
                    let mut place = code | (more as usize) << bits;
                    for &distance in &distances[..1 << room] {
                        let fits = (distance.codes() <= room) & !distance.is_slow();
                        joint[place % SIZE] = if fits { SymbolEntry(add + distance.0) } else { partial };
                        place += 1 << used;
                    }
                }
            }
        })
    }

    #[inline(always)]
    pub(super) fn entry(&self, bits: u64) -> SymbolEntry {
        self.joint[bits as usize % SIZE]
    }

    /// Returns the next symbol and the bits of its code, where [`Self::entry`] has no fast entry.
    #[inline(always)]
    pub(super) fn symbol(&self, entry: SymbolEntry, bits: u64) -> Option<(LongSymbol, u32)> {
        if entry.bits() == 0 {
            return self.long(bits);
        }
        let symbol = match entry.made() {
            0 => LongSymbol::End,
            base => LongSymbol::Length(base, (entry.0 >> SymbolEntry::EXTRA & 63) as u32),
        };
        Some((symbol, entry.bits()))
    }

    /// Returns the next symbol, whose code is longer than a lookup.
    #[cold]
    fn long(&self, bits: u64) -> Option<(LongSymbol, u32)> {
        let (symbol, taken) = self.symbols.decode(bits)?;
        let symbol = match symbol {
            0..END => LongSymbol::Literal(symbol as u8),
            END => LongSymbol::End,
            _ => {
                let &(base, extra) = LENGTHS.get(symbol - END - 1)?;
                LongSymbol::Length(usize::from(base), extra)
            }
        };
        Some((symbol, taken))
    }

    /// Returns the next distance.
    pub(super) fn step(&self, bits: u64) -> Option<SymbolEntry> {
        let entry = self.distances[bits as usize % DISTANCES];
        if !entry.is_slow() {
            return Some(entry);
        }
        let (symbol, taken) = self.steps.decode(bits)?;
        (symbol < STEPS.len()).then(|| SymbolEntry::distance_of(symbol, taken))
    }
}
