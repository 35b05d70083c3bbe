//! The tables of a block: one look at the next bits tells a literal, or length and distance of a match together.
//!
//! An [`Entry`] holds, from its lowest bit: bits in all (8), where the extra bits of the distance begin (8), how many
//! they are (8), flags (8), length (16), distance without extra bits (16). The first is where a shift takes it without
//! another instruction, the second and third are what `bextr` wants.

use super::codes::Codes;

/// Bits looked at for a literal or a match. One more doubles the table, which then no longer stays in the nearest cache.
const BITS: u32 = 11;
const SIZE: usize = 1 << BITS;
/// Bits looked at for a distance alone.
const DISTANCE_BITS: u32 = 10;
const DISTANCES: usize = 1 << DISTANCE_BITS;

/// Of every length's symbol: the length, and the number of extra bits that are added to it.
const LENGTHS: [(u16, u32); 29] = {
    let mut table = spans(3, 4);
    // The longest has a symbol of its own.
    table[28] = (258, 0);
    table
};
/// Likewise of every distance's.
const STEPS: [(u16, u32); 30] = spans(1, 2);

/// Spans from `first` on, one behind the other; after each `group` of symbols but the first they are twice as long.
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

/// What the next bits say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry(pub(super) u64);

impl Entry {
    const EXTRA_FROM: u32 = 8;
    const EXTRA: u32 = 16;
    const SLOW: u64 = 1 << 30;
    const LITERAL: u64 = 1 << 31;
    const LENGTH: u32 = 32;
    const DISTANCE: u32 = 48;
    /// A literal has its byte where a match has its distance, and so much is added: a copy never takes it for near.
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

    /// A length, or the end of the block (length 0), without the distance.
    fn partial(length: u16, extra: u32, code: u32) -> Self {
        Self(u64::from(code) | u64::from(extra) << Self::EXTRA | Self::SLOW | u64::from(length) << Self::LENGTH)
    }

    /// What a length of so many bits adds to the entry of a distance.
    fn length(length: u64, bits: u32) -> u64 {
        u64::from(bits) | u64::from(bits) << Self::EXTRA_FROM | length << Self::LENGTH
    }

    /// Bits in all.
    #[inline(always)]
    pub(super) const fn bits(self) -> u32 {
        (self.0 & 63) as u32
    }

    /// Where the extra bits of the distance begin: after all codes.
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

    /// Bytes that it makes: 1 to 258.
    #[inline(always)]
    pub(super) const fn made(self) -> usize {
        (self.0 >> Self::LENGTH & 0x1ff) as usize
    }

    /// How far back a match begins, given the bits at its place; of a literal [`Self::LITERAL_FROM`] and its byte.
    ///
    /// # Safety
    /// With `BMI` the machine has BMI1.
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

/// One symbol that [`Tables::entry`] does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Symbol {
    Literal(u8),
    /// Length without its extra bits, and how many these are.
    Length(usize, u32),
    End,
}

/// The tables of one block.
pub(super) struct Tables {
    joint: [Entry; SIZE],
    distances: [Entry; DISTANCES],
    symbols: Codes,
    steps: Codes,
}

impl Tables {
    pub(super) fn new() -> Box<Self> {
        let (joint, distances) = ([Entry(Entry::SLOW); SIZE], [Entry(Entry::SLOW); DISTANCES]);
        Box::new(Self { joint, distances, symbols: Codes::new(), steps: Codes::new() })
    }

    /// Makes them from the codes' lengths, of literals and lengths and of distances; `None` if they are no full sets.
    pub(super) fn set(&mut self, lengths: &[u8], steps: &[u8]) -> Option<()> {
        let Self { joint, distances, symbols, steps: codes } = self;
        distances.fill(Entry(Entry::SLOW));
        codes.set(steps, |symbol, bits, code| {
            if bits <= DISTANCE_BITS && symbol < STEPS.len() {
                let entry = Entry::distance_of(symbol, bits);
                distances[code..].iter_mut().step_by(1 << bits).for_each(|place| *place = entry);
            }
        })?;
        joint.fill(Entry(Entry::SLOW));
        symbols.set(lengths, |symbol, bits, code| {
            if bits > BITS {
                return;
            }
            let mut fill = |entry| joint[code..].iter_mut().step_by(1 << bits).for_each(|place| *place = entry);
            if symbol < END {
                fill(Entry::literal(symbol, bits));
            } else if symbol == END {
                fill(Entry::partial(0, 0, bits));
            } else if let Some(&(base, extra)) = LENGTHS.get(symbol - END - 1) {
                let partial = Entry::partial(base, extra, bits);
                let used = bits + extra;
                if used >= BITS {
                    return fill(partial);
                }
                let room = BITS - used;
                for more in 0..1 << extra {
                    let add = Entry::length(u64::from(base) + more, used);
                    let mut place = code | (more as usize) << bits;
                    for &distance in &distances[..1 << room] {
                        let fits = (distance.codes() <= room) & !distance.is_slow();
                        joint[place % SIZE] = if fits { Entry(add + distance.0) } else { partial };
                        place += 1 << used;
                    }
                }
            }
        })
    }

    #[inline(always)]
    pub(super) fn entry(&self, bits: u64) -> Entry {
        self.joint[bits as usize % SIZE]
    }

    /// The next symbol and the bits of its code, where [`Self::entry`] is slow.
    #[inline(always)]
    pub(super) fn symbol(&self, entry: Entry, bits: u64) -> Option<(Symbol, u32)> {
        if entry.bits() == 0 {
            return self.long(bits);
        }
        let symbol = match entry.made() {
            0 => Symbol::End,
            base => Symbol::Length(base, (entry.0 >> Entry::EXTRA & 63) as u32),
        };
        Some((symbol, entry.bits()))
    }

    /// The next symbol where its code is longer than what the table looks at.
    #[cold]
    fn long(&self, bits: u64) -> Option<(Symbol, u32)> {
        let (symbol, taken) = self.symbols.decode(bits)?;
        let symbol = match symbol {
            0..END => Symbol::Literal(symbol as u8),
            END => Symbol::End,
            _ => {
                let &(base, extra) = LENGTHS.get(symbol - END - 1)?;
                Symbol::Length(usize::from(base), extra)
            }
        };
        Some((symbol, taken))
    }

    /// The next distance.
    pub(super) fn step(&self, bits: u64) -> Option<Entry> {
        let entry = self.distances[bits as usize % DISTANCES];
        if !entry.is_slow() {
            return Some(entry);
        }
        let (symbol, taken) = self.steps.decode(bits)?;
        (symbol < STEPS.len()).then(|| Entry::distance_of(symbol, taken))
    }
}
