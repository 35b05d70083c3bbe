//! The codes of sequences and their default frequencies (RFC 8878 §3.1.1.3.2).

use super::tables::FseEntry;

/// Returns base and extra bits of a literals length code.
pub(super) fn literals(code: usize) -> Option<(u32, u8)> {
    const MORE: [(u32, u8); 20] = [
        (16, 1),
        (18, 1),
        (20, 1),
        (22, 1),
        (24, 2),
        (28, 2),
        (32, 3),
        (40, 3),
        (48, 4),
        (64, 6),
        (128, 7),
        (256, 8),
        (512, 9),
        (1024, 10),
        (2048, 11),
        (4096, 12),
        (8192, 13),
        (16384, 14),
        (32768, 15),
        (65536, 16),
    ];
    if code < 16 { Some((code as u32, 0)) } else { marked(MORE.get(code - 16)) }
}

/// Returns base and extra bits of a match length code.
pub(super) fn lengths(code: usize) -> Option<(u32, u8)> {
    const MORE: [(u32, u8); 21] = [
        (35, 1),
        (37, 1),
        (39, 1),
        (41, 1),
        (43, 2),
        (47, 2),
        (51, 3),
        (59, 3),
        (67, 4),
        (83, 4),
        (99, 5),
        (131, 7),
        (259, 8),
        (515, 9),
        (1027, 10),
        (2051, 11),
        (4099, 12),
        (8195, 13),
        (16387, 14),
        (32771, 15),
        (65539, 16),
    ];
    if code < 32 { Some((code as u32 + 3, 0)) } else { marked(MORE.get(code - 32)) }
}

/// Marks the base of a code with extra bits.
fn marked(meaning: Option<&(u32, u8)>) -> Option<(u32, u8)> {
    meaning.map(|&(base, extra)| (base | FseEntry::MORE, extra))
}

/// Larger offset codes are declined.
pub(super) const MOST_OFFSET: usize = 30;

/// Returns base and extra bits of an offset code. The base is a one with as many zeros as extra bits. The
/// result stands for the offset plus three; up to three, for a repeated offset.
pub(super) fn offsets(code: usize) -> Option<(u32, u8)> {
    (code <= MOST_OFFSET).then_some((0, code as u8))
}

/// Default frequencies, in 64ths, 64ths and 32nds.
pub(super) const LITERALS: [i16; 36] = [
    4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1,
    -1, -1,
];
pub(super) const LENGTHS: [i16; 53] = [
    1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
];
pub(super) const OFFSETS: [i16; 29] =
    [1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1];
