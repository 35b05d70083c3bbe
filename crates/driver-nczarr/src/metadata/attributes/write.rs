//! Conversion from typed values to JSON text, and the type to record.

use std::borrow::Cow;
use std::fmt::{Debug, Display};

use nczarr_dispatch::Limits;
use nczarr_model::{ErrorKind, NcString, Result, Values};

use super::raw_text;
use crate::metadata::codecs::null_string;
use crate::metadata::json::{
    self, Json, json_float, json_single, write_list, write_number, write_strict, write_string,
};
use crate::metadata::types::dtype::DType;

/// Returns the type to record in `_nczarr_attr` for these values.
///
/// Text that is stored as a JSON object or list is recorded as char. NCZarr's documents specify `|J0` for it,
/// but netCDF-C expects `|J0` only for NCZarr's own keys and rejects the dataset otherwise.
pub(crate) fn recorded_type(values: &Values) -> String {
    let longest = match values {
        Values::String(strings) => {
            strings.iter().map(|string| raw_text::of(string.as_bytes()).len()).max().unwrap_or(0)
        }
        _ => 1,
    };
    DType::attribute_name(values.nc_type(), longest)
}

/// Checks whether an attribute can be written. `kept`: the format has a record beside the attribute, for its
/// type and exact value.
///
/// # Errors
/// [`ErrorKind::Char`] if text is not UTF-8, or if a string would read as null; [`ErrorKind::NotNc4`] for
/// values of a user-defined type.
pub(crate) fn check(values: &Values, kept: bool) -> Result<()> {
    match values {
        Values::Char(_) if kept => Ok(()),
        Values::String(strings) if kept => strings.iter().try_for_each(null_string::check),
        Values::Char(bytes) => text_of(bytes).map(drop),
        Values::String(strings) => strings.iter().try_for_each(|text| text.to_str().map(drop)),
        Values::User(..) | Values::Packed(..) => {
            Err(ErrorKind::NotNc4.context("NCZarr attributes cannot have user-defined types"))
        }
        known if known.nc_type().size().is_some() => Ok(()),
        _ => Err(ErrorKind::BadType.context("the type of the attribute is unknown")),
    }
}

fn text_of(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| {
        ErrorKind::Char.context(format!("text is not UTF-8 at byte {}", error.valid_up_to())).caused_by(error)
    })
}

/// Appends the stored form of an attribute; always legal JSON. [`super::ExactValues`] records the values that
/// JSON cannot hold.
///
/// Char text that is a JSON object or list is stored as such; all other text is a JSON string. `typed`: the
/// type is recorded, so a reader can distinguish a null string from text.
///
/// # Errors
/// As [`check`], except for text.
pub(crate) fn write(values: &Values, limits: &Limits, typed: bool, out: &mut String) -> Result<()> {
    match values {
        Values::Char(bytes) => {
            let text = raw_text::of(bytes);
            // For text that is not UTF-8 the bytes are recorded, and they must match the text.
            if let Some(value) = structure(&text, limits).filter(|_| matches!(text, Cow::Borrowed(_))) {
                write_strict(&value, out);
                return Ok(());
            }
            write_string(&text, out);
        }
        Values::String(strings) => {
            let texts = strings.iter().map(|string| stored(string, typed)).collect::<Vec<Cow<'_, str>>>();
            list(&texts, out, |text, out| write_string(text, out));
        }
        Values::Byte(v) => list(v, out, integer),
        Values::UByte(v) => list(v, out, integer),
        Values::Short(v) => list(v, out, integer),
        Values::UShort(v) => list(v, out, integer),
        Values::Int(v) => list(v, out, integer),
        Values::UInt(v) => list(v, out, integer),
        Values::Int64(v) => list(v, out, integer),
        Values::UInt64(v) => list(v, out, integer),
        Values::Float(v) => list(v, out, |&value, out| float(value, value.is_finite(), json_single, out)),
        Values::Double(v) => list(v, out, |&value, out| float(value, value.is_finite(), json_float, out)),
        other => return check(other, true),
    }
    Ok(())
}

fn integer<T: Display>(value: &T, out: &mut String) {
    write_number(value, out);
}

/// Appends the shortest text that gives the value back; `other` renders values that JSON has no number for.
fn float<T: Debug + Copy>(value: T, finite: bool, other: impl Fn(T) -> Json, out: &mut String) {
    if finite { write_number(format_args!("{value:?}"), out) } else { write_strict(&other(value), out) }
}

/// Returns the stored form of a string, with or without a recorded type.
fn stored(string: &NcString, typed: bool) -> Cow<'_, str> {
    if typed && string.is_nil() {
        Cow::Borrowed(null_string::NULL_STRING)
    } else {
        raw_text::of(string.as_bytes())
    }
}

/// Appends one value alone, several as a list.
fn list<T>(values: &[T], out: &mut String, item: impl Fn(&T, &mut String)) {
    match values {
        [one] => item(one, out),
        several => write_list(several, out, item),
    }
}

