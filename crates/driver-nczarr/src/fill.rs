//! The `fill_value` member ⇄ one value of the type a variable presents.
//!
//! Text fills have two spellings: NCZarr writes the text itself, the Zarr specification base64 of it. [`TextFill`]
//! says which to expect. Whether a fill counts as the type's default is decided elsewhere.
//!
//! Source: Zarr storage specification version 2; the table of forms in the formats notes.

use nczarr_model::{ErrorKind, NcString, NcType, Result, TimeUnit, Values};

use crate::base64;
use crate::dtype::{DType, Kind};
use crate::json::{self, Json, Value};
use crate::meta::bad;
use crate::types;

/// Zeros of more bytes than this are never made because a document says `0`: they are the default of such a type.
pub(crate) const MAX_ZEROS: usize = 4096;

/// Whether a fill value is no more than zeros of a user-defined type, however large.
pub(crate) fn is_large_zero(value: &Value<'_>, dtype: &DType) -> bool {
    let value = match value {
        Value::Array(items) if items.len() == 1 => &items[0],
        other => other,
    };
    dtype.is_user() && dtype.item_size().is_some_and(|size| size > MAX_ZEROS) && value.as_integer() == Some(0)
}

/// How the fill value of fixed-length text is spelled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum TextFill<'a> {
    /// As the text itself.
    Plain,
    /// In base64, or plain: as the text of the `_FillValue` attribute says, if there is one.
    Standard(Option<&'a str>),
}

/// Reads a fill value; `None` means no fill.
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
        // Variable-length text has no undefined state: zarr writes null there for "empty".
        return Ok((dtype.kind == Kind::Object).then(|| Values::String(vec![NcString::new()])));
    }
    let wrong = |expected: &str| bad("fill_value", &format!("{expected} for type {}", dtype.text), Some(value));
    Ok(Some(match dtype.kind {
        Kind::Number(ty @ (NcType::Float | NcType::Double)) => {
            let token = float_token(value).ok_or_else(|| wrong("a number or \"NaN\", \"Infinity\", \"-Infinity\""))?;
            float_value(token, ty).ok_or_else(|| wrong("a number that fits"))?
        }
        Kind::Number(ty) => {
            let number = integer(value).ok_or_else(|| wrong("an integer"))?;
            integer_value(number, ty).ok_or_else(|| {
                ErrorKind::Range.context(format!("member \"fill_value\": {number} does not fit type {}", dtype.text))
            })?
        }
        Kind::Bool => match (value.as_bool(), value.as_integer()) {
            (Some(value), _) => Values::UByte(vec![value.into()]),
            (None, Some(value)) => Values::UByte(vec![(value != 0).into()]),
            _ => return Err(wrong("true or false")),
        },
        Kind::Char => Values::Char(vec![char_byte(value).ok_or_else(|| wrong("one character"))?]),
        Kind::Text(width) => Values::String(vec![fixed_text(value, width, text).ok_or_else(|| wrong("a string"))?]),
        Kind::Utf32(_) | Kind::Object => match value {
            Value::String(text) => Values::String(vec![(&**text).into()]),
            other if other.as_integer() == Some(0) => Values::String(vec![NcString::new()]),
            _ => return Err(wrong("a string")),
        },
        Kind::Half(half) => {
            let token = float_token(value).ok_or_else(|| wrong("a number or \"NaN\", \"Infinity\", \"-Infinity\""))?;
            match float_value(token, NcType::Double) {
                Some(Values::Double(v)) => Values::Float(v.into_iter().map(|value| half.nearest(value)).collect()),
                _ => return Err(wrong("a number")),
            }
        }
        Kind::Complex(_) | Kind::Opaque(_) | Kind::Record => {
            let bytes = element(value, dtype).ok_or_else(|| wrong("one element"))?;
            Values::User(types::NO_TYPE, bytes)
        }
        Kind::Time { unit, counted } => {
            let count = time(value, unit).ok_or_else(|| wrong("a count, or a time"))?;
            if counted { Values::Int64(vec![count]) } else { Values::String(vec![unit.format(count).into()]) }
        }
        Kind::Other => return Err(ErrorKind::BadType.context(format!("type {} cannot be read", dtype.text))),
    }))
}

