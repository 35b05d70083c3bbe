//! Text that is not UTF-8, which JSON cannot hold: `_nczarr_attr` keeps its bytes in the member `bytes`.
//!
//! The attribute itself holds the bytes decoded as Latin-1, the most likely encoding. Readers that do not
//! know the member read that text. `{"types": {"a": ">S1"}, "bytes": {"a": "sEM="}}` gives the bytes in
//! base64. For a list of strings it is a list, with `null` for each string that is valid UTF-8. A record that
//! does not fit the attribute is ignored: another program has changed the value.

use std::borrow::Cow;

use nczarr_model::Values;

use crate::metadata::base64;
use crate::metadata::json::{Json, Value};

/// Returns the text to store for some bytes.
pub(super) fn of(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().map(|&byte| char::from(byte)).collect()),
    }
}

/// Returns the bytes of the texts in `values` that are not UTF-8; `None` if all are UTF-8.
pub(super) fn bytes(values: &Values) -> Option<Json> {
    let kept =
        |bytes: &[u8]| std::str::from_utf8(bytes).is_err().then(|| Json::string(base64::encode(bytes)));
    match values {
        Values::Char(text) => kept(text),
        Values::String(list) => {
            let all: Vec<_> = list.iter().map(|text| kept(text.as_bytes())).collect();
            let any = all.iter().any(Option::is_some);
            any.then(|| Json::Array(all.into_iter().map(|kept| kept.unwrap_or(Json::Null)).collect()))
        }
        _ => None,
    }
}

/// Returns `values` with their recorded bytes.
pub(super) fn restore(mut values: Values, kept: Option<&Value<'_>>) -> Values {
    let fitting = |text: &[u8], kept: &Value<'_>| {
        let bytes = base64::decode(kept.as_str()?)?;
        (std::str::from_utf8(&bytes).is_err() && of(&bytes).as_bytes() == text).then_some(bytes)
    };
    match (&mut values, kept) {
        (Values::Char(text), Some(kept)) => {
            if let Some(bytes) = fitting(text, kept) {
                *text = bytes;
            }
        }
        (Values::String(list), Some(kept)) => {
            // A fill value that is a character may be read as text.
            for (text, kept) in list.iter_mut().zip(kept.as_array().unwrap_or(std::slice::from_ref(kept))) {
                if let Some(bytes) = fitting(text.as_bytes(), kept) {
                    *text = bytes.into();
                }
            }
        }
        _ => {}
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::json::{parse, text};

    #[test]
    fn raw_bytes_are_kept_only_for_invalid_text() {
        let odd = Values::String(vec!["a".into(), vec![0xb0, b'C'].into()]);
        for (values, expected) in [
            (Values::text("°C"), None),
            (Values::Char(vec![0xb0, b'C']), Some("\"sEM=\"")),
            (odd.clone(), Some("[null,\"sEM=\"]")),
            (Values::Int(vec![1]), None),
        ] {
            assert_eq!(bytes(&values).as_ref().map(text).as_deref(), expected);
        }
        assert_eq!(of(&[0xb0, b'C']), "°C");
        let kept = |source: &str| parse(source.as_bytes(), &nczarr_dispatch::Limits::default()).unwrap();
        let read = Values::String(vec!["a".into(), "°C".into()]);
        assert_eq!(restore(read.clone(), Some(&kept("[null,\"sEM=\"]"))), odd);
        assert_eq!(restore(Values::text("°C"), Some(&kept("\"sEM=\""))), Values::Char(vec![0xb0, b'C']));
        // The text was changed, or the record is invalid, or the text needs no record.
        for (values, source) in [
            (Values::text("°F"), "\"sEM=\""),
            (Values::text("°C"), "\"!\""),
            (Values::text("°C"), "5"),
            (Values::text("ab"), "\"YWI=\""),
            (Values::Int(vec![1]), "\"sEM=\""),
            (read.clone(), "[\"sEM=\"]"),
            (read, "{}"),
        ] {
            assert_eq!(restore(values.clone(), Some(&kept(source))), values, "{source}");
        }
    }
}
