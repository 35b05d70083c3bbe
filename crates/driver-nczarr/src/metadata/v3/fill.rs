//! Conversion between the `fill_value` member of Zarr V3 and one value of the variable's type.
//!
//! A float may be a number, one of three names, or its bits as a hexadecimal integer, which keeps all NaNs
//! apart. `"NaN"` has only the quiet bit. This module knows no attributes and no defaults.
//!
//! Source: Zarr V3 core specification and its extensions; the forms of other writers in the format notes.

use nczarr_chunkio::{load_item, save_item};
use nczarr_codec::ShownType;
use nczarr_model::{ErrorKind, NcString, NcType, Result, Values};

use super::types::{DataType, VariableLength};
use crate::metadata::base64;
use crate::metadata::json::{Json, ObjectMembers, Value, json_float, json_single, text};
use crate::metadata::members::bad_member;
use crate::metadata::types::dtype::{DType, DTypeKind};
use crate::metadata::types::foreign;
use crate::metadata::v2::fill::{float_token, float_value, integer, integer_value};

/// Parses a fill value. `None` for `null`, which NCZarr writers use for no fill value. Byte lists become the
/// bytes of one element, like user-defined types.
///
/// # Errors
/// [`ErrorKind::NcZarr`] if it is not of the type, [`ErrorKind::Range`] if it does not fit.
pub(crate) fn read(value: &Value<'_>, ty: &DataType) -> Result<Option<Values>> {
    if value.is_null() {
        return Ok(None);
    }
    let dtype = &ty.dtype;
    let wrong =
        || bad_member("fill_value", &format!("{} for type {}", expected(ty), dtype.text), Some(value));
    let none = || ErrorKind::BadType.context(format!("type {} is not supported", dtype.text));
    Ok(Some(match (dtype.kind, ty.variable) {
        (DTypeKind::Number(ty), _) => match number(value, ty) {
            Some(values) => values,
            None if integer(value).is_some() => {
                let found = text(value);
                return Err(ErrorKind::Range
                    .context(format!("member \"fill_value\": {found} does not fit type {}", dtype.text)));
            }
            None => return Err(wrong()),
        },
        (DTypeKind::Bool, _) => Values::UByte(vec![truth(value).ok_or_else(wrong)?]),
        (DTypeKind::Char, _) => Values::Char(vec![byte(value).ok_or_else(wrong)?]),
        (DTypeKind::Half(_), _) => {
            let bytes = element(value, dtype).ok_or_else(wrong)?;
            Values::from_native_bytes(NcType::Float, &bytes).ok_or_else(none)?
        }
        (DTypeKind::Time { unit, counted }, _) => {
            let count = match value {
                Value::String(text) => unit.parse(text).ok(),
                other => integer(other).and_then(|count| count.try_into().ok()),
            };
            let count = count.ok_or_else(wrong)?;
            if counted { Values::Int64(vec![count]) } else { Values::String(vec![unit.format(count).into()]) }
        }
        (DTypeKind::Text(width), _) => {
            let mut bytes = fixed_text(value, width, ty.is_core_raw).ok_or_else(wrong)?;
            bytes.truncate(bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1));
            Values::String(vec![bytes.into()])
        }
        (DTypeKind::Object, Some(VariableLength::Bytes)) => {
            Values::Packed(foreign::NO_TYPE, vec![bytes(value).ok_or_else(wrong)?.into()])
        }
        (DTypeKind::Utf32(_) | DTypeKind::Object, _) => match value {
            Value::String(text) => Values::String(vec![(&**text).into()]),
            other if other.as_integer() == Some(0) => Values::String(vec![NcString::new()]),
            _ => return Err(wrong()),
        },
        (DTypeKind::Complex(_) | DTypeKind::Opaque(_) | DTypeKind::Compound, _) => {
            Values::User(foreign::NO_TYPE, element(value, dtype).ok_or_else(wrong)?)
        }
        (DTypeKind::Extension(shown), _) => {
            let extension = &dtype.extension.as_ref().ok_or_else(none)?.0;
            let found =
                extension.fill_from_json(&value.to_serde()).and_then(|item| load_item(extension, &item));
            let element = found.map_err(|error| {
                let found = text(value);
                let kind =
                    if error.kind() == ErrorKind::Range { ErrorKind::Range } else { ErrorKind::NcZarr };
                kind.context(format!("member \"fill_value\": {found} is not of type {}", dtype.text))
                    .caused_by(error)
            })?;
            match shown {
                ShownType::Atomic(ty) => Values::from_native_bytes(ty, &element).ok_or_else(none)?,
                _ => Values::User(foreign::NO_TYPE, element),
            }
        }
        (DTypeKind::Other, _) => return Err(none()),
    }))
}

