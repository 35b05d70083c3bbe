//! [`PackedBits`]: reads numbers of any number of bits, most significant bit first.

/// The unread bits of some bytes.
pub(super) struct PackedBits<'a> {
    bytes: &'a [u8],
    /// Number of bits read.
    at: usize,
}

impl<'a> PackedBits<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Reads `count` bits, at most 64; `None` if there are fewer.
    pub(super) fn take(&mut self, count: u32) -> Option<u64> {
        let end = self.at.checked_add(count as usize)?;
        let bytes = self.bytes.get(self.at / 8..end.div_ceil(8))?;
        // At most 9 bytes.
        let all = bytes.iter().fold(0u128, |all, &byte| all << 8 | u128::from(byte));
        let value = all >> (end.wrapping_neg() % 8) & ((1 << count) - 1);
        self.at = end;
        Some(value as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::PackedBits;

    #[test]
    fn bits_are_read_in_order() {
        let bytes: Vec<u8> = (0..40u8).map(|at| at.wrapping_mul(167) ^ 0x5a).collect();
        let bit = |at: usize| u64::from(bytes[at / 8] >> (7 - at % 8) & 1);
        for width in 0..=64u32 {
            let (mut bits, mut at) = (PackedBits::new(&bytes), 0);
            for _ in 0..(320 / width.max(4)) {
                let expected = (at..at + width as usize).fold(0, |value, at| value << 1 | bit(at));
                assert_eq!(bits.take(width), Some(expected), "{width} bits at {at}");
                at += width as usize;
            }
        }
        assert_eq!(PackedBits::new(&[1, 2]).take(17), None);
    }
}
