//! Quantization of floats on writes: BitGroom, Granular BitRound and BitRound.
//!
//! Zero, the fill value and non-finite values are unchanged. All other bits equal those of netCDF-C,
//! including a greatest finite value that is rounded to infinity. One attribute of the variable records the
//! algorithm.
//!
//! Source: Zender 2016 (BitGroom); Kouznetsov 2021 and Delaunay 2019 (BitRound); values stored by netCDF-C
//! 4.10.1 (`tests/quantize.txt`).

use std::sync::Arc;

use nczarr_dispatch::{CacheConfig, EncodedChunks, Linear, MemMut, MemRef, StoredChunks, VarData};
use nczarr_model::{Att, CheckedSlab, ErrorKind, NcType, Quantize, Result, Scalar, Values, convert};

/// Builds a quantization from its number of digits or bits.
pub type QuantizeMode = fn(u32) -> Quantize;

/// The attributes that record the quantization.
pub const ATTRIBUTES: [(&str, QuantizeMode); 3] = [
    ("_QuantizeBitGroomNumberOfSignificantDigits", Quantize::BitGroom),
    ("_QuantizeGranularBitRoundNumberOfSignificantDigits", Quantize::GranularBitRound),
    ("_QuantizeBitRoundNumberOfSignificantBits", Quantize::BitRound),
];

/// Returns the attribute of a quantization.
pub fn attribute(quantize: Quantize) -> (&'static str, Values) {
    let (index, kept) = match quantize {
        Quantize::BitGroom(kept) => (0, kept),
        Quantize::GranularBitRound(kept) => (1, kept),
        Quantize::BitRound(kept) => (2, kept),
    };
    (ATTRIBUTES[index].0, Values::Int(vec![i32::try_from(kept).unwrap_or(i32::MAX)]))
}

/// Returns the quantization that a variable's attributes record.
pub fn rounding(atts: &Att) -> Option<Quantize> {
    ATTRIBUTES.iter().find_map(|(name, kind)| match atts.get(*name)?.scalar(0)? {
        Scalar::Int(kept) => Some(kind(kept.try_into().ok()?)),
        Scalar::Float(_) => None,
    })
}

/// An array that quantizes writes.
#[derive(Debug)]
pub struct QuantizedArray {
    array: Arc<dyn VarData>,
    xtype: NcType,
    quantize: Quantize,
    fill: Option<Values>,
}

impl QuantizedArray {
    /// Wraps an array. `xtype` is float or double.
    pub fn new(array: Arc<dyn VarData>, xtype: NcType, quantize: Quantize, fill: Option<Values>) -> Self {
        Self { array, xtype, quantize, fill }
    }
}

impl VarData for QuantizedArray {
    fn get(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        self.array.get(slab, out)
    }

    fn try_get_cached_element(&self, at: &[u64], ty: NcType, out: &mut [u8]) -> bool {
        self.array.try_get_cached_element(at, ty, out)
    }

    fn check_readable(&self, slab: &CheckedSlab<'_>) -> Result<()> {
        self.array.check_readable(slab)
    }

    fn get_linear(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>, linear: &Linear) -> Result<()> {
        self.array.get_linear(slab, out, linear)
    }

