//! [`Look`]: a word of the bits of sequences, which are read from their end.

/// The bits that are looked at.
#[derive(Clone, Copy)]
pub(super) struct Look {
    word: u64,
    /// The byte of the next bit, which is on top of the word.
    at: *const u8,
    /// How many of the word's low bits are left: 56 to 63 at first.
    have: u64,
}

impl Look {
    /// # Safety
    /// The byte at `at` may be read, and 7 bytes before it.
    #[inline(always)]
    pub(super) unsafe fn new(at: *const u8, bit: u64) -> Self {
        // SAFETY: as promised by the caller.
        let word = unsafe { at.sub(7).cast::<u64>().read_unaligned() };
        Self { word: u64::from_le(word), at, have: bit | 56 }
    }

    /// As many of the next bits as `count` says, which are there.
    #[inline(always)]
    pub(super) fn take(&mut self, count: u8) -> u64 {
        self.have = self.have.wrapping_sub(u64::from(count));
        self.word >> (self.have & 63) & !(u64::MAX << (count & 63))
    }

    /// The byte of the next bit, and its number in it.
    #[inline(always)]
    pub(super) fn place(&self) -> (*const u8, u64) {
        (self.at.wrapping_add((self.have >> 3) as usize).wrapping_sub(7), self.have & 7)
    }

    /// A new look at where it stands; `None` if that is before the first byte.
    ///
    /// # Safety
    /// From `first` on there are bits as [`Look::new`] wants them.
    #[inline(always)]
    pub(super) unsafe fn again(&self, first: *const u8) -> Option<Self> {
        let (at, bit) = self.place();
        // SAFETY: as promised by the caller.
        (at >= first).then(|| unsafe { Self::new(at, bit) })
    }
}
