//! Converts numbers to singles that a 16-bit float holds exactly ([`Half`]).
//!
//! A number is rounded once, to nearest with ties to even. Beyond the range the result is infinite and counts
//! as out of range, as for a double that exceeds the range of a single.

use std::mem::MaybeUninit;

use super::number::Number;
use super::{Row, no_row, with_number};
use crate::{NcType, Result};

/// A 16-bit float format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Half {
    /// IEEE 754's binary16: 11 bits of precision, up to 65504.
    Binary16,
    /// The upper 16 bits of a single.
    BFloat16,
}

impl Half {
    /// Returns the nearest value, ties to even; infinite beyond the range.
    pub fn nearest(self, value: f64) -> f32 {
        self.to_single(self.of_double(value))
    }

    /// Returns the value of stored bits. A signalling NaN becomes a quiet one.
    #[inline(always)]
    pub fn to_single(self, bits: u16) -> f32 {
        match self {
            Self::Binary16 => {
                let sign = u32::from(bits & 0x8000) << 16;
                let magnitude = u32::from(bits & 0x7fff) << 13;
                // The exponents differ by 112. The multiplication also makes subnormal numbers normal.
                let number = (f32::from_bits(magnitude) * f32::from_bits((127 + 112) << 23)).to_bits();
                let quiet = if magnitude > 0x7c00 << 13 { QUIET } else { 0 };
                let not_finite = INFINITE | magnitude | quiet;
                f32::from_bits(sign | if magnitude >= 0x7c00 << 13 { not_finite } else { number })
            }
            Self::BFloat16 => {
                let quiet = if bits & 0x7fff > 0x7f80 { QUIET } else { 0 };
                f32::from_bits(u32::from(bits) << 16 | quiet)
            }
        }
    }

    /// Returns the bits of the nearest value, ties to even; infinite beyond the range. NaN keeps its upper
    /// bits.
    #[inline(always)]
    pub fn of_single(self, value: f32) -> u16 {
        let bits = value.to_bits();
        let magnitude = bits & 0x7fff_ffff;
        match self {
            Self::Binary16 => {
                let normal =
                    magnitude.wrapping_add(0xfff + (magnitude >> 13 & 1)).wrapping_sub(112 << 23) >> 13;
                // One half has the last place of subnormal half floats, so the addition rounds.
                let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5_f32.to_bits());
                // The first comparison is with the least normal number, the second with the midpoint of the
                // greatest number and the next power of two.
                let finite = if magnitude < 0x3880_0000 { subnormal } else { normal };
                let number = if magnitude >= 0x477f_f000 { 0x7c00 } else { finite };
                let nan = 0x7e00 | (magnitude >> 13 & 0x3ff);
                ((bits >> 16 & 0x8000) | if magnitude > INFINITE { nan } else { number }) as u16
            }
            Self::BFloat16 => {
                let number = bits.wrapping_add(0x7fff + (bits >> 16 & 1));
                ((if magnitude > INFINITE { bits | QUIET } else { number }) >> 16) as u16
            }
        }
    }

    /// Returns the bits of the nearest value, ties to even; infinite beyond the range.
    pub fn of_double(self, value: f64) -> u16 {
        self.of_single(to_odd(value))
    }

    /// Returns the greatest finite value.
    fn max(self) -> f64 {
        match self {
            Self::Binary16 => self.to_single(0x7bff).into(),
            Self::BFloat16 => self.to_single(0x7f7f).into(),
        }
    }
}

/// The bits of an infinite single.
const INFINITE: u32 = 0x7f80_0000;

/// The bit of a single that makes NaN quiet.
const QUIET: u32 = 0x0040_0000;

/// Returns the conversion of native elements to singles that half floats hold.
///
/// # Errors
/// `NC_EBADTYPE` for types other than numbers.
pub fn half_row(from: NcType, half: Half) -> Result<Row> {
    match half {
        Half::Binary16 => with_number!(from, S => Ok(each::<S, false>), else Err(no_row(from))),
        Half::BFloat16 => with_number!(from, S => Ok(each::<S, true>), else Err(no_row(from))),
    }
}

/// A number that converts to a double without affecting the later rounding.
trait Wide: Number {
    fn wide(self) -> f64;
}

macro_rules! wide {
    ($($t:ident)*) => {$(
        impl Wide for $t {
            #[inline(always)]
            fn wide(self) -> f64 {
                // An inexact integer is far out of range.
                self as f64
            }
        }
    )*};
}

wide!(i8 u8 i16 u16 i32 u32 i64 u64 f32 f64);

fn each<S: Wide, const BRAIN: bool>(src: &[u8], dst: &mut [MaybeUninit<u8>]) -> bool {
    let half = if BRAIN { Half::BFloat16 } else { Half::Binary16 };
    let (max, mut out_of_range) = (half.max(), false);
    for (item, slot) in S::items(src).iter().zip(f32::slots(dst)) {
        let value = S::load::<false>(item).wide();
        out_of_range |= value.is_finite() && value.abs() > max;
        half.nearest(value).store::<false>(slot);
    }
    out_of_range
}

