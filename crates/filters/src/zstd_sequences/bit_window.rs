//! [`BitWindow`]: a word of the bits of sequences, which are read from their end.

/// A word of bits.
#[derive(Clone, Copy)]
pub(super) struct BitWindow {
    word: u64,
    /// The byte of the next bit, which is at the top of the word.
    at: *const u8,
    /// Number of unused low bits of the word; initially 56 to 63.
    have: u64,
}

impl BitWindow {
    /// Loads a word.
    ///
    /// # Safety
    /// The byte at `at`, and the 7 bytes before it, must be readable.
    #[inline(always)]
    pub(super) unsafe fn new(at: *const u8, bit: u64) -> Self {
        // SAFETY: as promised by the caller.
        let word = unsafe { at.sub(7).cast::<u64>().read_unaligned() };
        Self { word: u64::from_le(word), at, have: bit | 56 }
    }

    /// Takes `count` bits, which must be present.
    #[inline(always)]
    pub(super) fn take(&mut self, count: u8) -> u64 {
        self.have = self.have.wrapping_sub(u64::from(count));
        self.word >> (self.have & 63) & !(u64::MAX << (count & 63))
    }

    /// Returns the byte of the next bit, and the bit's number in it.
    #[inline(always)]
    pub(super) fn place(&self) -> (*const u8, u64) {
        (self.at.wrapping_add((self.have >> 3) as usize).wrapping_sub(7), self.have & 7)
    }

    /// Loads the word at the current position; `None` if that is before the first byte.
    ///
    /// # Safety
    /// The bits from `first` on must meet the conditions of [`BitWindow::new`].
    #[inline(always)]
    pub(super) unsafe fn again(&self, first: *const u8) -> Option<Self> {
        let (at, bit) = self.place();
        // SAFETY: as promised by the caller.
        (at >= first).then(|| unsafe { Self::new(at, bit) })
    }
}
