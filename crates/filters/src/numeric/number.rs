//! [`NumberFormat`]: loads and stores elements of one type and byte order. [`WideValue`]: their values.
//!
//! [`WideValue`] holds every value of every type exactly. Sums, products and quotients of floats are computed
//! in 64 bits and rounded to the type, which gives the same result as computing in the type.

use nczarr_codec::{ItemKind, ItemType, OutBuf};
use nczarr_model::convert::Half;
use nczarr_model::{Error, ErrorKind, Result};

/// A value of any type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum WideValue {
    Int(i128),
    Float(f64),
}

impl WideValue {
    /// Returns it as a 64-bit float, rounded to nearest.
    pub(crate) fn float(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }
}

impl std::fmt::Display for WideValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
        }
    }
}

/// The stored form of elements of one type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NumberFormat {
    pub(crate) item: ItemType,
    load: fn(&[u8]) -> WideValue,
    store: fn(WideValue, &mut [u8]),
    cast: fn(WideValue) -> Option<WideValue>,
    keep: fn(WideValue) -> Option<WideValue>,
}

impl NumberFormat {
    /// Returns the format of a numeric or boolean type.
    pub(crate) fn new(item: ItemType) -> Option<Self> {
        Some(match (item.kind, item.size) {
            (ItemKind::Bool, 1) => Self::of::<Flag>(item),
            (ItemKind::Int, 1) => Self::of::<i8>(item),
            (ItemKind::Int, 2) => Self::of::<i16>(item),
            (ItemKind::Int, 4) => Self::of::<i32>(item),
            (ItemKind::Int, 8) => Self::of::<i64>(item),
            (ItemKind::UInt, 1) => Self::of::<u8>(item),
            (ItemKind::UInt, 2) => Self::of::<u16>(item),
            (ItemKind::UInt, 4) => Self::of::<u32>(item),
            (ItemKind::UInt, 8) => Self::of::<u64>(item),
            (ItemKind::Float, 2) => Self::of::<Float16>(item),
            (ItemKind::Float, 4) => Self::of::<f32>(item),
            (ItemKind::Float, 8) => Self::of::<f64>(item),
            _ => return None,
        })
    }

    fn of<T: NumberBytes>(item: ItemType) -> Self {
        Self {
            item,
            load: if item.big_endian { load::<T, true> } else { load::<T, false> },
            store: if item.big_endian { store::<T, true> } else { store::<T, false> },
            cast: |value| T::cast(value).map(T::wide),
            keep: |value| T::keep(value).map(T::wide),
        }
    }

    /// Whether it holds floats.
    pub(crate) fn is_float(&self) -> bool {
        self.item.kind == ItemKind::Float
    }

    /// Returns the value of an element.
    pub(crate) fn load(&self, element: &[u8]) -> WideValue {
        (self.load)(element)
    }

    /// Writes a value from [`NumberFormat::cast`] or [`NumberFormat::keep`].
    pub(crate) fn store(&self, value: WideValue, element: &mut [u8]) {
        (self.store)(value, element);
    }

    /// Converts a value as NumPy does: integers wrap, floats lose their fraction. `None` where that is
    /// undefined: NaN, and floats beyond the integers of the type.
    pub(crate) fn cast(&self, value: WideValue) -> Option<WideValue> {
        (self.cast)(value)
    }

    /// As [`NumberFormat::cast`], but also `None` for values out of the type's range.
    pub(crate) fn keep(&self, value: WideValue) -> Option<WideValue> {
        (self.keep)(value)
    }
}

/// Converts the elements of `src` one by one into `dst`.
///
/// # Errors
/// `NC_EFILTER` if `src` is not a whole number of elements, if there is too little room, or if `convert`
/// returns `None`; it names the element.
pub(crate) fn convert(
    name: &str,
    from: &NumberFormat,
    src: &[u8],
    to: &NumberFormat,
    dst: &mut OutBuf<'_>,
    mut convert: impl FnMut(WideValue) -> Option<WideValue>,
) -> Result<()> {
    let size = from.item.size;
    let count = elements(name, src, size)?;
    let out = dst.put_zeros(count.saturating_mul(to.item.size))?;
    let places = out.chunks_exact_mut(to.item.size);
    for (index, (element, place)) in src.chunks_exact(size).zip(places).enumerate() {
        let value = from.load(element);
        match convert(value) {
            Some(value) => to.store(value, place),
            None => return Err(refused(name, index, value, to)),
        }
    }
    Ok(())
}

/// Returns the number of elements in these bytes.
pub(crate) fn elements(name: &str, src: &[u8], size: usize) -> Result<usize> {
    match src.len() % size {
        0 => Ok(src.len() / size),
        _ => Err(ErrorKind::Filter
            .context(format!("{name}: expected whole elements of {size} bytes, found {} bytes", src.len()))),
    }
}

