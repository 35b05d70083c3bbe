//! Reading with scale and offset: one pass from stored numbers of any type to floats or doubles.
//!
//! The loops go over lines of 64 bytes of the result: in the instructions of AVX2 ([`four`]), or for other machines, and for
//! missing numbers that no double is exactly, in plain arithmetic. Where the result is large whole lines bypass the
//! caches. The arithmetic is that of [`nczarr_model::convert::LinearRow`], to the bit.

use nczarr_model::convert::Linear;
use nczarr_model::{NcType, Result};

use super::convert::{PIECE, Side, through};
#[cfg(target_arch = "x86_64")]
use super::four;
use super::{Layout, Rows, each_row, stream};
use four::{Eight, Four};

/// A linear transform from the stored type to a memory type.
#[derive(Debug)]
pub(super) struct Transform {
    row: Row,
    terms: Terms,
    mem_item: usize,
}

/// What a row function needs beside the row.
#[derive(Debug)]
struct Terms {
    scale: f64,
    offset: f64,
    /// Elements of the stored type in this machine's byte order.
    missing: Vec<u8>,
    /// The same as doubles, if no other numbers become the same doubles.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "for vectors alone"))]
    doubles: Option<Vec<f64>>,
}

/// Transforms `n` elements that lie one after another on both sides, in this machine's byte order; `bool`: whether
/// lines may bypass the caches. Answers whether a value was out of range.
///
/// # Safety
/// They lie inside live memory on both sides, which do not overlap.
type Row = unsafe fn(src: *const u8, dst: *mut u8, n: usize, terms: &Terms, stream: bool) -> bool;

impl Transform {
    /// For elements of type `stored` in memory of type `memory`.
    ///
    /// # Errors
    /// As [`Linear::check`] and [`Linear::missing_bytes`].
    pub(super) fn new(stored: NcType, memory: NcType, linear: &Linear) -> Result<Self> {
        Linear::check(stored, memory)?;
        let missing = linear.missing_bytes(stored)?;
        let is_exact = missing.is_empty() || !matches!(stored, NcType::Int64 | NcType::UInt64);
        let doubles = is_exact.then(|| doubles(stored, &missing));
        let terms = Terms { scale: linear.scale, offset: linear.offset, missing, doubles };
        let (row, mem_item) = match memory {
            NcType::Float => (choose::<f32, 16>(stored), 4),
            _ => (choose::<f64, 8>(stored), 8),
        };
        Ok(Self { row, terms, mem_item })
    }

    /// In plain arithmetic, as other machines do it.
    #[cfg(test)]
    pub(super) fn plainly(mut self) -> Self {
        self.terms.doubles = None;
        self
    }

    pub(super) fn mem_item(&self) -> usize {
        self.mem_item
    }

    /// One element in this machine's byte order, transformed; and whether it is out of range.
    pub(super) fn element(&self, value: &[u8]) -> ([u8; 8], bool) {
        let mut out = [0; 8];
        let (mut item, len) = ([0; 8], value.len().min(8));
        item[..len].copy_from_slice(&value[..len]);
        // SAFETY: both sides have room for one element of any type.
        let out_of_range = unsafe { (self.row)(item.as_ptr(), out.as_mut_ptr(), 1, &self.terms, false) };
        (out, out_of_range)
    }

    /// From chunk to memory. Answers whether a value was out of range.
    ///
    /// # Safety
    /// See [`Kernel`](super::Kernel).
    pub(super) unsafe fn load(&self, layout: &Layout, src: *const u8, dst: *mut u8, rows: &Rows, stream: bool) -> bool {
        let gather = Side::new(layout, layout.item, rows.src[0], rows.pitch, true, false);
        let scatter = Side::new(&Layout::native(self.mem_item), self.mem_item, rows.dst[0], 0, false, false);
        // What goes through no piece of the stack needs not be cut into such.
        let most = if gather.kernel.is_none() && scatter.kernel.is_none() { rows.n[0].max(1) } else { PIECE };
        let mut out_of_range = false;
        each_row!(src, dst, rows, |s, d| {
            for start in (0..rows.n[0]).step_by(most) {
                let n = most.min(rows.n[0] - start);
                // SAFETY: the piece lies inside the row, hence inside both sides; it fits the stack if that is used; the
                // row function reads and writes all of it.
                unsafe {
                    let (s, d) = (s.add(start * rows.src[0]), d.add(start * rows.dst[0]));
                    out_of_range |= through(n, (&gather, s), (&scatter, d), |src, dst| {
                        (self.row)(src, dst, n, &self.terms, stream && scatter.kernel.is_none())
                    });
                }
            }
        });
        out_of_range
    }
}

