//! Text of JSON values, in the layout NCZarr datasets have: one line, `", "` and `": "` in objects, `,` in lists.

use super::Value;

/// The text of `value`. Bare words keep their text: strict only if [`Value::is_strict`].
pub(crate) fn text(value: &Value<'_>) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// `text` as a JSON string with its quotes. Raw UTF-8; only `"`, `\` and control characters are escaped.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_string(text, &mut out);
    out
}

fn write(value: &Value<'_>, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(text) | Value::Word(text) => out.push_str(text),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (i, (name, value)) in members.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_string(name, out);
                out.push_str(": ");
                write(value, out);
            }
            out.push('}');
        }
    }
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    if !text.bytes().any(|byte| byte < b' ' || matches!(byte, b'"' | b'\\')) {
        out.push_str(text);
        out.push('"');
        return;
    }
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\0'..='\u{1f}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_of_nczarr() {
        let limits = dispatch::Limits::default();
        let source = b"{ \"a\" :[1, 2.50,{\"b\":null}] ,\"c\":\"x\\\"\\\\\\n\\u0001\\u00e9\" }";
        let value = super::super::parse(source, &limits).unwrap();
        let line = text(&value);
        assert_eq!(line, "{\"a\": [1,2.50,{\"b\": null}], \"c\": \"x\\\"\\\\\\n\\u0001é\"}");
        assert_eq!(super::super::parse(line.as_bytes(), &limits).unwrap(), value);
        assert!(serde_json::from_str::<serde_json::Value>(&line).is_ok());
    }
}
