//! Appends numbers in little-endian order, as HDF5 metadata need, and checksums.

use crate::lookup3::lookup3;

/// An undefined address or length: all bits set.
pub(super) const UNDEFINED: u64 = u64::MAX;

/// Appends numbers and checksums to metadata.
pub(super) trait PutBytes {
    fn u8(&mut self, value: u8);
    fn u16(&mut self, value: u16);
    fn u32(&mut self, value: u32);
    fn u64(&mut self, value: u64);
    /// Appends the low `width` bytes of a number.
    fn sized(&mut self, value: u64, width: usize);
    /// Appends the checksum of all bytes from `from` on.
    fn checksum(&mut self, from: usize);
}

impl PutBytes for Vec<u8> {
    fn u8(&mut self, value: u8) {
        self.push(value);
    }

    fn u16(&mut self, value: u16) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn sized(&mut self, value: u64, width: usize) {
        self.extend_from_slice(&value.to_le_bytes()[..width]);
    }

    fn checksum(&mut self, from: usize) {
        let sum = lookup3(&self[from..]);
        self.u32(sum);
    }
}

/// Returns the bytes needed for numbers up to `most`.
pub(super) fn width(most: u64) -> usize {
    most.max(1).ilog2() as usize / 8 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths() {
        assert_eq!([0, 1, 255, 256, 65535, 65536].map(width), [1, 1, 1, 2, 2, 3]);
    }
}
