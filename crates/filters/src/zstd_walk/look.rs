//! [`Look`]: a word of the bits of sequences, which are read from their end. Nothing is checked here, but by who looks.

/// The bits that are looked at.
#[derive(Clone, Copy)]
pub(super) struct Look {
    word: u64,
    /// The byte of the next bit, which is on top of the word.
    at: *const u8,
    /// How many of the word's low bits are left: 56 to 63 at first.
    pub(super) have: u64,
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
    ///
    /// # Safety
    /// With `BMI` the machine has BMI2.
    #[inline(always)]
    pub(super) unsafe fn take<const BMI: bool>(&mut self, count: u8) -> usize {
        self.have = self.have.wrapping_sub(u64::from(count));
        let bits = self.word >> (self.have & 63);
        #[cfg(target_arch = "x86_64")]
        if BMI {
            // SAFETY: as promised by the caller.
            return unsafe { std::arch::x86_64::_bzhi_u64(bits, u32::from(count)) } as usize;
        }
        (bits & !(u64::MAX << (count & 63))) as usize
    }

    /// The byte of the next bit, and its number in it.
    #[inline(always)]
    pub(super) fn place(&self) -> (*const u8, u64) {
        (self.at.wrapping_add((self.have >> 3) as usize).wrapping_sub(7), self.have & 7)
    }
}
