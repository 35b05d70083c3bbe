//! Kernels that move whole elements: copies, byte swaps, strides, and one value repeated.

use super::{Kernel, KernelRows, each_row};

/// Copies rows without gaps.
///
/// # Safety
/// See [`Kernel`].
pub(super) unsafe fn copy<const I: usize>(src: *const u8, dst: *mut u8, rows: &KernelRows) {
    each_row!(src, dst, rows, |s, d| {
        // SAFETY: the row lies inside both sides, which do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(s, d, rows.n[0] * I) }
    });
}

/// As [`copy`], with vector instructions: a library call per short row would take longer than the row.
pub(super) fn rows<const I: usize>(avx2: bool) -> Kernel {
    #[cfg(target_arch = "x86_64")]
    if avx2 {
        return if super::has_lines() { rows_lines::<I> } else { rows_avx2::<I> };
    }
    let _ = avx2;
    copy::<I>
}

/// The row lengths that these kernels copy.
#[cfg(target_arch = "x86_64")]
const SHORT: std::ops::RangeInclusive<usize> = VECTOR..=16 * VECTOR;

/// The bytes per vector.
#[cfg(target_arch = "x86_64")]
const VECTOR: usize = 32;

/// The distance, in rows, between the copied row and the prefetched one. The processor cannot predict rows of
/// a part.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 10;

/// Prefetches both sides of the row that is [`AHEAD`] of this one, if there is one.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn fetch_ahead(src: *const u8, dst: *const u8, rows: &KernelRows, plane: usize, row: usize, len: usize) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    let (plane, row) = match row + AHEAD {
        row if row < rows.n[1] => (plane, row),
        row => (plane + 1, row - rows.n[1]),
    };
    if plane >= rows.n[2] {
        return;
    }
    // With few rows per plane this may be no valid row; nothing is read or written there.
    let s = src.wrapping_add(plane * rows.src[2] + row * rows.src[1]);
    let d = dst.wrapping_add(plane * rows.dst[2] + row * rows.dst[1]);
    for at in (0..len).step_by(64) {
        // SAFETY: a hint, which no address makes fail; SSE is part of the architecture.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(s.wrapping_add(at).cast());
            _mm_prefetch::<_MM_HINT_T0>(d.wrapping_add(at).cast());
        }
    }
}

