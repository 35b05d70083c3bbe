//! Zstandard frames of many short matches: arrays of floats that are compressed without a shuffle.
//!
//! There nearly all time goes to sequences: what each takes of literals and of what was written. Here one takes half of the
//! instructions that it takes libzstd, which keeps where it stands in memory. Frames of long matches or of mostly coded literals, as a shuffle
//! makes them, gain nothing; they, small frames, those with a checksum or a dictionary, and all that is odd are declined,
//! and left to libzstd: what is no frame is never decided here.
//!
//! Source: RFC 8878.

mod bits;
mod codes;
mod copy;
mod heads;
mod huffman;
mod look;
#[cfg(target_arch = "x86_64")]
mod run;
mod tables;
#[cfg(test)]
mod tests;
mod walk;

use std::mem::MaybeUninit;

use bits::Backward;
use heads::{BLOCK, Block, Head, Literals, block, sequences, worth};
use huffman::Codes;
use tables::{Table, counts};
use walk::{BEFORE, BEHIND, States, Tables, Work};

/// Frames that become less are not worth the tables.
const SHORT: usize = 16 << 10;
/// One of so many sequences may take the long way: what is longer, or repeats what is nearer than a copy reaches.
const SLOW: usize = 6;
/// After a frame that was left half done for that, so many are not begun: chunks of an array are alike.
const ALIKE: u32 = 30;

/// What is kept from one frame to the next.
pub(crate) struct Decoder {
    tables: Box<Tables>,
    codes: Box<Codes>,
    /// The literals of a block, where they are not in the frame as they are.
    literals: Vec<u8>,
    /// The last three offsets.
    repeats: [u32; 3],
    /// Sequences of the frame so far, and how many of them did not go the short way.
    steps: usize,
    slow: usize,
    /// So many of the next frames are declined unseen.
    decline: u32,
    /// Found out once; without, libzstd is as fast.
    bmi: bool,
}

impl Decoder {
    pub(crate) fn new() -> Self {
        #[cfg(target_arch = "x86_64")]
        let bmi = crate::bmi::has_bmi() && run::able();
        #[cfg(not(target_arch = "x86_64"))]
        let bmi = false;
        Self {
            tables: Box::new(Tables::NONE),
            codes: Box::new(Codes::NONE),
            literals: Vec::new(),
            repeats: [0; 3],
            steps: 0,
            slow: 0,
            decline: 0,
            bmi,
        }
    }

    /// Decodes one frame, which is all of `frame` and is for all of `dst`, block by block, until `end` bytes are there: how many are.
    /// `None` if another decoder is to do it.
    pub(crate) fn decode(&mut self, frame: &[u8], end: usize, dst: &mut [MaybeUninit<u8>]) -> Option<usize> {
        if dst.len() < SHORT || !self.bmi || !worth(frame, &Head::of(frame, dst.len())?, dst.len())? {
            return None;
        }
        if self.decline > 0 {
            self.decline -= 1;
            return None;
        }
        self.frame(frame, end, dst, true)
    }

    /// With `choosy` a frame is left to libzstd if few sequences go the short way.
    fn frame(&mut self, frame: &[u8], until: usize, dst: &mut [MaybeUninit<u8>], choosy: bool) -> Option<usize> {
        let head = Head::of(frame, dst.len())?;
        self.codes.forget();
        (self.tables.literals.log, self.tables.lengths.log, self.tables.offsets.log) = (None, None, None);
        self.repeats = [1, 4, 8];
        (self.steps, self.slow) = (0, 0);
        let (mut at, mut made) = (head.blocks, 0);
        loop {
            let (block, next, last) = block(frame, at, head.block)?;
            let end = match block {
                Block::Raw(bytes) => {
                    dst.get_mut(made..made + bytes.len())?.write_copy_of_slice(bytes);
                    made + bytes.len()
                }
                Block::Same(byte, len) => {
                    dst.get_mut(made..made + len)?.fill(MaybeUninit::new(byte));
                    made + len
                }
                Block::Packed { start, end } => self.packed(frame, start, end, dst, made)?,
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

    /// A compressed block: how many bytes are made then.
    fn packed(
        &mut self,
        frame: &[u8],
        start: usize,
        end: usize,
        dst: &mut [MaybeUninit<u8>],
        made: usize,
    ) -> Option<usize> {
        let block = &frame[start..end];
        let literals = Literals::of(block)?;
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
            let mut bits = Backward::new(block.get(taken..)?)?;
            let tables = &*self.tables;
            let literals_state = bits.take(tables.literals.log?)? as usize;
            let offsets = bits.take(tables.offsets.log?)? as usize;
            let lengths = bits.take(tables.lengths.log?)? as usize;
            let work = Work {
                tables,
                bits: &frame[(start + taken).checked_sub(BEFORE)?..end],
                left: bits.left,
                literals: if own {
                    &self.literals[..literals.len + BEHIND]
                } else {
                    &frame[start + literals.head..behind]
                },
                states: States { literals: literals_state, lengths, offsets },
                count,
            };
            // SAFETY: `bmi` was found out.
            let done = unsafe { walk::sequences(self.bmi, &work, &mut self.repeats, dst, made) }?;
            (now, from) = (done.made, done.taken);
            self.steps += count;
            self.slow += done.slow;
        }
        let rest = if own { self.literals.get(from..literals.len)? } else { stored.get(from..)? };
        dst.get_mut(now..now + rest.len())?.write_copy_of_slice(rest);
        Some(now + rest.len())
    }

    /// Has the literals of a block in memory of its own.
    fn literals(&mut self, literals: &Literals, stored: &[u8]) -> Option<()> {
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

    /// Reads the tables of a block's sequences: how many bytes they took.
    fn states(&mut self, section: &[u8]) -> Option<usize> {
        let modes = *section.first()?;
        if modes & 3 != 0 {
            return None;
        }
        let tables = &mut *self.tables;
        let mut at = 1;
        at += table(&mut tables.literals, modes >> 6, &section[at..], &codes::LITERALS, 9, 36, codes::literals)?;
        let rest = section.get(at..)?;
        at += table(&mut tables.offsets, modes >> 4 & 3, rest, &codes::OFFSETS, 8, 32, codes::offsets)?;
        let rest = section.get(at..)?;
        at += table(&mut tables.lengths, modes >> 2 & 3, rest, &codes::LENGTHS, 9, 53, codes::lengths)?;
        Some(at)
    }
}

/// Makes one table of sequences: how many bytes it took.
fn table<const SIZE: usize>(
    table: &mut Table<SIZE>,
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
            table.set_one(meaning(symbol)?);
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
