//! The ten number types and their conversions: the loop bodies of row functions.
//!
//! Every operation is branch-free, so loops are vectorised. `fast` is valid for values in range, `wrapped`
//! for all.

use std::mem::MaybeUninit;

/// A number type and its byte form.
pub(super) trait Number: Copy + 'static {
    /// The bytes of one element, and memory for them.
    type Raw;
    type Slot;

    fn items(bytes: &[u8]) -> &[Self::Raw];
    fn slots(bytes: &mut [MaybeUninit<u8>]) -> &mut [Self::Slot];
    fn load<const SWAP: bool>(raw: &Self::Raw) -> Self;
    fn store<const SWAP: bool>(self, slot: &mut Self::Slot);
    fn store_native(self, slot: &mut Self::Raw);
    fn raw_slots(bytes: &mut [u8]) -> &mut [Self::Raw];
}

/// Conversion of one value.
pub(super) trait To<T>: Number {
    /// Whether `wrapped` may differ from `fast` for values out of range.
    const WRAPS: bool;

    /// Whether the value is in the range of `T`.
    fn fits(self) -> bool;
    /// Returns the value as `T` if it fits; otherwise any value.
    fn fast(self) -> T;
    /// Returns the value as `T`, wrapped if it does not fit.
    fn wrapped(self) -> T;
}

/// A number type that converts to all ten.
pub(super) trait ToAll:
    To<i8> + To<u8> + To<i16> + To<u16> + To<i32> + To<u32> + To<i64> + To<u64> + To<f32> + To<f64>
{
}

macro_rules! number {
    ($($t:ident)*) => {$(
        impl ToAll for $t {}

        impl Number for $t {
            type Raw = [u8; size_of::<$t>()];
            type Slot = [MaybeUninit<u8>; size_of::<$t>()];

            #[inline(always)]
            fn items(bytes: &[u8]) -> &[Self::Raw] {
                bytes.as_chunks().0
            }

            #[inline(always)]
            fn slots(bytes: &mut [MaybeUninit<u8>]) -> &mut [Self::Slot] {
                bytes.as_chunks_mut().0
            }

            #[inline(always)]
            fn load<const SWAP: bool>(raw: &Self::Raw) -> Self {
                if SWAP ^ cfg!(target_endian = "big") { Self::from_be_bytes(*raw) } else { Self::from_le_bytes(*raw) }
            }

            #[inline(always)]
            fn store<const SWAP: bool>(self, slot: &mut Self::Slot) {
                let bytes = if SWAP ^ cfg!(target_endian = "big") { self.to_be_bytes() } else { self.to_le_bytes() };
                slot.write_copy_of_slice(&bytes);
            }

            #[inline(always)]
            fn store_native(self, slot: &mut Self::Raw) {
                *slot = self.to_ne_bytes();
            }

            #[inline(always)]
            fn raw_slots(bytes: &mut [u8]) -> &mut [Self::Raw] {
                bytes.as_chunks_mut().0
            }
        }
    )*};
}

number!(i8 u8 i16 u16 i32 u32 i64 u64 f32 f64);

/// Integer to integer: the low bits.
macro_rules! int_to_int {
    ($s:ident: $($t:ident)*) => {$(
        impl To<$t> for $s {
            const WRAPS: bool = false;

            #[inline(always)]
            fn fits(self) -> bool {
                const LOW: i128 = if ($s::MIN as i128) > ($t::MIN as i128) { $s::MIN as i128 } else { $t::MIN as i128 };
                const HIGH: i128 = if ($s::MAX as i128) < ($t::MAX as i128) { $s::MAX as i128 } else { $t::MAX as i128 };
                (LOW as $s..=HIGH as $s).contains(&self)
            }

            #[inline(always)]
            fn fast(self) -> $t {
                self as $t
            }

            #[inline(always)]
            fn wrapped(self) -> $t {
                self as $t
            }
        }
    )*};
}

/// Integer to float: the nearest, which always exists.
macro_rules! int_to_float {
    ($s:ident: $($t:ident)*) => {$(
        impl To<$t> for $s {
            const WRAPS: bool = false;

            #[inline(always)]
            fn fits(self) -> bool {
                true
            }

            #[inline(always)]
            fn fast(self) -> $t {
                self as $t
            }

            #[inline(always)]
            fn wrapped(self) -> $t {
                self as $t
            }
        }
    )*};
}

/// Float to integer: the fraction is dropped; beyond the range, the low bits of the 64-bit integer.
///
/// `$via` is the type that the processor converts to fastest among those that hold all of `$t`.
macro_rules! float_to_int {
    ($s:ident: $($t:ident via $via:ident,)*) => {$(
        impl To<$t> for $s {
            const WRAPS: bool = true;

            #[inline(always)]
            fn fits(self) -> bool {
                // The lower limit is a power of two or 0, hence exact. The upper limit may round up to a
                // float that is too large.
                const LOW: $s = $t::MIN as $s;
                const HIGH: $s = {
                    let high = $t::MAX as $s;
                    if high as i128 > $t::MAX as i128 { high.next_down() } else { high }
                };
                (LOW..=HIGH).contains(&self)
            }

            #[inline(always)]
            fn fast(self) -> $t {
                self as $via as $t
            }

            #[inline(always)]
            fn wrapped(self) -> $t {
                // Only an unsigned 64-bit integer exceeds a signed one at this end.
                if $t::MAX as u64 == u64::MAX && self >= i64::MAX as $s { self as u64 as $t } else { self as i64 as $t }
            }
        }
    )*};
}

int_to_int!(i8: i8 u8 i16 u16 i32 u32 i64 u64);
int_to_int!(u8: i8 u8 i16 u16 i32 u32 i64 u64);
int_to_int!(i16: i8 u8 i16 u16 i32 u32 i64 u64);
int_to_int!(u16: i8 u8 i16 u16 i32 u32 i64 u64);
int_to_int!(i32: i8 u8 i16 u16 i32 u32 i64 u64);
int_to_int!(u32: i8 u8 i16 u16 i32 u32 i64 u64);
int_to_int!(i64: i8 u8 i16 u16 i32 u32 i64 u64);
int_to_int!(u64: i8 u8 i16 u16 i32 u32 i64 u64);
int_to_float!(i8: f32 f64);
int_to_float!(u8: f32 f64);
int_to_float!(i16: f32 f64);
int_to_float!(u16: f32 f64);
int_to_float!(i32: f32 f64);
int_to_float!(u32: f32 f64);
int_to_float!(i64: f32 f64);
int_to_float!(u64: f32 f64);
int_to_float!(f32: f32 f64);
int_to_float!(f64: f64);
float_to_int!(f32: i8 via i32, u8 via i32, i16 via i32, u16 via i32, i32 via i32, u32 via u32, i64 via i64, u64 via u64,);
float_to_int!(f64: i8 via i32, u8 via i32, i16 via i32, u16 via i32, i32 via i32, u32 via u32, i64 via i64, u64 via u64,);

/// To the nearest; too large values become infinite. Infinities and NaN are unchanged.
impl To<f32> for f64 {
    const WRAPS: bool = false;

    #[inline(always)]
    fn fits(self) -> bool {
        let size = self.abs();
        !((size > f32::MAX as f64) & (size < f64::INFINITY))
    }

    #[inline(always)]
    fn fast(self) -> f32 {
        self as f32
    }

    #[inline(always)]
    fn wrapped(self) -> f32 {
        self as f32
    }
}
