//! A deflate stream that is written bit by bit: of compressed streams, stored bytes and codes of literals.
//!
//! Source: RFC 1951, 3.1.1, 3.2.3 and 3.2.4.

use std::mem::MaybeUninit;

use super::joint::Decoder;

/// A stored block holds no more.
pub(super) const MOST: usize = 65_535;

/// Why there is no stream.
#[derive(Debug)]
pub(super) enum Stop {
    /// It does not fit.
    Room,
    /// What was compressed is not understood: it is to be done without cuts.
    Odd,
}

/// The memory a stream goes to, and the bits that make no whole byte yet.
pub(super) struct Stream<'a> {
    memory: &'a mut [MaybeUninit<u8>],
    made: usize,
    bits: u64,
    /// Fewer than eight between calls.
    pending: u32,
}

impl<'a> Stream<'a> {
    pub(super) const fn new(memory: &'a mut [MaybeUninit<u8>]) -> Self {
        Self { memory, made: 0, bits: 0, pending: 0 }
    }

    /// How many bytes there are, all of them initialised.
    pub(super) const fn made(&self) -> usize {
        self.made
    }

    /// Appends at most 56 bits, the lowest first. Those of `bits` above them are 0.
    #[inline(always)]
    pub(super) fn put(&mut self, bits: u64, count: u32) -> Result<(), Stop> {
        self.bits |= bits << self.pending;
        let whole = (self.pending + count) / 8;
        let after = self.memory.get_mut(self.made..).ok_or(Stop::Room)?;
        match after.first_chunk_mut::<8>() {
            // What is written beyond the whole bytes comes again.
            Some(eight) => {
                eight.write_copy_of_slice(&self.bits.to_le_bytes());
            }
            None => {
                let some = after.get_mut(..whole as usize).ok_or(Stop::Room)?;
                some.write_copy_of_slice(&self.bits.to_le_bytes()[..whole as usize]);
            }
        }
        self.made += whole as usize;
        self.bits = self.bits.checked_shr(8 * whole).unwrap_or(0);
        self.pending = (self.pending + count) % 8;
        Ok(())
    }

    /// Begins a stored block and ends the byte.
    fn stored(&mut self, len: u16) -> Result<(), Stop> {
        self.put(0, 3)?;
        self.put(0, (8 - self.pending) % 8)?;
        self.put(u64::from(len) | u64::from(!len) << 16, 32)
    }

    /// Stores bytes as they are.
    pub(super) fn store(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        for piece in bytes.chunks(MOST) {
            self.stored(piece.len() as u16)?;
            let end = self.made + piece.len();
            self.memory.get_mut(self.made..end).ok_or(Stop::Room)?.write_copy_of_slice(piece);
            self.made = end;
        }
        Ok(())
    }

    /// Appends what `compress` makes, a whole stream, as the last of this one or, with its last block not said to be the last, not.
    pub(super) fn compressed(
        &mut self,
        last: bool,
        seams: &mut Decoder,
        compress: impl for<'m> FnOnce(&'m mut [MaybeUninit<u8>]) -> Option<&'m mut [u8]>,
    ) -> Result<(), Stop> {
        if self.pending > 0 {
            // It begins with a byte.
            self.stored(0)?;
        }
        let part = compress(self.memory.get_mut(self.made..).ok_or(Stop::Room)?).ok_or(Stop::Room)?;
        if last {
            self.made += part.len();
            return Ok(());
        }
        let seam = seams.seam(part).ok_or(Stop::Odd)?;
        part[seam.last / 8] &= !(1 << (seam.last % 8));
        self.pending = (seam.end % 8) as u32;
        self.bits = part.get(seam.end / 8).map_or(0, |&byte| u64::from(byte) & ((1 << self.pending) - 1));
        self.made += seam.end / 8;
        Ok(())
    }

    /// Ends the stream: with an empty block, since somebody has to be the last.
    pub(super) fn end(&mut self) -> Result<(), Stop> {
        self.put(1, 3)?;
        self.put(0, (8 - self.pending) % 8)?;
        self.put(0xffff_0000, 32)
    }
}
