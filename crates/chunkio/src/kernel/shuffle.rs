//! Kernels between byte planes and elements. A byte swap is free: the planes are read in reverse.

use super::{Kernel, KernelRows, each_row};
#[cfg(target_arch = "x86_64")]
use super::{simd, stream};

/// Returns the kernel from planes to rows without gaps.
pub(super) fn unshuffle<const I: usize>(swap: bool, avx2: bool, streaming: bool) -> Kernel {
    #[cfg(target_arch = "x86_64")]
    return match (avx2, streaming) {
        (true, true) if swap => unshuffle_avx2::<I, true, true>,
        (true, true) => unshuffle_avx2::<I, false, true>,
        (true, false) if swap => unshuffle_avx2::<I, true, false>,
        (true, false) => unshuffle_avx2::<I, false, false>,
        (false, _) if swap => unshuffle_sse2::<I, true>,
        (false, _) => unshuffle_sse2::<I, false>,
    };
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (avx2, streaming);
        unshuffle_strided::<I>(swap)
    }
}

/// Returns the kernel from rows without gaps to planes.
pub(super) fn shuffle<const I: usize>(swap: bool, avx2: bool) -> Kernel {
    #[cfg(target_arch = "x86_64")]
    return match (avx2, swap) {
        (true, true) => shuffle_avx2::<I, true>,
        (true, false) => shuffle_avx2::<I, false>,
        (false, true) => shuffle_sse2::<I, true>,
        (false, false) => shuffle_sse2::<I, false>,
    };
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = avx2;
        shuffle_strided::<I>(swap)
    }
}

/// Returns the kernel from planes to rows with gaps.
pub(super) fn unshuffle_strided<const I: usize>(swap: bool) -> Kernel {
    if swap { from_planes::<I, true> } else { from_planes::<I, false> }
}

/// Returns the kernel from rows with gaps to planes.
pub(super) fn shuffle_strided<const I: usize>(swap: bool) -> Kernel {
    if swap { to_planes::<I, true> } else { to_planes::<I, false> }
}

/// Returns the plane of byte `byte` of an element.
#[inline(always)]
const fn plane<const I: usize, const SWAP: bool>(byte: usize) -> usize {
    if SWAP { I - 1 - byte } else { byte }
}

unsafe fn from_planes<const I: usize, const SWAP: bool>(src: *const u8, dst: *mut u8, rows: &KernelRows) {
    let (from, to) = (rows.src[0], rows.dst[0]);
    each_row!(src, dst, rows, |s, d| {
        for i in 0..rows.n[0] {
            // SAFETY: the element lies inside both sides.
            unsafe {
                let bytes: [u8; I] =
                    std::array::from_fn(|byte| *s.add(i * from + plane::<I, SWAP>(byte) * rows.pitch));
                d.add(i * to).cast::<[u8; I]>().write(bytes);
            }
        }
    });
}

unsafe fn to_planes<const I: usize, const SWAP: bool>(src: *const u8, dst: *mut u8, rows: &KernelRows) {
    let (from, to) = (rows.src[0], rows.dst[0]);
    each_row!(src, dst, rows, |s, d| {
        for i in 0..rows.n[0] {
            // SAFETY: the element lies inside both sides.
            unsafe {
                let bytes = s.add(i * from).cast::<[u8; I]>().read();
                for (byte, value) in bytes.into_iter().enumerate() {
                    *d.add(i * to + plane::<I, SWAP>(byte) * rows.pitch) = value;
                }
            }
        }
    });
}

/// Gathers elements `from..to` of one row.
///
/// # Safety
/// The elements are inside both sides.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn gather_tail<const I: usize>(planes: [*const u8; I], out: *mut u8, from: usize, to: usize) {
    for i in from..to {
        // SAFETY: the caller's promise.
        unsafe { out.add(i * I).cast::<[u8; I]>().write(planes.map(|plane| *plane.add(i))) }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn gather_rows<V: simd::Vector, const I: usize, const SWAP: bool, const STREAM: bool>(
    src: *const u8,
    dst: *mut u8,
    rows: &KernelRows,
) {
    let n = rows.n[0];
    each_row!(src, dst, rows, |s, d| {
        // SAFETY: every plane has `n` bytes for the row, and the destination has the row's elements; vectors
        // are used only while enough elements are left.
        unsafe {
            let planes: [*const u8; I] =
                std::array::from_fn(|byte| s.add(plane::<I, SWAP>(byte) * rows.pitch));
            let mut i = 0;
            if STREAM && let Some(head) = stream::head::<I>(d) {
                i = head.min(n);
                gather_tail(planes, d, 0, i);
                while n - i >= V::ELEMS {
                    simd::gather_planes::<V, I, true>(planes.map(|plane| plane.add(i)), d.add(i * I));
                    i += V::ELEMS;
                }
            }
            while n - i >= V::ELEMS {
                simd::gather_planes::<V, I, false>(planes.map(|plane| plane.add(i)), d.add(i * I));
                i += V::ELEMS;
            }
            gather_tail(planes, d, i, n);
        }
    });
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn scatter_rows<V: simd::Vector, const I: usize, const SWAP: bool>(
    src: *const u8,
    dst: *mut u8,
    rows: &KernelRows,
) {
    let n = rows.n[0];
    each_row!(src, dst, rows, |s, d| {
        // SAFETY: as in `gather_rows`, with the sides exchanged.
        unsafe {
            let planes: [*mut u8; I] = std::array::from_fn(|byte| d.add(plane::<I, SWAP>(byte) * rows.pitch));
            let mut i = 0;
            while n - i >= V::ELEMS {
                simd::scatter_planes::<V, I>(s.add(i * I), planes.map(|plane| plane.add(i)));
                i += V::ELEMS;
            }
            for i in i..n {
                let bytes = s.add(i * I).cast::<[u8; I]>().read();
                for (plane, byte) in planes.into_iter().zip(bytes) {
                    *plane.add(i) = byte;
                }
            }
        }
    });
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn unshuffle_avx2<const I: usize, const SWAP: bool, const STREAM: bool>(
    src: *const u8,
    dst: *mut u8,
    rows: &KernelRows,
) {
    // SAFETY: the same contract.
    unsafe { gather_rows::<std::arch::x86_64::__m256i, I, SWAP, STREAM>(src, dst, rows) }
}

#[cfg(target_arch = "x86_64")]
unsafe fn unshuffle_sse2<const I: usize, const SWAP: bool>(src: *const u8, dst: *mut u8, rows: &KernelRows) {
    // SAFETY: the same contract.
    unsafe { gather_rows::<std::arch::x86_64::__m128i, I, SWAP, false>(src, dst, rows) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn shuffle_avx2<const I: usize, const SWAP: bool>(src: *const u8, dst: *mut u8, rows: &KernelRows) {
    // SAFETY: the same contract.
    unsafe { scatter_rows::<std::arch::x86_64::__m256i, I, SWAP>(src, dst, rows) }
}

#[cfg(target_arch = "x86_64")]
unsafe fn shuffle_sse2<const I: usize, const SWAP: bool>(src: *const u8, dst: *mut u8, rows: &KernelRows) {
    // SAFETY: the same contract.
    unsafe { scatter_rows::<std::arch::x86_64::__m128i, I, SWAP>(src, dst, rows) }
}
