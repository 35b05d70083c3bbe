//! The bits of a stream, lowest first. Every read is checked.

pub(super) struct DeflateBits<'a> {
    src: &'a [u8],
    /// The next byte to take.
    pub(super) next: usize,
    /// Unused bits: the lowest `have`. The others are 0.
    pub(super) buffer: u64,
    pub(super) have: u32,
}

impl<'a> DeflateBits<'a> {
    pub(super) const fn new(src: &'a [u8]) -> Self {
        Self { src, next: 0, buffer: 0, have: 0 }
    }

    pub(super) const fn src(&self) -> &'a [u8] {
        self.src
    }

    /// Returns the number of bits used.
    #[cfg(feature = "fast-deflate")]
    pub(super) const fn place(&self) -> usize {
        self.next * 8 - self.have as usize
    }

    /// Takes bytes while there is room. Near the end there may be fewer than 56 bits.
    pub(super) fn refill(&mut self) {
        while self.have <= 56
            && let Some(&byte) = self.src.get(self.next)
        {
            self.buffer |= u64::from(byte) << self.have;
            self.have += 8;
            self.next += 1;
        }
    }

    /// Uses bits; `None` if there are too few.
    pub(super) fn skip(&mut self, count: u32) -> Option<()> {
        self.have = self.have.checked_sub(count)?;
        self.buffer = self.buffer.checked_shr(count).unwrap_or(0);
        Some(())
    }

    /// Returns the next bits, at most 32.
    pub(super) fn take(&mut self, count: u32) -> Option<u64> {
        self.refill();
        let bits = self.buffer & !(u64::MAX << count);
        self.skip(count).map(|()| bits)
    }

    /// Moves to the next whole byte, and gives back unused bytes. Returns the position.
    pub(super) fn align(&mut self) -> usize {
        self.next -= (self.have / 8) as usize;
        (self.buffer, self.have) = (0, 0);
        self.next
    }
}
