//! Parses JSON with bare `NaN`, `Infinity` and `-Infinity`, as some writers store it.

use serde_json::Value;

/// Parses `text`. Bare `NaN`, `Infinity` and `-Infinity` become strings with that text.
///
/// # Errors
/// Returns a description of the syntax error.
pub fn parse(text: &str) -> Result<Value, String> {
    serde_json::from_str(&quote_tokens(text)).map_err(|error| error.to_string())
}

fn quote_tokens(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    let (mut rest, mut in_string) = (text, false);
    while let Some(c) = rest.chars().next() {
        if !in_string
            && let Some(token) =
                ["NaN", "Infinity", "-Infinity"].iter().find(|token| rest.starts_with(**token))
        {
            quoted.push_str(&format!("\"{token}\""));
            rest = &rest[token.len()..];
            continue;
        }
        let taken = match c {
            '\\' if in_string => rest.chars().take(2).map(char::len_utf8).sum(),
            '"' => {
                in_string = !in_string;
                1
            }
            c => c.len_utf8(),
        };
        quoted.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_tokens_are_quoted_and_nothing_else() {
        let value = parse(r#"{"a": [NaN, -Infinity, 1], "NaN\"Infinity": "Infinity NaN \\"}"#).unwrap();
        assert_eq!(value.to_string(), r#"{"a":["NaN","-Infinity",1],"NaN\"Infinity":"Infinity NaN \\"}"#);
    }
}
