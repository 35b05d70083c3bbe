//! Byte planes to elements and back with AVX2, 32 elements at a time; and 8 by 8 bits turned.
//!
//! One *riffle* interleaves the two halves of a group of registers byte by byte, each lane of 16 bytes by itself: in
//! the binary number of a byte's position that rotates the bits left by one. Bytes of `N` planes stand at
//! `plane · 16 + element` and are wanted at `element · N + plane`: log2(`N`) riffles; the way back is four.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// Elements at a time.
const STEP: usize = 32;

/// Writes the elements of planes that are as long as `items`, and answers how many: the rest is the caller's.
pub(super) fn join<const N: usize>(planes: [&[u8]; N], items: &mut [[MaybeUninit<u8>; N]]) -> usize {
    let count = items.len() / STEP * STEP;
    assert!(planes.iter().all(|plane| plane.len() >= count));
    if count == 0 || !fits::<N>() {
        return 0;
    }
    // SAFETY: the processor has AVX2, and there are so many bytes of each plane, and so many elements.
    unsafe { join_steps(planes.map(<[u8]>::as_ptr), items.as_mut_ptr().cast(), count) }
    count
}

/// Writes the planes of elements, and answers of how many: the rest is the caller's.
pub(super) fn split<const N: usize>(items: &[[u8; N]], planes: &mut [MaybeUninit<u8>], stride: usize) -> usize {
    let count = items.len() / STEP * STEP;
    assert!(
        stride.checked_mul(N - 1).and_then(|start| planes.len().checked_sub(start)).is_some_and(|left| left >= count)
    );
    if count == 0 || !fits::<N>() {
        return 0;
    }
    // SAFETY: the processor has AVX2, and there are so many elements, and room for so many bytes of each plane.
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

/// # Safety
/// The processor has AVX2; `count` bytes, a multiple of [`STEP`], can be read at each of `planes`, and so many elements
/// written at `to`.
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
        // The second lane of each holds what comes 16 elements later. In the order of addresses: two stores to a cache
        // line cost one if they follow one another.
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

/// # Safety
/// The processor has AVX2; `count` elements, a multiple of [`STEP`], can be read at `from`, and so many bytes written
/// at `planes` and every `stride` on, `N` times.
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
