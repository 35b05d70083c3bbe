//! [`OffsetShuffle`]: how a sequence reorders the last offsets.

/// A permutation of four offsets: the last three, and a new one.
#[derive(Clone)]
#[repr(align(16))]
pub(super) struct OffsetShuffle(pub(super) [u8; 16]);

impl OffsetShuffle {
    /// Permutations by offset value; 0 and 4 are invalid.
    pub(super) const ALL: [Self; 6] = [
        Self::of(0, 1, 2),
        Self::of(0, 1, 2),
        Self::of(1, 0, 2),
        Self::of(2, 0, 1),
        Self::of(0, 1, 2),
        Self::of(3, 0, 1),
    ];

    const fn of(first: u8, second: u8, third: u8) -> Self {
        let (from, mut bytes, mut at) = ([first, second, third, 3], [0; 16], 0);
        while at < 16 {
            bytes[at] = from[at / 4] * 4 + at as u8 % 4;
            at += 1;
        }
        Self(bytes)
    }
}
