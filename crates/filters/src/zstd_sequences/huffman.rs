//! Decodes Huffman-coded literals (RFC 8878 §4.2).

use super::bits::BackwardBits;
use super::tables::{FseTable, counts};

/// The longest code in bits. Codes of one bit more are valid but declined.
const LONGEST: u32 = 11;

/// The Huffman table of a block's literals, kept for the next ones.
pub(super) struct HuffmanTable {
    /// By the next bits: the byte, and above it the length of its code.
    table: [u16; 1 << LONGEST],
    /// The longest code; `None`: there is no table yet.
    log: Option<u32>,
    weights: FseTable<64>,
}

impl HuffmanTable {
    pub(super) const NONE: Self = Self { table: [0; 1 << LONGEST], log: None, weights: FseTable::NONE };

    pub(super) fn forget(&mut self) {
        self.log = None;
    }

    /// Reads a table. Returns the number of bytes used.
    pub(super) fn read(&mut self, src: &[u8]) -> Option<usize> {
        self.log = None;
        let (&head, rest) = src.split_first()?;
        let (mut weights, head) = ([0_u8; 256], usize::from(head));
        let (count, taken) = if head >= 128 {
            let (count, taken) = (head - 127, (head - 126) / 2);
            for (at, weight) in weights[..count].iter_mut().enumerate() {
                let byte = *rest.get(at / 2)?;
                *weight = if at % 2 == 0 { byte >> 4 } else { byte & 15 };
            }
            (count, taken)
        } else {
            (self.packed(rest.get(..head)?, &mut weights[..255])?, head)
        };
        self.set(&mut weights, count)?;
        Some(1 + taken)
    }

    /// Reads weights that are FSE-coded in two interleaved states. Returns their number.
    fn packed(&mut self, src: &[u8], weights: &mut [u8]) -> Option<usize> {
        let (counts, symbols, log, taken) = counts(src, 13, 6)?;
        self.weights.set(&counts[..symbols], log, |symbol| Some((symbol as u32, 0)))?;
        let mut bits = BackwardBits::new(src.get(taken..)?)?;
        let mut states = [bits.take(log)?, bits.take(log)?];
        let mut at = 0;
        loop {
            let entry = self.weights.entries[states[at % 2] as usize];
            *weights.get_mut(at)? = entry.base() as u8;
            at += 1;
            match bits.take(u32::from(entry.bits)) {
                Some(more) => states[(at - 1) % 2] = u32::from(entry.next) + more,
                // The other state yields the last weight.
                None => {
                    *weights.get_mut(at)? = self.weights.entries[states[at % 2] as usize].base() as u8;
                    return Some(at + 1);
                }
            }
        }
    }

    /// Makes the table from all weights but the last, which follows from them.
    fn set(&mut self, weights: &mut [u8; 256], count: usize) -> Option<()> {
        let share = |weight: u8| 1_u32 << weight >> 1;
        if weights[..count].iter().any(|&weight| u32::from(weight) > LONGEST) {
            return None;
        }
        let sum: u32 = weights[..count].iter().map(|&weight| share(weight)).sum();
        let log = sum.checked_ilog2()? + 1;
        let rest = (1 << log) - sum;
        if log > LONGEST || !rest.is_power_of_two() {
            return None;
        }
        *weights.get_mut(count)? = rest.ilog2() as u8 + 1;
        let weights = &weights[..=count];
        let lowest = weights.iter().filter(|&&weight| weight == 1).count();
        if lowest < 2 || lowest % 2 == 1 {
            return None;
        }
        let mut at = 0;
        for weight in 1..=log as u8 {
            let code = (log as u16 + 1 - u16::from(weight)) << 8;
            for (byte, _) in weights.iter().enumerate().filter(|(_, found)| **found == weight) {
                let end = at + share(weight) as usize;
                self.table[at..end].fill(code | byte as u16);
                at = end;
            }
        }
        self.log = (at == 1 << log).then_some(log);
        self.log.map(drop)
    }

    /// Decodes one stream that fills `to`.
    pub(super) fn one(&self, src: &[u8], to: &mut [u8]) -> Option<()> {
        self.streams([src], [to])
    }

    /// Decodes four streams, whose lengths come first.
    pub(super) fn four(&self, src: &[u8], to: &mut [u8]) -> Option<()> {
        let (lengths, src) = src.split_first_chunk::<6>()?;
        let length = |at: usize| usize::from(u16::from_le_bytes([lengths[at], lengths[at + 1]]));
        let (a, src) = src.split_at_checked(length(0))?;
        let (b, src) = src.split_at_checked(length(2))?;
        let (c, d) = src.split_at_checked(length(4))?;
        let each = to.len().div_ceil(4);
        if to.len() < 6 {
            return None;
        }
        let (first, to) = to.split_at_mut_checked(each)?;
        let (second, to) = to.split_at_mut_checked(each)?;
        let (third, fourth) = to.split_at_mut_checked(each)?;
        self.streams([a, b, c, d], [first, second, third, fourth])
    }

    fn streams<const N: usize>(&self, src: [&[u8]; N], mut to: [&mut [u8]; N]) -> Option<()> {
        /// Number of codes decoded from one refill.
        const AT_ONCE: usize = 57 / LONGEST as usize;
        let log = self.log?;
        let mut streams = [BackwardBits::new(&[1])?; N];
        for (stream, src) in streams.iter_mut().zip(src) {
            *stream = BackwardBits::new(src)?;
        }
        let mut done = 0;
        let least = to.iter().map(|to| to.len()).min()?;
        while done + AT_ONCE <= least {
            for (stream, to) in streams.iter_mut().zip(&mut to) {
                let (mut bits, mut used) = (stream.top(), 0);
                for byte in to[done..].first_chunk_mut::<AT_ONCE>()? {
                    let code = self.table[(bits >> (64 - log)) as usize & ((1 << LONGEST) - 1)];
                    *byte = code as u8;
                    bits <<= code >> 8;
                    used += usize::from(code >> 8);
                }
                stream.skip(used)?;
            }
            done += AT_ONCE;
        }
        for (stream, to) in streams.iter_mut().zip(&mut to) {
            for byte in &mut to[done..] {
                let code = self.table[(stream.top() >> (64 - log)) as usize];
                *byte = code as u8;
                stream.skip(usize::from(code >> 8))?;
            }
        }
        streams.iter().all(|stream| stream.left == 0).then_some(())
    }
}
