//! Conversion between number types, with the range rule of netCDF.
//!
//! A value out of range is wrapped and reported by a flag; the caller returns `NC_ERANGE` after the whole
//! transfer. Integers keep their low bits. Floats lose their fraction; beyond the range they give the low
//! bits of the 64-bit integer. A double beyond the range of a float becomes infinite. NaN as an integer is 0
//! and out of range. Infinities as floats and integers as floats are always in range. Text does not convert.
//!
//! Read first: [`check`], [`read_row`], [`write_row`] for the chunk engine, [`native_row`] for fields of
//! structs, [`convert_values`] for attributes, [`Linear`] for packed data. Source: netCDF-C's conversion
//! rules; netCDF-C differs in one case: it reports an infinite double as out of the range of a float.

mod half;
mod number;

use std::mem::MaybeUninit;

use number::{Number, To, ToAll};

use crate::{ErrorKind, NcType, Result, Values};

/// Converts adjacent elements. Returns whether a value was out of range.
///
/// Both sides are unaligned and have the same number of elements; the destination is then initialised
/// completely. Otherwise the common number of elements is converted.
pub type Row = fn(src: &[u8], dst: &mut [MaybeUninit<u8>]) -> bool;

/// As [`Row`], from native elements to native elements in initialised memory.
pub type NativeRow = fn(src: &[u8], dst: &mut [u8]) -> bool;

/// Checks that values of type `from` convert to `to`.
///
/// # Errors
/// `NC_ECHAR` between text or strings and anything else; `NC_EBADTYPE` between a user-defined type and
/// anything else.
pub fn check(from: NcType, to: NcType) -> Result<()> {
    if from == to || (from.is_numeric() && to.is_numeric()) {
        return Ok(());
    }
    let kind = match (from, to) {
        (NcType::User(_), _) | (_, NcType::User(_)) => ErrorKind::BadType,
        _ => ErrorKind::Char,
    };
    Err(kind.context(format!("{} does not convert to {}", from.name(), to.name())))
}

/// Returns the conversion for reads: from stored elements, byte-swapped if `swap`, to native ones.
///
/// # Errors
/// As [`check`]; `NC_EBADTYPE` for strings and user-defined types.
pub fn read_row(from: NcType, to: NcType, swap: bool) -> Result<Row> {
    if swap { row::<true, false>(from, to) } else { row::<false, false>(from, to) }
}

/// Returns the conversion for writes: from native elements to stored ones, byte-swapped if `swap`.
///
/// # Errors
/// As [`read_row`].
pub fn write_row(from: NcType, to: NcType, swap: bool) -> Result<Row> {
    if swap { row::<false, true>(from, to) } else { row::<false, false>(from, to) }
}

/// Runs `$body` with `$T` standing for the Rust type of the number type `$ty`.
macro_rules! with_number {
    ($ty:expr, $T:ident => $body:expr, else $other:expr) => {
        match $ty {
            NcType::Byte => {
                type $T = i8;
                $body
            }
            NcType::UByte => {
                type $T = u8;
                $body
            }
            NcType::Short => {
                type $T = i16;
                $body
            }
            NcType::UShort => {
                type $T = u16;
                $body
            }
            NcType::Int => {
                type $T = i32;
                $body
            }
            NcType::UInt => {
                type $T = u32;
                $body
            }
            NcType::Int64 => {
                type $T = i64;
                $body
            }
            NcType::UInt64 => {
                type $T = u64;
                $body
            }
            NcType::Float => {
                type $T = f32;
                $body
            }
            NcType::Double => {
                type $T = f64;
                $body
            }
            NcType::Char | NcType::String | NcType::User(_) => $other,
        }
    };
}

// After the macro, which it uses.
mod linear;

pub use half::{Half, half_row};
pub use linear::{Linear, LinearRow};
use with_number;

/// Returns the conversion between native elements in memory.
///
/// # Errors
/// As [`read_row`].
///
/// # Examples
/// ```
/// use nczarr_model::{NcType, convert};
///
/// let row = convert::native_row(NcType::Short, NcType::Double)?;
/// let mut bytes = [0; 8];
/// assert!(!row(&7i16.to_ne_bytes(), &mut bytes));
/// assert_eq!(f64::from_ne_bytes(bytes), 7.0);
/// # Ok::<(), nczarr_model::Error>(())
/// ```
pub fn native_row(from: NcType, to: NcType) -> Result<NativeRow> {
    check(from, to)?;
    with_number!(from, S => native_row_from::<S>(to), else Err(no_row(from)))
}