/// Makes the error for an element that the other type cannot hold.
fn refused(name: &str, index: usize, value: WideValue, to: &NumberFormat) -> Error {
    let kind = match to.item.kind {
        ItemKind::Bool => "booleans",
        ItemKind::Int => "signed integers",
        ItemKind::UInt => "unsigned integers",
        _ => "floats",
    };
    ErrorKind::Filter.context(format!(
        "{name}: element {index}: {value} does not convert to {kind} of {} bytes",
        to.item.size
    ))
}

fn load<T: NumberBytes, const BIG: bool>(element: &[u8]) -> WideValue {
    let mut bytes = T::Bytes::default();
    bytes.as_mut().copy_from_slice(element);
    if BIG {
        bytes.as_mut().reverse();
    }
    T::from_le(bytes).wide()
}

fn store<T: NumberBytes, const BIG: bool>(value: WideValue, element: &mut [u8]) {
    let Some(value) = T::cast(value) else { return };
    element.copy_from_slice(value.to_le().as_ref());
    if BIG {
        element.reverse();
    }
}

/// A type of elements.
trait NumberBytes: Sized + Copy {
    type Bytes: Default + AsRef<[u8]> + AsMut<[u8]>;
    fn from_le(bytes: Self::Bytes) -> Self;
    fn to_le(self) -> Self::Bytes;
    fn wide(self) -> WideValue;
    fn cast(value: WideValue) -> Option<Self>;
    fn keep(value: WideValue) -> Option<Self>;
}

macro_rules! bytes {
    ($size:literal) => {
        type Bytes = [u8; $size];

        fn from_le(bytes: Self::Bytes) -> Self {
            Self::from_le_bytes(bytes)
        }

        fn to_le(self) -> Self::Bytes {
            self.to_le_bytes()
        }
    };
}

macro_rules! integers {
    ($($t:ty: $size:literal),*) => {$(
        impl NumberBytes for $t {
            bytes!($size);

            fn wide(self) -> WideValue {
                WideValue::Int(self.into())
            }

            fn cast(value: WideValue) -> Option<Self> {
                match value {
                    WideValue::Int(value) => Some(value as $t),
                    WideValue::Float(_) => Self::keep(value),
                }
            }

            fn keep(value: WideValue) -> Option<Self> {
                match value {
                    WideValue::Int(value) => value.try_into().ok(),
                    WideValue::Float(value) if value.is_nan() => None,
                    // Cuts off the fraction. A value too large for this type is too large for every other.
                    WideValue::Float(value) => (value as i128).try_into().ok(),
                }
            }
        }
    )*};
}

integers!(i8: 1, i16: 2, i32: 4, i64: 8, u8: 1, u16: 2, u32: 4, u64: 8);

macro_rules! floats {
    ($($t:ty: $size:literal, $int:expr, $float:expr;)*) => {$(
        impl NumberBytes for $t {
            bytes!($size);

            fn wide(self) -> WideValue {
                WideValue::Float(self.into())
            }

            fn cast(value: WideValue) -> Option<Self> {
                Some(match value {
                    WideValue::Int(value) => $int(value),
                    WideValue::Float(value) => $float(value),
                })
            }

            fn keep(value: WideValue) -> Option<Self> {
                Self::cast(value).filter(|kept| kept.is_finite() || !value.float().is_finite())
            }
        }
    )*};
}

floats! {
    Float16: 2, |value| Float16::from_f32(value as f32), Float16::from_f64;
    f32: 4, |value| value as f32, |value| value as f32;
    f64: 8, |value| value as f64, |value| value;
}

/// The bits of a 16-bit float.
#[derive(Clone, Copy)]
struct Float16(u16);

impl Float16 {
    fn from_le_bytes(bytes: [u8; 2]) -> Self {
        Self(u16::from_le_bytes(bytes))
    }

    fn to_le_bytes(self) -> [u8; 2] {
        self.0.to_le_bytes()
    }

    fn from_f32(value: f32) -> Self {
        Self(Half::Binary16.of_single(value))
    }

    fn from_f64(value: f64) -> Self {
        Self(Half::Binary16.of_double(value))
    }

    fn is_finite(self) -> bool {
        f64::from(self).is_finite()
    }
}

impl From<Float16> for f64 {
    fn from(value: Float16) -> Self {
        Half::Binary16.to_single(value.0).into()
    }
}

/// A boolean of one byte.
#[derive(Clone, Copy)]
struct Flag(u8);

impl NumberBytes for Flag {
    type Bytes = [u8; 1];

    fn from_le([byte]: [u8; 1]) -> Self {
        Self(u8::from(byte != 0))
    }

    fn to_le(self) -> [u8; 1] {
        [self.0]
    }

    fn wide(self) -> WideValue {
        WideValue::Int(self.0.into())
    }

    fn cast(value: WideValue) -> Option<Self> {
        Some(Self(u8::from(value != WideValue::Int(0) && value != WideValue::Float(0.0))))
    }