/// Returns the object or list that `text` spells, if storing it loses only blanks and escapes.
fn structure(text: &str, limits: &Limits) -> Option<Json> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let value = json::parse(text.as_bytes(), limits).ok().filter(Json::is_strict)?;
    // Parsing would lose a repeated member or an illegal escape.
    let strict: std::result::Result<serde_json::Value, _> = serde_json::from_str(text);
    (strict.is_ok() && colons(text) == members(&value)).then_some(value)
}

/// Counts the members of all objects in `value`.
fn members(value: &Json) -> usize {
    match value {
        Json::Array(items) => items.iter().map(members).sum(),
        Json::Object(object) => object.values().map(|value| 1 + members(value)).sum(),
        _ => 0,
    }
}

/// Counts the `:` outside of strings.
fn colons(text: &str) -> usize {
    let (mut count, mut quoted, mut escaped) = (0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b':' if !quoted => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::attributes::read;

    fn stored(values: &Values) -> (String, String) {
        let mut out = String::new();
        check(values, false).unwrap();
        write(values, &Limits::default(), true, &mut out).unwrap();
        (out, recorded_type(values))
    }

    #[test]
    fn text_stays_text_and_structures_stay_structures() {
        for (text, expected, recorded) in [
            ("hi", "\"hi\"", ">S1"),
            ("", "\"\"", ">S1"),
            ("1.10", "\"1.10\"", ">S1"),
            ("NaN", "\"NaN\"", ">S1"),
            ("true", "\"true\"", ">S1"),
            ("null", "\"null\"", ">S1"),
            ("\"quoted\"", "\"\\\"quoted\\\"\"", ">S1"),
            ("[1,2,19]", "[1,2,19]", ">S1"),
            ("{}", "{}", ">S1"),
            ("{\"k\":1.10}", "{\"k\": 1.10}", ">S1"),
            ("{not json", "\"{not json\"", ">S1"),
            ("[01]", "\"[01]\"", ">S1"),
            ("[NaN]", "\"[NaN]\"", ">S1"),
            ("{\"a\":1,\"a\":2}", "\"{\\\"a\\\":1,\\\"a\\\":2}\"", ">S1"),
            ("{\"a:\":{\"b\":\"\\\":\"}}", "{\"a:\": {\"b\": \"\\\":\"}}", ">S1"),
            ("größe 日本 €", "\"größe 日本 €\"", ">S1"),
            ("a\nb\"\\", "\"a\\nb\\\"\\\\\"", ">S1"),
        ] {
            assert_eq!(stored(&Values::text(text)), (expected.to_owned(), recorded.to_owned()));
        }
        let deep = "[".repeat(5000) + &"]".repeat(5000);
        assert_eq!(stored(&Values::text(&deep)).1, ">S1");
        for bad in [Values::Char(vec![0xe9]), Values::String(vec!["a".into(), vec![0xe9].into()])] {
            assert_eq!(check(&bad, false).unwrap_err().kind(), ErrorKind::Char);
            check(&bad, true).unwrap();
        }
    }

    #[test]
    fn everything_written_is_read_bit_for_bit() {
        for values in [
            Values::Byte(vec![-128, 127]),
            Values::UByte(vec![255]),
            Values::Short(vec![i16::MIN, i16::MAX]),
            Values::UShort(vec![]),
            Values::Int(vec![i32::MIN]),
            Values::UInt(vec![u32::MAX, 0]),
            Values::Int64(vec![i64::MIN, i64::MAX]),
            Values::UInt64(vec![u64::MAX]),
            Values::Float(vec![0.1, -0.0, f32::MAX, 1e-45, f32::NAN, f32::NEG_INFINITY]),
            Values::Double(vec![0.1, -0.0, f64::MAX, 5e-324, f64::NAN, f64::INFINITY, 9.96921e36]),
            Values::Double(vec![]),
            Values::Float(vec![f32::INFINITY]),
            Values::Char(vec![]),
            Values::Char(vec![0]),
            Values::text("1.10"),
            Values::text("tRUE"),
            Values::text("[1,2,{\"a\": null}]"),
            Values::String(vec![]),
            Values::String(vec!["".into()]),
            Values::String(vec!["a".into(), "".into(), "日本".into(), "[1]".into()]),
        ] {
            let (text, recorded) = stored(&values);
            assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
            let value = json::parse(text.as_bytes(), &Limits::default()).unwrap();
            assert_eq!(read(&value, Some(&recorded)), values, "{text} {recorded}");
        }
        assert_eq!(stored(&Values::Double(vec![-999.0])).0, "-999.0");
        let user = Values::User(nczarr_model::TypeId(0), vec![]);
        assert_eq!(check(&user, true).unwrap_err().kind(), ErrorKind::NotNc4);
        assert_eq!(
            write(&user, &Limits::default(), true, &mut String::new()).unwrap_err().kind(),
            ErrorKind::NotNc4
        );
    }
}
