//! Text in quotation marks, and names, with CDL's escapes.

use std::io::Write as _;

/// The treatment of a line feed in quotation marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Feed {
    /// `\n`, and the text continues.
    Escape,
    /// `\n`, and the text ends and continues in new quotation marks after this.
    Break(&'static str),
}

/// Appends one byte of text, escaped if it would end or hide the text.
pub(crate) fn push_byte(out: &mut Vec<u8>, byte: u8, feed: Feed) {
    match byte {
        0x08 => out.extend_from_slice(b"\\b"),
        0x0c => out.extend_from_slice(b"\\f"),
        b'\n' => match feed {
            Feed::Escape => out.extend_from_slice(b"\\n"),
            Feed::Break(between) => {
                out.extend_from_slice(b"\\n\",\n");
                out.extend_from_slice(between.as_bytes());
                out.push(b'"');
            }
        },
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        0x0b => out.extend_from_slice(b"\\v"),
        b'\\' => out.extend_from_slice(b"\\\\"),
        b'\'' => out.extend_from_slice(b"\\'"),
        b'"' => out.extend_from_slice(b"\\\""),
        byte if byte.is_ascii_control() => push_octal(out, byte),
        byte => out.push(byte),
    }
}

/// Appends one element of a character array. As [`push_byte`], but bytes beyond ASCII become octal numbers,
/// because an array element is a byte.
pub(crate) fn push_char(out: &mut Vec<u8>, byte: u8, feed: Feed) {
    if byte.is_ascii() { push_byte(out, byte, feed) } else { push_octal(out, byte) }
}

fn push_octal(out: &mut Vec<u8>, byte: u8) {
    write!(out, "\\{byte:03o}").expect("a vector takes everything");
}

/// Appends a text in quotation marks.
pub(crate) fn push_quoted(out: &mut Vec<u8>, text: &[u8], feed: Feed) {
    out.push(b'"');
    for &byte in text {
        push_byte(out, byte, feed);
    }
    out.push(b'"');
}

/// Appends a piece of a character array in quotation marks, without trailing NULs.
pub(crate) fn push_chars(out: &mut Vec<u8>, text: &[u8], feed: Feed) {
    out.push(b'"');
    for &byte in without_nuls(text) {
        push_char(out, byte, feed);
    }
    out.push(b'"');
}

/// Returns the text without trailing NULs.
pub(crate) fn without_nuls(text: &[u8]) -> &[u8] {
    &text[..text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1)]
}

/// Appends a name. Characters with a meaning in CDL, and a first digit, get a backslash. Control characters
/// become `\%xx`.
pub(crate) fn push_name(out: &mut Vec<u8>, name: &str) {
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        out.push(b'\\');
    }
    for byte in name.bytes() {
        match byte {
            byte if byte.is_ascii_control() => {
                write!(out, "\\%{byte:02x}").expect("a vector takes everything")
            }
            b' ' | b'!' | b'"' | b'#' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b',' | b':' | b';'
            | b'<' | b'=' | b'>' | b'?' | b'[' | b']' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' | b'~' => {
                out.extend_from_slice(&[b'\\', byte]);
            }
            byte => out.push(byte),
        }
    }
}

/// Words that begin a section of CDL if a colon follows.
const SECTIONS: &[&str] = &["types", "dimensions", "variables", "data", "group"];

/// Appends the variable of an attribute, if any, and the colon. A name equal to a section's is separated from
/// the colon, as in the reference.
pub(crate) fn push_owner(out: &mut Vec<u8>, name: &str) {
    push_name(out, name);
    if SECTIONS.contains(&name) {
        out.push(b' ');
    }
    out.push(b':');
}

/// Returns the default dataset name in CDL: the last segment of the path without its last extension.
///
/// # Examples
/// `a/b/temp.2.nc` → `temp.2`; `/data/x.zarr/` → `x`; `.hidden` → `.hidden`.
pub fn dataset_name(path: &str) -> String {
    let last = path.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or_default();
    match last.rfind('.') {
        Some(at) if at > 0 => last[..at].to_owned(),
        _ => last.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(fill: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        fill(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn names_are_escaped() {
        for (name, want) in [
            ("plain_1", "plain_1"),
            ("1.2", "\\1.2"),
            ("a b", "a\\ b"),
            ("x-y@z+.%/", "x-y@z+.%/"),
            ("q?[1]{2}(3)", "q\\?\\[1\\]\\{2\\}\\(3\\)"),
            ("日本", "日本"),
            ("a\tb\x7f", "a\\%09b\\%7f"),
            ("back\\slash", "back\\\\slash"),
        ] {
            assert_eq!(text(|out| push_name(out, name)), want);
        }
    }

    #[test]
    fn texts_are_escaped() {
        assert_eq!(
            text(|out| push_quoted(out, "it's \"é\"\n\t\x01\\".as_bytes(), Feed::Escape)),
            r#""it\'s \"é\"\n\t\001\\""#
        );
        assert_eq!(text(|out| push_chars(out, "é\0x\0\0".as_bytes(), Feed::Escape)), r#""\303\251\000x""#);
        assert_eq!(text(|out| push_quoted(out, b"a\nb", Feed::Break("  "))), "\"a\\n\",\n  \"b\"");
        assert_eq!(text(|out| push_chars(out, b"\0\0", Feed::Escape)), "\"\"");
    }

    #[test]
    fn datasets_are_named_after_their_file() {
        for (path, want) in [
            ("a/b/temp.2.nc", "temp.2"),
            ("/data/x.zarr/", "x"),
            (".hidden", ".hidden"),
            ("plain", "plain"),
            ("c:\\d\\e.nc", "e"),
            ("/", ""),
        ] {
            assert_eq!(dataset_name(path), want);
        }
    }
}
