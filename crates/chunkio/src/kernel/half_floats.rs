//! Kernels: stored half floats and singles in memory. (`unsafe`.)

use nczarr_model::convert::Half;

/// Converts as many half floats as both sides have.
pub(crate) fn widen(half: Half, big_endian: bool, stored: &[u8], held: &mut [u8]) {
    let (stored, held) = (stored.as_chunks::<2>().0, held.as_chunks_mut::<4>().0);
    match half {
        Half::Binary16 => {
            let done = vectors::widen(big_endian, stored, held);
            widen_each(Half::Binary16, big_endian, &stored[done..], &mut held[done..]);
        }
        Half::BFloat16 => widen_each(Half::BFloat16, big_endian, stored, held),
    }
}

/// Converts as many singles as both sides have.
pub(crate) fn narrow(half: Half, big_endian: bool, held: &[u8], stored: &mut [u8]) {
    let (held, stored) = (held.as_chunks::<4>().0, stored.as_chunks_mut::<2>().0);
    match half {
        Half::Binary16 => {
            let done = vectors::narrow(big_endian, held, stored);
            narrow_each(Half::Binary16, big_endian, &held[done..], &mut stored[done..]);
        }
        Half::BFloat16 => narrow_each(Half::BFloat16, big_endian, held, stored),
    }
}

#[inline(always)]
fn widen_each(half: Half, big_endian: bool, stored: &[[u8; 2]], held: &mut [[u8; 4]]) {
    if big_endian {
        each(stored, held, |from| half.to_single(u16::from_be_bytes(from)).to_ne_bytes());
    } else {
        each(stored, held, |from| half.to_single(u16::from_le_bytes(from)).to_ne_bytes());
    }
}

#[inline(always)]
fn narrow_each(half: Half, big_endian: bool, held: &[[u8; 4]], stored: &mut [[u8; 2]]) {
    if big_endian {
        each(held, stored, |from| half.of_single(f32::from_ne_bytes(from)).to_be_bytes());
    } else {
        each(held, stored, |from| half.of_single(f32::from_ne_bytes(from)).to_le_bytes());
    }
}

#[inline(always)]
fn each<const A: usize, const B: usize>(
    from: &[[u8; A]],
    to: &mut [[u8; B]],
    convert: impl Fn([u8; A]) -> [u8; B],
) {
    for (from, to) in from.iter().zip(to) {
        *to = convert(*from);
    }
}

/// Without such instructions all elements remain.
#[cfg(not(target_arch = "x86_64"))]
mod vectors {
    pub(super) fn widen(_: bool, _: &[[u8; 2]], _: &mut [[u8; 4]]) -> usize {
        0
    }

    pub(super) fn narrow(_: bool, _: &[[u8; 4]], _: &mut [[u8; 2]]) -> usize {
        0
    }
}

/// Converts eight elements at a time with the processor's own instructions, and returns their number.
#[cfg(target_arch = "x86_64")]
mod vectors {
    use std::arch::is_x86_feature_detected;
    use std::arch::x86_64::{
        __m128i, _MM_FROUND_TO_NEAREST_INT, _mm_loadu_si128, _mm_setr_epi8, _mm_shuffle_epi8,
        _mm_storeu_si128, _mm256_cvtph_ps, _mm256_cvtps_ph, _mm256_loadu_ps, _mm256_storeu_ps,
    };

    pub(super) fn widen(big_endian: bool, stored: &[[u8; 2]], held: &mut [[u8; 4]]) -> usize {
        let (stored, held) = (stored.as_chunks::<8>().0, held.as_chunks_mut::<8>().0);
        if !is_available() {
            return 0;
        }
        // SAFETY: the processor has these instructions.
        unsafe { widen_all(big_endian, stored, held) };
        8 * stored.len().min(held.len())
    }

    pub(super) fn narrow(big_endian: bool, held: &[[u8; 4]], stored: &mut [[u8; 2]]) -> usize {
        let (held, stored) = (held.as_chunks::<8>().0, stored.as_chunks_mut::<8>().0);
        if !is_available() {
            return 0;
        }
        // SAFETY: the processor has these instructions.
        unsafe { narrow_all(big_endian, held, stored) };
        8 * held.len().min(stored.len())
    }

    fn is_available() -> bool {
        is_x86_feature_detected!("avx") && is_x86_feature_detected!("f16c")
    }

    #[target_feature(enable = "avx")]
    fn order(big_endian: bool) -> __m128i {
        if big_endian {
            _mm_setr_epi8(1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)
        } else {
            _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
        }
    }

    #[target_feature(enable = "avx,f16c")]
    fn widen_all(big_endian: bool, stored: &[[[u8; 2]; 8]], held: &mut [[[u8; 4]; 8]]) {
        let order = order(big_endian);
        for (from, to) in stored.iter().zip(held) {
            // SAFETY: `from` has 16 bytes, `to` has 32. Neither needs an alignment.
            unsafe {
                let halves = _mm_shuffle_epi8(_mm_loadu_si128(from.as_ptr().cast()), order);
                _mm256_storeu_ps(to.as_mut_ptr().cast(), _mm256_cvtph_ps(halves));
            }
        }
    }

    #[target_feature(enable = "avx,f16c")]
    fn narrow_all(big_endian: bool, held: &[[[u8; 4]; 8]], stored: &mut [[[u8; 2]; 8]]) {
        let order = order(big_endian);
        for (from, to) in held.iter().zip(stored) {
            // SAFETY: `from` has 32 bytes, `to` has 16. Neither needs an alignment.
            unsafe {
                let singles = _mm256_loadu_ps(from.as_ptr().cast());
                let halves = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(singles);
                _mm_storeu_si128(to.as_mut_ptr().cast(), _mm_shuffle_epi8(halves, order));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every half float, and singles around each, in both orders, equal those of the model.
    #[test]
    fn all_agree_with_single_elements() {
        let near = |bits: u16| {
            let value = Half::Binary16.to_single(bits).to_bits();
            let brain = u32::from(bits) << 16;
            // Also the midpoint to the next half float, and its neighbours.
            [
                value,
                value + 0xfff,
                value + 0x1000,
                value + 0x1001,
                brain + 0x7fff,
                brain + 0x8000,
                brain + 0x8001,
            ]
        };
        let singles: Vec<u32> = (0..=u16::MAX).flat_map(near).collect();
        let held: Vec<u8> = singles.iter().flat_map(|bits| bits.to_ne_bytes()).collect();
        for half in [Half::Binary16, Half::BFloat16] {
            for big_endian in [false, true] {
                let bits = |bits: u16| if big_endian { bits.to_be_bytes() } else { bits.to_le_bytes() };
                let stored: Vec<u8> = (0..=u16::MAX).flat_map(bits).collect();
                let expected: Vec<u8> =
                    (0..=u16::MAX).flat_map(|bits| half.to_single(bits).to_ne_bytes()).collect();
                let mut found = vec![0; expected.len()];
                widen(half, big_endian, &stored, &mut found);
                assert!(found == expected, "{half:?} {big_endian}");
                let expected: Vec<u8> =
                    singles.iter().flat_map(|&single| bits(half.of_single(f32::from_bits(single)))).collect();
                // An odd number leaves a rest.
                let len = singles.len() - 3;
                let mut found = vec![0; 2 * len];
                narrow(half, big_endian, &held[..4 * len], &mut found);
                assert!(found == expected[..2 * len], "{half:?} {big_endian}");
            }
        }
    }
}