/// Writes a fill value; `None` is `null`.
///
/// # Errors
/// [`ErrorKind::BadType`] if the value is not one of the type; [`ErrorKind::Char`] for text that is not UTF-8,
/// [`ErrorKind::Range`] for a number beyond the range of a half float.
pub(crate) fn print(value: Option<&Values>, dtype: &DType, text: TextFill<'_>) -> Result<Json> {
    let Some(value) = value else { return Ok(Json::Null) };
    let json = match (value, dtype.kind) {
        (Values::UByte(v), Kind::Bool) => v.first().map(|&byte| Json::Bool(byte != 0)),
        (Values::User(_, bytes), _) => print_element(bytes, dtype),
        (Values::Packed(_, list), Kind::Object) => list.first().map(|element| standard_text(element.as_bytes())),
        (Values::Float(v), Kind::Half(half)) => match v.first() {
            Some(&value) => {
                let near = half.nearest(value.into());
                if value.is_finite() && near.is_infinite() {
                    return Err(ErrorKind::Range.context(format!("{value:e} does not fit type {}", dtype.text)));
                }
                Some(json::json_single(near))
            }
            None => None,
        },
        (Values::String(v), Kind::Time { unit, .. }) => match v.first() {
            Some(text) => Some(Json::int(unit.parse(text.to_str()?)?)),
            None => None,
        },
        (Values::Float(v), _) => v.first().map(|&value| json::json_single(value)),
        (Values::Double(v), _) => v.first().map(|&value| json::json_float(value)),
        (Values::Char(v), Kind::Text(_)) => v.first().map(|&byte| standard_text(if byte == 0 { &[] } else { v })),
        (Values::Char(v), _) => v.first().map(|&byte| match byte {
            0 => Json::string(""),
            byte => Json::string(char::from(byte)),
        }),
        (Values::String(v), Kind::Text(_)) if text != TextFill::Plain => v.first().map(|s| standard_text(s.as_bytes())),
        (Values::String(v), _) => match v.first() {
            Some(text) => Some(Json::string(text.to_str()?)),
            None => None,
        },
        (other, _) => match other.scalar(0) {
            Some(nczarr_model::Scalar::Int(value)) => Some(Json::int(value)),
            _ => None,
        },
    };
    json.ok_or_else(|| ErrorKind::BadType.context(format!("a fill value of type {}", value.nc_type().name())))
}

/// The text of a float, or of what stands for one that is no number. As zarr-python does it takes a number in quotes, and a
/// truth value for 0 or 1.
pub(crate) fn float_token<'v>(value: &'v Value<'_>) -> Option<&'v str> {
    match value {
        Value::String(text) if is_special(text) => Some(text),
        Value::String(text) if !text.contains(['x', 'X']) && json::float(text.trim()).is_some() => Some(text.trim()),
        other => match other.as_bool() {
            Some(value) => Some(if value { "1" } else { "0" }),
            None => other.token(),
        },
    }
}

/// An integer. As zarr-python does it takes one in quotes, and a truth value for 0 or 1.
pub(crate) fn integer(value: &Value<'_>) -> Option<i128> {
    match value {
        Value::String(text) if !text.contains(['x', 'X']) => json::integer(text.trim()),
        other => other.as_bool().map(i128::from).or_else(|| other.as_integer()),
    }
}

