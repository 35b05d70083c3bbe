//! Deflate streams of many short matches: arrays that are compressed without a shuffle.
//!
//! There a decoder waits for one thing: the look into a table by bits that the look before has to tell. Here one look
//! tells length and distance of a match at once ([`tables`]), and literals take the same way as matches, without a
//! branch that is guessed wrongly at every fifth symbol. Streams of little but literals, as a shuffle makes them, gain
//! nothing by it; they, short streams, and all that is odd are declined, and left to libdeflate: what is no deflate
//! stream is never decided here.
//!
//! Source: RFC 1951.

mod bits;
mod codes;
#[cfg(feature = "fast-deflate")]
mod seam;
mod tables;
#[cfg(test)]
mod tests;
mod walk;

use std::mem::MaybeUninit;

use bits::Bits;
use codes::Codes;
use tables::{END, Tables};

/// Shorter streams are not worth the tables, in bytes: at 7 KiB libdeflate is faster by a fifth, at 50 it is slower.
const SHORT: usize = 16 << 10;
/// What becomes so many times as much is made of long matches, which libdeflate copies as fast.
const LONG: usize = 8;

/// What is kept from one stream to the next.
pub(crate) struct Decoder {
    tables: Box<Tables>,
    header: Codes,
    /// Found out once; without, libdeflate is as fast.
    bmi: bool,
}

impl Decoder {
    pub(crate) fn new() -> Self {
        Self { tables: Tables::new(), header: Codes::new(), bmi: crate::bmi::has_bmi() }
    }

    /// Decodes one stream without a wrapping from the start of `src` to the start of `dst`: how many bytes it took and
    /// how many, all of them initialised, it made. `None` if another decoder is to do it.
    pub(crate) fn decode(&mut self, src: &[u8], dst: &mut [MaybeUninit<u8>]) -> Option<(usize, usize)> {
        if src.len() < SHORT || dst.len() / src.len() >= LONG || !self.bmi {
            return None;
        }
        self.stream(src, dst, true)
    }

    /// With `choosy` only a stream whose first compressed block is worth it.
    fn stream(&mut self, src: &[u8], dst: &mut [MaybeUninit<u8>], mut choosy: bool) -> Option<(usize, usize)> {
        let mut bits = Bits::new(src);
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

    fn block(&self, bits: &mut Bits<'_>, dst: &mut [MaybeUninit<u8>], made: usize) -> Option<usize> {
        // SAFETY: `bmi` was found out.
        unsafe { walk::block(self.bmi, &self.tables, bits, dst, made) }
    }

    /// The codes of a block that brings none.
    fn fixed(&mut self) -> Option<()> {
        let mut lengths = [8; 288];
        lengths[144..256].fill(9);
        lengths[256..280].fill(7);
        self.tables.set(&lengths, &[5; 32])
    }

    /// Reads the codes of a block; with `choosy` declines those of mostly literals.
    fn dynamic(&mut self, bits: &mut Bits<'_>, choosy: bool) -> Option<()> {
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

/// Whether more than three quarters of the symbols are literals, by what their codes' lengths say of how frequent they
/// are. With fewer a guess between literal and match is wrong often enough for libdeflate to be slower: at three fifths by
/// a fifth.
fn mostly_literals(lengths: &[u8]) -> bool {
    let share: u32 = lengths[..END].iter().filter(|length| **length > 0).map(|length| 1 << (15 - length)).sum();
    share > 3 << 13
}

/// Copies a block that is not compressed.
fn stored(bits: &mut Bits<'_>, dst: &mut [MaybeUninit<u8>], made: usize) -> Option<usize> {
    let bytes = stored_bytes(bits)?;
    let end = made + bytes.len();
    dst.get_mut(made..end)?.write_copy_of_slice(bytes);
    Some(end)
}

/// The bytes of a block that is not compressed, which is left behind.
fn stored_bytes<'s>(bits: &mut Bits<'s>) -> Option<&'s [u8]> {
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
