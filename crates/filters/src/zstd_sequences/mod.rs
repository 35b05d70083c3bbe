//! A faster decoder for zstd frames of many short matches.
//!
//! Applies: to arrays of floats compressed without a shuffle, on processors with BMI2. Falls back: to
//! libzstd, for small frames, frames of long matches or mostly coded literals, with a checksum or dictionary,
//! and anything unusual. This module never decides that a frame is damaged.
//!
//! Gains: decoding spends nearly all time on sequences. One sequence takes half the instructions of libzstd,
//! which keeps its state in memory.
//!
//! Source: RFC 8878.

mod bit_window;
mod bits;
mod codes;
mod copy;
mod headers;
mod huffman;
#[cfg(target_arch = "x86_64")]
mod offset_shuffle;
mod sequences;
#[cfg(target_arch = "x86_64")]
mod short_sequences;
mod tables;
#[cfg(test)]
mod tests;
mod walk;

use std::mem::MaybeUninit;

use bits::BackwardBits;
use headers::{BLOCK, FrameHeader, LiteralsHeader, StoredBlock, block, is_worthwhile, sequences};
use huffman::HuffmanTable;
use sequences::{BEFORE, BEHIND, SequenceSection};
use tables::{FseTable, counts};
use walk::{FseStates, SequenceTables};

/// Smaller frames, by decoded size in bytes, do not repay the tables.
const SHORT: usize = 16 << 10;
/// At most one of this many sequences may be slow: long, or overlapping.
const SLOW: usize = 6;
/// After a frame that was abandoned for that, this many are declined, because chunks of an array are alike.
const ALIKE: u32 = 30;

/// State kept between frames.
pub(crate) struct SequenceDecoder {
    tables: Box<SequenceTables>,
    codes: Box<HuffmanTable>,
    /// The literals of a block, unless they are stored plainly in the frame.
    literals: Vec<u8>,
    /// The last three offsets.
    repeats: [u32; 3],
    /// Number of sequences of the frame so far, and of slow ones.
    steps: usize,
    slow: usize,
    /// Number of next frames to decline.
    decline: u32,
    /// Whether the processor has BMI, detected once. Without it libzstd is as fast.
    bmi: bool,
}

impl SequenceDecoder {
    pub(crate) fn new() -> Self {
        #[cfg(target_arch = "x86_64")]
        let bmi = crate::bmi::has_bmi() && short_sequences::able();
        #[cfg(not(target_arch = "x86_64"))]
        let bmi = false;
        Self {
            tables: Box::new(SequenceTables::NONE),
            codes: Box::new(HuffmanTable::NONE),
            literals: Vec::new(),
            repeats: [0; 3],
            steps: 0,
            slow: 0,
            decline: 0,
            bmi,
        }
    }

    /// Decodes the only frame in `frame`, whose data fill `dst`, block by block until `end` bytes are there.
    /// Returns their number. `None`: use another decoder.
    pub(crate) fn decode(&mut self, frame: &[u8], end: usize, dst: &mut [MaybeUninit<u8>]) -> Option<usize> {
        if dst.len() < SHORT
            || !self.bmi
            || !is_worthwhile(frame, &FrameHeader::of(frame, dst.len())?, dst.len())?
        {
            return None;
        }
        if self.decline > 0 {
            self.decline -= 1;
            return None;
        }
        self.frame(frame, end, dst, true)
    }

    /// Decodes a frame. `choosy`: declines if too many sequences are slow.
    fn frame(
        &mut self,
        frame: &[u8],
        until: usize,
        dst: &mut [MaybeUninit<u8>],
        choosy: bool,
    ) -> Option<usize> {
        let head = FrameHeader::of(frame, dst.len())?;
        self.codes.forget();
        (self.tables.literals.log, self.tables.lengths.log, self.tables.offsets.log) = (None, None, None);
        self.repeats = [1, 4, 8];
        (self.steps, self.slow) = (0, 0);
        let (mut at, mut made) = (head.blocks, 0);
        loop {
            let (block, next, last) = block(frame, at, head.block)?;
            let end = match block {
                StoredBlock::Raw(bytes) => {
                    dst.get_mut(made..made + bytes.len())?.write_copy_of_slice(bytes);
                    made + bytes.len()
                }
                StoredBlock::Same(byte, len) => {
                    dst.get_mut(made..made + len)?.fill(MaybeUninit::new(byte));
                    made + len
                }
                StoredBlock::Packed { start, end } => self.packed(frame, start, end, dst, made)?,
            };
            if end - made > head.block {
                return None;
            }
            if choosy && self.slow * SLOW > self.steps {
                self.decline = ALIKE;
                return None;
            }
            (at, made) = (next, end);
            if last {
                return (at == frame.len() && made == dst.len()).then_some(made);
            }
            if made >= until && made < dst.len() {
                return Some(made);
            }
        }
    }

