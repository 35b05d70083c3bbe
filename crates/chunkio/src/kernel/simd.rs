//! Converts byte planes to elements and back, sixteen elements per vector lane.
//!
//! One *riffle* interleaves the two halves of a group of registers byte by byte. It rotates the binary number
//! of a byte's position left by one bit. A byte of an `I`-byte element moves from `plane · 16 + element` to
//! `element · I + plane`. This is a rotation by log2(`I`) bits, so it takes as many riffles. The way back
//! takes four. Wider vectors process two groups side by side.

use std::arch::x86_64::*;

/// A vector of one or more lanes of 16 bytes.
///
/// # Safety
/// All methods need the instruction set of the implementing type; pointers are valid for the bytes named.
pub(super) trait Vector: Copy {
    /// The elements per group of registers.
    const ELEMS: usize;

    /// Loads the next [`Vector::ELEMS`] bytes.
    unsafe fn load(from: *const u8) -> Self;

    /// Stores [`Vector::ELEMS`] bytes.
    unsafe fn store(self, to: *mut u8);

    /// Loads sixteen bytes at `from`, and for further lanes each `apart` bytes on.
    unsafe fn load_lanes(from: *const u8, apart: usize) -> Self;

    /// Stores the lanes of two adjacent registers: the first lanes at `to`, further ones each `apart` bytes
    /// on.
    unsafe fn store_lanes<const STREAM: bool>(self, next: Self, to: *mut u8, apart: usize);

    /// Interleaves the lower halves of each lane.
    unsafe fn low(self, other: Self) -> Self;

    /// Interleaves the upper halves of each lane.
    unsafe fn high(self, other: Self) -> Self;
}

impl Vector for __m128i {
    const ELEMS: usize = 16;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller's promise.
        unsafe { _mm_loadu_si128(from.cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { _mm_storeu_si128(to.cast(), self) }
    }

    #[inline(always)]
    unsafe fn load_lanes(from: *const u8, _apart: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::load(from) }
    }

    #[inline(always)]
    unsafe fn store_lanes<const STREAM: bool>(self, next: Self, to: *mut u8, _apart: usize) {
        // SAFETY: the caller's promise; streams are asked for on aligned places only.
        unsafe {
            if STREAM {
                _mm_stream_si128(to.cast(), self);
                _mm_stream_si128(to.add(16).cast(), next);
            } else {
                self.store(to);
                next.store(to.add(16));
            }
        }
    }

    #[inline(always)]
    unsafe fn low(self, other: Self) -> Self {
        // SAFETY: SSE2 is part of the architecture.
        unsafe { _mm_unpacklo_epi8(self, other) }
    }

    #[inline(always)]
    unsafe fn high(self, other: Self) -> Self {
        // SAFETY: SSE2 is part of the architecture.
        unsafe { _mm_unpackhi_epi8(self, other) }
    }
}

impl Vector for __m256i {
    const ELEMS: usize = 32;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller's promise.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { _mm256_storeu_si256(to.cast(), self) }
    }

    #[inline(always)]
    unsafe fn load_lanes(from: *const u8, apart: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe { _mm256_loadu2_m128i(from.add(apart).cast(), from.cast()) }
    }

    #[inline(always)]
    unsafe fn store_lanes<const STREAM: bool>(self, next: Self, to: *mut u8, apart: usize) {
        // SAFETY: the caller's promise; streams are asked for on aligned places only.
        unsafe {
            let first = _mm256_permute2x128_si256(self, next, 0x20);
            let second = _mm256_permute2x128_si256(self, next, 0x31);
            if STREAM {
                _mm256_stream_si256(to.cast(), first);
                _mm256_stream_si256(to.add(apart).cast(), second);
            } else {
                first.store(to);
                second.store(to.add(apart));
            }
        }
    }

    #[inline(always)]
    unsafe fn low(self, other: Self) -> Self {
        // SAFETY: the caller has AVX2.
        unsafe { _mm256_unpacklo_epi8(self, other) }
    }

    #[inline(always)]
    unsafe fn high(self, other: Self) -> Self {
        // SAFETY: the caller has AVX2.
        unsafe { _mm256_unpackhi_epi8(self, other) }
    }
}

/// # Safety
/// The processor has the vector's instructions.
#[inline(always)]
unsafe fn riffle<V: Vector, const I: usize>(group: [V; I]) -> [V; I] {
    let mut next = group;
    for half in 0..I / 2 {
        // SAFETY: the caller's promise.
        unsafe {
            next[2 * half] = group[half].low(group[half + I / 2]);
            next[2 * half + 1] = group[half].high(group[half + I / 2]);
        }
    }
    next
}

/// Gathers [`Vector::ELEMS`] elements from the planes to `to`. `I` is 2, 4 or 8.
///
/// # Safety
/// The processor has the vector's instructions. Each pointer has enough bytes, and `to` has room for the
/// elements. To stream, `to` is aligned to 64 bytes.
#[inline(always)]
pub(super) unsafe fn gather_planes<V: Vector, const I: usize, const STREAM: bool>(
    planes: [*const u8; I],
    to: *mut u8,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut group = planes.map(|plane| V::load(plane));
        for _ in 0..I.ilog2() {
            group = riffle(group);
        }
        for pair in 0..I / 2 {
            group[2 * pair].store_lanes::<STREAM>(group[2 * pair + 1], to.add(pair * 32), 16 * I);
        }
    }
}

/// Scatters [`Vector::ELEMS`] elements from `from` to the planes. `I` is 2, 4 or 8.
///
/// # Safety
/// As [`gather_planes`].
#[inline(always)]
pub(super) unsafe fn scatter_planes<V: Vector, const I: usize>(from: *const u8, planes: [*mut u8; I]) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut group: [V; I] = std::array::from_fn(|k| V::load_lanes(from.add(16 * k), 16 * I));
        for _ in 0..4 {
            group = riffle(group);
        }
        for (vector, plane) in group.into_iter().zip(planes) {
            vector.store(plane);
        }
    }
}
