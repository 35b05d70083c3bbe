//! Scale and offset with AVX2: loads four stored numbers as doubles, and writes lines of the result.
//!
//! Applies to processors with AVX2; falls back to the plain loops in [`super::linear`]. It uses intrinsics,
//! because the compiler does not always vectorise the plain loops, and scalar code takes twice as long as the
//! memory transfer. Results are equal to the bit: one product and one sum, never fused.

use std::arch::x86_64::*;

/// Four adjacent numbers.
pub(super) trait LoadFour {
    /// Loads them as doubles.
    ///
    /// # Safety
    /// The processor has AVX2; there are four numbers at `from`, which need no alignment.
    unsafe fn load(from: *const Self) -> __m256d;
}

/// Implements [`LoadFour`] by an expression of the pointer.
macro_rules! four {
    ($($t:ty: |$from:ident| $load:expr;)*) => {$(
        impl LoadFour for $t {
            #[inline(always)]
            unsafe fn load($from: *const Self) -> __m256d {
                // SAFETY: the caller's promise.
                unsafe { $load }
            }
        }
    )*};
}

/// Implements [`LoadFour`] one number at a time, for types without a conversion instruction.
macro_rules! singly {
    ($($t:ident)*) => {$(
        impl LoadFour for $t {
            #[inline(always)]
            unsafe fn load(from: *const Self) -> __m256d {
                // SAFETY: the caller's promise; numbers may be any bytes.
                unsafe {
                    let [a, b, c, d] = from.cast::<[Self; 4]>().read_unaligned();
                    _mm256_set_pd(d as f64, c as f64, b as f64, a as f64)
                }
            }
        }
    )*};
}

four! {
    i8: |from| _mm256_cvtepi32_pd(_mm_cvtepi8_epi32(_mm_cvtsi32_si128(from.cast::<i32>().read_unaligned())));
    u8: |from| _mm256_cvtepi32_pd(_mm_cvtepu8_epi32(_mm_cvtsi32_si128(from.cast::<i32>().read_unaligned())));
    i16: |from| _mm256_cvtepi32_pd(_mm_cvtepi16_epi32(_mm_loadl_epi64(from.cast())));
    u16: |from| _mm256_cvtepi32_pd(_mm_cvtepu16_epi32(_mm_loadl_epi64(from.cast())));
    i32: |from| _mm256_cvtepi32_pd(_mm_loadu_si128(from.cast()));
    f32: |from| _mm256_cvtps_pd(_mm_loadu_ps(from.cast()));
    f64: |from| _mm256_loadu_pd(from);
}
singly!(u32 i64 u64);

/// A number of the result.
pub(super) trait StoreEight {
    /// Converts eight doubles and writes them to `to`, with `STREAM` past the caches. In the result, all bits
    /// are set for each double that is out of the type's range.
    ///
    /// # Safety
    /// The processor has AVX2; `to` has room. To stream, `to` is aligned to 32 bytes.
    unsafe fn store<const STREAM: bool>(low: __m256d, high: __m256d, to: *mut Self) -> __m256d;
}

impl StoreEight for f64 {
    #[inline(always)]
    unsafe fn store<const STREAM: bool>(low: __m256d, high: __m256d, to: *mut Self) -> __m256d {
        // SAFETY: the caller's promise.
        unsafe {
            if STREAM {
                _mm256_stream_pd(to, low);
                _mm256_stream_pd(to.add(4), high);
            } else {
                _mm256_storeu_pd(to, low);
                _mm256_storeu_pd(to.add(4), high);
            }
            _mm256_setzero_pd()
        }
    }
}

impl StoreEight for f32 {
    #[inline(always)]
    unsafe fn store<const STREAM: bool>(low: __m256d, high: __m256d, to: *mut Self) -> __m256d {
        // SAFETY: the caller's promise.
        unsafe {
            let singles = _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low));
            if STREAM {
                _mm256_stream_ps(to, singles);
            } else {
                _mm256_storeu_ps(to, singles);
            }
            _mm256_or_pd(too_large(low), too_large(high))
        }
    }
}

/// Marks the doubles that are finite and beyond the largest single.
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn too_large(values: __m256d) -> __m256d {
    // SAFETY: the caller's promise.
    unsafe {
        let sizes = _mm256_andnot_pd(_mm256_set1_pd(-0.0), values);
        let large = _mm256_cmp_pd::<_CMP_GT_OQ>(sizes, _mm256_set1_pd(f64::from(f32::MAX)));
        _mm256_and_pd(large, _mm256_cmp_pd::<_CMP_LT_OQ>(sizes, _mm256_set1_pd(f64::INFINITY)))
    }
}

/// The terms of the transform.
#[derive(Clone, Copy)]
pub(super) struct VectorTerms<'a> {
    pub(super) scale: f64,
    pub(super) offset: f64,
    /// Numbers that become NaN.
    pub(super) missing: &'a [f64],
}

/// Loads and transforms four elements.
///
/// # Safety
/// As [`LoadFour::load`].
#[inline(always)]
unsafe fn four<S: LoadFour>(from: *const S, scale: __m256d, offset: __m256d, missing: &[f64]) -> __m256d {
    // SAFETY: the caller's promise.
    unsafe {
        let numbers = S::load(from);
        let mut values = _mm256_add_pd(_mm256_mul_pd(numbers, scale), offset);
        for &missing in missing {
            let equal = _mm256_cmp_pd::<_CMP_EQ_OQ>(numbers, _mm256_set1_pd(missing));
            values = _mm256_blendv_pd(values, _mm256_set1_pd(f64::NAN), equal);
        }
        values
    }
}

/// Transforms `n` elements, a multiple of eight. Returns whether one is out of range.
///
/// # Safety
/// The processor has AVX2; both sides have the elements. To stream, `dst` is aligned to 32 bytes.
#[inline(always)]
pub(super) unsafe fn transform<S: LoadFour, T: StoreEight, const STREAM: bool>(
    src: *const S,
    dst: *mut T,
    n: usize,
    terms: VectorTerms<'_>,
) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let (scale, offset) = (_mm256_set1_pd(terms.scale), _mm256_set1_pd(terms.offset));
        let mut outside = _mm256_setzero_pd();
        let mut at = 0;
        while at < n {
            let low = four(src.add(at), scale, offset, terms.missing);
            let high = four(src.add(at + 4), scale, offset, terms.missing);
            outside = _mm256_or_pd(outside, T::store::<STREAM>(low, high, dst.add(at)));
            at += 8;
        }
        _mm256_movemask_pd(outside) != 0
    }
}
