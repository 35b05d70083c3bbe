//! Rounding of floats on the way to the engine: BitGroom, granular BitRound and BitRound.
//!
//! Only writes are changed; zero, the fill value and what is not finite pass as they are. How values were rounded is
//! told by one attribute of the variable, named here.
//!
//! Source: Zender 2016 (BitGroom); Kouznetsov 2021 and Delaunay 2019 (rounding the bits that are not kept).

use std::sync::Arc;

use dispatch::{CacheConfig, Linear, MemMut, MemRef, VarData};
use model::{ErrorKind, NcType, Quantize, Result, Slab, Values, convert};

use crate::gate::Gate;

/// How far a way of rounding goes, given its number of digits or bits.
type Way = fn(u32) -> Quantize;

/// The attributes that tell how values were rounded.
pub(crate) const ATTRIBUTES: [(&str, Way); 3] = [
    ("_QuantizeBitGroomNumberOfSignificantDigits", Quantize::BitGroom),
    ("_QuantizeGranularBitRoundNumberOfSignificantDigits", Quantize::GranularBitRound),
    ("_QuantizeBitRoundNumberOfSignificantBits", Quantize::BitRound),
];

/// The attribute of a way of rounding.
pub(crate) fn attribute(quantize: Quantize) -> (&'static str, Values) {
    let (index, kept) = match quantize {
        Quantize::BitGroom(kept) => (0, kept),
        Quantize::GranularBitRound(kept) => (1, kept),
        Quantize::BitRound(kept) => (2, kept),
    };
    (ATTRIBUTES[index].0, Values::Int(vec![i32::try_from(kept).unwrap_or(i32::MAX)]))
}

/// An array whose writes are rounded.
#[derive(Debug)]
pub(crate) struct Rounded {
    array: Arc<Gate>,
    xtype: NcType,
    quantize: Quantize,
    fill: Option<Values>,
}

impl Rounded {
    /// `xtype` is float or double.
    pub(crate) fn new(array: Arc<Gate>, xtype: NcType, quantize: Quantize, fill: Option<Values>) -> Self {
        Self { array, xtype, quantize, fill }
    }
}

impl VarData for Rounded {
    fn get(&self, slab: &Slab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        self.array.get(slab, out)
    }

    fn peek(&self, at: &[u64], ty: NcType, out: &mut [u8]) -> bool {
        self.array.peek(at, ty, out)
    }

    fn look(&self, slab: &Slab<'_>) -> Result<()> {
        self.array.look(slab)
    }

    fn get_linear(&self, slab: &Slab<'_>, out: MemMut<'_, '_>, linear: &Linear) -> Result<()> {
        self.array.get_linear(slab, out, linear)
    }

    fn put(&self, slab: &Slab<'_>, data: MemRef<'_>) -> Result<()> {
        let MemRef::Fixed { ty, bytes } = data else {
            return Err(ErrorKind::Char.context("strings for a variable of numbers"));
        };
        let given = Values::from_native_bytes(ty, bytes)
            .ok_or_else(|| ErrorKind::BadType.context(format!("memory of type {}", ty.name())))?;
        let (mut values, overflow) = convert::convert_values(&given, self.xtype)?;
        round(&mut values, self.quantize, self.fill.as_ref());
        let bytes = values.to_native_bytes().unwrap_or_default();
        self.array.put(slab, MemRef::Fixed { ty: self.xtype, bytes: &bytes })?;
        if overflow {
            return Err(ErrorKind::Range.context(format!("a value does not fit type {}", self.xtype.name())));
        }
        Ok(())
    }

    fn is_absent(&self, slab: &Slab<'_>) -> Result<bool> {
        self.array.is_absent(slab)
    }

    fn tune(&self, cache: CacheConfig) -> Result<()> {
        self.array.tune(cache)
    }

    fn cache(&self) -> CacheConfig {
        self.array.cache()
    }

    fn chunk_shape(&self) -> Option<Vec<u64>> {
        self.array.chunk_shape()
    }
}

