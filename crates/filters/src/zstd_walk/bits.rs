//! Bits of a stream, read from its end (RFC 8878 §4.1) or from its start (§4.1.1). Every access is checked.

/// A stream that is read from its end.
#[derive(Clone, Copy)]
pub(super) struct Backward<'s> {
    src: &'s [u8],
    /// Bits that are left.
    pub(super) left: usize,
}

impl<'s> Backward<'s> {
    /// `None` if the stream is empty, or its last byte does not mark the end.
    pub(super) fn new(src: &'s [u8]) -> Option<Self> {
        let mark = src.last()?.checked_ilog2()? as usize;
        Some(Self { src, left: (src.len() - 1) * 8 + mark })
    }

    /// The next bits, the very next on top: 57 of them or all that are left, and zeros behind the last.
    pub(super) fn top(&self) -> u64 {
        let end = self.left.div_ceil(8);
        match end.checked_sub(8).and_then(|start| self.src.get(start..end)?.first_chunk()) {
            Some(bytes) => u64::from_le_bytes(*bytes) << (end * 8 - self.left),
            None if self.left == 0 => 0,
            None => {
                let bytes = self.src[..end].iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte));
                bytes << (64 - self.left)
            }
        }
    }

    /// Passes over some bits; `None` if there are not as many.
    pub(super) fn skip(&mut self, count: usize) -> Option<()> {
        self.left = self.left.checked_sub(count)?;
        Some(())
    }

    /// The next `count` bits, at most 32.
    pub(super) fn take(&mut self, count: u32) -> Option<u32> {
        let value = (self.top() >> 1 >> (63 - count)) as u32;
        self.skip(count as usize).map(|()| value)
    }
}

/// Bits that are read from the start, the lowest of a byte first.
pub(super) struct Forward<'s> {
    src: &'s [u8],
    /// Bits that were read.
    pub(super) read: usize,
}

impl<'s> Forward<'s> {
    pub(super) fn new(src: &'s [u8]) -> Self {
        Self { src, read: 0 }
    }

    /// The next bits, at most 16, zeros behind the last.
    pub(super) fn peek(&self, count: u32) -> u32 {
        let byte = |at: usize| u32::from(self.src.get(self.read / 8 + at).copied().unwrap_or(0));
        (byte(0) | byte(1) << 8 | byte(2) << 16) >> (self.read % 8) & ((1 << count) - 1)
    }

    pub(super) fn take(&mut self, count: u32) -> u32 {
        let value = self.peek(count);
        self.read += count as usize;
        value
    }

    /// How many bytes were read of; `None` if there were not as many.
    pub(super) fn bytes(&self) -> Option<usize> {
        let bytes = self.read.div_ceil(8);
        (bytes <= self.src.len()).then_some(bytes)
    }
}