/// Renders a fill value.
///
/// # Errors
/// [`ErrorKind::BadType`] if the value is not of the type; [`ErrorKind::Char`] for text that is not UTF-8,
/// [`ErrorKind::Range`] for a value out of range.
pub(crate) fn write(value: &Values, ty: &DataType) -> Result<Json> {
    let dtype = &ty.dtype;
    let wrong = || {
        ErrorKind::BadType.context(format!(
            "a value of type {} cannot be the fill value of type {}",
            value.nc_type().name(),
            dtype.text
        ))
    };
    let long = |len: usize, width: usize| {
        ErrorKind::Range
            .context(format!("the fill value is too long (expected at most {width} bytes, found {len})"))
    };
    match (value, dtype.kind) {
        (Values::String(v), DTypeKind::Time { unit, .. }) => {
            Ok(Json::int(unit.parse(v.first().ok_or_else(wrong)?.to_str()?)?))
        }
        (Values::String(v), DTypeKind::Text(width)) => {
            let mut bytes = v.first().ok_or_else(wrong)?.as_bytes().to_vec();
            if bytes.len() > width {
                return Err(long(bytes.len(), width));
            }
            bytes.resize(width, 0);
            Ok(Json::string(base64::encode(&bytes)))
        }
        (Values::Char(v), DTypeKind::Text(width)) => {
            let mut bytes = v.clone();
            bytes.resize(width, 0);
            Ok(Json::string(base64::encode(&bytes)))
        }
        (Values::String(v), DTypeKind::Object | DTypeKind::Utf32(_)) => {
            Ok(Json::string(v.first().ok_or_else(wrong)?.to_str()?))
        }
        (Values::Packed(_, list), DTypeKind::Object) => match &list[..] {
            [element] => Ok(Json::string(base64::encode(element.as_bytes()))),
            _ => Err(wrong()),
        },
        (Values::Float(v), DTypeKind::Half(half)) => {
            let &value = v.first().ok_or_else(wrong)?;
            if value.is_finite() && half.nearest(value.into()).is_infinite() {
                return Err(ErrorKind::Range.context(format!("{value:e} does not fit type {}", dtype.text)));
            }
            print(&value.to_ne_bytes(), dtype).ok_or_else(wrong)
        }
        (Values::UByte(v) | Values::Char(v), DTypeKind::Char) => Ok(Json::int(*v.first().ok_or_else(wrong)?)),
        (Values::User(_, bytes), DTypeKind::Complex(_) | DTypeKind::Opaque(_) | DTypeKind::Compound) => {
            print(bytes, dtype).ok_or_else(wrong)
        }
        (Values::UByte(_), DTypeKind::Bool) | (Values::Int64(_), DTypeKind::Time { .. }) => {
            value.to_native_bytes().and_then(|bytes| print(&bytes, dtype)).ok_or_else(wrong)
        }
        (value, DTypeKind::Extension(shown)) => {
            let element = match (value, shown) {
                (Values::User(_, bytes), ShownType::Opaque(size)) if bytes.len() == size => {
                    Some(bytes.clone())
                }
                (value, ShownType::Atomic(ty)) if value.nc_type() == ty => value.to_native_bytes(),
                _ => None,
            };
            let extension = &dtype.extension.as_ref().ok_or_else(wrong)?.0;
            let item = save_item(extension, &element.ok_or_else(wrong)?).map_err(|error| {
                let advice = "set another fill value";
                error.at(format_args!("the fill value does not fit type {}; {advice}", dtype.text))
            })?;
            extension.fill_to_json(&item).map(|json| Json::from_serde(&json))
        }
        (value, DTypeKind::Number(ty)) if value.nc_type() == ty => {
            value.to_native_bytes().and_then(|bytes| print(&bytes, dtype)).ok_or_else(wrong)
        }
        _ => Err(wrong()),
    }
}

