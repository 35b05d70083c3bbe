//! Default fill values and the dataset's fill mode.

use crate::{NcString, NcType, Values};

/// The treatment of unwritten elements in variables without their own fill value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FillMode {
    /// Unwritten elements read as the fill value.
    #[default]
    Fill,
    /// New variables are no-fill.
    NoFill,
}

/// Default fill of `byte`.
pub const BYTE: i8 = -127;
/// Default fill of `char`.
pub const CHAR: u8 = 0;
/// Default fill of `short`.
pub const SHORT: i16 = -32767;
/// Default fill of `int`.
pub const INT: i32 = -2147483647;
/// Default fill of `float`: 15 · 2^119.
pub const FLOAT: f32 = 9.969_21e36;
/// Default fill of `double`: 15 · 2^119.
pub const DOUBLE: f64 = 9.969_209_968_386_869e36;
/// Default fill of `ubyte`.
pub const UBYTE: u8 = 255;
/// Default fill of `ushort`.
pub const USHORT: u16 = 65535;
/// Default fill of `uint`.
pub const UINT: u32 = 4294967295;
/// Default fill of `int64`.
pub const INT64: i64 = -9223372036854775806;
/// Default fill of `uint64`.
pub const UINT64: u64 = 18446744073709551614;

/// The default fill value of an atomic type, as one value; user-defined types have none.
pub fn default(ty: NcType) -> Option<Values> {
    Some(match ty {
        NcType::Byte => Values::Byte(vec![BYTE]),
        NcType::Char => Values::Char(vec![CHAR]),
        NcType::Short => Values::Short(vec![SHORT]),
        NcType::Int => Values::Int(vec![INT]),
        NcType::Float => Values::Float(vec![FLOAT]),
        NcType::Double => Values::Double(vec![DOUBLE]),
        NcType::UByte => Values::UByte(vec![UBYTE]),
        NcType::UShort => Values::UShort(vec![USHORT]),
        NcType::UInt => Values::UInt(vec![UINT]),
        NcType::Int64 => Values::Int64(vec![INT64]),
        NcType::UInt64 => Values::UInt64(vec![UINT64]),
        NcType::String => Values::String(vec![NcString::new()]),
        NcType::User(_) => return None,
    })
}

/// Whether this is the default fill value of its type, as one value.
pub fn is_default(value: &Values) -> bool {
    match value {
        Values::Byte(v) => v[..] == [BYTE],
        Values::Char(v) => v[..] == [CHAR],
        Values::Short(v) => v[..] == [SHORT],
        Values::Int(v) => v[..] == [INT],
        Values::Float(v) => v[..] == [FLOAT],
        Values::Double(v) => v[..] == [DOUBLE],
        Values::UByte(v) => v[..] == [UBYTE],
        Values::UShort(v) => v[..] == [USHORT],
        Values::UInt(v) => v[..] == [UINT],
        Values::Int64(v) => v[..] == [INT64],
        Values::UInt64(v) => v[..] == [UINT64],
        Values::String(v) => v[..] == [NcString::new()],
        Values::User(..) | Values::Packed(..) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_of_a_type_is_known_for_it() {
        for ty in NcType::ATOMIC {
            assert!(is_default(&default(ty).unwrap()), "{}", ty.name());
        }
        for other in [
            Values::Float(vec![f32::NAN]),
            Values::Int(vec![0]),
            Values::Int(vec![INT, INT]),
            Values::Double(vec![]),
            Values::UByte(vec![CHAR]),
            Values::String(vec!["x".into()]),
        ] {
            assert!(!is_default(&other), "{other:?}");
        }
    }

    #[test]
    fn the_float_fills_are_the_same_number() {
        assert_eq!(DOUBLE, 15.0 * 2f64.powi(119));
        assert_eq!(f64::from(FLOAT), DOUBLE);
    }
}
