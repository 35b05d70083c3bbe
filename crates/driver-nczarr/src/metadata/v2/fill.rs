//! Conversion between the `fill_value` member and one value of the variable's type.
//!
//! Fill values of text have two spellings: NCZarr writes the text itself, the Zarr specification base64 of
//! it. [`TextFill`] selects one. Callers decide whether a fill value is the type's default.
//!
//! Source: Zarr storage specification version 2; the table of forms in the format notes.

use nczarr_codec::ShownType;
use nczarr_model::{Endian, ErrorKind, NcString, NcType, Result, TimeUnit, Values};

use crate::metadata::base64;
use crate::metadata::json::{self, Json, Value};
use crate::metadata::members::bad_member;
use crate::metadata::types::dtype::{DType, DTypeKind, PluginType};
use crate::metadata::types::foreign;

/// The largest element that a fill value of `0` expands to. For larger types zeros are the default anyway.
pub(crate) const MAX_ZEROS: usize = 4096;

/// Whether a fill value is just zeros of a large user-defined type.
pub(crate) fn is_large_zero(value: &Value<'_>, dtype: &DType) -> bool {
    let value = match value {
        Value::Array(items) if items.len() == 1 => &items[0],
        other => other,
    };
    dtype.is_user() && dtype.item_size().is_some_and(|size| size > MAX_ZEROS) && value.as_integer() == Some(0)
}

/// The spelling of a fill value of fixed-length text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum TextFill<'a> {
    /// The text itself.
    Plain,
    /// Base64; or plain if it equals the text of the `_FillValue` attribute, given here.
    Standard(Option<&'a str>),
}

/// Parses a fill value; `None` means no fill value.
///
/// # Errors
/// [`ErrorKind::NcZarr`] if it is not of the type, [`ErrorKind::Range`] if it does not fit.
pub(crate) fn parse(value: &Value<'_>, dtype: &DType, text: TextFill<'_>) -> Result<Option<Values>> {
    let value = match value {
        // The oldest NCZarr style.
        Value::Array(items) if items.len() == 1 => &items[0],
        other => other,
    };
    if value.is_null() {
        // Variable-length text is never undefined: zarr-python writes null for "empty".
        return Ok((dtype.kind == DTypeKind::Object).then(|| Values::String(vec![NcString::new()])));
    }
    let wrong = |expected: &str| {
        bad_member("fill_value", &format!("{expected} for type {}", dtype.text), Some(value))
    };
    if let (DTypeKind::Extension(ShownType::Atomic(ty)), Some(extension)) = (dtype.kind, &dtype.extension) {
        let number = parse(value, &DType::of(ty, Endian::Little, 1, true)?, text)?;
        return Ok(number.map(|number| as_stored(number, extension)));
    }
    Ok(Some(match dtype.kind {
        DTypeKind::Number(ty @ (NcType::Float | NcType::Double)) => {
            let token = float_token(value)
                .ok_or_else(|| wrong("a number or \"NaN\", \"Infinity\", \"-Infinity\""))?;
            float_value(token, ty).ok_or_else(|| wrong("a number that fits"))?
        }
        DTypeKind::Number(ty) => {
            let number = integer(value).ok_or_else(|| wrong("an integer"))?;
            integer_value(number, ty).ok_or_else(|| {
                ErrorKind::Range
                    .context(format!("member \"fill_value\": {number} does not fit type {}", dtype.text))
            })?
        }
        DTypeKind::Bool => match (value.as_bool(), value.as_integer()) {
            (Some(value), _) => Values::UByte(vec![value.into()]),
            (None, Some(value)) => Values::UByte(vec![(value != 0).into()]),
            _ => return Err(wrong("true or false")),
        },
        DTypeKind::Char => Values::Char(vec![char_byte(value).ok_or_else(|| wrong("one character"))?]),
        DTypeKind::Text(width) => {
            Values::String(vec![fixed_text(value, width, text).ok_or_else(|| wrong("a string"))?])
        }
        DTypeKind::Utf32(_) | DTypeKind::Object => match value {
            Value::String(text) => Values::String(vec![(&**text).into()]),
            other if other.as_integer() == Some(0) => Values::String(vec![NcString::new()]),
            _ => return Err(wrong("a string")),
        },
        DTypeKind::Half(half) => {
            let token = float_token(value)
                .ok_or_else(|| wrong("a number or \"NaN\", \"Infinity\", \"-Infinity\""))?;
            match float_value(token, NcType::Double) {
                Some(Values::Double(v)) => {
                    Values::Float(v.into_iter().map(|value| half.nearest(value)).collect())
                }
                _ => return Err(wrong("a number")),
            }
        }
        DTypeKind::Complex(_) | DTypeKind::Opaque(_) | DTypeKind::Compound => {
            let bytes = element(value, dtype).ok_or_else(|| wrong("one element"))?;
            Values::User(foreign::NO_TYPE, bytes)
        }
        DTypeKind::Time { unit, counted } => {
            let count = time(value, unit).ok_or_else(|| wrong("a count, or a time"))?;
            if counted { Values::Int64(vec![count]) } else { Values::String(vec![unit.format(count).into()]) }
        }
        DTypeKind::Extension(_) | DTypeKind::Other => {
            return Err(ErrorKind::BadType.context(format!("type {} is not supported", dtype.text)));
        }
    }))
}