/// One element of a user-defined type, as it is in memory.
fn element(value: &Value<'_>, dtype: &DType) -> Option<Vec<u8>> {
    if let (Kind::Complex(part), Value::Array(parts)) = (dtype.kind, value) {
        let [re, im] = &parts[..] else { return None };
        let bytes = |part_of| float_value(float_token(part_of)?, part)?.to_native_bytes();
        return Some([bytes(re)?, bytes(im)?].concat());
    }
    let pieces = dtype.pieces()?;
    let stored = match value {
        Value::String(text) => base64::decode(text)?,
        // What writers say that have no word for such a fill value.
        other if other.as_integer() == Some(0) => vec![0; dtype.item_size().filter(|&size| size <= MAX_ZEROS)?],
        _ => return None,
    };
    nczarr_chunkio::unpack(&pieces, &stored).ok()
}

/// A count of time, from itself or from its text.
fn time(value: &Value<'_>, unit: TimeUnit) -> Option<i64> {
    match value {
        Value::String(text) => unit.parse(text).ok(),
        other => integer(other)?.try_into().ok(),
    }
}

/// The fill value of a user-defined type that is all zeros.
///
/// # Errors
/// [`ErrorKind::BadType`] for a type without a size.
pub(crate) fn print_zeros(dtype: &DType) -> Result<Json> {
    let none = || ErrorKind::BadType.context(format!("a fill value of type {}", dtype.text));
    let size = dtype.item_size().ok_or_else(none)?;
    if size > MAX_ZEROS {
        return Ok(Json::int(0));
    }
    let zeros = vec![0; size];
    let held = nczarr_chunkio::unpack(&dtype.pieces().ok_or_else(none)?, &zeros)?;
    print_element(&held, dtype).ok_or_else(none)
}

/// One element of a user-defined type as it is written down.
fn print_element(bytes: &[u8], dtype: &DType) -> Option<Json> {
    if let Kind::Complex(part) = dtype.kind {
        return match Values::from_native_bytes(part, bytes)? {
            Values::Float(v) if v.len() == 2 => Some(Json::Array(v.into_iter().map(json::json_single).collect())),
            Values::Double(v) if v.len() == 2 => Some(Json::Array(v.into_iter().map(json::json_float).collect())),
            _ => None,
        };
    }
    nczarr_chunkio::pack(&dtype.pieces()?, bytes).ok().map(|stored| Json::string(base64::encode(&stored)))
}

fn standard_text(bytes: &[u8]) -> Json {
    Json::string(base64::encode(bytes))
}

/// Whether `name` spells NaN or an infinity.
pub(crate) fn is_special(name: &str) -> bool {
    !name.bytes().any(|byte| byte.is_ascii_digit()) && json::float(name).is_some_and(|value| !value.is_finite())
}

/// A float of type `ty`; `None` if `token` is no number or its magnitude is too large.
pub(crate) fn float_value(token: &str, ty: NcType) -> Option<Values> {
    let finite = !is_special(token);
    match ty {
        NcType::Float => json::single(token).filter(|v| v.is_finite() || !finite).map(|v| Values::Float(vec![v])),
        NcType::Double => json::float(token).filter(|v| v.is_finite() || !finite).map(|v| Values::Double(vec![v])),
        _ => None,
    }
}

/// An integer of type `ty`; `None` if it does not fit.
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
    fn what_is_not_of_the_type_is_refused() {
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
    fn the_attribute_tells_plain_from_base64() {
        let dtype = DType::from_name("|S8");
        let plain = parse(&Json::string("none"), &dtype, TextFill::Standard(Some("none"))).unwrap();
        assert_eq!(plain, Some(string("none")));
        let coded = parse(&Json::string("bm9uZQ=="), &dtype, TextFill::Standard(Some("none"))).unwrap();
        assert_eq!(coded, Some(string("none")));
        let nczarr = parse(&Json::string("none"), &dtype, TextFill::Plain).unwrap();
        assert_eq!(nczarr, Some(string("none")));
    }

    #[test]
    fn what_is_written_is_read() {
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
            print(Some(&Values::User(nczarr_model::TypeId(0), vec![0])), &DType::from_name("<i4"), TextFill::Plain)
                .is_err()
        );
    }
}
