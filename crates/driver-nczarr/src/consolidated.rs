//! Consolidated metadata: the `.zmetadata` document of the root, which repeats all others.
//!
//! For reading it answers in place of the documents. A session that changes metadata writes it anew, from the texts
//! it wrote or knows, if it was there or was asked for. What the documents mean is not known here.
//!
//! Source: the convention of zarr-python 2 (`zarr_consolidated_format` 1).

use std::borrow::Cow;

use dispatch::{Key, Limits};
use model::{ErrorKind, Result};

use crate::json::{self, Members, Room, Value, quote, text};
use crate::parallel;

/// The key of the document.
pub(crate) const ZMETADATA: &str = ".zmetadata";

/// Keys with more segments are refused: nothing nests so deep.
const MAX_SEGMENTS: usize = 256;

/// Documents by key.
#[derive(Debug)]
pub(crate) struct Consolidated<'t> {
    /// Sorted by key, each key once.
    documents: Documents<'t>,
}

impl<'t> Consolidated<'t> {
    /// Reads the document.
    ///
    /// # Errors
    /// [`ErrorKind::NcZarr`] if it is no JSON, [`ErrorKind::ZarrMeta`] if it is of another format or not an object of
    /// objects.
    pub(crate) fn read(document: &'t [u8], limits: &Limits) -> Result<Self> {
        let parts = json::text_of(document, limits).ok().and_then(|text| split(text, limits));
        let (mut members, documents) = match parts {
            Some((members, documents)) => (members, Some(documents)),
            // Odd or broken: read as a whole it says what is wrong.
            None => match json::read(document, limits)? {
                Value::Object(members) => (members, None),
                other => {
                    let found = other.kind();
                    return Err(ErrorKind::ZarrMeta.context(format!("expected an object, found {found}")));
                }
            },
        };
        let format = members.get("zarr_consolidated_format");
        if format.and_then(Value::as_u64) != Some(1) {
            let found = format.map_or("nothing".to_owned(), text);
            return Err(
                ErrorKind::ZarrMeta.context(format!("member \"zarr_consolidated_format\": expected 1, found {found}"))
            );
        }
        let mut documents = match documents {
            Some(documents) => documents,
            None => match members.remove("metadata") {
                Some(Value::Object(documents)) => documents.into_list(),
                other => {
                    let found = other.as_ref().map_or("nothing", Value::kind);
                    return Err(
                        ErrorKind::ZarrMeta.context(format!("member \"metadata\": expected an object, found {found}"))
                    );
                }
            },
        };
        let mut checked = Key::root();
        for (key, document) in &documents {
            check(key, document, &mut checked, limits)?;
        }
        documents.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(Self { documents })
    }

    /// The document of a key.
    pub(crate) fn document(&self, key: &Key) -> Option<&Value<'t>> {
        let at = self.documents.binary_search_by(|(have, _)| (**have).cmp(key.as_str())).ok()?;
        Some(&self.documents[at].1)
    }

    /// The names of the nodes right below `prefix`, sorted bytewise.
    pub(crate) fn children(&self, prefix: &Key) -> Vec<String> {
        let prefix = if prefix.is_root() { String::new() } else { format!("{prefix}/") };
        let from = self.documents.partition_point(|(key, _)| **key < *prefix);
        let below = self.documents[from..].iter().map_while(|(key, _)| key.strip_prefix(&*prefix));
        let mut names: Vec<&str> = below.filter_map(|rest| Some(rest.split_once('/')?.0)).collect();
        // What lies below one name stands together, but not in the order of the names alone.
        names.dedup();
        names.sort_unstable();
        names.dedup();
        names.into_iter().map(str::to_owned).collect()
    }
}

/// Checks one document and its key. `checked` is memory for it.
fn check(key: &str, document: &Value<'_>, checked: &mut Key, limits: &Limits) -> Result<()> {
    if document.as_object().is_none() {
        let found = document.kind();
        return Err(
            ErrorKind::ZarrMeta.context(format!("member \"metadata\": {key:?}: expected an object, found {found}"))
        );
    }
    checked.set(&Key::root());
    if !key.is_empty() && checked.push(key).is_err() {
        Key::new(key).map_err(|error| {
            ErrorKind::ZarrMeta.context(format!("member \"metadata\": illegal key {key:?}")).caused_by(error)
        })?;
    }
    let segments = key.split('/').filter(|segment| !segment.is_empty()).count();
    if segments > MAX_SEGMENTS || key.len() > limits.key {
        return Err(ErrorKind::ZarrMeta.context(format!(
            "member \"metadata\": a key of {segments} segments and {} bytes exceeds the limits of {MAX_SEGMENTS} and {}",
            key.len(),
            limits.key
        )));
    }
    Ok(())
}

/// Documents by key.
type Documents<'t> = Vec<(Cow<'t, str>, Value<'t>)>;