/// Returns a number as an element of the data type reads, or unchanged if it does not fit the type.
fn as_stored(number: Values, extension: &PluginType) -> Values {
    let element = number.to_native_bytes().and_then(|bytes| {
        let item = nczarr_chunkio::save_item(&extension.0, &bytes).ok()?;
        nczarr_chunkio::load_item(&extension.0, &item).ok()
    });
    element.and_then(|element| Values::from_native_bytes(number.nc_type(), &element)).unwrap_or(number)
}

/// Renders a fill value; `None` is `null`.
///
/// # Errors
/// [`ErrorKind::BadType`] if the value is not of the type; [`ErrorKind::Char`] for text that is not UTF-8,
/// [`ErrorKind::Range`] for a number beyond the range of a half float.
pub(crate) fn print(value: Option<&Values>, dtype: &DType, text: TextFill<'_>) -> Result<Json> {
    let Some(value) = value else { return Ok(Json::Null) };
    let json = match (value, dtype.kind) {
        (Values::UByte(v), DTypeKind::Bool) => v.first().map(|&byte| Json::Bool(byte != 0)),
        (Values::User(_, bytes), _) => print_element(bytes, dtype),
        (Values::Packed(_, list), DTypeKind::Object) => {
            list.first().map(|element| standard_text(element.as_bytes()))
        }
        (Values::Float(v), DTypeKind::Half(half)) => match v.first() {
            Some(&value) => {
                let near = half.nearest(value.into());
                if value.is_finite() && near.is_infinite() {
                    return Err(
                        ErrorKind::Range.context(format!("{value:e} does not fit type {}", dtype.text))
                    );
                }
                Some(json::json_single(near))
            }
            None => None,
        },
        (Values::String(v), DTypeKind::Time { unit, .. }) => match v.first() {
            Some(text) => Some(Json::int(unit.parse(text.to_str()?)?)),
            None => None,
        },
        (Values::Float(v), _) => v.first().map(|&value| json::json_single(value)),
        (Values::Double(v), _) => v.first().map(|&value| json::json_float(value)),
        (Values::Char(v), DTypeKind::Text(_)) => {
            v.first().map(|&byte| standard_text(if byte == 0 { &[] } else { v }))
        }
        (Values::Char(v), _) => v.first().map(|&byte| match byte {
            0 => Json::string(""),
            byte => Json::string(char::from(byte)),
        }),
        (Values::String(v), DTypeKind::Text(_)) if text != TextFill::Plain => {
            v.first().map(|s| standard_text(s.as_bytes()))
        }
        (Values::String(v), _) => match v.first() {
            Some(text) => Some(Json::string(text.to_str()?)),
            None => None,
        },
        (other, _) => match other.scalar(0) {
            Some(nczarr_model::Scalar::Int(value)) => Some(Json::int(value)),
            _ => None,
        },
    };
    json.ok_or_else(|| {
        ErrorKind::BadType
            .context(format!("type {} cannot be stored as a fill value", value.nc_type().name()))
    })
}

/// Returns the text of a float or of a special value. Like zarr-python it accepts a number in quotes, and a
/// truth value for 0 or 1.
pub(crate) fn float_token<'v>(value: &'v Value<'_>) -> Option<&'v str> {
    match value {
        Value::String(text) if is_special(text) => Some(text),
        Value::String(text) if !text.contains(['x', 'X']) && json::float(text.trim()).is_some() => {
            Some(text.trim())
        }
        other => match other.as_bool() {
            Some(value) => Some(if value { "1" } else { "0" }),
            None => other.token(),
        },
    }
}