/// Moves rows of `len` bytes with vectors of `step` bytes. The last vector ends with the row. Later rows are
/// prefetched.
#[cfg(target_arch = "x86_64")]
macro_rules! move_rows {
    ($load:ident, $store:ident, $step:expr, $src:ident, $dst:ident, $rows:ident, $len:ident) => {
        for plane in 0..$rows.n[2] {
            for row in 0..$rows.n[1] {
                fetch_ahead($src, $dst, $rows, plane, row, $len);
                // SAFETY: the row has `len` bytes on both sides, at least one vector.
                unsafe {
                    let s = $src.add(plane * $rows.src[2] + row * $rows.src[1]);
                    let d = $dst.add(plane * $rows.dst[2] + row * $rows.dst[1]);
                    let last = $len - $step;
                    for at in (0..last).step_by($step) {
                        $store(d.add(at).cast(), $load(s.add(at).cast()));
                    }
                    $store(d.add(last).cast(), $load(s.add(last).cast()));
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn rows_avx2<const I: usize>(src: *const u8, dst: *mut u8, rows: &KernelRows) {
    use std::arch::x86_64::{_mm256_loadu_si256, _mm256_storeu_si256};
    let len = rows.n[0] * I;
    if !SHORT.contains(&len) {
        // SAFETY: the same contract.
        return unsafe { copy::<I>(src, dst, rows) };
    }
    move_rows!(_mm256_loadu_si256, _mm256_storeu_si256, VECTOR, src, dst, rows, len);
}

/// As [`rows_avx2`], with a cache line per vector, so that more uncached lines are in flight.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn rows_lines<const I: usize>(src: *const u8, dst: *mut u8, rows: &KernelRows) {
    use std::arch::x86_64::{_mm512_loadu_si512, _mm512_storeu_si512};
    const LINE: usize = 64;
    let len = rows.n[0] * I;
    if len < LINE || !SHORT.contains(&len) {
        // SAFETY: the same contract; a processor with AVX-512 has AVX2.
        return unsafe { rows_avx2::<I>(src, dst, rows) };
    }
    move_rows!(_mm512_loadu_si512, _mm512_storeu_si512, LINE, src, dst, rows, len);
}

/// Rows without gaps, with the bytes of each element reversed.
pub(super) fn swapped<const I: usize>(avx2: bool) -> Kernel {
    #[cfg(target_arch = "x86_64")]
    if avx2 {
        return swap_avx2::<I>;
    }
    let _ = avx2;
    swap::<I>
}

#[inline(always)]
unsafe fn swap<const I: usize>(src: *const u8, dst: *mut u8, rows: &KernelRows) {
    each_row!(src, dst, rows, |s, d| {
        // SAFETY: the row lies inside both sides.
        unsafe { swap_run::<I>(s, d, rows.n[0]) }
    });
}

/// Copies `n` adjacent elements with reversed bytes.
///
/// # Safety
/// The elements are inside both sides.
#[inline(always)]
pub(super) unsafe fn swap_run<const I: usize>(src: *const u8, dst: *mut u8, n: usize) {
    for i in 0..n {
        // SAFETY: the caller's promise.
        unsafe { element::<I, true>(src.add(i * I), dst.add(i * I)) }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn swap_avx2<const I: usize>(src: *const u8, dst: *mut u8, rows: &KernelRows) {
    // SAFETY: the same contract.
    unsafe { swap::<I>(src, dst, rows) }
}

/// Rows with gaps on either side.
pub(super) fn strided<const I: usize>(swap: bool, avx2: bool) -> Kernel {
    #[cfg(target_arch = "x86_64")]
    if avx2 {
        return if swap { step_avx2::<I, true> } else { step_avx2::<I, false> };
    }
    let _ = avx2;
    if swap { step::<I, true> } else { step::<I, false> }
}

#[inline(always)]
unsafe fn step<const I: usize, const SWAP: bool>(src: *const u8, dst: *mut u8, rows: &KernelRows) {
    let (from, to) = (rows.src[0], rows.dst[0]);
    if from == 2 * I && to == I {
        // The most frequent stride, with constant steps.
        return each_row!(src, dst, rows, |s, d| {
            for i in 0..rows.n[0] {
                // SAFETY: the element lies inside both sides.
                unsafe { element::<I, SWAP>(s.add(i * 2 * I), d.add(i * I)) }
            }
        });
    }
    each_row!(src, dst, rows, |s, d| {
        for i in 0..rows.n[0] {
            // SAFETY: the element lies inside both sides.
            unsafe { element::<I, SWAP>(s.add(i * from), d.add(i * to)) }
        }
    });
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn step_avx2<const I: usize, const SWAP: bool>(src: *const u8, dst: *mut u8, rows: &KernelRows) {
    // SAFETY: the same contract.
    unsafe { step::<I, SWAP>(src, dst, rows) }
}

/// Repeats one element in all rows.
///
/// # Safety
/// See [`Kernel`]; the source is one element, and all its steps are 0.
pub(super) unsafe fn repeat<const I: usize>(src: *const u8, dst: *mut u8, rows: &KernelRows) {
    // SAFETY: the source is one element.
    let value = unsafe { src.cast::<[u8; I]>().read() };
    let to = rows.dst[0];
    each_row!(src, dst, rows, |_s, d| {
        if to == I {
            for i in 0..rows.n[0] {
                // SAFETY: the element lies inside the destination.
                unsafe { d.add(i * I).cast::<[u8; I]>().write(value) }
            }
        } else {
            for i in 0..rows.n[0] {
                // SAFETY: the element lies inside the destination.
                unsafe { d.add(i * to).cast::<[u8; I]>().write(value) }
            }
        }
    });
}

/// As [`copy`], for elements of any size.
///
/// # Safety
/// See [`Kernel`].
pub(super) unsafe fn copy_any(src: *const u8, dst: *mut u8, rows: &KernelRows) {
    each_row!(src, dst, rows, |s, d| {
        // SAFETY: the row lies inside both sides, which do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(s, d, rows.n[0] * rows.item) }
    });
}

/// Rows with gaps on either side, for elements of any size. Source steps of 0 repeat one element.
///
/// # Safety
/// See [`Kernel`].
pub(super) unsafe fn step_any(src: *const u8, dst: *mut u8, rows: &KernelRows) {
    each_row!(src, dst, rows, |s, d| {
        for i in 0..rows.n[0] {
            // SAFETY: the element lies inside both sides, which do not overlap.
            unsafe {
                std::ptr::copy_nonoverlapping(s.add(i * rows.src[0]), d.add(i * rows.dst[0]), rows.item)
            }
        }
    });
}

/// As [`repeat`], for an element of any size.
///
/// # Safety
/// See [`repeat`].
pub(super) unsafe fn repeat_any(src: *const u8, dst: *mut u8, rows: &KernelRows) {
    // SAFETY: the same contract.
    unsafe { step_any(src, dst, rows) }
}

#[inline(always)]
unsafe fn element<const I: usize, const SWAP: bool>(src: *const u8, dst: *mut u8) {
    // SAFETY: byte arrays have no alignment; the caller promises the bounds.
    unsafe {
        let mut value = src.cast::<[u8; I]>().read();
        if SWAP {
            value.reverse();
        }
        dst.cast::<[u8; I]>().write(value);
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn rows_of_any_length_are_copied_alike_by_every_instruction_set() {
        let mut kernels: Vec<(&str, Kernel)> = vec![("any", copy::<2>)];
        if crate::kernel::has_avx2() {
            kernels.push(("avx2", rows_avx2::<2>));
        }
        if crate::kernel::has_lines() {
            kernels.push(("lines", rows_lines::<2>));
        }
        let src: Vec<u8> = (0..4000_usize).map(|at| (at * 31 % 251) as u8).collect();
        for n in (1..40).chain([63, 64, 65, 127, 128, 129, 255, 256, 257, 300]) {
            let rows = KernelRows {
                n: [n, 2, 2],
                src: [2, 2 * n + 3, 4 * n + 9],
                dst: [2, 2 * n + 1, 4 * n + 3],
                item: 2,
                pitch: 0,
            };
            let mut slow = vec![255; 3000];
            for (plane, row) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let (from, to) =
                    (plane * rows.src[2] + row * rows.src[1], 5 + plane * rows.dst[2] + row * rows.dst[1]);
                slow[to..to + 2 * n].copy_from_slice(&src[from..from + 2 * n]);
            }
            for (name, kernel) in &kernels {
                let mut out = vec![255; 3000];
                // SAFETY: the last row ends before 4000 and 3000 bytes; the machine has what the kernel
                // needs.
                unsafe { kernel(src.as_ptr(), out.as_mut_ptr().add(5), &rows) };
                assert_eq!(out, slow, "{name}: rows of {n}");
            }
        }
    }
}