    /// Decodes a compressed block. Returns the new number of bytes.
    fn packed(
        &mut self,
        frame: &[u8],
        start: usize,
        end: usize,
        dst: &mut [MaybeUninit<u8>],
        made: usize,
    ) -> Option<usize> {
        let block = &frame[start..end];
        let literals = LiteralsHeader::of(block)?;
        let after = literals.head + literals.stored;
        let stored = block.get(literals.head..after)?;
        if literals.len > BLOCK {
            return None;
        }
        let behind = start + literals.head + literals.len + BEHIND;
        let own = literals.kind != 0 || behind > frame.len();
        if own {
            self.literals(&literals, stored)?;
        }
        let (count, taken) = sequences(block.get(after..)?)?;
        let section = block.get(after + taken..)?;
        let mut from = 0;
        let mut now = made;
        if count == 0 {
            section.is_empty().then_some(())?;
        } else {
            let taken = after + taken + self.states(section)?;
            let mut bits = BackwardBits::new(block.get(taken..)?)?;
            let tables = &*self.tables;
            let literals_state = bits.take(tables.literals.log?)? as usize;
            let offsets = bits.take(tables.offsets.log?)? as usize;
            let lengths = bits.take(tables.lengths.log?)? as usize;
            let work = SequenceSection {
                tables,
                bits: &frame[(start + taken).checked_sub(BEFORE)?..end],
                left: bits.left,
                literals: if own {
                    &self.literals[..literals.len + BEHIND]
                } else {
                    &frame[start + literals.head..behind]
                },
                states: FseStates { literals: literals_state, lengths, offsets },
                count,
            };
            // SAFETY: `bmi` was found out.
            let done = unsafe { sequences::sequences(self.bmi, &work, &mut self.repeats, dst, made) }?;
            (now, from) = (done.made, done.taken);
            self.steps += count;
            self.slow += done.slow;
        }
        let rest = if own { self.literals.get(from..literals.len)? } else { stored.get(from..)? };
        dst.get_mut(now..now + rest.len())?.write_copy_of_slice(rest);
        Some(now + rest.len())
    }

    /// Decodes the literals of a block to their own memory.
    fn literals(&mut self, literals: &LiteralsHeader, stored: &[u8]) -> Option<()> {
        if self.literals.len() < literals.len + BEHIND {
            self.literals.resize(literals.len + BEHIND, 0);
        }
        let to = &mut self.literals[..literals.len];
        match literals.kind {
            0 => to.copy_from_slice(stored),
            1 => to.fill(stored[0]),
            kind => {
                let taken = if kind == 2 { self.codes.read(stored)? } else { 0 };
                let streams = stored.get(taken..)?;
                if literals.four { self.codes.four(streams, to)? } else { self.codes.one(streams, to)? }
            }
        }
        Some(())
    }

    /// Reads the tables of a block's sequences. Returns the number of bytes used.
    fn states(&mut self, section: &[u8]) -> Option<usize> {
        let modes = *section.first()?;
        if modes & 3 != 0 {
            return None;
        }
        let tables = &mut *self.tables;
        let mut at = 1;
        at += table(
            &mut tables.literals,
            modes >> 6,
            &section[at..],
            &codes::LITERALS,
            9,
            36,
            codes::literals,
        )?;
        let rest = section.get(at..)?;
        at += table(&mut tables.offsets, modes >> 4 & 3, rest, &codes::OFFSETS, 8, 32, codes::offsets)?;
        let rest = section.get(at..)?;
        at += table(&mut tables.lengths, modes >> 2 & 3, rest, &codes::LENGTHS, 9, 53, codes::lengths)?;
        Some(at)
    }
}

/// Makes one table of sequences. Returns the number of bytes used.
fn table<const SIZE: usize>(
    table: &mut FseTable<SIZE>,
    mode: u8,
    section: &[u8],
    usual: &[i16],
    most_log: u32,
    most_symbols: usize,
    meaning: impl Fn(usize) -> Option<(u32, u8)>,
) -> Option<usize> {
    match mode {
        0 => {
            let sum: u16 = usual.iter().map(|count| count.unsigned_abs()).sum();
            table.set(usual, sum.ilog2(), meaning)?;
            Some(0)
        }
        1 => {
            let symbol = usize::from(*section.first()?);
            let (base, extra) = meaning(symbol)?;
            table.set_one(base, extra);
            Some(1)
        }
        2 => {
            let (counts, symbols, log, taken) = counts(section, most_symbols, most_log)?;
            table.set(&counts[..symbols], log, meaning)?;
            Some(taken)
        }
        _ => table.log.map(|_| 0),
    }
}
