//! Data for filters: constant, smooth, random, and of sizes that do not fit.

use nczarr_codec::ChunkInfo;

/// Returns random bytes, the same for one seed.
pub(crate) fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..len).map(|_| next()).collect()
}

/// Returns kinds of data for a chunk of this form; the first ones fill it.
pub(super) fn data(chunk: &ChunkInfo<'_>) -> Vec<(&'static str, Vec<u8>)> {
    let (len, item) = (chunk.chunk_bytes, chunk.item_size.max(1));
    let ramp = (0..len).map(|i| ((i / item) >> (8 * (i % item).min(7))) as u8).collect();
    let mut kinds = vec![("zeros", vec![0; len]), ("a ramp", ramp), ("noise", noise(len, 7))];
    if len < 10_000 {
        // A previous filter may have changed the chunk's length.
        kinds.extend([
            ("nothing", Vec::new()),
            ("one byte", vec![0x5a]),
            ("a byte more", noise(len + 1, 8)),
            ("a few bytes less", noise(len.saturating_sub(3), 9)),
        ]);
    }
    kinds
}
