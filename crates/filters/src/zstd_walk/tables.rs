//! Tables of states (RFC 8878 §4.1, §4.1.1): what each tells, and which comes next.

use super::bits::Forward;

/// What one state tells.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(8))]
pub(super) struct Entry {
    /// The least value of its symbol. If bits are added to it, [`Entry::MORE`] may say so too.
    base: u32,
    /// The least of the states that may follow.
    pub(super) next: u16,
    /// How many bits are added to the base.
    pub(super) extra: u8,
    /// How many bits are added to `next`.
    pub(super) bits: u8,
}

impl Entry {
    const NONE: Self = Self { base: 0, next: 0, extra: 0, bits: 0 };
    /// Beyond all lengths: with the marked ones, one comparison tells that a length is neither great nor to be added to.
    pub(super) const MORE: u32 = 1 << 31;

    /// The least value of its symbol.
    pub(super) fn base(&self) -> u32 {
        self.base & !Self::MORE
    }

    /// As [`Entry::base`], and greater than any if bits are added to it and that is to be marked.
    pub(super) fn marked(&self) -> u32 {
        self.base
    }
}

/// A table of at most `SIZE` states.
#[derive(Clone)]
pub(super) struct Table<const SIZE: usize> {
    pub(super) entries: [Entry; SIZE],
    /// There are `1 << log` states; `None`: there is no table yet.
    pub(super) log: Option<u32>,
}

/// How often each symbol comes, of which there are at most 53; -1 is less than once.
pub(super) type Counts = [i16; 53];

impl<const SIZE: usize> Table<SIZE> {
    pub(super) const NONE: Self = Self { entries: [Entry::NONE; SIZE], log: None };

    /// A table of one state.
    pub(super) fn set_one(&mut self, (base, extra): (u32, u8)) {
        self.entries[0] = Entry { base, extra, ..Entry::NONE };
        self.log = Some(0);
    }

    /// Spreads symbols over the states. `meaning` tells base and extra bits of a symbol. The counts add up to `1 << log`.
    pub(super) fn set(&mut self, counts: &[i16], log: u32, meaning: impl Fn(usize) -> Option<(u32, u8)>) -> Option<()> {
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
            *entry = Entry { base, extra, next: (next[symbol] << bits).wrapping_sub(size as u16), bits: bits as u8 };
            next[symbol] += 1;
        }
        self.log = Some(log);
        Some(())
    }
}

/// Reads how often symbols come: the counts, of how many symbols, the logarithm of their sum, and the bytes they took.
pub(super) fn counts(src: &[u8], most_symbols: usize, most_log: u32) -> Option<(Counts, usize, u32, usize)> {
    let mut bits = Forward::new(src);
    let log = bits.take(4) + 5;
    if log > most_log {
        return None;
    }
    let (mut counts, mut symbol, mut rest) = ([0; 53], 0, 1_u32 << log);
    while rest > 0 {
        if symbol >= most_symbols || bits.read > src.len() * 8 {
            return None;
        }
        // One of 0 to `rest` + 1; the lower ones take a bit less.
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
