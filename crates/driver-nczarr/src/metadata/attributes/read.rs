//! Conversion from JSON to typed values, with a recorded type or by inference.

use nczarr_model::{NcString, NcType, Values};

use crate::metadata::codecs::null_string;
use crate::metadata::json::{self, Value};
use crate::metadata::types::dtype::{DType, DTypeKind};
use crate::metadata::v2::fill::{float_value, integer_value, is_special};

/// Returns the values of an attribute. `recorded` is its type in `_nczarr_attr`.
///
/// Never fails: a value that does not fit its recorded type is inferred instead.
pub(crate) fn read(value: &Value<'_>, recorded: Option<&str>) -> Values {
    recorded.and_then(|name| typed(value, name)).unwrap_or_else(|| infer(value))
}

/// Converts to the recorded type; `None` if the value does not fit it.
fn typed(value: &Value<'_>, recorded: &str) -> Option<Values> {
    if recorded == "|J0" {
        return Some(Values::text(&json::text(value)));
    }
    // Older datasets record char attributes as one UCS-4 code point.
    let kind = match DType::kind_of(recorded) {
        DTypeKind::Utf32(1) => DTypeKind::Char,
        kind => kind,
    };
    let items = match value {
        Value::Array(items) => items.as_slice(),
        scalar => std::slice::from_ref(scalar),
    };
    let simple = |item: &Value<'_>| !matches!(item, Value::Array(_) | Value::Object(_)) && !item.is_null();
    match kind {
        DTypeKind::Char => Some(match value {
            Value::String(text) => Values::text(text),
            other => Values::text(&json::text(other)),
        }),
        _ if !items.iter().all(simple) => None,
        DTypeKind::Number(ty) => collect(Values::empty(ty)?, items, |item| number(item, ty)),
        DTypeKind::Bool => collect(Values::empty(NcType::UByte)?, items, |item| number(item, NcType::UByte)),
        DTypeKind::Text(_) | DTypeKind::Utf32(_) | DTypeKind::Object => Some(Values::String(
            items
                .iter()
                .map(|item| match item {
                    Value::String(text) => null_string::from_stored(text),
                    other => NcString::from(json::text(other)),
                })
                .collect(),
        )),
        _ => None,
    }
}

/// Returns one number of type `ty`, from a number, a truth value, or a string that spells a number.
fn number(item: &Value<'_>, ty: NcType) -> Option<Values> {
    if let Some(truth) = item.as_bool() {
        return number(&Value::int(u8::from(truth)), ty);
    }
    let token = item.as_str().or_else(|| item.token())?;
    match ty {
        NcType::Float | NcType::Double => float_value(token, ty),
        _ => integer_value(json::integer(token)?, ty),
    }
}