/// Returns an integer. Like zarr-python it accepts one in quotes, and a truth value for 0 or 1.
pub(crate) fn integer(value: &Value<'_>) -> Option<i128> {
    match value {
        Value::String(text) if !text.contains(['x', 'X']) => json::integer(text.trim()),
        other => other.as_bool().map(i128::from).or_else(|| other.as_integer()),
    }
}

/// Returns one element of a user-defined type in its memory form.
fn element(value: &Value<'_>, dtype: &DType) -> Option<Vec<u8>> {
    if let (DTypeKind::Complex(part), Value::Array(parts)) = (dtype.kind, value) {
        let [re, im] = &parts[..] else { return None };
        let bytes = |part_of| float_value(float_token(part_of)?, part)?.to_native_bytes();
        return Some([bytes(re)?, bytes(im)?].concat());
    }
    let pieces = dtype.pieces()?;
    let stored = match value {
        Value::String(text) => base64::decode(text)?,
        // Writers without a spelling for such a fill value write 0.
        other if other.as_integer() == Some(0) => {
            vec![0; dtype.item_size().filter(|&size| size <= MAX_ZEROS)?]
        }
        _ => return None,
    };
    nczarr_chunkio::unpack_element(&pieces, &stored).ok()
}

/// Returns a time count, from a number or from its text.
fn time(value: &Value<'_>, unit: TimeUnit) -> Option<i64> {
    match value {
        Value::String(text) => unit.parse(text).ok(),
        other => integer(other)?.try_into().ok(),
    }
}

/// Renders an all-zero fill value of a user-defined type.
///
/// # Errors
/// [`ErrorKind::BadType`] for a type without a size.
pub(crate) fn print_zeros(dtype: &DType) -> Result<Json> {
    let none = || ErrorKind::BadType.context(format!("type {} cannot be stored as a fill value", dtype.text));
    let size = dtype.item_size().ok_or_else(none)?;
    if size > MAX_ZEROS {
        return Ok(Json::int(0));
    }
    let zeros = vec![0; size];
    let held = nczarr_chunkio::unpack_element(&dtype.pieces().ok_or_else(none)?, &zeros)?;
    print_element(&held, dtype).ok_or_else(none)
}

/// Renders one element of a user-defined type.
fn print_element(bytes: &[u8], dtype: &DType) -> Option<Json> {
    if let DTypeKind::Complex(part) = dtype.kind {
        return match Values::from_native_bytes(part, bytes)? {
            Values::Float(v) if v.len() == 2 => {
                Some(Json::Array(v.into_iter().map(json::json_single).collect()))
            }
            Values::Double(v) if v.len() == 2 => {
                Some(Json::Array(v.into_iter().map(json::json_float).collect()))
            }
            _ => None,
        };
    }
    nczarr_chunkio::pack_element(&dtype.pieces()?, bytes)
        .ok()
        .map(|stored| Json::string(base64::encode(&stored)))
}

fn standard_text(bytes: &[u8]) -> Json {
    Json::string(base64::encode(bytes))
}

/// Whether `name` spells NaN or an infinity.
pub(crate) fn is_special(name: &str) -> bool {
    !name.bytes().any(|byte| byte.is_ascii_digit())
        && json::float(name).is_some_and(|value| !value.is_finite())
}

/// Returns a float of type `ty`; `None` if `token` is not a number or its magnitude is too large.
pub(crate) fn float_value(token: &str, ty: NcType) -> Option<Values> {
    let finite = !is_special(token);
    match ty {
        NcType::Float => {
            json::single(token).filter(|v| v.is_finite() || !finite).map(|v| Values::Float(vec![v]))
        }
        NcType::Double => {
            json::float(token).filter(|v| v.is_finite() || !finite).map(|v| Values::Double(vec![v]))
        }
        _ => None,
    }
}

