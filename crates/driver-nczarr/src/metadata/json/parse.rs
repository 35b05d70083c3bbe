//! The parser: no recursion, and limits on size, nesting and number of values.

use std::borrow::Cow;

use nczarr_dispatch::Limits;
use nczarr_model::{Error, ErrorKind, Result};

use super::number;
use super::value::{Json, ObjectMembers, Value};

/// The deepest nesting, whatever the limits allow: values are dropped and written recursively.
const MAX_DEPTH: usize = 1000;
/// Bytes of the document limit per allowed value. A value may take two bytes of text but takes some 60 bytes
/// of memory.
const BYTES_PER_VALUE: u64 = 128;
/// The usual number of members of an array document.
const USUAL_MEMBERS: usize = 10;
/// The usual number of members of the objects in an array document.
const USUAL_INNER_MEMBERS: usize = 2;

/// Parses a document into a value that owns its text.
///
/// # Errors
/// As [`read`].
pub(crate) fn parse(document: &[u8], limits: &Limits) -> Result<Json> {
    read(document, limits).map(Value::into_owned)
}

/// Parses a document; the value borrows from it.
///
/// If a member repeats, the later one counts. A lone surrogate becomes U+FFFD, an unknown escape its own
/// character, and raw control characters are kept.
///
/// # Errors
/// [`ErrorKind::NcZarr`] with the position and the expected token, also if a limit is exceeded.
pub(crate) fn read<'t>(document: &'t [u8], limits: &Limits) -> Result<Value<'t>> {
    read_text(text_of(document, limits)?, limits)
}

/// As [`read`], for a document that is known to be text.
pub(crate) fn read_text<'t>(text: &'t str, limits: &Limits) -> Result<Value<'t>> {
    let mut parser = JsonParser { text, at: 0, budget: ParseBudget::of(limits) };
    let value = parser.value()?;
    match parser.peek() {
        None => Ok(value),
        Some(_) => Err(parser.error("the end of the document")),
    }
}

/// Returns the text of a document.
pub(crate) fn text_of<'t>(document: &'t [u8], limits: &Limits) -> Result<&'t str> {
    if document.len() as u64 > limits.document {
        return Err(ErrorKind::NcZarr.context(format!(
            "the document has {} bytes (expected at most {})",
            document.len(),
            limits.document
        )));
    }
    let text = std::str::from_utf8(document).map_err(|error| {
        ErrorKind::NcZarr
            .context(format!("byte {}: the document is not UTF-8", error.valid_up_to()))
            .caused_by(error)
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// The remaining limits of a parse.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ParseBudget {
    /// The values so far.
    pub(super) values: u64,
    most_values: u64,
    depth: usize,
}

impl ParseBudget {
    pub(crate) fn of(limits: &Limits) -> Self {
        let most_values = limits.document / BYTES_PER_VALUE;
        Self { values: 0, most_values, depth: limits.json_depth.min(MAX_DEPTH) }
    }

    /// Returns the limits for values `depth` levels deeper; `None` if none are allowed.
    pub(crate) fn deeper(self, depth: usize) -> Option<Self> {
        Some(Self { depth: self.depth.checked_sub(depth)?, ..self })
    }

    /// Whether this many more values are allowed.
    pub(crate) fn has_room_for(&self, more: u64) -> bool {
        self.values.saturating_add(more) <= self.most_values
    }
}

/// The parser, at a position of a text.
pub(super) struct JsonParser<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    pub(super) budget: ParseBudget,
}