/// Reads an object one of whose members is `metadata`, the members of that on as many threads as there are, and gives
/// it apart from the others; `None` if the text is anything else, or breaks a limit.
///
/// The extent of each member is where its brackets close; that all of them are values of their own, and what is between
/// them is what belongs there, makes the whole the same as if it had been read at once.
fn split<'t>(text: &'t str, limits: &Limits) -> Option<(Members<'t>, Documents<'t>)> {
    let (mut members, mut parts) = (Members::new(), None);
    let mut room = Room::of(limits).below(1)?;
    let end = extents(text, &mut |name, extent| {
        if name == "metadata" && extent.starts_with('{') && parts.is_none() {
            let mut inner = Vec::new();
            extents(extent, &mut |name, extent| {
                inner.push((name, extent));
                Some(())
            })
            .filter(|rest| rest.is_empty())?;
            parts = Some(inner);
        } else if name == "metadata" || members.contains_key(name) {
            return None;
        } else {
            members.insert(name, json::read_part(extent, &mut room).ok()?);
        }
        Some(())
    })?;
    let parts = parts.filter(|_| end.bytes().all(is_blank))?;
    let below = Room::of(limits).below(2)?;
    let read = parallel::each(parts.len(), |i| {
        let mut room = below;
        let value = json::read_part(parts[i].1, &mut room).ok()?;
        Some((value, room.values))
    });
    let (mut documents, mut values) = (Vec::with_capacity(parts.len()), room.values);
    for ((name, _), read) in parts.into_iter().zip(read) {
        let (value, count) = read?;
        values = values.saturating_add(count);
        documents.push((Cow::Borrowed(name), value));
    }
    documents.sort_by(|(a, _), (b, _)| a.cmp(b));
    let repeated = documents.windows(2).any(|pair| pair[0].0 == pair[1].0);
    (room.holds(values) && !repeated).then_some((members, documents))
}

/// Tells `member` the names and extents of the members of the object with which `text` starts; answers what follows
/// it. `None` if it is no plain object: no escapes in names, at least one member.
fn extents<'t>(text: &'t str, member: &mut dyn FnMut(&'t str, &'t str) -> Option<()>) -> Option<&'t str> {
    let bytes = text.as_bytes();
    let skip = |mut at: usize| {
        while bytes.get(at).is_some_and(|&byte| is_blank(byte)) {
            at += 1;
        }
        at
    };
    let mut at = skip(0);
    (bytes.get(at) == Some(&b'{')).then_some(())?;
    loop {
        at = skip(at + 1);
        (bytes.get(at) == Some(&b'"')).then_some(())?;
        let end = string_end(bytes, at)?;
        let name = text.get(at + 1..end - 1).filter(|name| !name.contains('\\'))?;
        at = skip(end);
        (bytes.get(at) == Some(&b':')).then_some(())?;
        at = skip(at + 1);
        let end = value_end(bytes, at)?;
        member(name, text.get(at..end)?)?;
        at = skip(end);
        match bytes.get(at)? {
            b',' => {}
            b'}' => return text.get(at + 1..),
            _ => return None,
        }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Where the string that starts at `at` ends, behind its quote.
fn string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += 1;
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 1,
            _ => {}
        }
    }
}

/// Where the value that starts at `at` ends, if it is one.
fn value_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0usize;
    loop {
        match bytes.get(at)? {
            b'"' => at = string_end(bytes, at)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' | b',' if depth == 0 => return Some(at),
            b'}' | b']' => {
                depth -= 1;
                at += 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => at += 1,
        }
    }
}