    fn put(&self, slab: &CheckedSlab<'_>, data: MemRef<'_>) -> Result<()> {
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

    fn is_absent(&self, slab: &CheckedSlab<'_>) -> Result<bool> {
        self.array.is_absent(slab)
    }

    fn stored_chunks(&self) -> Result<Option<StoredChunks>> {
        self.array.stored_chunks()
    }

    /// Encoded chunks are stored as they are, without rounding.
    fn encoded_chunks(&self) -> Option<&dyn EncodedChunks> {
        self.array.encoded_chunks()
    }

    fn set_chunk_cache(&self, cache: CacheConfig) -> Result<()> {
        self.array.set_chunk_cache(cache)
    }

    fn chunk_cache(&self) -> CacheConfig {
        self.array.chunk_cache()
    }

    fn chunk_shape(&self) -> Option<Vec<u64>> {
        self.array.chunk_shape()
    }
}

/// Quantizes floats or doubles in place.
fn round(values: &mut Values, quantize: Quantize, fill: Option<&Values>) {
    match values {
        Values::Float(values) => {
            let fill = match fill {
                Some(Values::Float(fill)) => fill.first().copied(),
                _ => None,
            };
            for (i, value) in values.iter_mut().enumerate() {
                if *value != 0.0 && value.is_finite() && Some(*value) != fill {
                    // A carry never exceeds the exponent of a finite value.
                    *value =
                        f32::from_bits(bits((*value).into(), value.to_bits().into(), 23, i, quantize) as u32);
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
                    *value = f64::from_bits(bits(*value, value.to_bits(), 52, i, quantize));
                }
            }
        }
        _ => {}
    }
}

/// Returns the bit pattern of a quantized value with a mantissa of `mantissa` bits.
fn bits(value: f64, pattern: u64, mantissa: u32, index: usize, quantize: Quantize) -> u64 {
    match quantize {
        Quantize::BitGroom(digits) => {
            let kept = (f64::from(digits) * BITS_PER_DIGIT).ceil() as u32 + 1;
            let low = (1u64 << mantissa.saturating_sub(kept)) - 1;
            // Alternately cleared and set, so that the mean is kept.
            if index.is_multiple_of(2) { pattern & !low } else { pattern | low }
        }
        Quantize::GranularBitRound(digits) => {
            let kept = granular(value, digits);
            half_up(pattern, u32::try_from(i64::from(mantissa) - kept).unwrap_or(0))
        }
        Quantize::BitRound(kept) => half_up(pattern, mantissa.saturating_sub(kept)),
    }
}

const BITS_PER_DIGIT: f64 = std::f64::consts::LN_10 / std::f64::consts::LN_2;
const DIGITS_PER_BIT: f64 = std::f64::consts::LN_2 / std::f64::consts::LN_10;

/// Returns the mantissa bits that a value needs for `digits` digits; negative near a power of ten.
///
/// The order of operations is that of netCDF-C; another order gives other bits in rare cases.
fn granular(value: f64, digits: u32) -> i64 {
    let (fraction, exponent) = split(value);
    let log = fraction.log10();
    let place = (exponent * DIGITS_PER_BIT + log).floor() + 1.0;
    let unit = (BITS_PER_DIGIT * (place - f64::from(digits))).floor();
    let magnitude = (exponent - BITS_PER_DIGIT * log).floor();
    (magnitude - unit).abs() as i64 - 1
}

/// Returns the fraction, from 0.5 to 1, and the power of two of a finite value other than zero.
fn split(value: f64) -> (f64, f64) {
    const HIDDEN: u64 = 1 << 52;
    let bits = value.abs().to_bits();
    let (bits, exponent) = match bits >> 52 {
        // Subnormal: scaled to a normal number.
        0 => ((value.abs() * HIDDEN as f64).to_bits(), -52.0),
        _ => (bits, 0.0),
    };
    let fraction = f64::from_bits(bits & (HIDDEN - 1) | 0.5f64.to_bits());
    (fraction, exponent + (bits >> 52) as f64 - 1022.0)
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
        fn rounding_errors_stay_within_the_kept_precision(value in -1e30f64..1e30, digits in 1u32..15, kept in 1u32..52, odd in any::<bool>()) {
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

    /// Parses hexadecimal bit patterns as floats of `bits` bits.
    fn values(bits: &str, columns: &[&str]) -> Values {
        let number = |text: &&str| u64::from_str_radix(text, 16).unwrap();
        match bits {
            "32" => Values::Float(columns.iter().map(|text| f32::from_bits(number(text) as u32)).collect()),
            _ => Values::Double(columns.iter().map(|text| f64::from_bits(number(text))).collect()),
        }
    }

    fn patterns(values: &Values) -> Vec<u64> {
        match values {
            Values::Float(values) => values.iter().map(|value| value.to_bits().into()).collect(),
            Values::Double(values) => values.iter().map(|value| value.to_bits()).collect(),
            _ => unreachable!(),
        }
    }

    #[test]
    fn rounded_bits_equal_netcdf_c() {
        let (mut given, mut lines) = (Vec::new(), 0);
        for line in include_str!("../tests/quantize.txt").lines().filter(|line| !line.starts_with('#')) {
            let mut words: Vec<&str> = line.split(' ').collect();
            if words[0].starts_with("in") {
                given = words.split_off(1);
                continue;
            }
            let (bits, way, kept) = (words[0], words[1], words[2].parse().unwrap());
            let has_fill = words[3] == "f";
            let fill = match bits {
                "32" if has_fill => Values::Float(vec![1.234_567]),
                "32" => nczarr_model::fill::default(NcType::Float).unwrap(),
                _ if has_fill => Values::Double(vec![1.234_567]),
                _ => nczarr_model::fill::default(NcType::Double).unwrap(),
            };
            let quantize = match way {
                "g" => Quantize::BitGroom(kept),
                "r" => Quantize::GranularBitRound(kept),
                _ => Quantize::BitRound(kept),
            };
            let expected = &words[3 + usize::from(has_fill)..];
            let turns = if way == "g" { 2 } else { 1 };
            assert_eq!(expected.len(), given.len() * turns);
            for (odd, expected) in expected.chunks(given.len()).enumerate() {
                for (given, expected) in given.iter().zip(expected) {
                    let mut value = values(bits, &vec![*given; odd + 1]);
                    let before = patterns(&value)[odd];
                    round(&mut value, quantize, Some(&fill));
                    let infinite = match bits {
                        "32" => f32::from_bits(before as u32).is_infinite(),
                        _ => f64::from_bits(before).is_infinite(),
                    };
                    // netCDF-C turns infinities into NaN or zero. This library keeps them.
                    let expected = if infinite { before } else { u64::from_str_radix(expected, 16).unwrap() };
                    assert_eq!(
                        patterns(&value)[odd],
                        expected,
                        "{bits} {quantize:?} {given} {odd}: {expected:x}"
                    );
                }
            }
            lines += 1;
        }
        assert_eq!(lines, 135);
    }

    #[test]
    fn floats_split_into_fraction_and_exponent() {
        for (value, fraction, exponent) in [
            (1.0, 0.5, 1.0),
            (-3.0, 0.75, 2.0),
            (0.5, 0.5, 0.0),
            (f64::MIN_POSITIVE, 0.5, -1021.0),
            (5e-324, 0.5, -1073.0),
            (f64::MIN_POSITIVE / 2.0 * 1.5, 0.75, -1022.0),
            (f64::MAX, 1.0 - f64::EPSILON / 2.0, 1024.0),
        ] {
            assert_eq!(split(value), (fraction, exponent), "{value:e}");
        }
    }

    #[test]
    fn zeros_infinities_and_the_fill_value_pass() {
        let fill = Values::Float(vec![1.234_567]);
        let special = vec![0.0, -0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1.234_567, f32::INFINITY];
        for quantize in [Quantize::BitRound(2), Quantize::BitGroom(2), Quantize::GranularBitRound(2)] {
            let mut values = Values::Float(special.clone());
            round(&mut values, quantize, Some(&fill));
            assert_eq!(patterns(&values), patterns(&Values::Float(special.clone())), "{quantize:?}");
        }
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