/// Whether a value of the netCDF type is one of a plugin's data type. Other types hold each of their values.
pub(crate) fn fits(value: &Values, ty: &DataType) -> bool {
    ty.dtype.extension.is_none() || write(value, ty).is_ok()
}

/// Renders zero in the form of the type.
///
/// # Errors
/// [`ErrorKind::BadType`] for types without a fixed form.
pub(crate) fn zero(ty: &DataType) -> Result<Json> {
    let none = || ErrorKind::BadType.context(format!("type {} has no fill value", ty.dtype.text));
    match (ty.dtype.kind, ty.variable) {
        (DTypeKind::Object, Some(_)) => Ok(Json::string("")),
        (DTypeKind::Extension(_), _) => {
            let extension = &ty.dtype.extension.as_ref().ok_or_else(none)?.0;
            let zeros = vec![0; extension.item().size];
            extension.fill_to_json(&zeros).map(|json| Json::from_serde(&json))
        }
        _ => {
            let pieces = ty.dtype.pieces().ok_or_else(none)?;
            let zeros = vec![0; ty.dtype.item_size().ok_or_else(none)?];
            let held = nczarr_chunkio::unpack_element(&pieces, &zeros)?;
            print(&held, &ty.dtype).ok_or_else(none)
        }
    }
}

fn expected(ty: &DataType) -> &'static str {
    match (ty.dtype.kind, ty.variable) {
        (DTypeKind::Number(NcType::Float | NcType::Double) | DTypeKind::Half(_), _) => {
            "a number, \"NaN\", \"Infinity\", \"-Infinity\" or its bits as \"0x…\""
        }
        (DTypeKind::Number(_), _) => "an integer",
        (DTypeKind::Bool, _) => "true or false",
        (DTypeKind::Char, _) => "one character, as its code",
        (DTypeKind::Time { .. }, _) => "a count, or a time",
        (DTypeKind::Complex(_), _) => "a list of two floats",
        (DTypeKind::Object, Some(VariableLength::Bytes)) => "base64, or a list of bytes",
        (DTypeKind::Object | DTypeKind::Utf32(_), _) => "a string",
        (DTypeKind::Text(_), _) => "base64 of text that fits",
        (DTypeKind::Compound, _) => "an object of all fields, or base64",
        _ => "base64 of all its bytes, or a list of them",
    }
}

/// Parses a number of a netCDF type.
fn number(value: &Value<'_>, ty: NcType) -> Option<Values> {
    match ty {
        NcType::Float => float(value, ty).or_else(|| {
            let bits = u32::try_from(bits(value, 8)?).ok()?;
            Some(Values::Float(vec![f32::from_bits(bits)]))
        }),
        NcType::Double => {
            float(value, ty).or_else(|| Some(Values::Double(vec![f64::from_bits(bits(value, 16)?)])))
        }
        // Some NCZarr V3 writers store char as plain text, with or without a mark.
        NcType::UByte => match byte(value) {
            Some(byte) => Some(Values::UByte(vec![byte])),
            None => integer_value(integer(value)?, ty),
        },
        _ => integer_value(integer(value)?, ty),
    }
}

/// Parses a number, or the name of a special value.
pub(super) fn float(value: &Value<'_>, ty: NcType) -> Option<Values> {
    match value {
        // The caller parses bits.
        Value::String(text) if text.starts_with("0x") => None,
        other => float_value(float_token(other)?, ty),
    }
}

/// Parses a hexadecimal integer with exactly `digits` digits.
pub(super) fn bits(value: &Value<'_>, digits: usize) -> Option<u64> {
    let hex = value.as_str()?.strip_prefix("0x")?;
    let legal = hex.len() == digits && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(hex, 16).ok().filter(|_| legal)
}

