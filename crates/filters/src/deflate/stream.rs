//! Writes a deflate stream bit by bit: compressed streams, stored bytes and literal codes.
//!
//! Source: RFC 1951, 3.1.1, 3.2.3 and 3.2.4.

use std::mem::MaybeUninit;

use super::fast_inflate::FastInflate;

/// Most bytes of a stored block.
pub(super) const MOST: usize = 65_535;

/// The reason why no stream was made.
#[derive(Debug)]
pub(super) enum StreamFailure {
    /// It does not fit.
    Room,
    /// The compressor's output was not understood. Encode without cuts instead.
    Odd,
}

/// The memory of a stream, and the bits of its unfinished byte.
pub(super) struct StreamWriter<'a> {
    memory: &'a mut [MaybeUninit<u8>],
    made: usize,
    bits: u64,
    /// Number of pending bits, below eight between calls.
    pending: u32,
}

impl<'a> StreamWriter<'a> {
    pub(super) const fn new(memory: &'a mut [MaybeUninit<u8>]) -> Self {
        Self { memory, made: 0, bits: 0, pending: 0 }
    }

    /// Returns the number of bytes made, all initialised.
    pub(super) const fn made(&self) -> usize {
        self.made
    }

    /// Appends `count` bits, at most 56, lowest first. Higher bits of `bits` must be 0.
    #[inline(always)]
    pub(super) fn put(&mut self, bits: u64, count: u32) -> Result<(), StreamFailure> {
        self.bits |= bits << self.pending;
        let whole = (self.pending + count) / 8;
        let after = self.memory.get_mut(self.made..).ok_or(StreamFailure::Room)?;
        match after.first_chunk_mut::<8>() {
            // Bytes beyond the whole ones are written again later.
            Some(eight) => {
                eight.write_copy_of_slice(&self.bits.to_le_bytes());
            }
            None => {
                let some = after.get_mut(..whole as usize).ok_or(StreamFailure::Room)?;
                some.write_copy_of_slice(&self.bits.to_le_bytes()[..whole as usize]);
            }
        }
        self.made += whole as usize;
        self.bits = self.bits.checked_shr(8 * whole).unwrap_or(0);
        self.pending = (self.pending + count) % 8;
        Ok(())
    }

    /// Begins a stored block and fills the current byte.
    fn stored(&mut self, len: u16) -> Result<(), StreamFailure> {
        self.put(0, 3)?;
        self.put(0, (8 - self.pending) % 8)?;
        self.put(u64::from(len) | u64::from(!len) << 16, 32)
    }

    /// Appends stored bytes.
    pub(super) fn store(&mut self, bytes: &[u8]) -> Result<(), StreamFailure> {
        for piece in bytes.chunks(MOST) {
            self.stored(piece.len() as u16)?;
            let end = self.made + piece.len();
            self.memory.get_mut(self.made..end).ok_or(StreamFailure::Room)?.write_copy_of_slice(piece);
            self.made = end;
        }
        Ok(())
    }

    /// Appends the whole stream that `compress` makes. If it is not the last, its end mark is cleared.
    pub(super) fn compressed(
        &mut self,
        last: bool,
        seams: &mut FastInflate,
        compress: impl for<'m> FnOnce(&'m mut [MaybeUninit<u8>]) -> Option<&'m mut [u8]>,
    ) -> Result<(), StreamFailure> {
        if self.pending > 0 {
            // A stream starts at a byte.
            self.stored(0)?;
        }
        let part = compress(self.memory.get_mut(self.made..).ok_or(StreamFailure::Room)?)
            .ok_or(StreamFailure::Room)?;
        if last {
            self.made += part.len();
            return Ok(());
        }
        let seam = seams.last_block(part).ok_or(StreamFailure::Odd)?;
        part[seam.last / 8] &= !(1 << (seam.last % 8));
        self.pending = (seam.end % 8) as u32;
        self.bits = part.get(seam.end / 8).map_or(0, |&byte| u64::from(byte) & ((1 << self.pending) - 1));
        self.made += seam.end / 8;
        Ok(())
    }

    /// Ends the stream with an empty last block.
    pub(super) fn end(&mut self) -> Result<(), StreamFailure> {
        self.put(1, 3)?;
        self.put(0, (8 - self.pending) % 8)?;
        self.put(0xffff_0000, 32)
    }
}