/// Rounds floats or doubles in place.
fn round(values: &mut Values, quantize: Quantize, fill: Option<&Values>) {
    match values {
        Values::Float(values) => {
            let fill = match fill {
                Some(Values::Float(fill)) => fill.first().copied(),
                _ => None,
            };
            for (i, value) in values.iter_mut().enumerate() {
                if *value != 0.0 && value.is_finite() && Some(*value) != fill {
                    let rounded =
                        f32::from_bits(bits(f64::from(*value), value.to_bits().into(), 23, i, quantize) as u32);
                    *value = if rounded.is_finite() { rounded } else { *value };
                }
            }
        }
        Values::Double(values) => {
            let fill = match fill {
                Some(Values::Double(fill)) => fill.first().copied(),
                _ => None,
            };
            for (i, value) in values.iter_mut().enumerate() {
                if *value != 0.0 && value.is_finite() && Some(*value) != fill {
                    let rounded = f64::from_bits(bits(*value, value.to_bits(), 52, i, quantize));
                    *value = if rounded.is_finite() { rounded } else { *value };
                }
            }
        }
        _ => {}
    }
}

/// The bit pattern of a rounded value with a mantissa of `mantissa` bits.
fn bits(value: f64, pattern: u64, mantissa: u32, index: usize, quantize: Quantize) -> u64 {
    const BITS_PER_DIGIT: f64 = std::f64::consts::LOG2_10;
    let drop = |kept: f64| mantissa - (kept.clamp(0.0, mantissa.into()) as u32);
    match quantize {
        Quantize::BitGroom(digits) => {
            let low = (1u64 << drop((f64::from(digits) * BITS_PER_DIGIT).ceil() + 1.0)) - 1;
            // Shaved and set in turn, so that the mean stays.
            if index.is_multiple_of(2) { pattern & !low } else { pattern | low }
        }
        Quantize::GranularBitRound(digits) => {
            // The error may be half a unit of the last digit that is kept.
            let magnitude = value.abs();
            let unit = magnitude.log10().floor() + 1.0 - f64::from(digits);
            half_up(pattern, drop((magnitude.log2().floor() - unit * BITS_PER_DIGIT).ceil()))
        }
        Quantize::BitRound(kept) => half_up(pattern, drop(kept.into())),
    }
}

/// Rounds away the lowest `drop` bits.
fn half_up(pattern: u64, drop: u32) -> u64 {
    let low = (1u64 << drop) - 1;
    (pattern + low.div_ceil(2)) & !low
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_kept_is_right(value in -1e30f64..1e30, digits in 1u32..15, kept in 1u32..52, odd in any::<bool>()) {
            prop_assume!(value.abs() > 1e-30);
            let rounded = |quantize| {
                let mut values = Values::Double(vec![value; 2]);
                round(&mut values, quantize, None);
                let Values::Double(values) = values else { unreachable!() };
                values[usize::from(odd)]
            };
            let unit = 10f64.powf(value.abs().log10().floor() + 1.0 - f64::from(digits));
            let granular = rounded(Quantize::GranularBitRound(digits));
            prop_assert!((granular - value).abs() <= unit / 2.0 * 1.000_001, "{value} {granular}");
            let groomed = rounded(Quantize::BitGroom(digits));
            prop_assert!((groomed - value).abs() <= unit, "{value} {groomed}");
            let error = (rounded(Quantize::BitRound(kept)) - value).abs();
            let last = 2f64.powf(value.abs().log2().floor() - f64::from(kept));
            prop_assert!(error <= last / 2.0 * 1.000_001, "{value} {error}");
            prop_assert_eq!(rounded(Quantize::BitRound(52)).to_bits(), value.to_bits());
        }
    }

    #[test]
    fn special_values_pass() {
        let fill = Values::Float(vec![1.234_567]);
        let special = vec![0.0, -0.0, f32::NAN, f32::INFINITY, f32::MAX, 1.234_567];
        let mut values = Values::Float(special.clone());
        round(&mut values, Quantize::BitRound(2), Some(&fill));
        assert_eq!(values, Values::Float(special));
        let mut values = Values::Float(vec![1.234_567, 1.234_567]);
        round(&mut values, Quantize::BitGroom(2), None);
        assert_eq!(values, Values::Float(vec![1.234_375, 1.238_281_1]));
    }

    #[test]
    fn attributes_name_the_way() {
        for quantize in [Quantize::BitGroom(3), Quantize::GranularBitRound(4), Quantize::BitRound(9)] {
            let (name, values) = attribute(quantize);
            let kind = ATTRIBUTES.iter().find(|(known, _)| *known == name).unwrap().1;
            let Values::Int(kept) = values else { panic!() };
            assert_eq!(kind(kept[0] as u32), quantize);
        }
    }
}
