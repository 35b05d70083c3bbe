//! Prefix codes of deflate, decoded bit by bit: for headers, long codes and the ends of buffers. (RFC 1951,
//! 3.2.2.)

/// The longest code, in bits.
const LONGEST: usize = 15;

/// Symbols by the lengths of their codes.
pub(super) struct PrefixCodes {
    /// Number of symbols with each code length; 0 for length 0.
    count: [u16; LONGEST + 1],
    /// Symbols in the order of their codes.
    symbols: [u16; 288],
}

impl PrefixCodes {
    pub(super) const fn new() -> Self {
        Self { count: [0; LONGEST + 1], symbols: [0; 288] }
    }

    /// Sets the code lengths of all symbols. Calls `each` with symbol, length and code; the code's first bit
    /// is lowest. `None` if the codes are incomplete. A single code of one bit is accepted.
    pub(super) fn set(&mut self, lengths: &[u8], mut each: impl FnMut(usize, u32, usize)) -> Option<()> {
        self.count = [0; LONGEST + 1];
        for &length in lengths {
            self.count[usize::from(length)] += 1;
        }
        let used = lengths.len() - usize::from(self.count[0]);
        self.count[0] = 0;
        let (mut left, mut code, mut place) = (1_i32, 0_u16, 0_u16);
        let (mut next, mut places) = ([0_u16; LONGEST + 1], [0_u16; LONGEST + 1]);
        for length in 1..=LONGEST {
            left = left * 2 - i32::from(self.count[length]);
            if left < 0 {
                return None;
            }
            code = (code + self.count[length - 1]) << 1;
            next[length] = code;
            places[length] = place;
            place += self.count[length];
        }
        if left > 0 && !(used == 1 && self.count[1] == 1) {
            return None;
        }
        for (symbol, &length) in lengths.iter().enumerate().filter(|(_, length)| **length > 0) {
            let length = usize::from(length);
            self.symbols[usize::from(places[length])] = symbol as u16;
            places[length] += 1;
            let bits = next[length].reverse_bits() >> (16 - length);
            next[length] += 1;
            each(symbol, length as u32, usize::from(bits));
        }
        Some(())
    }

    /// Returns the symbol and the length of the code in the lowest bits.
    pub(super) fn decode(&self, bits: u64) -> Option<(usize, u32)> {
        let (mut code, mut first, mut place) = (0, 0, 0);
        for length in 1..=LONGEST as u32 {
            code |= (bits >> (length - 1)) as u32 & 1;
            let count = u32::from(self.count[length as usize]);
            if code < first + count {
                return Some((usize::from(self.symbols[(place + code - first) as usize]), length));
            }
            place += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        None
    }
}
