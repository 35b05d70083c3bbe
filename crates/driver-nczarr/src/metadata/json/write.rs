//! JSON text in NCZarr's layout: one line, `", "` and `": "` in objects, `,` in lists.

use std::fmt::{Display, Write as _};

use super::value::Value;

/// Renders `value`. Bare words keep their text, so the result is strict only if [`Value::is_strict`].
pub(crate) fn text(value: &Value<'_>) -> String {
    let mut out = String::new();
    write(value, false, &mut out);
    out
}

/// Appends `value` in the form of [`Value::to_strict`].
pub(crate) fn write_strict(value: &Value<'_>, out: &mut String) {
    write(value, true, out);
}

/// Appends the name of an object's next member. `out` ends with the object so far, from its `{` on.
pub(crate) fn write_name(name: &str, out: &mut String) {
    if !out.ends_with('{') {
        out.push_str(", ");
    }
    write_string(name, out);
    out.push_str(": ");
}

/// Appends a list; `item` appends one element.
pub(crate) fn write_list<T>(
    items: impl IntoIterator<Item = T>,
    out: &mut String,
    mut item: impl FnMut(T, &mut String),
) {
    out.push('[');
    for (i, one) in items.into_iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        item(one, out);
    }
    out.push(']');
}

/// Appends a number in its `Display` form.
pub(crate) fn write_number(number: impl Display, out: &mut String) {
    // Writing to a `String` cannot fail.
    let _ = write!(out, "{number}");
}

/// Returns `text` as a quoted JSON string: raw UTF-8; only `"`, `\` and control characters are escaped.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_string(text, &mut out);
    out
}

fn write(value: &Value<'_>, strict: bool, out: &mut String) {
    match value {
        Value::Word(_) if strict => write(&value.to_strict(), false, out),
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(text) | Value::Word(text) => out.push_str(text),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => write_list(items, out, |item, out| write(item, strict, out)),
        Value::Object(members) => {
            out.push('{');
            for (name, value) in members.iter() {
                write_name(name, out);
                write(value, strict, out);
            }
            out.push('}');
        }
    }
}

/// Appends `text` in the form of [`quote`].
pub(crate) fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    // Escapes concern single bytes; the text between them is copied at once.
    while let Some(place) = rest.bytes().position(|byte| byte < 0x20 || matches!(byte, b'"' | b'\\')) {
        out.push_str(&rest[..place]);
        match rest.as_bytes()[place] {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\t' => out.push_str("\\t"),
            b'\r' => out.push_str("\\r"),
            8 => out.push_str("\\b"),
            12 => out.push_str("\\f"),
            control => {
                let _ = write!(out, "\\u{control:04x}");
            }
        }
        rest = &rest[place + 1..];
    }
    out.push_str(rest);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_of_nczarr() {
        let limits = nczarr_dispatch::Limits::default();
        let source = b"{ \"a\" :[1, 2.50,{\"b\":null}] ,\"c\":\"x\\\"\\\\\\n\\u0001\\u00e9\" }";
        let value = crate::metadata::json::parse::parse(source, &limits).unwrap();
        let line = text(&value);
        assert_eq!(line, "{\"a\": [1,2.50,{\"b\": null}], \"c\": \"x\\\"\\\\\\n\\u0001é\"}");
        assert_eq!(crate::metadata::json::parse::parse(line.as_bytes(), &limits).unwrap(), value);
        assert!(serde_json::from_str::<serde_json::Value>(&line).is_ok());
    }

    #[test]
    fn bare_words_become_valid_json() {
        let limits = nczarr_dispatch::Limits::default();
        let value = crate::metadata::json::parse::parse(
            b"{\"a\": [NaN, 01, {\"b\": tRUE}], \"c\": nULL, \"d\": 1.50}",
            &limits,
        )
        .unwrap();
        let mut line = String::new();
        write_strict(&value, &mut line);
        assert_eq!(line, "{\"a\": [\"NaN\",1,{\"b\": true}], \"c\": null, \"d\": 1.50}");
        assert_eq!(line, text(&value.to_strict()));
    }
}