/// Returns the value as a single; if it is inexact, the neighbour with an odd last bit. Rounding this to
/// fewer bits equals rounding the value.
fn to_odd(value: f64) -> f32 {
    let near = value as f32;
    let back = f64::from(near);
    if back == value || value.is_nan() || near.to_bits() & 1 == 1 {
        near
    } else if back < value {
        near.next_up()
    } else {
        near.next_down()
    }
}

#[cfg(test)]
mod tests {
    use ::half::{bf16, f16};
    use proptest::prelude::*;

    use super::*;

    /// Returns the nearest half float, and the even one in a tie.
    fn slow(value: f64) -> f64 {
        // The result is infinite beyond the midpoint of the greatest half and the next power of two.
        if value.abs() >= 65520.0 {
            return f64::INFINITY.copysign(value);
        }
        let halves = (0..0x7c00).map(f16::from_bits);
        let distance = |half: &f16| (f64::from(*half) - value.abs()).abs();
        let best = halves.min_by(|a, b| {
            distance(a).total_cmp(&distance(b)).then_with(|| (a.to_bits() & 1).cmp(&(b.to_bits() & 1)))
        });
        f64::from(best.unwrap()).copysign(value)
    }

    #[test]
    fn all_conversions_equal_the_crate_half() {
        for bits in 0..=u16::MAX {
            assert_eq!(
                Half::Binary16.to_single(bits).to_bits(),
                f16::from_bits(bits).to_f32().to_bits(),
                "{bits:#x}"
            );
            assert_eq!(
                Half::BFloat16.to_single(bits).to_bits(),
                bf16::from_bits(bits).to_f32().to_bits(),
                "{bits:#x}"
            );
        }
        // Each exponent and sign, with the bits around each place where rounding changes.
        for upper in 0..=u32::from(u16::MAX) {
            for lower in
                [0, 1, 0xfff, 0x1000, 0x1001, 0x1fff, 0x2fff, 0x3000, 0x3001, 0x7fff, 0x8000, 0x8001, 0xffff]
            {
                let value = f32::from_bits(upper << 16 | lower);
                assert_eq!(Half::Binary16.of_single(value), f16::from_f32(value).to_bits(), "{value:e}");
                assert_eq!(Half::BFloat16.of_single(value), bf16::from_f32(value).to_bits(), "{value:e}");
            }
        }
    }

    #[test]
    fn boundaries() {
        let least = 2_f64.powi(-24);
        for (value, expected) in [
            (0.0, 0.0),
            (-0.0, -0.0),
            (65504.0, 65504.0),
            (65_519.999_999_999_99, 65504.0),
            (65520.0, f64::INFINITY),
            (-1e300, f64::NEG_INFINITY),
            (1e-320, 0.0),
            (-1e-320, -0.0),
            (least, least),
            (least / 2.0, 0.0),
            ((least / 2.0).next_up(), least),
            (least * 1.5, least * 2.0),
            // The values lie between two halves, off the midpoint by less than a single float can show.
            (1.0 + 2_f64.powi(-11), 1.0),
            (1.0 + 2_f64.powi(-11) + 2_f64.powi(-50), 1.0 + 2_f64.powi(-10)),
            (1.0 + 3.0 * 2_f64.powi(-11) - 2_f64.powi(-50), 1.0 + 2_f64.powi(-10)),
            (f64::INFINITY, f64::INFINITY),
        ] {
            assert_eq!(f64::from(Half::Binary16.nearest(value)).to_bits(), expected.to_bits(), "{value:e}");
        }
        assert!(Half::Binary16.nearest(f64::NAN).is_nan() && Half::BFloat16.nearest(f64::NAN).is_nan());
        for (value, expected) in [
            (1.0 + 2_f64.powi(-8), 1.0),
            (1.0 + 2_f64.powi(-8) + 2_f64.powi(-50), 1.0 + 2_f32.powi(-7)),
            (3.4e38, f32::INFINITY),
        ] {
            assert_eq!(Half::BFloat16.nearest(value), expected);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_nearest_half(bits in 0..0x7c00_u16, part in prop::sample::select(vec![0.0, 0.25, 0.5, 0.75]), nudge in -1..2_i64, sign: bool) {
            let low = f64::from(f16::from_bits(bits));
            let high = if bits == 0x7bff { 65536.0 } else { f64::from(f16::from_bits(bits + 1)) };
            let between = (low + (high - low) * part).to_bits() as i64;
            let value = f64::from_bits((between + nudge).max(0) as u64);
            let value = if sign { -value } else { value };
            prop_assert_eq!(f64::from(Half::Binary16.nearest(value)).to_bits(), slow(value).to_bits(), "{:e}", value);
        }

        #[test]
        fn integers_beyond_half_precision_are_out_of_range(value: i64) {
            let mut out = [MaybeUninit::uninit(); 4];
            for value in [value, value >> 47, 65504, 65505, -65504, -65505] {
                let out_of_range = half_row(NcType::Int64, Half::Binary16).unwrap()(&value.to_ne_bytes(), &mut out);
                prop_assert_eq!(out_of_range, value.unsigned_abs() > 65504);
            }
        }
    }

    #[test]
    fn rows_of_every_number_type() {
        for ty in NcType::ATOMIC {
            assert_eq!(half_row(ty, Half::BFloat16).is_ok(), ty.is_numeric(), "{ty:?}");
        }
    }
}
