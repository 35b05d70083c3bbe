//! Names: legal characters, NFC, and the escapes of paths.
//!
//! A stored fully qualified name is plain names joined by `/`. In paths that users type, `\/`, `\\` and `\ `
//! stand for the escaped character.
//!
//! Source: netCDF User's Guide, "Permitted characters in names"; `NC_check_name`.

use std::borrow::Cow;

use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::{ErrorKind, Named, Result};

/// The most bytes a name may have (`NC_MAX_NAME`).
pub const MAX_LEN: usize = 256;

/// Returns the name in NFC, if it is legal for a new object.
///
/// A name starts with a letter, a digit, `_` or a non-ASCII character. Other characters are anything but `/`
/// and control characters. It does not end with white space, and has at most [`MAX_LEN`] bytes in NFC.
///
/// # Errors
/// [`ErrorKind::BadName`], [`ErrorKind::MaxName`].
pub fn normalize(name: &str) -> Result<Cow<'_, str>> {
    // A fast test that accepts almost all names.
    if is_plain(name.as_bytes()) {
        return Ok(Cow::Borrowed(name));
    }
    let bad = |what: &str| {
        let start: String = name.chars().take(MAX_LEN).collect();
        Err(ErrorKind::BadName.context(format!("{start:?}: {what}")))
    };
    match name.bytes().next() {
        None => return bad("a name is never empty"),
        Some(c) if !(c.is_ascii_alphanumeric() || c == b'_' || !c.is_ascii()) => {
            return bad("a name starts with a letter, a digit or _");
        }
        Some(_) => {}
    }
    if let Some(c) = name.chars().find(|c| *c == '/' || c.is_ascii_control()) {
        return bad(&format!("{c:?} cannot be in a name"));
    }
    if name.ends_with(|c: char| c.is_ascii_whitespace()) {
        return bad("a name does not end with white space");
    }
    let too_long = |start: &str| {
        let start: String = start.chars().take(40).collect();
        ErrorKind::MaxName.context(format!("{start:?}…: a name has at most {MAX_LEN} bytes"))
    };
    if name.is_ascii() || (name.len() <= MAX_LEN && is_nfc(name)) {
        return if name.len() <= MAX_LEN { Ok(Cow::Borrowed(name)) } else { Err(too_long(name)) };
    }
    let mut normal = String::with_capacity(name.len().min(MAX_LEN));
    for c in name.nfc() {
        if normal.len() + c.len_utf8() > MAX_LEN {
            return Err(too_long(&normal));
        }
        normal.push(c);
    }
    Ok(Cow::Owned(normal))
}

/// Whether a name is legal plain ASCII.
fn is_plain(name: &[u8]) -> bool {
    let (Some(first), Some(last)) = (name.first(), name.last()) else { return false };
    (first.is_ascii_alphanumeric() || *first == b'_')
        && *last != b' '
        && name.len() <= MAX_LEN
        && name.iter().all(|c| matches!(c, b' '..=b'~') && *c != b'/')
}

/// Returns the name in NFC, legal or not, for lookups.
pub fn nfc(name: &str) -> Cow<'_, str> {
    if name.is_ascii() || is_nfc(name) { Cow::Borrowed(name) } else { Cow::Owned(name.nfc().collect()) }
}

/// Returns the entry with this name, or else with its NFC form.
pub fn find<'t, T>(table: &'t Named<T>, name: &str) -> Option<&'t T> {
    position(table, name).and_then(|at| table.get_index(at)).map(|(_, value)| value)
}

/// Returns the position of the entry that [`find`] returns.
pub(crate) fn position<T>(table: &Named<T>, name: &str) -> Option<usize> {
    table.get_index_of(name).or_else(|| match nfc(name) {
        Cow::Owned(normal) => table.get_index_of(&normal),
        Cow::Borrowed(_) => None,
    })
}

/// Escapes `/`, `\` and blanks of a name for paths in messages.
pub fn escape(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    escape_to(&mut text, name);
    text
}

/// As [`escape`], appended to `text`.
pub(crate) fn escape_to(text: &mut String, name: &str) {
    for c in name.chars() {
        if matches!(c, '/' | '\\' | ' ') {
            text.push('\\');
        }
        text.push(c);
    }
}

/// Returns the names of an escaped path; empty segments are skipped.
pub fn split_path(path: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut chars = path.chars();
    while let Some(c) = chars.next() {
        let last = names.last_mut().expect("never empty");
        match c {
            '/' => names.push(String::new()),
            '\\' => last.push(chars.next().unwrap_or('\\')),
            _ => last.push(c),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules() {
        let long = "a".repeat(256);
        let too_long = "a".repeat(257);
        // Names of 200 bytes become 300 and 100 in NFC. U+0958 grows from 3 to 6 bytes, and e + U+0301
        // shrinks from 3 to 2.
        let grows = "\u{958}".repeat(50);
        let shrinks = "e\u{301}".repeat(120);
        let ok = None;
        let (bad, max) = (Some(ErrorKind::BadName), Some(ErrorKind::MaxName));
        for (name, expected, normal) in [
            ("t", ok, "t"),
            ("_x", ok, "_x"),
            ("2m temperature", ok, "2m temperature"),
            ("a.b-c+d@e#f\\g", ok, "a.b-c+d@e#f\\g"),
            ("ä", ok, "ä"),
            ("a\u{308}", ok, "ä"),
            ("\u{212b}", ok, "Å"),
            ("日本", ok, "日本"),
            ("😀", ok, "😀"),
            ("a\u{85}", ok, "a\u{85}"),
            (&long, ok, &long),
            (&shrinks, ok, &"é".repeat(120)),
            ("", bad, ""),
            (" a", bad, ""),
            ("a ", bad, ""),
            ("a/b", bad, ""),
            ("/", bad, ""),
            ("a~", ok, "a~"),
            ("~a", bad, ""),
            ("a\u{80}", ok, "a\u{80}"),
            (".", bad, ""),
            ("..", bad, ""),
            ("-a", bad, ""),
            ("\\a", bad, ""),
            ("a\tb", bad, ""),
            ("a\n", bad, ""),
            ("a\0b", bad, ""),
            ("a\u{7f}", bad, ""),
            (&too_long, max, ""),
            (&grows, max, ""),
            (&"ä".repeat(129), max, ""),
        ] {
            let found = normalize(name);
            assert_eq!(found.as_ref().err().map(|error| error.kind()), expected, "{name:?}");
            if let Ok(found) = found {
                assert_eq!(found, normal, "{name:?}");
                assert_eq!(nfc(name), normal, "{name:?}");
            }
        }
    }

    #[test]
    fn a_name_is_found_as_given_and_in_nfc() {
        let mut table = Named::default();
        for (name, value) in [("ä", 1), ("b\u{308}", 2), ("o\u{308}", 3)] {
            table.insert(name.to_owned(), value);
        }
        for (name, expected) in [
            ("ä", Some(1)),
            ("a\u{308}", Some(1)),
            ("b\u{308}", Some(2)),
            ("o\u{308}", Some(3)),
            ("ö", None),
            ("c", None),
        ] {
            assert_eq!(find(&table, name).copied(), expected, "{name:?}");
        }
    }

    #[test]
    fn paths() {
        for (path, names) in [
            ("", &[][..]),
            ("/", &[]),
            ("//a//b/", &["a", "b"]),
            ("a\\/b/c", &["a/b", "c"]),
            ("a\\ b\\\\", &["a b\\"]),
            ("a\\", &["a\\"]),
            ("a b", &["a b"]),
        ] {
            assert_eq!(split_path(path), names, "{path:?}");
        }
    }
}