/// Elements of a type as doubles.
fn doubles(stored: NcType, elements: &[u8]) -> Vec<f64> {
    let n = elements.len() / stored.size().unwrap_or(1);
    let same = Terms { scale: 1.0, offset: Linear::NO_OFFSET, missing: Vec::new(), doubles: None };
    let mut out = vec![0.0_f64; n];
    // SAFETY: both sides have so many elements.
    unsafe { choose::<f64, 8>(stored)(elements.as_ptr(), out.as_mut_ptr().cast(), n, &same, false) };
    out
}

/// Elsewhere there are no such instructions.
#[cfg(not(target_arch = "x86_64"))]
mod four {
    pub(super) trait Four {}
    pub(super) trait Eight {}
    impl<T> Four for T {}
    impl<T> Eight for T {}
}

/// A number as it is stored.
trait Stored: Copy + PartialEq + Four {
    fn value(self) -> f64;
}

/// A number as it is wanted.
trait Wanted: Copy + Eight {
    const ZERO: Self;
    fn fits(value: f64) -> bool;
    fn of(value: f64) -> Self;
}

macro_rules! stored {
    ($($t:ident)*) => {$(
        impl Stored for $t {
            #[inline(always)]
            fn value(self) -> f64 {
                self as f64
            }
        }
    )*};
}

stored!(i8 u8 i16 u16 i32 u32 i64 u64 f32 f64);

impl Wanted for f64 {
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

impl Wanted for f32 {
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

/// The row function for a stored type; `L`: elements of the result on a line.
fn choose<T: Wanted, const L: usize>(stored: NcType) -> Row {
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
        NcType::Char | NcType::String | NcType::User(_) => unreachable!("`Linear::check` lets numbers pass only"),
    }
}

fn compiled<S: Stored, T: Wanted, const L: usize>() -> Row {
    #[cfg(target_arch = "x86_64")]
    if super::has_avx2() {
        return row_avx2::<S, T, L>;
    }
    row::<S, T, L, false>
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn row_avx2<S: Stored, T: Wanted, const L: usize>(
    src: *const u8,
    dst: *mut u8,
    n: usize,
    terms: &Terms,
    stream: bool,
) -> bool {
    let Some(missing) = &terms.doubles else {
        // SAFETY: the same contract.
        return unsafe { row::<S, T, L, true>(src, dst, n, terms, stream) };
    };
    let vectors = four::Terms { scale: terms.scale, offset: terms.offset, missing };
    let (src, dst) = (src.cast::<S>(), dst.cast::<T>());
    let head = if stream { stream::head_of(dst) } else { None };
    let first = head.unwrap_or(0).min(n);
    let lines = (n - first) / L * L;
    // SAFETY: head, lines and tail are the row's `n` elements; a streamed line begins on one of the memory's; a line has
    // eight elements or sixteen.
    unsafe {
        let (from, to) = (src.add(first), dst.add(first));
        let out_of_range = match head {
            Some(_) => four::transform::<S, T, true>(from, to, lines, vectors),
            None => four::transform::<S, T, false>(from, to, lines, vectors),
        };
        let fit = singly(src, dst, 0..first, terms) & singly(src, dst, first + lines..n, terms);
        out_of_range | !fit
    }
}

/// See [`Row`].
#[inline(always)]
unsafe fn row<S: Stored, T: Wanted, const L: usize, const AVX2: bool>(
    src: *const u8,
    dst: *mut u8,
    n: usize,
    terms: &Terms,
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

/// Elements that fill no line. Whether all fit.
///
/// # Safety
/// They lie inside both sides.
#[inline(always)]
unsafe fn singly<S: Stored, T: Wanted>(
    src: *const S,
    dst: *mut T,
    range: std::ops::Range<usize>,
    terms: &Terms,
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

/// `L` elements, transformed; and whether all fit.
///
/// # Safety
/// They are there.
#[inline(always)]
unsafe fn line<S: Stored, T: Wanted, const L: usize>(src: *const S, terms: &Terms) -> ([T; L], bool) {
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
