//! Shuffles the bytes of 4-byte elements, one row at a time. So it also gathers and scatters the rows. It
//! uses AVX2 if the processor has it.

/// Makes a row of elements from four byte planes. Each plane has at least one byte for each element.
pub fn decode(planes: [&[u8]; 4], row: &mut [u8]) {
    let planes = planes.map(|plane| &plane[..row.len() / 4]);
    let mut done = 0;
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        done = unsafe { avx2::decode(planes, row) };
    }
    for (i, element) in row.as_chunks_mut::<4>().0.iter_mut().enumerate().skip(done) {
        *element = planes.map(|plane| plane[i]);
    }
}

/// Writes a row of elements into four consecutive byte planes of `stride` bytes, from element `at` on.
pub fn encode(row: &[u8], out: &mut [u8], stride: usize, at: usize) {
    let len = row.len() / 4;
    let (a, rest) = out.split_at_mut(stride);
    let (b, rest) = rest.split_at_mut(stride);
    let (c, d) = rest.split_at_mut(stride);
    let mut planes = [a, b, c, d].map(|plane| &mut plane[at..at + len]);
    let mut done = 0;
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        done = unsafe { avx2::encode(row, &mut planes) };
    }
    for (i, element) in row.as_chunks::<4>().0.iter().enumerate().skip(done) {
        for (plane, byte) in planes.iter_mut().zip(element) {
            plane[i] = *byte;
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    /// Elements in one step.
    const STEP: usize = 32;

    /// Processes whole steps. Returns the number of processed elements.
    #[target_feature(enable = "avx2")]
    pub fn decode(planes: [&[u8]; 4], row: &mut [u8]) -> usize {
        let steps = row.as_chunks_mut::<{ 4 * STEP }>().0;
        let done = steps.len() * STEP;
        for (step, out) in steps.iter_mut().enumerate() {
            let [a, b, c, d] = planes.map(|plane| {
                let bytes = &plane[step * STEP..][..STEP];
                // SAFETY: there are 32 bytes.
                unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
            });
            let (ab0, ab1) = (_mm256_unpacklo_epi8(a, b), _mm256_unpackhi_epi8(a, b));
            let (cd0, cd1) = (_mm256_unpacklo_epi8(c, d), _mm256_unpackhi_epi8(c, d));
            let (w0, w1) = (_mm256_unpacklo_epi16(ab0, cd0), _mm256_unpackhi_epi16(ab0, cd0));
            let (w2, w3) = (_mm256_unpacklo_epi16(ab1, cd1), _mm256_unpackhi_epi16(ab1, cd1));
            let words = [
                _mm256_permute2x128_si256(w0, w1, 0x20),
                _mm256_permute2x128_si256(w2, w3, 0x20),
                _mm256_permute2x128_si256(w0, w1, 0x31),
                _mm256_permute2x128_si256(w2, w3, 0x31),
            ];
            for (out, word) in out.as_chunks_mut::<32>().0.iter_mut().zip(words) {
                // SAFETY: there is room for 32 bytes.
                unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), word) };
            }
        }
        done
    }

    /// Processes whole steps. Returns the number of processed elements.
    #[target_feature(enable = "avx2")]
    pub fn encode(row: &[u8], planes: &mut [&mut [u8]; 4]) -> usize {
        let pick = _mm256_setr_epi8(
            0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15,
        );
        let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        let steps = row.as_chunks::<{ 4 * STEP }>().0;
        for (step, elements) in steps.iter().enumerate() {
            // Each step makes eight bytes of every plane from eight elements.
            let [a, b, c, d] = [0, 1, 2, 3].map(|part| {
                let bytes = &elements[part * 32..][..32];
                // SAFETY: there are 32 bytes.
                let elements = unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
                _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(elements, pick), order)
            });
            let (ab02, ab13) = (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
            let (cd02, cd13) = (_mm256_unpacklo_epi64(c, d), _mm256_unpackhi_epi64(c, d));
            let bytes = [
                _mm256_permute2x128_si256(ab02, cd02, 0x20),
                _mm256_permute2x128_si256(ab13, cd13, 0x20),
                _mm256_permute2x128_si256(ab02, cd02, 0x31),
                _mm256_permute2x128_si256(ab13, cd13, 0x31),
            ];
            for (plane, bytes) in planes.iter_mut().zip(bytes) {
                let out = &mut plane[step * STEP..][..STEP];
                // SAFETY: there is room for 32 bytes.
                unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), bytes) };
            }
        }
        steps.len() * STEP
    }
}