/// Concatenates all items; `None` if one does not fit.
fn collect(
    mut all: Values,
    items: &[Value<'_>],
    one: impl Fn(&Value<'_>) -> Option<Values>,
) -> Option<Values> {
    if let [item] = items {
        return one(item);
    }
    for item in items {
        match (&mut all, one(item)?) {
            (Values::Byte(all), Values::Byte(one)) => all.extend(one),
            (Values::UByte(all), Values::UByte(one)) => all.extend(one),
            (Values::Short(all), Values::Short(one)) => all.extend(one),
            (Values::UShort(all), Values::UShort(one)) => all.extend(one),
            (Values::Int(all), Values::Int(one)) => all.extend(one),
            (Values::UInt(all), Values::UInt(one)) => all.extend(one),
            (Values::Int64(all), Values::Int64(one)) => all.extend(one),
            (Values::UInt64(all), Values::UInt64(one)) => all.extend(one),
            (Values::Float(all), Values::Float(one)) => all.extend(one),
            (Values::Double(all), Values::Double(one)) => all.extend(one),
            _ => return None,
        }
    }
    Some(all)
}

/// Infers the type.
///
/// * Integers: the first of int, uint, int64 and uint64 that holds every element. If no type holds them, they
///   stay text.
/// * Other numbers, also mixed with integers: double. Truth values: ubyte.
/// * A list of text: strings, as xarray and h5netcdf store string arrays.
/// * Anything else: its JSON as text.
fn infer(value: &Value<'_>) -> Values {
    let items = match value {
        Value::String(text) => return Values::text(text),
        Value::Array(items) if items.is_empty() => return Values::Char(Vec::new()),
        Value::Array(items) => {
            let texts: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            if let Some(texts) = texts {
                return Values::String(texts.into_iter().map(NcString::from).collect());
            }
            items.as_slice()
        }
        scalar => std::slice::from_ref(scalar),
    };
    infer_numbers(items).unwrap_or_else(|| Values::text(&json::text(value)))
}

fn infer_numbers(items: &[Value<'_>]) -> Option<Values> {
    if items.iter().all(|item| item.as_bool().is_some()) {
        return collect(Values::UByte(Vec::new()), items, |item| number(item, NcType::UByte));
    }
    // In a list with numbers, `"NaN"` and the infinities are numbers too.
    let is_number = |item: &Value<'_>| match item {
        Value::String(name) => ["NaN", "Infinity", "-Infinity"].contains(&&**name),
        other => other.token().is_some() && other.as_bool().is_none() && !other.is_null(),
    };
    if !items.iter().all(is_number) || items.iter().all(|item| item.as_str().is_some()) {
        return None;
    }
    let is_integer = |item: &Value<'_>| {
        item.token()
            .is_some_and(|token| !is_special(token) && (is_hex(token) || !token.contains(['.', 'e', 'E'])))
    };
    if items.iter().all(is_integer) {
        for ty in [NcType::Int, NcType::UInt, NcType::Int64, NcType::UInt64] {
            if let Some(values) = collect(Values::empty(ty)?, items, |item| number(item, ty)) {
                return Some(values);
            }
        }
        // An integer that no type holds stays text: a double would be another number.
        return None;
    }
    collect(Values::Double(Vec::new()), items, |item| number(item, NcType::Double))
}

fn is_hex(token: &str) -> bool {
    token.contains(['x', 'X'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, recorded: Option<&str>, expected: Values) {
        let value = json::parse(source.as_bytes(), &nczarr_dispatch::Limits::default()).unwrap();
        let found = read(&value, recorded);
        assert_eq!(found, expected, "{source} as {recorded:?}");
    }

    #[test]
    fn recorded_types() {
        for (source, recorded, expected) in [
            ("\"hi\"", ">S1", Values::text("hi")),
            ("\"\"", ">S1", Values::Char(vec![])),
            ("-19.25", ">S1", Values::text("-19.25")),
            ("1.10", ">S1", Values::text("1.10")),
            ("NaN", ">S1", Values::text("NaN")),
            ("01", ">S1", Values::text("01")),
            ("tRUE", ">S1", Values::text("tRUE")),
            ("true", ">S1", Values::text("true")),
            ("null", ">S1", Values::text("null")),
            ("[]", ">S1", Values::text("[]")),
            ("[19,\"mixed\",null,true]", ">S1", Values::text("[19,\"mixed\",null,true]")),
            ("{\"k\": 19, \"s\": \"x\"}", ">S1", Values::text("{\"k\": 19, \"s\": \"x\"}")),
            ("{\"k\": 2.5e3}", "|J0", Values::text("{\"k\": 2.5e3}")),
            ("\"größe\"", "<U1", Values::text("größe")),
            ("7", "<i4", Values::Int(vec![7])),
            ("[7,8]", ">i2", Values::Short(vec![7, 8])),
            ("[]", "<f8", Values::Double(vec![])),
            ("7", "<f8", Values::Double(vec![7.0])),
            ("0.1", "<f4", Values::Float(vec![0.1])),
            ("[\"NaN\",1,\"-Infinity\"]", "<f4", Values::Float(vec![f32::NAN, 1.0, f32::NEG_INFINITY])),
            ("[NaN]", "<f8", Values::Double(vec![f64::NAN])),
            ("true", "|u1", Values::UByte(vec![1])),
            ("18446744073709551615", "<u8", Values::UInt64(vec![u64::MAX])),
            ("[\"a\",\"\",\"日本\"]", "|S128", Values::String(vec!["a".into(), "".into(), "日本".into()])),
            ("\"one\"", "|S1", Values::String(vec!["one".into()])),
            ("[]", "|S1", Values::String(vec![])),
            // A value that does not fit its recorded type is read without the record.
            ("300", "<u1", Values::Int(vec![300])),
            ("\"x\"", "<i4", Values::text("x")),
            ("null", "<i4", Values::text("null")),
            ("[[1]]", "<i4", Values::text("[[1]]")),
            ("5", "|M8", Values::Int(vec![5])),
            ("[null]", "|S4", Values::text("[null]")),
        ] {
            check(source, Some(recorded), expected);
        }
    }

    #[test]
    fn inferred_types() {
        for (source, expected) in [
            ("1", Values::Int(vec![1])),
            ("-2147483648", Values::Int(vec![i32::MIN])),
            ("2147483648", Values::UInt(vec![2147483648])),
            ("4294967296", Values::Int64(vec![4294967296])),
            ("9223372036854775808", Values::UInt64(vec![1 << 63])),
            ("[1,3000000000]", Values::UInt(vec![1, 3_000_000_000])),
            ("[-1,3000000000]", Values::Int64(vec![-1, 3_000_000_000])),
            ("[-1,9223372036854775808]", Values::text("[-1,9223372036854775808]")),
            ("99999999999999999999", Values::text("99999999999999999999")),
            ("[1,2.5]", Values::Double(vec![1.0, 2.5])),
            ("1.0", Values::Double(vec![1.0])),
            ("1e3", Values::Double(vec![1000.0])),
            ("NaN", Values::Double(vec![f64::NAN])),
            ("[1,\"NaN\"]", Values::Double(vec![1.0, f64::NAN])),
            ("[\"NaN\"]", Values::String(vec!["NaN".into()])),
            ("\"NaN\"", Values::text("NaN")),
            ("01", Values::Int(vec![1])),
            ("0x1e", Values::Int(vec![30])),
            ("true", Values::UByte(vec![1])),
            ("[true,false]", Values::UByte(vec![1, 0])),
            ("[true,2]", Values::text("[true,2]")),
            ("[1,\"a\"]", Values::text("[1,\"a\"]")),
            ("[\"a\",\"\"]", Values::String(vec!["a".into(), "".into()])),
            ("[\"a\"]", Values::String(vec!["a".into()])),
            ("null", Values::text("null")),
            ("[null]", Values::text("[null]")),
            ("{}", Values::text("{}")),
            ("[]", Values::Char(vec![])),
            ("\"\"", Values::Char(vec![])),
            ("\"a\\u00e9\"", Values::text("aé")),
        ] {
            check(source, None, expected);
        }
    }
}