fn truth(value: &Value<'_>) -> Option<u8> {
    match (value.as_bool(), value.as_integer()) {
        (Some(value), _) => Some(value.into()),
        (None, Some(value)) => Some((value != 0).into()),
        _ => None,
    }
}

/// Parses a byte, or one character of text.
fn byte(value: &Value<'_>) -> Option<u8> {
    match value {
        Value::String(text) => match text.as_bytes() {
            [] => Some(0),
            [byte] => Some(*byte),
            _ => None,
        },
        other => other.as_integer()?.try_into().ok(),
    }
}

/// Parses bytes in base64 or as a list.
fn bytes(value: &Value<'_>) -> Option<Vec<u8>> {
    match value {
        Value::String(text) => base64::decode(text),
        Value::Array(items) => items.iter().map(|item| item.as_integer()?.try_into().ok()).collect(),
        _ => None,
    }
}

/// Parses fixed-length text: base64, or plain text if the type is the core's raw bytes, as NCZarr writers
/// store strings. Text that fits the width cannot be base64 of all bytes.
fn fixed_text(value: &Value<'_>, width: usize, core_raw: bool) -> Option<Vec<u8>> {
    match value {
        Value::String(text) if core_raw && text.len() <= width => Some(text.as_bytes().to_vec()),
        Value::String(_) => bytes(value).filter(|bytes| bytes.len() <= width),
        other => bytes(other).filter(|bytes| bytes.len() == width),
    }
}

/// Parses one element of fixed size into its memory form.
fn element(value: &Value<'_>, dtype: &DType) -> Option<Vec<u8>> {
    let stored = |stored: Vec<u8>| nczarr_chunkio::unpack_element(&dtype.pieces()?, &stored).ok();
    let sized = |bytes: Vec<u8>, size: usize| (bytes.len() == size).then_some(bytes);
    match dtype.kind {
        DTypeKind::Number(ty) => number(value, ty)?.to_native_bytes(),
        DTypeKind::Bool => Some(vec![truth(value)?]),
        DTypeKind::Char => Some(vec![byte(value)?]),
        DTypeKind::Half(half) => {
            if let Some(bits) = bits(value, 4) {
                let bits = u16::try_from(bits).ok()?;
                let bytes = if dtype.big_endian { bits.to_be_bytes() } else { bits.to_le_bytes() };
                return stored(bytes.into());
            }
            match float(value, NcType::Double)? {
                Values::Double(v) => v.first().map(|&value| half.nearest(value).to_ne_bytes().into()),
                _ => None,
            }
        }
        DTypeKind::Complex(part) => match value {
            Value::Array(parts) => match &parts[..] {
                [re, im] => Some(
                    [number(re, part)?.to_native_bytes()?, number(im, part)?.to_native_bytes()?].concat(),
                ),
                _ => None,
            },
            _ => None,
        },
        DTypeKind::Time { unit, .. } => match value {
            Value::String(text) => Some(unit.parse(text).ok()?.to_ne_bytes().into()),
            other => Some(i64::try_from(other.as_integer()?).ok()?.to_ne_bytes().into()),
        },
        DTypeKind::Text(width) => {
            let mut bytes = fixed_text(value, width, false)?;
            bytes.resize(width, 0);
            Some(bytes)
        }
        DTypeKind::Utf32(chars) => {
            let mut points: Vec<u32> = value.as_str()?.chars().map(u32::from).collect();
            if points.len() > chars {
                return None;
            }
            points.resize(chars, 0);
            Some(points.into_iter().flat_map(u32::to_ne_bytes).collect())
        }
        DTypeKind::Opaque(size) => sized(bytes(value)?, size),
        DTypeKind::Compound => {
            let fields = &dtype.compound.as_ref()?.fields;
            match value {
                Value::Object(members) => record(members, fields),
                // A compound of one field may have the field's fill value.
                other => match (bytes(other).and_then(stored), &fields[..]) {
                    (Some(found), _) => Some(found),
                    (None, [only]) if only.shape.is_empty() => element(other, &only.dtype),
                    _ => None,
                },
            }
        }
        DTypeKind::Object | DTypeKind::Extension(_) | DTypeKind::Other => None,
    }
}

