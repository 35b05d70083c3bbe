//! Byte planes to elements and back with AVX2, 32 elements at a time; and transposition of 8 by 8 bits.
//!
//! One *riffle* interleaves the two halves of a group of registers byte by byte, separately in each lane of
//! 16 bytes. In the binary number of a byte's position it rotates the bits left by one. Bytes of `N` planes
//! are at `plane · 16 + element` and needed at `element · N + plane`: log2(`N`) riffles. The way back takes
//! four.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// Elements of one step.
const STEP: usize = 32;

/// Writes the elements of planes that are as long as `items`. Returns their number; the caller writes the
/// rest.
pub(super) fn join<const N: usize>(planes: [&[u8]; N], items: &mut [[MaybeUninit<u8>; N]]) -> usize {
    let count = items.len() / STEP * STEP;
    assert!(planes.iter().all(|plane| plane.len() >= count));
    if count == 0 || !fits::<N>() {
        return 0;
    }
    // SAFETY: the processor has AVX2, and each plane has that many bytes, and there are that many elements.
    unsafe { join_steps(planes.map(<[u8]>::as_ptr), items.as_mut_ptr().cast(), count) }
    count
}

/// Writes the planes of elements. Returns the number of elements; the caller writes the rest.
pub(super) fn split<const N: usize>(
    items: &[[u8; N]],
    planes: &mut [MaybeUninit<u8>],
    stride: usize,
) -> usize {
    let count = items.len() / STEP * STEP;
    assert!(
        stride
            .checked_mul(N - 1)
            .and_then(|start| planes.len().checked_sub(start))
            .is_some_and(|left| left >= count)
    );
    if count == 0 || !fits::<N>() {
        return 0;
    }
    // SAFETY: the processor has AVX2, and there are that many elements, and room for that many bytes of each
    // plane.
    unsafe { split_steps::<N>(items.as_ptr().cast(), planes.as_mut_ptr().cast(), stride, count) }
    count
}

fn fits<const N: usize>() -> bool {
    matches!(N, 2 | 4 | 8 | 16) && std::arch::is_x86_feature_detected!("avx2")
}

#[inline]
#[target_feature(enable = "avx2")]
fn riffle<const N: usize>(group: [__m256i; N]) -> [__m256i; N] {
    let mut next = group;
    for half in 0..N / 2 {
        next[2 * half] = _mm256_unpacklo_epi8(group[half], group[half + N / 2]);
        next[2 * half + 1] = _mm256_unpackhi_epi8(group[half], group[half + N / 2]);
    }
    next
}

/// Writes elements from planes.
///
/// # Safety
/// The processor must have AVX2. `count` bytes, a multiple of [`STEP`], must be readable at each of `planes`,
/// and as many elements writable at `to`.
#[target_feature(enable = "avx2")]
unsafe fn join_steps<const N: usize>(planes: [*const u8; N], to: *mut u8, count: usize) {
    for at in (0..count).step_by(STEP) {
        let mut group = [_mm256_setzero_si256(); N];
        for (vector, plane) in group.iter_mut().zip(planes) {
            // SAFETY: `at + 32` is at most `count`.
            *vector = unsafe { _mm256_loadu_si256(plane.add(at).cast()) };
        }
        for _ in 0..N.ilog2() {
            group = riffle(group);
        }
        // The second lane of each holds the elements 16 positions later. Stores follow the addresses, because
        // two consecutive stores to a cache line cost one.
        let to = to.wrapping_add(at * N);
        for pair in 0..N / 2 {
            let both = _mm256_permute2x128_si256::<0x20>(group[2 * pair], group[2 * pair + 1]);
            // SAFETY: `32 * (pair + 1)` is at most `16 * N`, half of the elements from `at` on.
            unsafe { _mm256_storeu_si256(to.add(32 * pair).cast(), both) };
        }
        for pair in 0..N / 2 {
            let both = _mm256_permute2x128_si256::<0x31>(group[2 * pair], group[2 * pair + 1]);
            // SAFETY: the other half.
            unsafe { _mm256_storeu_si256(to.add(16 * N + 32 * pair).cast(), both) };
        }
    }
}

/// Writes planes from elements.
///
/// # Safety
/// The processor must have AVX2. `count` elements, a multiple of [`STEP`], must be readable at `from`, and as
/// many bytes writable at each of the `N` planes, `stride` bytes apart.
#[target_feature(enable = "avx2")]
unsafe fn split_steps<const N: usize>(from: *const u8, planes: *mut u8, stride: usize, count: usize) {
    for at in (0..count).step_by(STEP) {
        let mut group = [_mm256_setzero_si256(); N];
        for (index, vector) in group.iter_mut().enumerate() {
            // SAFETY: `16 * (index + 1)` is at most `16 * N`, half of the elements from `at` on.
            *vector = unsafe {
                let from = from.add(at * N + 16 * index);
                _mm256_loadu2_m128i(from.add(16 * N).cast(), from.cast())
            };
        }
        for _ in 0..4 {
            group = riffle(group);
        }
        for (byte, vector) in group.into_iter().enumerate() {
            // SAFETY: `at + 32` is at most `count`.
            unsafe { _mm256_storeu_si256(planes.add(byte * stride + at).cast(), vector) };
        }
    }
}
