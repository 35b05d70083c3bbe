//! One JSON document: `{"shape":[…],"values":[…]}`, the values flat, in C order.
//!
//! Numbers have the fewest digits that read back the same. Values without a JSON number are text (`"NaN"`,
//! `"Infinity"`, `"-Infinity"`). Text elements are strings of one character, opaque ones hexadecimal text,
//! vlens arrays, compounds objects. A string that is not UTF-8 is `{"base64":"…"}`.

use std::io::Write as _;

use nczarr_model::{Item, Model, NcType, Result, Scalar, TypeClass, Values};

use crate::output::Output;

/// Returns the text before the values.
pub fn head(shape: &[u64]) -> Vec<u8> {
    let lens: Vec<String> = shape.iter().map(u64::to_string).collect();
    format!("{{\"shape\":[{}],\"values\":[", lens.join(",")).into_bytes()
}

/// Writes values, with commas between them.
///
/// # Errors
///
/// Errors of the output; `NC_EBADTYPE` for elements without a JSON form.
pub fn values(model: &Model, values: &Values, first: &mut bool, out: &mut Output) -> Result<()> {
    let mut text = Vec::new();
    each(model, values, |element| {
        text.clear();
        if !std::mem::take(first) {
            text.push(b',');
        }
        text.extend_from_slice(element);
        out.put(&text)
    })
}

/// Passes every element on as JSON text.
pub fn each(model: &Model, values: &Values, mut element: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut text = Vec::new();
    match values {
        Values::User(..) | Values::Packed(..) => {
            for item in model.items(values)? {
                text.clear();
                push_item(&mut text, model, values.nc_type(), &item)?;
                element(&text)?;
            }
        }
        values => {
            for at in 0..values.len() {
                text.clear();
                push(&mut text, values, at);
                element(&text)?;
            }
        }
    }
    Ok(())
}

/// Appends element `at`, which must exist and be of no user-defined type.
pub fn push(out: &mut Vec<u8>, values: &Values, at: usize) {
    match values {
        Values::String(strings) => match strings[at].to_str() {
            Ok(text) => push_text(out, text),
            Err(_) => push_base64(out, strings[at].as_bytes()),
        },
        Values::Char(bytes) => push_text(out, char::from(bytes[at]).encode_utf8(&mut [0; 4])),
        Values::Float(v) if v[at].is_finite() => put(out, format_args!("{:?}", v[at])),
        values => match values.scalar(at) {
            Some(Scalar::Int(value)) => put(out, format_args!("{value}")),
            Some(Scalar::Float(value)) if value.is_finite() => put(out, format_args!("{value:?}")),
            Some(Scalar::Float(value)) => put(
                out,
                format_args!(
                    "\"{}\"",
                    match (value.is_nan(), value > 0.0) {
                        (true, _) => "NaN",
                        (false, true) => "Infinity",
                        (false, false) => "-Infinity",
                    }
                ),
            ),
            None => out.extend_from_slice(b"null"),
        },
    }
}

/// Appends an element of any type.
pub fn push_item(out: &mut Vec<u8>, model: &Model, ty: NcType, item: &Item) -> Result<()> {
    match item {
        Item::Int(value) => put(out, format_args!("{value}")),
        Item::Float(value) => push(out, &Values::Float(vec![*value]), 0),
        Item::Double(value) => push(out, &Values::Double(vec![*value]), 0),
        Item::Char(byte) => push(out, &Values::Char(vec![*byte]), 0),
        Item::String(text) => push(out, &Values::String(vec![text.clone()]), 0),
        Item::Opaque(bytes) => {
            out.push(b'"');
            bytes.iter().for_each(|byte| put(out, format_args!("{byte:02x}")));
            out.push(b'"');
        }
        Item::Vlen(items) => push_list(out, model, model.vlen_base(ty)?.unwrap_or(ty), items)?,
        Item::Compound(parts) => {
            let fields = match ty {
                NcType::User(id) => match &model.user_type(id)?.class {
                    TypeClass::Compound { fields, .. } => &fields[..],
                    _ => &[],
                },
                _ => &[],
            };
            out.push(b'{');
            for (i, (field, part)) in fields.iter().zip(parts).enumerate() {
                out.extend_from_slice(if i == 0 { b"" } else { b"," });
                push_text(out, &field.name);
                out.push(b':');
                match &part[..] {
                    [item] if field.shape.is_empty() => push_item(out, model, field.ty, item)?,
                    items => push_list(out, model, field.ty, items)?,
                }
            }
            out.push(b'}');
        }
    }
    Ok(())
}

fn push_list(out: &mut Vec<u8>, model: &Model, ty: NcType, items: &[Item]) -> Result<()> {
    out.push(b'[');
    for (i, item) in items.iter().enumerate() {
        out.extend_from_slice(if i == 0 { b"" } else { b"," });
        push_item(out, model, ty, item)?;
    }
    out.push(b']');
    Ok(())
}

/// A JSON string.
pub fn push_text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(serde_json::Value::from(text).to_string().as_bytes());
}

/// Bytes that are no text.
fn push_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(b"{\"base64\":\"");
    out.extend_from_slice(base64(bytes).as_bytes());
    out.extend_from_slice(b"\"}");
}

/// Bytes in base64, with padding.
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits =
            three.iter().fold(0u32, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - three.len()));
        let digits = [18, 12, 6, 0].map(|shift| DIGITS[(bits >> shift & 63) as usize]);
        out.extend(digits[..=three.len()].iter().map(|&digit| char::from(digit)));
        out.push_str(&"=="[..3 - three.len()]);
    }
    out
}

fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a vector takes everything");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(values: Values) -> Vec<String> {
        let mut out = Vec::new();
        each(&Model::new(), &values, |text| {
            out.push(String::from_utf8(text.to_vec()).unwrap());
            Ok(())
        })
        .unwrap();
        out
    }

    #[test]
    fn elements_read_back() {
        assert_eq!(all(Values::Float(vec![0.1, 1e38, -0.0, f32::NAN])), ["0.1", "1e38", "-0.0", "\"NaN\""]);
        assert_eq!(
            all(Values::Double(vec![0.1, 5e-324, f64::NEG_INFINITY])),
            ["0.1", "5e-324", "\"-Infinity\""]
        );
        assert_eq!(all(Values::UInt64(vec![u64::MAX])), ["18446744073709551615"]);
        assert_eq!(
            all(Values::Char(vec![b'a', 0, b'"', 0xe9])),
            ["\"a\"", "\"\\u0000\"", "\"\\\"\"", "\"é\""]
        );
        assert_eq!(all(Values::String(vec!["é\n".into(), "".into()])), ["\"é\\n\"", "\"\""]);
        let bytes = [&b"\xff"[..], b"\xff\xfe", b"\xff\xfe\xfd", b"\xff\xfe\xfd\xfc"]
            .map(|bytes| bytes.to_vec().into());
        let text = ["/w==", "//4=", "//79", "//79/A=="].map(|text| format!("{{\"base64\":\"{text}\"}}"));
        assert_eq!(all(Values::String(bytes.to_vec())), text);
    }

    #[test]
    fn the_head_names_the_shape() {
        assert_eq!(head(&[2, 3]), b"{\"shape\":[2,3],\"values\":[");
        assert_eq!(head(&[]), b"{\"shape\":[],\"values\":[");
    }
}