/// Parses the fields of a compound by name.
fn record(
    members: &ObjectMembers<'_>,
    fields: &[crate::metadata::types::dtype::CompoundField],
) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for field in fields {
        match members.get(&field.name) {
            // Padding has no value. Several fields of padding have one name, so a member cannot be for all.
            _ if field.name.is_empty() => out.resize(out.len() + field.dtype.item_size()?, 0),
            Some(value) if field.shape.is_empty() => out.extend(element(value, &field.dtype)?),
            _ => return None,
        }
    }
    Some(out)
}

/// Renders one element from its memory form.
fn print(bytes: &[u8], dtype: &DType) -> Option<Json> {
    let base64 = || Some(Json::string(base64::encode(bytes)));
    match dtype.kind {
        DTypeKind::Number(ty) => match Values::from_native_bytes(ty, bytes)? {
            Values::Float(v) => v.first().map(|&value| {
                if value.is_nan() && value.to_bits() != f32::NAN.to_bits() {
                    Json::string(format!("{:#010x}", value.to_bits()))
                } else {
                    json_single(value)
                }
            }),
            Values::Double(v) => v.first().map(|&value| {
                if value.is_nan() && value.to_bits() != f64::NAN.to_bits() {
                    Json::string(format!("{:#018x}", value.to_bits()))
                } else {
                    json_float(value)
                }
            }),
            other => match other.scalar(0)? {
                nczarr_model::Scalar::Int(value) => Some(Json::int(value)),
                nczarr_model::Scalar::Float(_) => None,
            },
        },
        DTypeKind::Bool => bytes.first().map(|&byte| Json::Bool(byte != 0)),
        DTypeKind::Char => bytes.first().map(|&byte| Json::int(byte)),
        DTypeKind::Half(_) => {
            let mut stored = nczarr_chunkio::pack_element(&dtype.pieces()?, bytes).ok()?;
            let value = f32::from_ne_bytes(
                *nczarr_chunkio::unpack_element(&dtype.pieces()?, &stored).ok()?.first_chunk()?,
            );
            if !value.is_nan() || value.to_bits() == f32::NAN.to_bits() {
                return Some(json_single(value));
            }
            if !dtype.big_endian {
                stored.reverse();
            }
            Some(Json::string(format!("{:#06x}", u16::from_be_bytes(*stored.first_chunk()?))))
        }
        DTypeKind::Complex(part) => {
            let one = DType::of(part, nczarr_model::Endian::Little, 1, false).ok()?;
            let parts = bytes.chunks_exact(part.size()?).map(|part| print(part, &one));
            parts.collect::<Option<Vec<_>>>().map(Json::Array)
        }
        DTypeKind::Time { .. } => Some(Json::int(i64::from_ne_bytes(*bytes.first_chunk()?))),
        DTypeKind::Text(_) | DTypeKind::Opaque(_) => base64(),
        DTypeKind::Utf32(_) => {
            let (points, _) = bytes.as_chunks::<4>();
            let text: Option<String> =
                points.iter().map(|&point| char::from_u32(u32::from_ne_bytes(point))).collect();
            text.map(|text| Json::string(text.trim_end_matches('\0')))
        }
        DTypeKind::Compound => {
            let mut rest = bytes;
            let mut members = Vec::new();
            for field in &dtype.compound.as_ref()?.fields {
                let size: usize = field.dtype.pieces()?.iter().map(held).sum();
                let (value, after) = rest.split_at_checked(size).filter(|_| field.shape.is_empty())?;
                if !field.name.is_empty() {
                    members.push((field.name.clone(), print(value, &field.dtype)?));
                }
                rest = after;
            }
            Some(Json::Object(members.into_iter().collect()))
        }
        DTypeKind::Object | DTypeKind::Extension(_) | DTypeKind::Other => None,
    }
}

