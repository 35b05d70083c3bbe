//! Numbers to bytes, least significant first, as all of HDF5's metadata has them; and the checksum behind them.
//!
//! Source: HDF5 File Format Specification 3.0; Bob Jenkins' public-domain `lookup3`, `hashlittle`.

/// An address or a length that is not set: all bits.
pub(super) const UNDEFINED: u64 = u64::MAX;

/// What can be appended to metadata.
pub(super) trait Put {
    fn u8(&mut self, value: u8);
    fn u16(&mut self, value: u16);
    fn u32(&mut self, value: u32);
    fn u64(&mut self, value: u64);
    /// The low `width` bytes of a number.
    fn sized(&mut self, value: u64, width: usize);
    /// The checksum of all bytes from `from` on.
    fn checksum(&mut self, from: usize);
}

impl Put for Vec<u8> {
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

/// The checksum of metadata, and the hash of names.
pub(super) fn lookup3(bytes: &[u8]) -> u32 {
    const START: u32 = 0xdead_beef;
    let start = START.wrapping_add(bytes.len() as u32);
    let (mut a, mut b, mut c) = (start, start, start);
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
    let mut rest = bytes;
    while rest.len() > 12 {
        a = a.wrapping_add(word(&rest[..4]));
        b = b.wrapping_add(word(&rest[4..8]));
        c = c.wrapping_add(word(&rest[8..12]));
        for [first, second, third] in [[4, 6, 8], [16, 19, 4]] {
            a = a.wrapping_sub(c) ^ c.rotate_left(first);
            c = c.wrapping_add(b);
            b = b.wrapping_sub(a) ^ a.rotate_left(second);
            a = a.wrapping_add(c);
            c = c.wrapping_sub(b) ^ b.rotate_left(third);
            b = b.wrapping_add(a);
        }
        rest = &rest[12..];
    }
    if rest.is_empty() {
        return c;
    }
    let mut last = [0; 12];
    last[..rest.len()].copy_from_slice(rest);
    a = a.wrapping_add(word(&last[..4]));
    b = b.wrapping_add(word(&last[4..8]));
    c = c.wrapping_add(word(&last[8..]));
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}

/// How many bytes hold numbers up to `most`.
pub(super) fn width(most: u64) -> usize {
    most.max(1).ilog2() as usize / 8 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_the_hash_as_its_author_gives_them() {
        assert_eq!(lookup3(b""), 0xdead_beef);
        assert_eq!(lookup3(b"Four score and seven years ago"), 0x1777_0551);
    }

    #[test]
    fn widths() {
        assert_eq!([0, 1, 255, 256, 65535, 65536].map(width), [1, 1, 1, 2, 2, 3]);
    }
}
