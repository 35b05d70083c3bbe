//! Reads with scale and offset: one pass from stored numbers of any type to floats or doubles.
//!
//! The loops process lines of 64 bytes of the result, with AVX2 ([`linear_avx2`]). Other processors, and
//! missing values that are not exact as doubles, need plain arithmetic. Large results bypass the caches in
//! whole lines. Results equal those of [`nczarr_model::convert::LinearRow`] to the bit.

use nczarr_model::convert::Linear;
use nczarr_model::{NcType, Result};

#[cfg(target_arch = "x86_64")]
use super::linear_avx2;
use super::row_side::{PIECE, RowSide, run_through_stack};
use super::{ChunkLayout, KernelRows, each_row, stream};
use linear_avx2::{LoadFour, StoreEight};

/// A linear transform from the stored type to a memory type.
#[derive(Debug)]
pub(super) struct LinearTransform {
    row: Row,
    terms: LinearTerms,
    mem_item: usize,
}

/// The terms of the transform.
#[derive(Debug)]
struct LinearTerms {
    scale: f64,
    offset: f64,
    /// The missing values: native elements of the stored type.
    missing: Vec<u8>,
    /// The same values as doubles, if no other stored number converts to one of these doubles.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "for vectors alone"))]
    doubles: Option<Vec<f64>>,
}

/// Transforms `n` adjacent native elements. `bool`: whether lines may bypass the caches. Returns whether a
/// value was out of range.
///
/// # Safety
/// Both sides are live memory and do not overlap.
type Row = unsafe fn(src: *const u8, dst: *mut u8, n: usize, terms: &LinearTerms, stream: bool) -> bool;

impl LinearTransform {
    /// Creates the transform from type `stored` to type `memory`.
    ///
    /// # Errors
    /// As [`Linear::check`] and [`Linear::missing_bytes`].
    pub(super) fn new(stored: NcType, memory: NcType, linear: &Linear) -> Result<Self> {
        Linear::check(stored, memory)?;
        let missing = linear.missing_bytes(stored)?;
        let is_exact = missing.is_empty() || !matches!(stored, NcType::Int64 | NcType::UInt64);
        let doubles = is_exact.then(|| doubles(stored, &missing));
        let terms = LinearTerms { scale: linear.scale, offset: linear.offset, missing, doubles };
        let (row, mem_item) = match memory {
            NcType::Float => (choose::<f32, 16>(stored), 4),
            _ => (choose::<f64, 8>(stored), 8),
        };
        Ok(Self { row, terms, mem_item })
    }

    /// Disables vector instructions.
    #[cfg(test)]
    pub(super) fn plainly(mut self) -> Self {
        self.terms.doubles = None;
        self
    }

    pub(super) fn mem_item(&self) -> usize {
        self.mem_item
    }

    /// Transforms one native element. Returns also whether it is out of range.
    pub(super) fn element(&self, value: &[u8]) -> ([u8; 8], bool) {
        let mut out = [0; 8];
        let (mut item, len) = ([0; 8], value.len().min(8));
        item[..len].copy_from_slice(&value[..len]);
        // SAFETY: both sides have room for one element of any type.
        let out_of_range = unsafe { (self.row)(item.as_ptr(), out.as_mut_ptr(), 1, &self.terms, false) };
        (out, out_of_range)
    }

    /// Loads from chunk to memory. Returns whether a value was out of range.
    ///
    /// # Safety
    /// See [`Kernel`](super::Kernel).
    pub(super) unsafe fn load(
        &self,
        layout: &ChunkLayout,
        src: *const u8,
        dst: *mut u8,
        rows: &KernelRows,
        stream: bool,
    ) -> bool {
        let gather = RowSide::new(layout, layout.item, rows.src[0], rows.pitch, true, false);
        let scatter =
            RowSide::new(&ChunkLayout::native(self.mem_item), self.mem_item, rows.dst[0], 0, false, false);
        // Without a buffer on the stack, the row need not be divided.
        let most = if gather.kernel.is_none() && scatter.kernel.is_none() { rows.n[0].max(1) } else { PIECE };
        let mut out_of_range = false;
        each_row!(src, dst, rows, |s, d| {
            for start in (0..rows.n[0]).step_by(most) {
                let n = most.min(rows.n[0] - start);
                // SAFETY: the piece lies inside the row, hence inside both sides; it fits the stack if that
                // is used; the row function reads and writes all of it.
                unsafe {
                    let (s, d) = (s.add(start * rows.src[0]), d.add(start * rows.dst[0]));
                    out_of_range |= run_through_stack(n, &gather, s, &scatter, d, |src, dst| {
                        (self.row)(src, dst, n, &self.terms, stream && scatter.kernel.is_none())
                    });
                }
            }
        });
        out_of_range
    }
}