/// Returns the bytes in memory of a part of an element.
fn held(piece: &nczarr_chunkio::ElementPiece) -> usize {
    use nczarr_chunkio::ElementPiece;
    match *piece {
        ElementPiece::Bytes(size) => size,
        ElementPiece::Numbers { size, count, .. } => size * count,
        ElementPiece::Halves { count, .. } => size_of::<f32>() * count,
        // There are no other variants.
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::json::parse;
    use crate::metadata::v3::tests::registry;

    const STRUCT: &str = r#"{"name":"struct","configuration":{"fields":[{"name":"id","data_type":"int32"},{"name":"t","data_type":{"name":"null_terminated_bytes","configuration":{"length_bytes":2}}},{"name":"v","data_type":"float64"},{"name":"u","data_type":{"name":"fixed_length_utf32","configuration":{"length_bytes":8}}},{"name":"h","data_type":"float16"},{"name":"m","data_type":{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":1}}},{"name":"b","data_type":"bool"}]}}"#;
    const DATE: &str = r#"{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":1}}"#;

    fn json(text: &str) -> Json {
        parse(text.as_bytes(), &nczarr_dispatch::Limits::default()).unwrap()
    }

    /// Parses a type from its name or from JSON.
    fn ty(name: &str, big: bool) -> DataType {
        let name = if name.starts_with('{') { json(name) } else { Json::string(name) };
        DataType::read(&name, big, &registry()).unwrap()
    }

    fn sized(name: &str, bytes: usize) -> String {
        format!(r#"{{"name":"{name}","configuration":{{"length_bytes":{bytes}}}}}"#)
    }

    fn user(bytes: &[u8]) -> Values {
        Values::User(foreign::NO_TYPE, bytes.to_vec())
    }

    fn list(bytes: &[u8]) -> Values {
        Values::Packed(foreign::NO_TYPE, vec![bytes.into()])
    }

    fn string(text: &str) -> Values {
        Values::String(vec![text.into()])
    }

    #[test]
    fn every_form() {
        let complex = |re: u32, im: u32| user(&[re.to_ne_bytes(), im.to_ne_bytes()].concat());
        for (value, name, expected) in [
            ("7", "int32", Values::Int(vec![7])),
            ("100.0", "int32", Values::Int(vec![100])),
            ("1e2", "int32", Values::Int(vec![100])),
            ("18446744073709551615", "uint64", Values::UInt64(vec![u64::MAX])),
            ("-9223372036854775808", "int64", Values::Int64(vec![i64::MIN])),
            ("1", "float32", Values::Float(vec![1.0])),
            ("-0.0", "float64", Values::Double(vec![-0.0])),
            (r#""Infinity""#, "float32", Values::Float(vec![f32::INFINITY])),
            (r#""-Infinity""#, "float64", Values::Double(vec![f64::NEG_INFINITY])),
            (r#""0x3f800000""#, "float32", Values::Float(vec![1.0])),
            (r#""0x3FF0000000000000""#, "float64", Values::Double(vec![1.0])),
            (r#""0x3c00""#, "float16", Values::Float(vec![1.0])),
            (r#""0x3f80""#, "bfloat16", Values::Float(vec![1.0])),
            ("0.1", "float16", Values::Float(vec![0.099_975_586])),
            ("true", "bool", Values::UByte(vec![1])),
            ("0", "bool", Values::UByte(vec![0])),
            (r#""""#, "uint8", Values::UByte(vec![0])),
            (r#""-""#, "uint8", Values::UByte(vec![45])),
            (r#"["NaN",1.5]"#, "complex64", complex(0x7fc0_0000, 0x3fc0_0000)),
            (r#"["0x7fc00001","-Infinity"]"#, "complex64", complex(0x7fc0_0001, 0xff80_0000)),
            ("[0,255]", "r16", user(&[0, 255])),
            (r#""AP8=""#, "r16", user(&[0, 255])),
            (r#""YWI=""#, "bytes", list(b"ab")),
            ("[97,98]", "bytes", list(b"ab")),
            (r#""""#, "variable_length_bytes", list(b"")),
            (r#""größe""#, "string", string("größe")),
            ("0", "string", string("")),
            ("77", DATE, string("1970-01-01T00:01:17")),
            (r#""NaT""#, DATE, string("NaT")),
            ("-9223372036854775808", DATE, string("NaT")),
            (r#""YWI=""#, &sized("null_terminated_bytes", 6), string("ab")),
            (r#""YWJj""#, &sized("null_terminated_bytes", 6), string("abc")),
            (r#""""#, &sized("null_terminated_bytes", 6), string("")),
            (r#""ab""#, &sized("fixed_length_utf32", 12), string("ab")),
            (r#""AAECAwQ=""#, &sized("raw_bytes", 5), user(&[0, 1, 2, 3, 4])),
        ] {
            for big in [false, true] {
                let ty = ty(name, big);
                let found = read(&json(value), &ty)
                    .unwrap_or_else(|error| panic!("{value} {name}: {error}"))
                    .unwrap();
                assert_eq!(found.nc_type(), expected.nc_type(), "{value} {name}");
                assert_eq!(found.to_native_bytes(), expected.to_native_bytes(), "{value} {name}");
                if let Values::String(_) | Values::Packed(..) = expected {
                    assert_eq!(found, expected, "{value} {name}");
                }
                // The written form reads back as the same value.
                let written = write(&found, &ty).unwrap();
                let again = read(&written, &ty).unwrap().unwrap();
                assert_eq!(again.to_native_bytes(), found.to_native_bytes(), "{value} {name}");
                assert_eq!(read(&Json::Null, &ty).unwrap(), None);
                assert!(read(&zero(&ty).unwrap(), &ty).unwrap().is_some());
            }
        }
    }

    #[test]
    fn each_nan_is_itself() {
        for (name, value) in [
            ("float32", r#""NaN""#),
            ("float32", r#""0x7fc00001""#),
            ("float32", r#""0xffc00000""#),
            ("float32", r#""0x7f800001""#),
            ("float64", r#""NaN""#),
            ("float64", r#""0x7ff8000000000001""#),
            ("float64", r#""0xfff8000000000000""#),
            ("float16", r#""NaN""#),
            ("float16", r#""0x7e01""#),
            ("bfloat16", r#""0xffc0""#),
            ("complex64", r#"["NaN","0x7fc00001"]"#),
            ("complex128", r#"["0x7ff8000000000001","NaN"]"#),
        ] {
            for big in [false, true] {
                let ty = ty(name, big);
                let found = read(&json(value), &ty).unwrap().unwrap();
                assert_eq!(write(&found, &ty).unwrap(), json(value), "{name} {big}");
            }
        }
        let plain = read(&json(r#""0x7fc00000""#), &ty("float32", false)).unwrap().unwrap();
        assert_eq!(write(&plain, &ty("float32", false)).unwrap(), json(r#""NaN""#));
    }

    #[test]
    fn records() {
        let value = r#"{"id": -1, "t": "YWI=", "v": "NaN", "u": "é", "h": "0x7e01", "m": 7, "b": true}"#;
        for big in [false, true] {
            let ty = ty(STRUCT, big);
            let found = read(&json(value), &ty).unwrap().unwrap();
            assert_eq!(write(&found, &ty).unwrap(), json(value));
            let Values::User(_, held) = &found else { panic!("{found:?}") };
            // The base64 form holds the stored bytes of the element.
            let stored = nczarr_chunkio::pack_element(&ty.dtype.pieces().unwrap(), held).unwrap();
            let coded = Json::string(base64::encode(&stored));
            assert_eq!(read(&coded, &ty).unwrap().unwrap(), found);
            assert!(stored.starts_with(&[0xff, 0xff, 0xff, 0xff, b'a', b'b']));
        }
        let one =
            ty(r#"{"name":"struct","configuration":{"fields":[{"name":"a","data_type":"int16"}]}}"#, false);
        assert_eq!(read(&json("5"), &one).unwrap(), Some(user(&5_i16.to_ne_bytes())));
        for wrong in [r#"{"id": 1}"#, "5", "[]", r#""AAAA""#, r#"{"id": 300000000000}"#] {
            assert_eq!(
                read(&json(wrong), &ty(STRUCT, false)).unwrap_err().kind(),
                ErrorKind::NcZarr,
                "{wrong}"
            );
        }
    }

    #[test]
    fn padding_has_no_member() {
        let padding = |bytes| format!(r#"{{"name":"","data_type":{}}}"#, sized("raw_bytes", bytes));
        let field = r#"{"name":"a","data_type":"int16"}"#;
        let fields = [field.to_owned(), padding(2), padding(3)].join(",");
        let ty = ty(&format!(r#"{{"name":"struct","configuration":{{"fields":[{fields}]}}}}"#), false);
        assert_eq!(zero(&ty).unwrap(), json(r#"{"a": 0}"#));
        let element = [7i16.to_ne_bytes().as_slice(), &[0; 5]].concat();
        for text in [r#"{"a": 7}"#, r#"{"a": 7, "": "AAAA"}"#] {
            let value = read(&json(text), &ty).unwrap().unwrap();
            assert_eq!(value, Values::User(foreign::NO_TYPE, element.clone()), "{text}");
            assert_eq!(write(&value, &ty).unwrap(), json(r#"{"a": 7}"#));
        }
    }

    #[test]
    fn strings_of_the_core_s_raw_bytes() {
        for (value, expected) in [
            (r#""none""#, "none"),
            (r#""""#, ""),
            (r#""bm9uZQAAAAA=""#, "none"),
            (r#""abcdefgh""#, "abcdefgh"),
        ] {
            let mut text = ty("r64", false);
            text.dtype = DType::from_name("|S8");
            assert_eq!(read(&json(value), &text).unwrap(), Some(string(expected)), "{value}");
            let written = write(&string(expected), &text).unwrap();
            assert_eq!(base64::decode(written.as_str().unwrap()).unwrap().len(), 8);
            assert_eq!(read(&written, &text).unwrap(), Some(string(expected)), "{value}");
        }
        let mut text = ty("r64", false);
        text.dtype = DType::from_name("|S8");
        assert_eq!(write(&string("123456789"), &text).unwrap_err().kind(), ErrorKind::Range);
    }

    #[test]
    fn fill_values_of_another_type_are_refused() {
        for (value, name, kind) in [
            ("256", "uint8", ErrorKind::Range),
            ("-1", "uint64", ErrorKind::Range),
            ("1.5", "int32", ErrorKind::NcZarr),
            (r#""5x""#, "int32", ErrorKind::NcZarr),
            (r#""NaN""#, "int32", ErrorKind::NcZarr),
            (r#""ab""#, "uint8", ErrorKind::NcZarr),
            (r#""0x7fc0000""#, "float32", ErrorKind::NcZarr),
            (r#""0x7fc000000""#, "float32", ErrorKind::NcZarr),
            (r#""0x+fc00000""#, "float32", ErrorKind::NcZarr),
            (r#""abc""#, "float32", ErrorKind::NcZarr),
            ("1e300", "float32", ErrorKind::NcZarr),
            ("[1]", "complex64", ErrorKind::NcZarr),
            ("1.5", "complex64", ErrorKind::NcZarr),
            ("[0]", "r16", ErrorKind::NcZarr),
            ("[0,256]", "r16", ErrorKind::NcZarr),
            (r#""true""#, "bool", ErrorKind::NcZarr),
            ("3", "string", ErrorKind::NcZarr),
            (r#""tomorrow""#, DATE, ErrorKind::NcZarr),
            (r#""YWJj""#, &sized("null_terminated_bytes", 2), ErrorKind::NcZarr),
            ("0", "int4", ErrorKind::BadType),
        ] {
            let error = read(&json(value), &ty(name, false)).unwrap_err();
            assert_eq!(error.kind(), kind, "{value} {name}: {error}");
        }
        for (value, name) in
            [(Values::Int(vec![1]), "int16"), (string("x"), "int16"), (Values::Char(vec![1]), "int8")]
        {
            assert_eq!(write(&value, &ty(name, false)).unwrap_err().kind(), ErrorKind::BadType);
        }
        assert_eq!(
            write(&Values::Float(vec![1e30]), &ty("float16", false)).unwrap_err().kind(),
            ErrorKind::Range
        );
    }
}
