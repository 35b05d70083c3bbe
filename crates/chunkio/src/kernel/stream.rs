//! Stores that bypass the caches.
//!
//! Applies to large results with scattered rows: a line that is written whole is not read first. The head and
//! tail of a row, which do not fill a line, fall back to plain stores: streaming a part of a line is slower.

use super::{Kernel, moves};
#[cfg(target_arch = "x86_64")]
use super::{KernelRows, each_row};

/// A cache line.
const LINE: usize = 64;

/// Returns the number of `I`-byte elements up to the next line; `None` if elements are not aligned to it.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn head<const I: usize>(at: *const u8) -> Option<usize> {
    let bytes = at.addr().wrapping_neg() % LINE;
    bytes.is_multiple_of(I).then_some(bytes / I)
}

/// Returns the number of elements up to the next line; `None` if elements are not aligned to it, or lines
/// cannot be streamed.
#[inline(always)]
pub(super) fn head_of<T>(at: *const T) -> Option<usize> {
    let bytes = at.addr().wrapping_neg() % LINE;
    (cfg!(target_arch = "x86_64") && bytes.is_multiple_of(size_of::<T>())).then_some(bytes / size_of::<T>())
}

/// Copies one line to an aligned address. `AVX2`: whether the caller is compiled for it.
///
/// # Safety
/// Both sides have 64 bytes; the destination is aligned to 64 bytes; the processor has the caller's
/// instructions.
#[inline(always)]
pub(super) unsafe fn line<const AVX2: bool>(src: *const u8, dst: *mut u8) {
    // SAFETY: the caller's promise; SSE2 is part of the architecture.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_mm_loadu_si128, _mm_stream_si128, _mm256_loadu_si256, _mm256_stream_si256};
        if AVX2 {
            for at in [0, 32] {
                _mm256_stream_si256(dst.add(at).cast(), _mm256_loadu_si256(src.add(at).cast()));
            }
        } else {
            for at in [0, 16, 32, 48] {
                _mm_stream_si128(dst.add(at).cast(), _mm_loadu_si128(src.add(at).cast()));
            }
        }
    }
    // SAFETY: likewise.
    #[cfg(not(target_arch = "x86_64"))]
    unsafe {
        std::ptr::copy_nonoverlapping(src, dst, LINE);
    }
}

/// Orders streamed stores before later ones.
pub(super) fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of the architecture.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// Copies rows without gaps.
pub(super) fn copy<const I: usize>(avx2: bool) -> Kernel {
    #[cfg(target_arch = "x86_64")]
    if avx2 {
        return copy_avx2::<I>;
    }
    let _ = avx2;
    moves::copy::<I>
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn copy_avx2<const I: usize>(src: *const u8, dst: *mut u8, rows: &KernelRows) {
    use std::arch::x86_64::{_mm256_loadu_si256, _mm256_stream_si256};
    let len = rows.n[0] * I;
    each_row!(src, dst, rows, |s, d| {
        // SAFETY: the row has `len` bytes on both sides; streams go to aligned lines inside it.
        unsafe {
            let mut at = (d.addr().wrapping_neg() % LINE).min(len);
            std::ptr::copy_nonoverlapping(s, d, at);
            while len - at >= LINE {
                let low = _mm256_loadu_si256(s.add(at).cast());
                let high = _mm256_loadu_si256(s.add(at + 32).cast());
                _mm256_stream_si256(d.add(at).cast(), low);
                _mm256_stream_si256(d.add(at + 32).cast(), high);
                at += LINE;
            }
            std::ptr::copy_nonoverlapping(s.add(at), d.add(at), len - at);
        }
    });
}

/// Rows without gaps, with the bytes of each element reversed.
pub(super) fn swapped<const I: usize>(avx2: bool) -> Kernel {
    #[cfg(target_arch = "x86_64")]
    if avx2 {
        return swap_avx2::<I>;
    }
    moves::swapped::<I>(avx2)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn swap_avx2<const I: usize>(src: *const u8, dst: *mut u8, rows: &KernelRows) {
    use std::arch::x86_64::{_mm256_loadu_si256, _mm256_shuffle_epi8, _mm256_stream_si256};
    let reversed: [u8; 32] = std::array::from_fn(|at| (at % 16 / I * I + I - 1 - at % I) as u8);
    each_row!(src, dst, rows, |s, d| {
        // SAFETY: the row has `n` elements on both sides; streams go to aligned lines inside it.
        unsafe {
            let pattern = _mm256_loadu_si256(reversed.as_ptr().cast());
            let n = rows.n[0];
            let mut i = head::<I>(d).unwrap_or(n).min(n);
            moves::swap_run::<I>(s, d, i);
            while (n - i) * I >= LINE {
                let low = _mm256_loadu_si256(s.add(i * I).cast());
                let high = _mm256_loadu_si256(s.add(i * I + 32).cast());
                _mm256_stream_si256(d.add(i * I).cast(), _mm256_shuffle_epi8(low, pattern));
                _mm256_stream_si256(d.add(i * I + 32).cast(), _mm256_shuffle_epi8(high, pattern));
                i += LINE / I;
            }
            moves::swap_run::<I>(s.add(i * I), d.add(i * I), n - i);
        }
    });
}
