//! From typed values to JSON and the type to record.

use dispatch::Limits;
use model::{ErrorKind, NcType, Result, Values};

use crate::dtype::DType;
use crate::json::{self, Json};

/// An attribute as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Written {
    /// Its value; always legal JSON.
    pub(crate) value: Json,
    /// Its type for `_nczarr_attr`.
    pub(crate) recorded: String,
}

/// The stored form of an attribute.
///
/// Char text that is a JSON object or list is stored as that, recorded as `|J0`; all other text is a JSON string.
///
/// # Errors
/// [`ErrorKind::Char`] if text is not UTF-8, [`ErrorKind::NotNc4`] for values of a user-defined type.
pub(crate) fn write(values: &Values, limits: &Limits) -> Result<Written> {
    let mut recorded = DType::attribute_name(values.nc_type(), 1);
    macro_rules! numbers {
        ($v:expr, $json:expr) => {
            list($v.iter().map(|&value| $json(value)))
        };
    }
    let value = match values {
        Values::Char(bytes) => {
            let text = std::str::from_utf8(bytes).map_err(|error| {
                ErrorKind::Char.context(format!("text is not UTF-8 at byte {}", error.valid_up_to())).caused_by(error)
            })?;
            match structure(text, limits) {
                Some(value) => {
                    recorded = "|J0".to_owned();
                    value
                }
                None => Json::string(text),
            }
        }
        Values::String(strings) => {
            let longest = strings.iter().map(|text| text.as_bytes().len()).max().unwrap_or(0);
            recorded = DType::attribute_name(NcType::String, longest);
            let texts = strings.iter().map(|text| Ok(Json::string(text.to_str()?))).collect::<Result<Vec<_>>>()?;
            list(texts.into_iter())
        }
        Values::Byte(v) => numbers!(v, Json::int),
        Values::UByte(v) => numbers!(v, Json::int),
        Values::Short(v) => numbers!(v, Json::int),
        Values::UShort(v) => numbers!(v, Json::int),
        Values::Int(v) => numbers!(v, Json::int),
        Values::UInt(v) => numbers!(v, Json::int),
        Values::Int64(v) => numbers!(v, Json::int),
        Values::UInt64(v) => numbers!(v, Json::int),
        Values::Float(v) => numbers!(v, json::json_single),
        Values::Double(v) => numbers!(v, json::json_float),
        Values::User(..) => return Err(ErrorKind::NotNc4.context("NCZarr holds no user-defined types")),
        _ => return Err(ErrorKind::BadType.context("an attribute of an unknown type")),
    };
    Ok(Written { value, recorded })
}

/// One value alone, several as a list.
fn list(mut values: impl ExactSizeIterator<Item = Json>) -> Json {
    match (values.len(), values.next()) {
        (1, Some(value)) => value,
        (_, first) => Json::Array(first.into_iter().chain(values).collect()),
    }
}

/// The object or list that `text` is, if storing it so loses nothing but blanks and escapes.
fn structure(text: &str, limits: &Limits) -> Option<Json> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let value = json::parse(text.as_bytes(), limits).ok().filter(Json::is_strict)?;
    // A repeated member or an illegal escape would be lost.
    let strict: std::result::Result<serde_json::Value, _> = serde_json::from_str(text);
    (strict.is_ok() && colons(text) == members(&value)).then_some(value)
}

/// How many members all objects of `value` have together.
fn members(value: &Json) -> usize {
    match value {
        Json::Array(items) => items.iter().map(members).sum(),
        Json::Object(object) => object.values().map(|value| 1 + members(value)).sum(),
        _ => 0,
    }
}

/// How many `:` stand outside of strings.
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
    use crate::attrs::read;

    fn stored(values: &Values) -> (String, String) {
        let written = write(values, &Limits::default()).unwrap();
        (json::text(&written.value), written.recorded)
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
            ("[1,2,19]", "[1,2,19]", "|J0"),
            ("{}", "{}", "|J0"),
            ("{\"k\":1.10}", "{\"k\": 1.10}", "|J0"),
            ("{not json", "\"{not json\"", ">S1"),
            ("[01]", "\"[01]\"", ">S1"),
            ("[NaN]", "\"[NaN]\"", ">S1"),
            ("{\"a\":1,\"a\":2}", "\"{\\\"a\\\":1,\\\"a\\\":2}\"", ">S1"),
            ("{\"a:\":{\"b\":\"\\\":\"}}", "{\"a:\": {\"b\": \"\\\":\"}}", "|J0"),
            ("größe 日本 €", "\"größe 日本 €\"", ">S1"),
            ("a\nb\"\\", "\"a\\nb\\\"\\\\\"", ">S1"),
        ] {
            assert_eq!(stored(&Values::text(text)), (expected.to_owned(), recorded.to_owned()));
        }
        let deep = "[".repeat(5000) + &"]".repeat(5000);
        assert_eq!(stored(&Values::text(&deep)).1, ">S1");
        assert_eq!(write(&Values::Char(vec![0xe9]), &Limits::default()).unwrap_err().kind(), ErrorKind::Char);
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
            let written = write(&values, &Limits::default()).unwrap();
            assert!(written.value.is_strict());
            assert_eq!(read(&written.value, Some(&written.recorded)), values, "{written:?}");
        }
        assert_eq!(stored(&Values::Double(vec![-999.0])).0, "-999.0");
        assert!(write(&Values::User(model::TypeId(0), vec![]), &Limits::default()).is_err());
    }
}