/// Converts elements to doubles.
fn doubles(stored: NcType, elements: &[u8]) -> Vec<f64> {
    let n = elements.len() / stored.size().unwrap_or(1);
    let same = LinearTerms { scale: 1.0, offset: Linear::NO_OFFSET, missing: Vec::new(), doubles: None };
    let mut out = vec![0.0_f64; n];
    // SAFETY: both sides have `n` elements.
    unsafe { choose::<f64, 8>(stored)(elements.as_ptr(), out.as_mut_ptr().cast(), n, &same, false) };
    out
}

/// Other processors have no such instructions.
#[cfg(not(target_arch = "x86_64"))]
mod four {
    pub(super) trait Four {}
    pub(super) trait Eight {}
    impl<T> LoadFour for T {}
    impl<T> StoreEight for T {}
}

/// A stored number.
trait StoredNumber: Copy + PartialEq + LoadFour {
    fn value(self) -> f64;
}

/// A number of the result.
trait ResultNumber: Copy + StoreEight {
    const ZERO: Self;
    fn fits(value: f64) -> bool;
    fn of(value: f64) -> Self;
}

macro_rules! stored {
    ($($t:ident)*) => {$(
        impl StoredNumber for $t {
            #[inline(always)]
            fn value(self) -> f64 {
                self as f64
            }
        }
    )*};
}

stored!(i8 u8 i16 u16 i32 u32 i64 u64 f32 f64);

impl ResultNumber for f64 {
    const ZERO: Self = 0.0;

    #[inline(always)]
    fn fits(_: f64) -> bool {
        true
    }

    #[inline(always)]
    fn of(value: f64) -> Self {
        value
    }
}

impl ResultNumber for f32 {
    const ZERO: Self = 0.0;

    #[inline(always)]
    fn fits(value: f64) -> bool {
        let size = value.abs();
        !((size > f64::from(f32::MAX)) & (size < f64::INFINITY))
    }

    #[inline(always)]
    fn of(value: f64) -> Self {
        value as f32
    }
}

/// Returns the row function for a stored type; `L`: elements per line of the result.
fn choose<T: ResultNumber, const L: usize>(stored: NcType) -> Row {
    match stored {
        NcType::Byte => compiled::<i8, T, L>(),
        NcType::UByte => compiled::<u8, T, L>(),
        NcType::Short => compiled::<i16, T, L>(),
        NcType::UShort => compiled::<u16, T, L>(),
        NcType::Int => compiled::<i32, T, L>(),
        NcType::UInt => compiled::<u32, T, L>(),
        NcType::Int64 => compiled::<i64, T, L>(),
        NcType::UInt64 => compiled::<u64, T, L>(),
        NcType::Float => compiled::<f32, T, L>(),
        NcType::Double => compiled::<f64, T, L>(),
        NcType::Char | NcType::String | NcType::User(_) => {
            unreachable!("`Linear::check` lets numbers pass only")
        }
    }
}