    fn keep(value: WideValue) -> Option<Self> {
        Self::cast(value).filter(|kept| value.float() == f64::from(kept.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Dtype;

    fn form(text: &str) -> NumberFormat {
        NumberFormat::new(Dtype::parse(text).unwrap().item).unwrap()
    }

    #[test]
    fn conversions_equal_numpy() {
        use WideValue::{Float, Int};
        for (ty, value, cast, keep) in [
            ("<i1", Int(200), Some(Int(-56)), None),
            ("<u1", Int(-1), Some(Int(255)), None),
            ("<u8", Int(-1), Some(Int(u64::MAX.into())), None),
            ("<i2", Float(-2.9), Some(Int(-2)), Some(Int(-2))),
            ("<i2", Float(32768.0), None, None),
            ("<i8", Float(9.3e18), None, None),
            (
                "<u8",
                Float(1.8e19),
                Some(Int(18_000_000_000_000_000_000)),
                Some(Int(18_000_000_000_000_000_000)),
            ),
            ("<u8", Float(-1.0), None, None),
            ("<i4", Float(f64::NAN), None, None),
            ("<i4", Float(f64::INFINITY), None, None),
            ("<f4", Int(16_777_217), Some(Float(16_777_216.0)), Some(Float(16_777_216.0))),
            ("<f4", Float(1e300), Some(Float(f64::INFINITY)), None),
            ("<f4", Float(f64::INFINITY), Some(Float(f64::INFINITY)), Some(Float(f64::INFINITY))),
            ("<f2", Float(65520.0), Some(Float(f64::INFINITY)), None),
            ("<f2", Float(65519.0), Some(Float(65504.0)), Some(Float(65504.0))),
            ("|b1", Int(7), Some(Int(1)), None),
            ("|b1", Float(0.5), Some(Int(1)), None),
            ("|b1", Float(-0.0), Some(Int(0)), Some(Int(0))),
            ("|b1", Float(1.0), Some(Int(1)), Some(Int(1))),
        ] {
            assert_eq!(form(ty).cast(value), cast, "{value:?} as {ty}");
            assert_eq!(form(ty).keep(value), keep, "{value:?} as {ty}");
        }
    }

    #[test]
    fn every_byte_order() {
        let bytes = [0x3f, 0xc0, 0, 0, 0, 0, 0, 0];
        for (ty, expected) in [
            (">f4", WideValue::Float(1.5)),
            ("<i2", WideValue::Int(-16_321)),
            (">i2", WideValue::Int(0x3fc0)),
            (">u8", WideValue::Int(0x3fc0 << 48)),
            ("<u1", WideValue::Int(0x3f)),
            (">f2", WideValue::Float(1.9375)),
        ] {
            let form = form(ty);
            let element = &bytes[..form.item.size];
            assert_eq!(form.load(element), expected, "{ty}");
            let mut again = vec![0; form.item.size];
            form.store(expected, &mut again);
            assert_eq!(again, element, "{ty}");
        }
    }

    /// Finds the nearest 16-bit float by trying all; the even one of two.
    fn slow_half(value: f64) -> u16 {
        let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
        let near = (0..0x7c00u16).min_by(|a, b| {
            let off = |bits: u16| (f64::from(Float16(bits)) - value.abs()).abs();
            off(*a).total_cmp(&off(*b)).then_with(|| (a & 1).cmp(&(b & 1)))
        });
        // Values nearer to the next power of two than to the largest float are infinite.
        if value.abs() >= 65520.0 { sign | 0x7c00 } else { sign | near.unwrap() }
    }

    #[test]
    fn halves_are_the_nearest() {
        let tie = 1.0 + 2f64.powi(-11);
        let odd_tie = 1.0 + 3.0 * 2f64.powi(-11);
        for base in
            [tie, odd_tie, 2f64.powi(-25), 3.0 * 2f64.powi(-25), 65520.0, 65504.0, 0.1, 2f64.powi(-14), 1e-30]
        {
            for value in [base, base.next_up(), base.next_down(), base * (1.0 + 1e-12), base * (1.0 - 1e-12)]
            {
                for value in [value, -value] {
                    assert_eq!(Float16::from_f64(value).0, slow_half(value), "{value:e}");
                }
            }
        }
        assert!(f64::from(Float16::from_f64(f64::NAN)).is_nan());
        assert_eq!(Float16::from_f64(f64::NEG_INFINITY).0, 0xfc00);
        assert_eq!(Float16::from_f64(1e300).0, 0x7c00);
        assert_eq!(Float16::from_f64(-0.0).0, 0x8000);
    }

    proptest::proptest! {
        // The reference is very slow.
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(20))]
        #[test]
        fn halves_are_the_nearest_anywhere(value in -70000.0f64..70000.0, shift in 0i32..40) {
            let value = value * 2f64.powi(-shift);
            proptest::prop_assert_eq!(Float16::from_f64(value).0, slow_half(value));
        }
    }
}
