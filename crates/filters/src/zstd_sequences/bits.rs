//! Reads bits of a stream from its end (RFC 8878 §4.1) or from its start (§4.1.1). Every access is checked.

/// A stream that is read from its end.
#[derive(Clone, Copy)]
pub(super) struct BackwardBits<'s> {
    src: &'s [u8],
    /// Number of bits left.
    pub(super) left: usize,
}

impl<'s> BackwardBits<'s> {
    /// Makes a reader; `None` if the stream is empty, or its last byte has no end mark.
    pub(super) fn new(src: &'s [u8]) -> Option<Self> {
        let mark = src.last()?.checked_ilog2()? as usize;
        Some(Self { src, left: (src.len() - 1) * 8 + mark })
    }

    /// Returns the next bits at the top: 57, or all that are left, followed by zeros.
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

    /// Skips bits; `None` if there are too few.
    pub(super) fn skip(&mut self, count: usize) -> Option<()> {
        self.left = self.left.checked_sub(count)?;
        Some(())
    }

    /// Reads `count` bits, at most 32.
    pub(super) fn take(&mut self, count: u32) -> Option<u32> {
        let value = (self.top() >> 1 >> (63 - count)) as u32;
        self.skip(count as usize).map(|()| value)
    }
}

/// Bits that are read from the start, lowest bit of a byte first.
pub(super) struct ForwardBits<'s> {
    src: &'s [u8],
    /// Number of bits read.
    pub(super) read: usize,
}

impl<'s> ForwardBits<'s> {
    pub(super) fn new(src: &'s [u8]) -> Self {
        Self { src, read: 0 }
    }

    /// Returns the next bits, at most 16, with zeros behind the last.
    pub(super) fn peek(&self, count: u32) -> u32 {
        let byte = |at: usize| u32::from(self.src.get(self.read / 8 + at).copied().unwrap_or(0));
        (byte(0) | byte(1) << 8 | byte(2) << 16) >> (self.read % 8) & ((1 << count) - 1)
    }

    pub(super) fn take(&mut self, count: u32) -> u32 {
        let value = self.peek(count);
        self.read += count as usize;
        value
    }

    /// Returns the number of bytes that were read in part; `None` if there were too few.
    pub(super) fn bytes(&self) -> Option<usize> {
        let bytes = self.read.div_ceil(8);
        (bytes <= self.src.len()).then_some(bytes)
    }
}
