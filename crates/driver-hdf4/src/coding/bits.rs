//! [`BitReader`]: reads bits of bytes, most significant first.

/// Reads bits of bytes.
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    /// The next bits at the top. Bits below the first `have` are zero.
    next: u64,
    have: u32,
}

impl<'a> BitReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, next: 0, have: 0 }
    }

    fn refill(&mut self) {
        while self.have <= 56
            && let Some((&byte, rest)) = self.bytes.split_first()
        {
            self.next |= u64::from(byte) << (56 - self.have);
            self.bytes = rest;
            self.have += 8;
        }
    }

    /// Reads a number of `count` bits, at most 32. `None` at the end.
    pub(super) fn take(&mut self, count: u32) -> Option<u32> {
        if count == 0 {
            return Some(0);
        }
        if self.have < count {
            self.refill();
        }
        if self.have < count {
            return None;
        }
        let number = (self.next >> (64 - count)) as u32;
        self.next <<= count;
        self.have -= count;
        Some(number)
    }
}