/// Receives the values as they are parsed.
trait ValueSink<'t> {
    type Value;
    type Items: Default;
    type Members: Default;

    /// Starts an object at this level of nesting.
    fn start_object(depth: usize) -> Self::Members;
    fn leaf(value: Value<'t>) -> Self::Value;
    fn item(items: &mut Self::Items, value: Self::Value);
    fn member(members: &mut Self::Members, name: Cow<'t, str>, value: Self::Value);
    fn array(items: Self::Items) -> Self::Value;
    fn object(members: Self::Members) -> Self::Value;
}

/// Builds a tree.
struct TreeSink;

impl<'t> ValueSink<'t> for TreeSink {
    type Value = Value<'t>;
    type Items = Vec<Value<'t>>;
    type Members = ObjectMembers<'t>;

    fn start_object(depth: usize) -> ObjectMembers<'t> {
        ObjectMembers::with_capacity(if depth == 0 { USUAL_MEMBERS } else { USUAL_INNER_MEMBERS })
    }

    fn leaf(value: Value<'t>) -> Value<'t> {
        value
    }

    fn item(items: &mut Vec<Value<'t>>, value: Value<'t>) {
        items.push(value);
    }

    fn member(members: &mut ObjectMembers<'t>, name: Cow<'t, str>, value: Value<'t>) {
        members.insert(name, value);
    }

    fn array(items: Vec<Value<'t>>) -> Value<'t> {
        Value::Array(items)
    }

    fn object(members: ObjectMembers<'t>) -> Value<'t> {
        Value::Object(members)
    }
}

/// Checks the syntax and builds nothing.
struct NullSink;

impl<'t> ValueSink<'t> for NullSink {
    type Value = ();
    type Items = ();
    type Members = ();

    fn start_object(_: usize) {}
    fn leaf(_: Value<'t>) {}
    fn item((): &mut (), (): ()) {}
    fn member((): &mut (), _: Cow<'t, str>, (): ()) {}
    fn array((): ()) {}
    fn object((): ()) {}
}

/// A list or object that is not complete.
enum OpenContainer<'t, M: ValueSink<'t>> {
    Array(M::Items),
    /// With the name of the next value.
    Object(M::Members, Cow<'t, str>),
}

impl<'t> JsonParser<'t> {
    /// Parses a value.
    pub(super) fn value(&mut self) -> Result<Value<'t>> {
        self.make::<TreeSink>()
    }

    /// Checks a value and returns its text.
    pub(super) fn skip(&mut self) -> Result<&'t str> {
        self.peek();
        let from = self.at;
        self.make::<NullSink>()?;
        Ok(&self.text[from..self.at])
    }

    /// Skips a value that was parsed before and contains this many values.
    pub(super) fn skip_known(&mut self, text: &str, values: u64) -> Result<()> {
        self.at += text.len();
        self.count(values)
    }

    fn make<M: ValueSink<'t>>(&mut self) -> Result<M::Value> {
        let mut open: Vec<OpenContainer<'t, M>> = Vec::with_capacity(4);
        loop {
            // A value, or the start of a container.
            let mut value = match self.peek() {
                Some(b'"') => M::leaf(Value::String(self.string()?)),
                Some(b'[') => {
                    self.enter(open.len())?;
                    if self.take(b']') {
                        M::array(M::Items::default())
                    } else {
                        open.push(OpenContainer::Array(M::Items::default()));
                        continue;
                    }
                }
                Some(b'{') => {
                    self.enter(open.len())?;
                    if self.take(b'}') {
                        M::object(M::Members::default())
                    } else {
                        let name = self.name()?;
                        open.push(OpenContainer::Object(M::start_object(open.len()), name));
                        continue;
                    }
                }
                Some(_) => M::leaf(self.bare_word()?),
                None => return Err(self.error("a value")),
            };
            self.count(1)?;
            // Closes all lists and objects that end here.
            loop {
                match open.last_mut() {
                    None => return Ok(value),
                    Some(OpenContainer::Array(items)) => {
                        M::item(items, value);
                        match self.peek() {
                            Some(b',') => {
                                self.at += 1;
                                break;
                            }
                            Some(b']') => self.at += 1,
                            _ => return Err(self.error("',' or ']'")),
                        }
                        value = M::array(std::mem::take(items));
                    }
                    Some(OpenContainer::Object(members, name)) => {
                        M::member(members, std::mem::take(name), value);
                        match self.peek() {
                            Some(b',') => {
                                self.at += 1;
                                *name = self.name()?;
                                break;
                            }
                            Some(b'}') => self.at += 1,
                            _ => return Err(self.error("',' or '}'")),
                        }
                        value = M::object(std::mem::take(members));
                    }
                }
                open.pop();
            }
        }
    }

    /// Skips blanks and returns the next byte.
    pub(super) fn peek(&mut self) -> Option<u8> {
        while let Some(&byte) = self.text.as_bytes().get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    pub(super) fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn enter(&mut self, depth: usize) -> Result<()> {
        self.at += 1;
        if depth >= self.budget.depth {
            return Err(ErrorKind::NcZarr.context(format!(
                "byte {}: the document is nested too deeply (expected at most {} levels)",
                self.at, self.budget.depth
            )));
        }
        Ok(())
    }

    fn count(&mut self, more: u64) -> Result<()> {
        self.budget.values = self.budget.values.saturating_add(more);
        if self.budget.values > self.budget.most_values {
            let most = self.budget.most_values;
            return Err(ErrorKind::NcZarr.context(format!(
                "byte {}: the document has too many values (expected at most {most})",
                self.at
            )));
        }
        Ok(())
    }

    pub(super) fn name(&mut self) -> Result<Cow<'t, str>> {
        if self.peek() != Some(b'"') {
            return Err(self.error("a member's name in quotes"));
        }
        let name = self.string()?;
        if !self.take(b':') {
            return Err(self.error("':'"));
        }
        Ok(name)
    }

    /// Parses a string from its opening quote; borrows if it has no escapes.
    fn string(&mut self) -> Result<Cow<'t, str>> {
        let text: &'t str = self.text;
        let rest = &text[self.at + 1..];
        match plain_len(rest.as_bytes()) {
            Some(len) if rest.as_bytes()[len] == b'"' => {
                self.at += len + 2;
                Ok(Cow::Borrowed(&rest[..len]))
            }
            _ => self.escaped_string().map(Cow::Owned),
        }
    }

    /// Parses a string with escapes from its opening quote.
    #[cold]
    fn escaped_string(&mut self) -> Result<String> {
        let start = self.at;
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(plain) = plain_len(rest.as_bytes()) else {
                self.at = start;
                return Err(self.error("a closing quote of this string"));
            };
            self.at += plain + 1;
            out.push_str(&rest[..plain]);
            if rest.as_bytes()[plain] == b'"' {
                return Ok(out);
            }
            let Some(escape) = self.text[self.at..].chars().next() else { continue };
            self.at += escape.len_utf8();
            out.push(match escape {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'b' => '\u{8}',
                'f' => '\u{c}',
                'u' => self.unicode()?,
                other => other,
            });
        }
    }

    /// Parses a `\u` escape after the `u`.
    fn unicode(&mut self) -> Result<char> {
        let first = self.hex4()?;
        if let Some(c) = char::from_u32(first) {
            return Ok(c);
        }
        let before = self.at;
        if (0xd800..0xdc00).contains(&first) && self.text[self.at..].starts_with("\\u") {
            self.at += 2;
            let second = self.hex4()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex4(&mut self) -> Result<u32> {
        let digits = self.text.get(self.at..self.at + 4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let code = code.ok_or_else(|| self.error("four hexadecimal digits"))?;
        self.at += 4;
        Ok(code)
    }

    /// Parses a number, `true`, `false`, `null`, or a bare word that can only mean one of these.
    fn bare_word(&mut self) -> Result<Value<'t>> {
        let text: &'t str = self.text;
        let rest = &text[self.at..];
        if let Some(len) = number::natural_len(rest.as_bytes()) {
            self.at += len;
            return Ok(Value::Number(Cow::Borrowed(&rest[..len])));
        }
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        if let Some(len) = number::strict_len(rest.as_bytes())
            && !rest.as_bytes().get(len).is_some_and(|&byte| is_part(byte))
        {
            self.at += len;
            return Ok(Value::Number(Cow::Borrowed(&rest[..len])));
        }
        let end = rest.bytes().position(|byte| !is_part(byte));
        let word = &rest[..end.unwrap_or(rest.len())];
        let value = match word {
            "null" => Value::Null,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ if number::is_lenient(word) => Value::Word(Cow::Borrowed(word)),
            _ if ["null", "true", "false"].iter().any(|name| word.eq_ignore_ascii_case(name)) => {
                Value::Word(Cow::Borrowed(word))
            }
            _ => return Err(self.error("a value")),
        };
        self.at += word.len();
        Ok(value)
    }

    fn error(&mut self, expected: &str) -> Error {
        let found = match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            Some(c) => format!("{c:?}"),
            None => "the end".to_owned(),
        };
        ErrorKind::NcZarr.context(format!("byte {}: expected {expected}, found {found}", self.at))
    }
}

/// Returns the number of bytes before the first quote or backslash.
fn plain_len(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    // Sets the highest bit of each byte that equals `byte`. Bits above the lowest match may be wrong because
    // of borrows.
    let are = |word: u64, byte: u8| {
        let differs = word ^ (ONES * u64::from(byte));
        differs.wrapping_sub(ONES) & !differs & (ONES << 7)
    };
    let (words, rest) = bytes.as_chunks::<8>();
    let mut at = 0;
    for word in words {
        let value = u64::from_le_bytes(*word);
        let found = are(value, b'"') | are(value, b'\\');
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    rest.iter().position(|byte| matches!(byte, b'"' | b'\\')).map(|within| at + within)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::json::write::text;
    use proptest::prelude::*;

    fn any_json() -> impl Strategy<Value = Json> {
        let token = prop::sample::select(vec!["0", "-0", "1.10", "2.5e-3", "1E-7", "18446744073709551615"]);
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::Bool),
            token.prop_map(|token| Json::Number(token.into())),
            any::<String>().prop_map(Json::string),
        ];
        leaf.prop_recursive(6, 60, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Json::Array),
                prop::collection::vec((any::<String>(), inner), 0..8)
                    .prop_map(|members| Json::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn written_values_parse_back(value in any_json()) {
            let line = text(&value);
            prop_assert_eq!(&read(&line).unwrap(), &value);
            let theirs: serde_json::Value = serde_json::from_str(&line).unwrap();
            prop_assert_eq!(theirs, value.to_serde());
        }

        #[test]
        fn strict_readers_accept_no_more_than_this_one(
            pieces in prop::collection::vec(prop::sample::select(vec![
                "{", "}", "[", "]", ",", ":", "\"a\"", "\"\\u00e9\"", "1", "-", ".5", "true", "NaN", " ", "\"", "\\", "é",
            ]), 0..12),
        ) {
            let document = pieces.concat();
            let ours = read(&document);
            if let Ok(theirs) = serde_json::from_str::<serde_json::Value>(&document) {
                prop_assert_eq!(ours.unwrap().to_serde(), theirs);
            }
        }
    }

    proptest! {
        #[test]
        fn plain_text_ends_where_a_byte_by_byte_look_ends_it(bytes in prop::collection::vec(
            prop_oneof![Just(b'"'), Just(b'\\'), Just(0x21), Just(0x23), Just(0xa2), any::<u8>()], 0..40,
        )) {
            prop_assert_eq!(plain_len(&bytes), bytes.iter().position(|byte| matches!(byte, b'"' | b'\\')));
        }
    }

    fn read(document: &str) -> Result<Json> {
        parse(document.as_bytes(), &Limits::default())
    }

    #[test]
    fn strict_documents_agree_with_another_reader() {
        for document in [
            "null",
            " [ ] ",
            "{}",
            "[1,-2.5e+3,\"a\\u00e9\\ud83d\\ude00\\/\",true,false,null]",
            "{\"a\":{\"b\":[{},[]]},\"a\":3}",
            "\"\"",
            "{\"\":0}",
        ] {
            let ours: serde_json::Value = serde_json::from_str(&text(&read(document).unwrap())).unwrap();
            assert_eq!(ours, serde_json::from_str::<serde_json::Value>(document).unwrap(), "{document}");
        }
    }

    #[test]
    fn sloppy_tokens_keep_their_text() {
        for word in
            ["NaN", "Infinity", "-Infinity", "nan", "01", "+1", ".5", "5.", "0x10", "tRUE", "Null", "-nan"]
        {
            assert_eq!(read(word).unwrap(), Json::Word(word.into()));
            assert_eq!(read(&format!("[{word},1]")).unwrap().as_array().unwrap()[0].token(), Some(word));
        }
        assert_eq!(read("1.10").unwrap(), Json::Number("1.10".into()));
        assert_eq!(read("\"a\nb\tc\u{1}\"").unwrap(), Json::string("a\nb\tc\u{1}"));
        assert_eq!(read(r#""with \'quotes\' \x""#).unwrap(), Json::string("with 'quotes' x"));
        assert_eq!(
            read(r#""\ud800x \udc00 \ud800\u0041""#).unwrap(),
            Json::string("\u{fffd}x \u{fffd} \u{fffd}A")
        );
        assert_eq!(read("\u{feff}{}").unwrap(), Json::Object(ObjectMembers::new()));
    }

    #[test]
    fn broken_documents_are_errors_with_a_position() {
        for (bad, position) in [
            ("", 0),
            ("{", 1),
            ("[1,", 3),
            ("[1 2]", 3),
            ("{\"a\" 1}", 5),
            ("{a:1}", 1),
            ("{\"a\":1,}", 7),
            ("[1]x", 3),
            ("hello", 0),
            ("\"open", 0),
            ("\"\\u12\"", 3),
            ("\"a\\", 0),
            ("[,]", 1),
            ("{\"a\":}", 5),
            ("]", 0),
            ("-", 0),
        ] {
            let error = read(bad).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NcZarr, "{bad}");
            assert!(error.what().starts_with(&format!("byte {position}:")), "{bad}: {error}");
        }
        assert_eq!(parse(b"\"\xff\"", &Limits::default()).unwrap_err().kind(), ErrorKind::NcZarr);
    }

    #[test]
    fn limits_hold() {
        let deep = "[".repeat(200_000);
        assert!(read(&deep).unwrap_err().what().contains("nested too deeply (expected at most 128"));
        let deep = format!("{}1{}", "{\"a\":".repeat(200_000), "}".repeat(200_000));
        assert!(read(&deep).unwrap_err().what().contains("nested too deeply"));
        let ok = format!("{}{}", "[".repeat(128), "]".repeat(128));
        assert!(read(&ok).is_ok());
        let mut limits = Limits::default();
        limits.document = 10;
        assert!(parse(b"[1,2,3,4,5]", &limits).unwrap_err().what().contains("11 bytes"));
        limits.document = u64::MAX;
        limits.json_depth = usize::MAX;
        assert!(parse(deep.as_bytes(), &limits).is_err());
        let wide = format!("[{}0]", "0,".repeat(3 << 20));
        assert!(read(&wide).unwrap_err().what().contains("values"));
    }
}