fn compiled<S: StoredNumber, T: ResultNumber, const L: usize>() -> Row {
    #[cfg(target_arch = "x86_64")]
    if super::has_avx2() {
        return row_avx2::<S, T, L>;
    }
    row::<S, T, L, false>
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn row_avx2<S: StoredNumber, T: ResultNumber, const L: usize>(
    src: *const u8,
    dst: *mut u8,
    n: usize,
    terms: &LinearTerms,
    stream: bool,
) -> bool {
    let Some(missing) = &terms.doubles else {
        // SAFETY: the same contract.
        return unsafe { row::<S, T, L, true>(src, dst, n, terms, stream) };
    };
    let vectors = linear_avx2::VectorTerms { scale: terms.scale, offset: terms.offset, missing };
    let (src, dst) = (src.cast::<S>(), dst.cast::<T>());
    let head = if stream { stream::head_of(dst) } else { None };
    let first = head.unwrap_or(0).min(n);
    let lines = (n - first) / L * L;
    // SAFETY: head, lines and tail are the row's `n` elements; a streamed line is aligned to a cache line; a
    // line has eight or sixteen elements.
    unsafe {
        let (from, to) = (src.add(first), dst.add(first));
        let out_of_range = match head {
            Some(_) => linear_avx2::transform::<S, T, true>(from, to, lines, vectors),
            None => linear_avx2::transform::<S, T, false>(from, to, lines, vectors),
        };
        let fit = singly(src, dst, 0..first, terms) & singly(src, dst, first + lines..n, terms);
        out_of_range | !fit
    }
}

/// See [`Row`].
#[inline(always)]
unsafe fn row<S: StoredNumber, T: ResultNumber, const L: usize, const AVX2: bool>(
    src: *const u8,
    dst: *mut u8,
    n: usize,
    terms: &LinearTerms,
    stream: bool,
) -> bool {
    let (src, dst) = (src.cast::<S>(), dst.cast::<T>());
    let head = if stream { stream::head_of(dst) } else { None };
    let first = head.unwrap_or(0).min(n);
    let lines = (n - first) / L;
    let mut fit = true;
    // SAFETY: head, lines and tail are the row's `n` elements; a streamed line begins on one of the memory's.
    unsafe {
        fit &= singly(src, dst, 0..first, terms);
        if head.is_some() {
            for line in 0..lines {
                let at = first + line * L;
                let (values, all) = self::line::<S, T, L>(src.add(at), terms);
                fit &= all;
                stream::line::<AVX2>(values.as_ptr().cast(), dst.add(at).cast());
            }
        } else {
            for line in 0..lines {
                let at = first + line * L;
                let (values, all) = self::line::<S, T, L>(src.add(at), terms);
                fit &= all;
                dst.add(at).cast::<[T; L]>().write_unaligned(values);
            }
        }
        fit &= singly(src, dst, first + lines * L..n, terms);
    }
    !fit
}

/// Transforms elements outside whole lines. Returns whether all are in range.
///
/// # Safety
/// They lie inside both sides.
#[inline(always)]
unsafe fn singly<S: StoredNumber, T: ResultNumber>(
    src: *const S,
    dst: *mut T,
    range: std::ops::Range<usize>,
    terms: &LinearTerms,
) -> bool {
    let mut fit = true;
    for at in range {
        // SAFETY: the caller's promise.
        unsafe {
            let ([value], all) = line::<S, T, 1>(src.add(at), terms);
            fit &= all;
            dst.add(at).write_unaligned(value);
        }
    }
    fit
}

/// Transforms `L` elements. Returns also whether all are in range.
///
/// # Safety
/// They are there.
#[inline(always)]
unsafe fn line<S: StoredNumber, T: ResultNumber, const L: usize>(
    src: *const S,
    terms: &LinearTerms,
) -> ([T; L], bool) {
    // SAFETY: the caller's promise; numbers may be any bytes.
    let items = unsafe { src.cast::<[S; L]>().read_unaligned() };
    let mut values = [0.0; L];
    for (value, item) in values.iter_mut().zip(items) {
        *value = item.value() * terms.scale + terms.offset;
    }
    for at in 0..terms.missing.len() / size_of::<S>() {
        // SAFETY: `missing` holds whole elements of this type.
        let missing = unsafe { terms.missing.as_ptr().cast::<S>().add(at).read_unaligned() };
        for (value, item) in values.iter_mut().zip(items) {
            *value = if item == missing { f64::NAN } else { *value };
        }
    }
    let (mut wanted, mut fit) = ([T::ZERO; L], true);
    for (wanted, value) in wanted.iter_mut().zip(values) {
        *wanted = T::of(value);
        fit &= T::fits(value);
    }
    (wanted, fit)
}
