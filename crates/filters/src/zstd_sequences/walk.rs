//! The state of a walk over the sequences of a block.

#[cfg(target_arch = "x86_64")]
use super::offset_shuffle::OffsetShuffle;
use super::tables::FseTable;

/// Number of sequences with fewer than [`COPY`](super::copy::COPY) literals that are decoded between checks
/// of the literals.
pub(super) const AT_ONCE: usize = 256;

/// The tables for sequences.
#[derive(Clone)]
pub(super) struct SequenceTables {
    pub(super) literals: FseTable<512>,
    pub(super) lengths: FseTable<512>,
    pub(super) offsets: FseTable<256>,
    #[cfg(target_arch = "x86_64")]
    pub(super) orders: [OffsetShuffle; 6],
}

impl SequenceTables {
    pub(super) const NONE: Self = Self {
        literals: FseTable::NONE,
        lengths: FseTable::NONE,
        offsets: FseTable::NONE,
        #[cfg(target_arch = "x86_64")]
        orders: OffsetShuffle::ALL,
    };
}

/// The states of the three decoders.
#[derive(Clone, Copy)]
pub(super) struct FseStates {
    pub(super) literals: usize,
    pub(super) lengths: usize,
    pub(super) offsets: usize,
}

/// The position of a walk.
pub(super) struct WalkPosition {
    pub(super) states: FseStates,
    /// The byte of the next bit, and the bit's number in it.
    pub(super) at: *const u8,
    pub(super) bit: u64,
    /// The next literal.
    pub(super) from: *const u8,
    /// The end of the output so far.
    pub(super) to: *mut u8,
    /// The last three offsets.
    pub(super) last: [u32; 3],
    /// Number of sequences left.
    pub(super) count: usize,
}

/// The limits of a walk.
#[derive(Clone, Copy)]
pub(super) struct WalkBounds {
    /// The first byte of the bits.
    pub(super) first: *const u8,
    pub(super) literals_end: *const u8,
    pub(super) start: *mut u8,
    pub(super) end: *mut u8,
}