fn row<const IN: bool, const OUT: bool>(from: NcType, to: NcType) -> Result<Row> {
    check(from, to)?;
    if from == to {
        // Bits are copied, so NaN payloads are kept.
        return match (from.size(), IN || OUT) {
            (Some(_), false) | (Some(1), true) => Ok(copy),
            (Some(2), true) => Ok(swap::<2>),
            (Some(4), true) => Ok(swap::<4>),
            (Some(8), true) => Ok(swap::<8>),
            _ => Err(no_row(from)),
        };
    }
    with_number!(from, S => row_from::<S, IN, OUT>(to), else Err(no_row(from)))
}

fn row_from<S: ToAll, const IN: bool, const OUT: bool>(to: NcType) -> Result<Row> {
    with_number!(to, T => Ok(each::<S, T, IN, OUT>), else Err(no_row(to)))
}

fn native_row_from<S: ToAll>(to: NcType) -> Result<NativeRow> {
    fn each_native<S: To<T>, T: Number>(src: &[u8], dst: &mut [u8]) -> bool {
        let mut all_fit = true;
        for (item, slot) in S::items(src).iter().zip(T::raw_slots(dst)) {
            let value = S::load::<false>(item);
            all_fit &= value.fits();
            value.wrapped().store_native(slot);
        }
        !all_fit
    }
    with_number!(to, T => Ok(each_native::<S, T>), else Err(no_row(to)))
}

fn no_row(ty: NcType) -> crate::Error {
    ErrorKind::BadType.context(format!("elements of type {} have no fixed size", ty.name()))
}

/// Elements per pass, so that a second pass finds the block in the first-level cache.
const BLOCK: usize = 1024;

fn each<S: To<T>, T: Number, const IN: bool, const OUT: bool>(
    src: &[u8],
    dst: &mut [MaybeUninit<u8>],
) -> bool {
    let mut out_of_range = false;
    for (items, slots) in S::items(src).chunks(BLOCK).zip(T::slots(dst).chunks_mut(BLOCK)) {
        let mut all_fit = true;
        for (item, slot) in items.iter().zip(&mut *slots) {
            let value = S::load::<IN>(item);
            all_fit &= value.fits();
            value.fast().store::<OUT>(slot);
        }
        if S::WRAPS && !all_fit {
            for (item, slot) in items.iter().zip(slots) {
                S::load::<IN>(item).wrapped().store::<OUT>(slot);
            }
        }
        out_of_range |= !all_fit;
    }
    out_of_range
}

fn copy(src: &[u8], dst: &mut [MaybeUninit<u8>]) -> bool {
    let len = src.len().min(dst.len());
    dst[..len].write_copy_of_slice(&src[..len]);
    false
}

fn swap<const N: usize>(src: &[u8], dst: &mut [MaybeUninit<u8>]) -> bool {
    for (item, slot) in src.as_chunks::<N>().0.iter().zip(dst.as_chunks_mut::<N>().0) {
        let mut bytes = *item;
        bytes.reverse();
        slot.write_copy_of_slice(&bytes);
    }
    false
}

/// Converts values to another type. Returns also whether a value was out of range.
///
/// # Errors
/// As [`check`].
///
/// # Examples
/// ```
/// use nczarr_model::{NcType, Values, convert};
///
/// let (values, out_of_range) = convert::convert_values(&Values::Int(vec![1, 300]), NcType::UByte)?;
/// assert_eq!(values, Values::UByte(vec![1, 44]));
/// assert!(out_of_range);
/// # Ok::<(), nczarr_model::Error>(())
/// ```
pub fn convert_values(values: &Values, to: NcType) -> Result<(Values, bool)> {
    let from = values.nc_type();
    check(from, to)?;
    if from == to {
        return Ok((values.clone(), false));
    }
    // Through bytes: a function for each pair of types would be a hundred more.
    let row = native_row(from, to)?;
    let bytes = values.to_native_bytes().ok_or_else(|| no_row(from))?;
    let mut converted = vec![0; values.len() * to.size().ok_or_else(|| no_row(to))?];
    let out_of_range = row(&bytes, &mut converted);
    let values = Values::from_native_bytes(to, &converted).ok_or_else(|| no_row(to))?;
    Ok((values, out_of_range))
}