/// Returns an integer of type `ty`; `None` if it does not fit.
pub(crate) fn integer_value(number: i128, ty: NcType) -> Option<Values> {
    Some(match ty {
        NcType::Byte => Values::Byte(vec![number.try_into().ok()?]),
        NcType::UByte => Values::UByte(vec![number.try_into().ok()?]),
        NcType::Short => Values::Short(vec![number.try_into().ok()?]),
        NcType::UShort => Values::UShort(vec![number.try_into().ok()?]),
        NcType::Int => Values::Int(vec![number.try_into().ok()?]),
        NcType::UInt => Values::UInt(vec![number.try_into().ok()?]),
        NcType::Int64 => Values::Int64(vec![number.try_into().ok()?]),
        NcType::UInt64 => Values::UInt64(vec![number.try_into().ok()?]),
        _ => return None,
    })
}

fn char_byte(value: &Value<'_>) -> Option<u8> {
    match value {
        Value::String(text) => {
            let mut chars = text.chars();
            match (chars.next(), chars.next()) {
                (None, _) => Some(0),
                (Some(c), None) => u8::try_from(u32::from(c)).ok(),
                _ => None,
            }
        }
        other => other.as_integer()?.try_into().ok(),
    }
}

fn fixed_text(value: &Value<'_>, width: usize, form: TextFill<'_>) -> Option<NcString> {
    let text = match value {
        Value::String(text) => &**text,
        other => return (other.as_integer() == Some(0)).then(NcString::new),
    };
    let decoded = match form {
        TextFill::Plain => None,
        TextFill::Standard(Some(attribute)) if attribute == text => None,
        TextFill::Standard(_) => base64::decode(text).filter(|bytes| bytes.len() <= width),
    };
    let mut bytes = decoded.unwrap_or_else(|| text.as_bytes().to_vec());
    let kept = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    bytes.truncate(kept);
    Some(bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str, dtype: &str) -> Result<Option<Values>> {
        let value = json::parse(value.as_bytes(), &nczarr_dispatch::Limits::default())?;
        parse(&value, &DType::from_name(dtype), TextFill::Standard(None))
    }

    fn string(text: &str) -> Values {
        Values::String(vec![text.into()])
    }

    #[test]
    fn every_form() {
        for (value, dtype, expected) in [
            ("null", "<i4", None),
            ("7", "<i4", Some(Values::Int(vec![7]))),
            ("7.0", "<i2", Some(Values::Short(vec![7]))),
            ("[-127]", "<i1", Some(Values::Byte(vec![-127]))),
            ("18446744073709551615", "<u8", Some(Values::UInt64(vec![u64::MAX]))),
            ("-9223372036854775808", "<i8", Some(Values::Int64(vec![i64::MIN]))),
            ("9223372036854775807", "<i8", Some(Values::Int64(vec![i64::MAX]))),
            ("1", "<f4", Some(Values::Float(vec![1.0]))),
            ("0.1", "<f4", Some(Values::Float(vec![0.1]))),
            ("\"NaN\"", "<f4", Some(Values::Float(vec![f32::NAN]))),
            ("NaN", "<f8", Some(Values::Double(vec![f64::NAN]))),
            ("\"-infinityf\"", "<f8", Some(Values::Double(vec![f64::NEG_INFINITY]))),
            ("\"Infinity\"", ">f8", Some(Values::Double(vec![f64::INFINITY]))),
            ("\"-9999\"", "<i4", Some(Values::Int(vec![-9999]))),
            ("\" 7\"", "<u1", Some(Values::UByte(vec![7]))),
            ("false", "<i4", Some(Values::Int(vec![0]))),
            ("true", "<f8", Some(Values::Double(vec![1.0]))),
            ("\"1.5\"", "<f4", Some(Values::Float(vec![1.5]))),
            ("\"-1e3\"", "<f8", Some(Values::Double(vec![-1000.0]))),
            ("2", "|b1", Some(Values::UByte(vec![1]))),
            ("true", "|b1", Some(Values::UByte(vec![1]))),
            ("0", "|b1", Some(Values::UByte(vec![0]))),
            ("\"\"", ">S1", Some(Values::Char(vec![0]))),
            ("\"#\"", ">S1", Some(Values::Char(vec![b'#']))),
            ("\"\\u00e9\"", ">S1", Some(Values::Char(vec![0xe9]))),
            ("\"YWI=\"", "|S5", Some(string("ab"))),
            ("\"YWIAAAA=\"", "|S5", Some(string("ab"))),
            ("\"n/a\"", "|S5", Some(string("n/a"))),
            ("0", "|S5", Some(string(""))),
            ("\"\"", "|S5", Some(string(""))),
            ("\"none\"", "<U5", Some(string("none"))),
            ("0", "|O", Some(string(""))),
            ("null", "|O", Some(string(""))),
            ("\"text\"", "|O", Some(string("text"))),
        ] {
            assert_eq!(read(value, dtype).unwrap(), expected, "{value} {dtype}");
        }
    }

    #[test]
    fn fill_values_of_another_type_are_refused() {
        for (value, dtype, kind) in [
            ("\"5x\"", "<i4", ErrorKind::NcZarr),
            ("\"abc\"", "<f4", ErrorKind::NcZarr),
            ("\"NaN\"", "<i4", ErrorKind::NcZarr),
            ("1.5", "<i4", ErrorKind::NcZarr),
            ("300", "<u1", ErrorKind::Range),
            ("-1", "<u8", ErrorKind::Range),
            ("18446744073709551616", "<u8", ErrorKind::Range),
            ("1e300", "<f4", ErrorKind::NcZarr),
            ("1e400", "<f8", ErrorKind::NcZarr),
            ("[1,2]", "<i4", ErrorKind::NcZarr),
            ("{}", "<f8", ErrorKind::NcZarr),
            ("\"true\"", "|b1", ErrorKind::NcZarr),
            ("\"ab\"", ">S1", ErrorKind::NcZarr),
            ("3", "|S5", ErrorKind::NcZarr),
            ("0", "int4", ErrorKind::BadType),
            ("[1]", "<c8", ErrorKind::NcZarr),
            ("1.5", "<c8", ErrorKind::NcZarr),
            ("\"AAA=\"", "|V3", ErrorKind::NcZarr),
            ("\"tomorrow\"", "<M8[s]", ErrorKind::NcZarr),
            ("1.5", "<m8[s]", ErrorKind::NcZarr),
            ("\"a\"", "<f2", ErrorKind::NcZarr),
        ] {
            let error = read(value, dtype).unwrap_err();
            assert_eq!(error.kind(), kind, "{value} {dtype}: {error}");
        }
    }

    #[test]
    fn the_attribute_distinguishes_plain_text_from_base64() {
        let dtype = DType::from_name("|S8");
        let plain = parse(&Json::string("none"), &dtype, TextFill::Standard(Some("none"))).unwrap();
        assert_eq!(plain, Some(string("none")));
        let coded = parse(&Json::string("bm9uZQ=="), &dtype, TextFill::Standard(Some("none"))).unwrap();
        assert_eq!(coded, Some(string("none")));
        let nczarr = parse(&Json::string("none"), &dtype, TextFill::Plain).unwrap();
        assert_eq!(nczarr, Some(string("none")));
    }

    #[test]
    fn written_fill_values_parse_back() {
        for (dtype, value) in [
            ("<f4", Values::Float(vec![0.1])),
            ("<f4", Values::Float(vec![-0.0])),
            ("<f8", Values::Double(vec![f64::INFINITY])),
            ("<f8", Values::Double(vec![1.797_693_134_862_315_7e308])),
            ("<i8", Values::Int64(vec![i64::MIN])),
            ("<u8", Values::UInt64(vec![u64::MAX])),
            ("|b1", Values::UByte(vec![1])),
            (">S1", Values::Char(vec![0])),
            (">S1", Values::Char(vec![0xe9])),
            (">S1", Values::Char(vec![b'"'])),
            ("|S9", string("none")),
            ("|S9", string("größe")),
            ("|S9", string("")),
            ("|O", string("none")),
            ("<U9", string("日本")),
        ] {
            for form in [TextFill::Plain, TextFill::Standard(None)] {
                let dtype = DType::from_name(dtype);
                let json = print(Some(&value), &dtype, form).unwrap();
                assert_eq!(parse(&json, &dtype, form).unwrap().as_ref(), Some(&value), "{json:?}");
            }
        }
        assert_eq!(print(None, &DType::from_name("<i4"), TextFill::Plain).unwrap(), Json::Null);
        assert_eq!(
            print(Some(&Values::Double(vec![-999.0])), &DType::from_name("<f8"), TextFill::Plain).unwrap(),
            Json::Number("-999.0".into())
        );
        assert!(
            print(
                Some(&Values::User(nczarr_model::TypeId(0), vec![0])),
                &DType::from_name("<i4"),
                TextFill::Plain
            )
            .is_err()
        );
    }
}