/// The document that repeats these texts.
pub(crate) fn print<'t>(documents: impl Iterator<Item = (&'t Key, &'t str)>) -> String {
    let mut out = String::from("{\"metadata\": {");
    for (i, (key, document)) in documents.enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        out.push_str(&quote(key.as_str()));
        out.push_str(": ");
        out.push_str(document);
    }
    out.push_str("}, \"zarr_consolidated_format\": 1}");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(document: &str) -> Result<Consolidated<'_>> {
        Consolidated::read(document.as_bytes(), &Limits::default())
    }

    fn whole(document: &str) -> Option<Members<'_>> {
        match json::read(document.as_bytes(), &Limits::default()) {
            Ok(Value::Object(members)) => Some(members),
            _ => None,
        }
    }

    /// What is read in parts, put together.
    fn together(document: &str) -> Option<Members<'_>> {
        let (mut members, documents) = split(document, &Limits::default())?;
        members.insert("metadata", Value::Object(documents.into_iter().collect()));
        Some(members)
    }

    proptest! {
        /// Whatever is read in parts is what is read as a whole; never the other way round.
        #[test]
        fn parts_make_the_whole(
            pieces in prop::collection::vec(prop::sample::select(vec![
                "{", "}", "[", "]", ",", ":", "\"a\"", "\"}\\\"\"", "\"metadata\"", "{\"k\":[1,{}]}", "\"b/c\":", "1",
                " ", "\n", "\"", "\\", "é", "01",
            ]), 0..14),
            head in prop::sample::select(vec!["", "{\"metadata\": {", "{\"metadata\": {\"a\": {}, \"b\": {\"x\": "]),
            tail in prop::sample::select(vec!["", "}}", "}}}", "}, \"zarr_consolidated_format\": 1}"]),
        ) {
            let document = format!("{head}{}{tail}", pieces.concat());
            if let Some(parts) = together(&document) {
                prop_assert_eq!(Some(parts), whole(&document), "{}", document);
            }
        }
    }

    #[test]
    fn what_writers_write_is_read_in_parts() {
        let mut many = String::from("{\n  \"zarr_consolidated_format\": 1, \"metadata\": {\"\": {}");
        for i in 0..500 {
            many += &format!(",\n\t\"v{i:03}/.zarray\": {{\"shape\": [{i}], \"s\": \"}}\\\"{{\"}}");
        }
        many += "}}\n";
        assert_eq!(together(&many).unwrap(), whole(&many).unwrap());
        let read = read(&many).unwrap();
        assert_eq!(read.children(&Key::root()).len(), 500);
        assert!(read.document(&Key::new("v499/.zarray").unwrap()).is_some());
        for odd in [
            "{\"metadata\": {}, \"metadata\": {\"a\": {}}}",
            "{\"metadata\": {\"a\": {}, \"a\": {\"b\": 1}}}",
            "{\"metadata\": {\"\\u0061\": {}}}",
            "{\"metadata\": {\"a\": {\"b\": [1}}}",
            "{\"metadata\": {\"a\": }}",
            "{\"metadata\": {\"a\": 1 2}}",
            "{\"metadata\": {\"a\": {}}} x",
            "[]",
            "",
        ] {
            assert_eq!(together(odd), None, "{odd}");
        }
    }

    #[test]
    fn limits_hold_for_the_parts_together() {
        let document =
            "{\"metadata\": {\"a\": {\"x\": [1,2,3]}, \"b\": {\"x\": [1,2,3]}}, \"zarr_consolidated_format\": 1}";
        let mut limits = Limits::default();
        for (values, depth) in [(7, 4), (6, 4), (7, 3)] {
            limits.document = 128 * values;
            limits.json_depth = depth;
            let whole = json::read(document.as_bytes(), &limits).is_ok();
            assert_eq!(split(document, &limits).is_some(), whole, "{values} values, {depth} deep");
            assert_eq!(whole, (values, depth) == (7, 4));
        }
    }

    #[test]
    fn names_below_a_prefix_are_sorted_as_names() {
        let document = "{\"metadata\": {\"a/.zgroup\": {}, \"a-b/.zgroup\": {}, \"a/c/.zarray\": {}, \"a/b/.zarray\": {}, \
                        \"ab/.zgroup\": {}, \".zgroup\": {}}, \"zarr_consolidated_format\": 1}";
        let read = read(document).unwrap();
        assert_eq!(read.children(&Key::root()), ["a", "a-b", "ab"]);
        assert_eq!(read.children(&Key::new("a").unwrap()), ["b", "c"]);
        assert!(read.children(&Key::new("a/b").unwrap()).is_empty());
    }

    #[test]
    fn keys_make_a_tree() {
        let key = |text| Key::new(text).unwrap();
        let documents =
            [(key(".zgroup"), "{\"zarr_format\": 2}"), (key("g/h/v/.zarray"), "{}"), (key("b/.zattrs"), "{}")];
        let document = print(documents.iter().map(|(key, text)| (key, *text)));
        let read = read(&document).unwrap();
        assert_eq!(read.children(&Key::root()), ["b", "g"]);
        assert_eq!(read.children(&key("g")), ["h"]);
        assert_eq!(read.children(&key("g/h")), ["v"]);
        assert!(read.children(&key("g/h/v")).is_empty());
        assert!(read.document(&key("g/h/v/.zarray")).is_some());
        assert!(read.document(&key("g/h/v")).is_none());
    }

    #[test]
    fn damage_is_named() {
        for (bad, word) in [
            ("[]", "an object"),
            ("{\"metadata\": {}}", "zarr_consolidated_format"),
            ("{\"metadata\": {}, \"zarr_consolidated_format\": 2}", "found 2"),
            ("{\"metadata\": [], \"zarr_consolidated_format\": 1}", "\"metadata\""),
            ("{\"zarr_consolidated_format\": 1}", "\"metadata\""),
            ("{\"metadata\": {\"../x\": 1}, \"zarr_consolidated_format\": 1}", "../x"),
            ("{\"metadata\": {\"/x\": 1}, \"zarr_consolidated_format\": 1}", "/x"),
        ] {
            let error = read(bad).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ZarrMeta, "{bad}");
            assert!(error.to_string().contains(word), "{bad}: {error}");
        }
        let deep = format!("{{\"metadata\": {{\"{}a\": 1}}, \"zarr_consolidated_format\": 1}}", "x/".repeat(20_000));
        assert_eq!(read(&deep).unwrap_err().kind(), ErrorKind::ZarrMeta);
    }
}
