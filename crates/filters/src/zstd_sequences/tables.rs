//! FSE tables (RFC 8878 §4.1, §4.1.1): the meaning of each state, and its successors.

use super::bits::ForwardBits;

/// The meaning of one state.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(8))]
pub(super) struct FseEntry {
    /// The least value of its symbol. [`FseEntry::MORE`] may mark that bits are added to it.
    base: u32,
    /// The least of the next states.
    pub(super) next: u16,
    /// Number of bits added to the base.
    pub(super) extra: u8,
    /// Number of bits added to `next`.
    pub(super) bits: u8,
}

impl FseEntry {
    const NONE: Self = Self { base: 0, next: 0, extra: 0, bits: 0 };
    /// Exceeds all lengths, so one comparison detects both long values and values with extra bits.
    pub(super) const MORE: u32 = 1 << 31;

    /// Returns the least value of its symbol.
    pub(super) fn base(&self) -> u32 {
        self.base & !Self::MORE
    }

    /// As [`FseEntry::base`], but greater than any length if bits are added and the symbol is marked.
    pub(super) fn marked(&self) -> u32 {
        self.base
    }
}

/// A table of at most `SIZE` states.
#[derive(Clone)]
pub(super) struct FseTable<const SIZE: usize> {
    pub(super) entries: [FseEntry; SIZE],
    /// There are `1 << log` states; `None`: there is no table yet.
    pub(super) log: Option<u32>,
}

/// Frequencies of at most 53 symbols; -1 means less than one.
pub(super) type FseCounts = [i16; 53];

impl<const SIZE: usize> FseTable<SIZE> {
    pub(super) const NONE: Self = Self { entries: [FseEntry::NONE; SIZE], log: None };

    /// Makes a table of one state.
    pub(super) fn set_one(&mut self, base: u32, extra: u8) {
        self.entries[0] = FseEntry { base, extra, ..FseEntry::NONE };
        self.log = Some(0);
    }

    /// Spreads symbols over the states. `meaning` returns base and extra bits of a symbol. The counts add up
    /// to `1 << log`.
    pub(super) fn set(
        &mut self,
        counts: &[i16],
        log: u32,
        meaning: impl Fn(usize) -> Option<(u32, u8)>,
    ) -> Option<()> {
        self.log = None;
        let size = 1_usize << log;
        let mut symbols = [0_u8; SIZE];
        let symbols = symbols.get_mut(..size)?;
        let (mut next, mut high) = ([0_u16; 53], size);
        for (symbol, &count) in counts.iter().enumerate() {
            next[symbol] = count.unsigned_abs();
            if count == -1 {
                high = high.checked_sub(1)?;
                symbols[high] = symbol as u8;
            }
        }
        let (step, mut at) = ((size >> 1) + (size >> 3) + 3, 0);
        for (symbol, &count) in counts.iter().enumerate() {
            for _ in 0..count.max(0) {
                symbols[at] = symbol as u8;
                at = (at + step) % size;
                while at >= high {
                    at = (at + step) % size;
                }
            }
        }
        if at != 0 {
            return None;
        }
        for (entry, &symbol) in self.entries.iter_mut().zip(&*symbols) {
            let symbol = usize::from(symbol);
            let bits = log - next[symbol].checked_ilog2()?;
            let (base, extra) = meaning(symbol)?;
            *entry = FseEntry {
                base,
                extra,
                next: (next[symbol] << bits).wrapping_sub(size as u16),
                bits: bits as u8,
            };
            next[symbol] += 1;
        }
        self.log = Some(log);
        Some(())
    }
}

/// Reads symbol frequencies. Returns the counts, the number of symbols, the logarithm of their sum, and the
/// bytes used.
pub(super) fn counts(
    src: &[u8],
    most_symbols: usize,
    most_log: u32,
) -> Option<(FseCounts, usize, u32, usize)> {
    let mut bits = ForwardBits::new(src);
    let log = bits.take(4) + 5;
    if log > most_log {
        return None;
    }
    let (mut counts, mut symbol, mut rest) = ([0; 53], 0, 1_u32 << log);
    while rest > 0 {
        if symbol >= most_symbols || bits.read > src.len() * 8 {
            return None;
        }
        // A value of 0 to `rest` + 1. Low values take one bit less.
        let wide = (rest + 1).ilog2() + 1;
        let short = (1 << wide) - 1 - (rest + 1);
        let low = bits.peek(wide - 1);
        let value = if low < short {
            bits.take(wide - 1)
        } else {
            let value = bits.take(wide);
            if value >> (wide - 1) == 1 { value - short } else { value }
        };
        let count = value as i16 - 1;
        rest = rest.checked_sub(u32::from(count.unsigned_abs()))?;
        counts[symbol] = count;
        symbol += 1;
        if count == 0 {
            loop {
                let more = bits.take(2) as usize;
                symbol += more;
                if more < 3 {
                    break;
                }
                if symbol > most_symbols {
                    return None;
                }
            }
        }
    }
    (symbol <= most_symbols).then_some(())?;
    Some((counts, symbol, log, bits.bytes()?))
}
