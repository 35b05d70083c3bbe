//! A faster decoder for deflate streams of many short matches.
//!
//! Applies: to arrays compressed without a shuffle, on processors with BMI. Falls back: to libdeflate, for
//! short streams, streams of mostly literals, and anything unusual. This module never decides that a stream
//! is damaged.
//!
//! Gains: one table lookup yields length and distance of a match ([`tables`]), so the next lookup can start
//! earlier. Literals take the same path as matches, without a mispredicted branch.
//!
//! Source: RFC 1951.

mod bits;
mod codes;
#[cfg(feature = "fast-deflate")]
mod last_block;
mod symbols;
mod tables;
#[cfg(test)]
mod tests;

use std::mem::MaybeUninit;

use bits::DeflateBits;
use codes::PrefixCodes;
use tables::{END, InflateTables};

/// Shorter streams do not repay the tables, in bytes. libdeflate is a fifth faster at 7 KiB and slower at 50.
const SHORT: usize = 16 << 10;
/// A stream that expands by this factor has long matches, which libdeflate copies as fast.
const LONG: usize = 8;

/// State kept between streams.
pub(crate) struct FastInflate {
    tables: Box<InflateTables>,
    header: PrefixCodes,
    /// Whether the processor has BMI, detected once. Without it libdeflate is as fast.
    bmi: bool,
}

impl FastInflate {
    pub(crate) fn new() -> Self {
        Self { tables: InflateTables::new(), header: PrefixCodes::new(), bmi: crate::bmi::has_bmi() }
    }

    /// Decodes one bare stream from the start of `src` to the start of `dst`. Returns the bytes used and the
    /// bytes made, all initialised. `None`: use another decoder.
    pub(crate) fn decode(&mut self, src: &[u8], dst: &mut [MaybeUninit<u8>]) -> Option<(usize, usize)> {
        if src.len() < SHORT || dst.len() / src.len() >= LONG || !self.bmi {
            return None;
        }
        self.stream(src, dst, true)
    }

    /// Decodes a stream. `choosy`: declines if its first compressed block is not worthwhile.
    fn stream(
        &mut self,
        src: &[u8],
        dst: &mut [MaybeUninit<u8>],
        mut choosy: bool,
    ) -> Option<(usize, usize)> {
        let mut bits = DeflateBits::new(src);
        let mut made = 0;
        loop {
            let last = bits.take(1)? == 1;
            let kind = bits.take(2)?;
            match kind {
                0 => made = stored(&mut bits, dst, made)?,
                1 => {
                    self.fixed()?;
                    made = self.block(&mut bits, dst, made)?;
                }
                2 => {
                    self.dynamic(&mut bits, choosy)?;
                    made = self.block(&mut bits, dst, made)?;
                }
                _ => return None,
            }
            if last {
                return Some((bits.align(), made));
            }
            choosy &= kind == 0;
        }
    }

    fn block(&self, bits: &mut DeflateBits<'_>, dst: &mut [MaybeUninit<u8>], made: usize) -> Option<usize> {
        // SAFETY: `bmi` was found out.
        unsafe { symbols::block(self.bmi, &self.tables, bits, dst, made) }
    }

    /// Sets the fixed codes.
    fn fixed(&mut self) -> Option<()> {
        let mut lengths = [8; 288];
        lengths[144..256].fill(9);
        lengths[256..280].fill(7);
        self.tables.set(&lengths, &[5; 32])
    }

    /// Reads the codes of a block. `choosy`: declines codes of mostly literals.
    fn dynamic(&mut self, bits: &mut DeflateBits<'_>, choosy: bool) -> Option<()> {
        const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
        let symbols = bits.take(5)? as usize + END + 1;
        let all = symbols + bits.take(5)? as usize + 1;
        let given = bits.take(4)? as usize + 4;
        let mut lengths = [0; 19];
        for &place in &ORDER[..given] {
            lengths[place] = bits.take(3)? as u8;
        }
        self.header.set(&lengths, |_, _, _| ())?;
        let mut lengths = [0_u8; 288 + 32];
        let mut at = 0;
        while at < all {
            bits.refill();
            let (symbol, code) = self.header.decode(bits.buffer)?;
            bits.skip(code)?;
            let (length, times) = match symbol {
                0..16 => (symbol as u8, 1),
                16 => (*lengths.get(at.checked_sub(1)?)?, 3 + bits.take(2)?),
                17 => (0, 3 + bits.take(3)?),
                _ => (0, 11 + bits.take(7)?),
            };
            let end = at + times as usize;
            lengths.get_mut(at..end).filter(|_| end <= all)?.fill(length);
            at = end;
        }
        let (symbols, steps) = lengths[..all].split_at(symbols);
        if symbols.len() > 286 || symbols[END] == 0 || (choosy && mostly_literals(symbols)) {
            return None;
        }
        self.tables.set(symbols, steps)
    }
}

/// Whether more than three quarters of the symbols are literals, as their code lengths suggest. With fewer,
/// branch mispredictions make libdeflate slower; at three fifths by a fifth.
fn mostly_literals(lengths: &[u8]) -> bool {
    let share: u32 =
        lengths[..END].iter().filter(|length| **length > 0).map(|length| 1 << (15 - length)).sum();
    share > 3 << 13
}

/// Copies a stored block.
fn stored(bits: &mut DeflateBits<'_>, dst: &mut [MaybeUninit<u8>], made: usize) -> Option<usize> {
    let bytes = stored_bytes(bits)?;
    let end = made + bytes.len();
    dst.get_mut(made..end)?.write_copy_of_slice(bytes);
    Some(end)
}

/// Returns the bytes of a stored block, and moves behind it.
fn stored_bytes<'s>(bits: &mut DeflateBits<'s>) -> Option<&'s [u8]> {
    let start = bits.align();
    let header = bits.src().get(start..start + 4)?;
    let length = u16::from_le_bytes([header[0], header[1]]);
    if length != !u16::from_le_bytes([header[2], header[3]]) {
        return None;
    }
    let from = start + 4;
    let bytes = bits.src().get(from..from + usize::from(length))?;
    bits.next = from + bytes.len();
    Some(bytes)
}
