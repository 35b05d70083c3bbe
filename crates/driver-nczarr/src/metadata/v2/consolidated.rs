//! Consolidated metadata of V2: the `.zmetadata` document of the root, which repeats all others.
//!
//! Opening reads it in place of the documents. A session that changes metadata rewrites it if it existed or
//! was requested. This module does not interpret the documents.
//!
//! Source: the convention of zarr-python 2 (`zarr_consolidated_format` 1).

use std::borrow::Cow;

use nczarr_dispatch::Limits;
use nczarr_model::{ErrorKind, Result};
use nczarr_storage::Key;

use crate::metadata::json::ObjectMembers;
use crate::metadata::json::{self, ParseBudget, Value, quote, text};
use crate::metadata::parallel;

/// The key of the document.
pub(crate) const ZMETADATA: &str = ".zmetadata";

/// The most segments of a key.
const MAX_SEGMENTS: usize = 256;

/// How many entries behind the last match [`Consolidated::document_near`] compares before a binary search.
const MAX_NEAR: usize = 4;

/// The bytes of the document that one thread reads at a time.
const PIECE_BYTES: usize = 16 << 10;

/// A document in the consolidated metadata, known to be legal JSON.
#[derive(Debug)]
pub(crate) enum LazyDocument<'t> {
    /// Not parsed yet.
    Text(&'t str),
    Read(Box<Value<'t>>),
}

impl<'t> LazyDocument<'t> {
    /// Returns the parsed document.
    ///
    /// # Errors
    /// Does not fail in practice: the text was checked before, with stricter limits.
    pub(crate) fn value(&self, limits: &Limits) -> Result<Cow<'_, Value<'t>>> {
        match self {
            Self::Text(text) => json::read_text(text, limits).map(Cow::Owned),
            Self::Read(value) => Ok(Cow::Borrowed(value)),
        }
    }

    fn is_object(&self) -> bool {
        match self {
            Self::Text(text) => text.starts_with('{'),
            Self::Read(value) => value.as_object().is_some(),
        }
    }
}

/// Documents by key.
#[derive(Debug)]
pub(crate) struct Consolidated<'t> {
    /// Sorted by key, each key once.
    documents: Documents<'t>,
    /// Nodes with names that no key can have: the key of the parent group, and the name.
    pub(crate) unnameable: Vec<(Key, String)>,
}

impl<'t> Consolidated<'t> {
    /// Parses the document.
    ///
    /// # Errors
    /// [`ErrorKind::NcZarr`] if it is not JSON, [`ErrorKind::ZarrMeta`] if it is of another format or not an
    /// object of objects.
    pub(crate) fn read(document: &'t [u8], limits: &Limits) -> Result<Self> {
        let parts = json::text_of(document, limits).ok().and_then(|text| split(text, limits, PIECE_BYTES));
        let (mut members, documents) = match parts {
            Some((members, documents)) => (members, Some(documents)),
            // Parsed as a whole, an unusual or broken document gives the precise error.
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
            return Err(ErrorKind::ZarrMeta
                .context(format!("member \"zarr_consolidated_format\": expected 1, found {found}")));
        }
        let documents = match documents {
            Some(documents) => documents,
            None => match members.remove("metadata") {
                Some(Value::Object(documents)) => {
                    let documents = documents.into_list().into_iter();
                    let documents =
                        documents.map(|(key, value)| (key, LazyDocument::Read(Box::new(value)))).collect();
                    return Self::of(documents, limits);
                }
                other => {
                    let found = other.as_ref().map_or("nothing", Value::kind);
                    return Err(ErrorKind::ZarrMeta
                        .context(format!("member \"metadata\": expected an object, found {found}")));
                }
            },
        };
        Ok(Self { documents, unnameable: Vec::new() })
    }

    /// Makes consolidated metadata from documents by key. Names with control characters are left out.
    ///
    /// # Errors
    /// [`ErrorKind::ZarrMeta`] for an illegal key.
    pub(crate) fn of(mut documents: Documents<'t>, limits: &Limits) -> Result<Self> {
        let mut unnamable = Vec::new();
        documents.retain(|(key, _)| match control(key) {
            Some(found) => {
                unnamable.push(found);
                false
            }
            None => true,
        });
        unnamable.sort_unstable();
        unnamable.dedup();
        let mut checked = Key::root();
        for (key, document) in &documents {
            check(key, document, &mut checked, limits)?;
        }
        sort(&mut documents);
        Ok(Self { documents, unnameable: unnamable })
    }

    /// Returns the document of a key.
    pub(crate) fn document(&self, key: &Key) -> Option<&LazyDocument<'t>> {
        let key = key.as_str();
        let place = self.documents.binary_search_by(|(have, _)| (**have).cmp(key)).ok()?;
        Some(&self.documents[place].1)
    }

    /// Returns the document `name` of `node`. Compares the entries at `place` first, then searches; sets
    /// `place` to the match.
    pub(crate) fn document_near(
        &self,
        node: &Key,
        name: &str,
        place: &mut usize,
    ) -> Option<&LazyDocument<'t>> {
        let node = node.as_str();
        let is_it = |have: &str| {
            let have = have.strip_suffix(name).filter(|_| !node.is_empty());
            have.and_then(|have| have.strip_suffix('/')).is_some_and(|have| have == node)
        };
        let near = place.saturating_add(MAX_NEAR).min(self.documents.len());
        let found =
            self.documents.get(*place..near).and_then(|near| near.iter().position(|(have, _)| is_it(have)));
        *place = match found {
            Some(behind) => *place + behind,
            None => {
                let key = if node.is_empty() { name.to_owned() } else { [node, "/", name].concat() };
                self.documents.binary_search_by(|(have, _)| (**have).cmp(&key)).ok()?
            }
        };
        Some(&self.documents[*place].1)
    }

    /// Returns the names of the nodes directly below `prefix`, sorted bytewise.
    pub(crate) fn children(&self, prefix: &Key) -> Vec<String> {
        let prefix = if prefix.is_root() { String::new() } else { format!("{prefix}/") };
        let from = self.documents.partition_point(|(key, _)| **key < *prefix);
        let below = self.documents[from..].iter().map_while(|(key, _)| key.strip_prefix(&*prefix));
        let (mut names, mut sorted): (Vec<&str>, bool) = (Vec::new(), true);
        for name in below.filter_map(first_segment) {
            // Keys of one node are adjacent, but not in the order of the node names.
            match names.last().map_or(std::cmp::Ordering::Less, |last| (*last).cmp(name)) {
                std::cmp::Ordering::Equal => continue,
                order => sorted &= order.is_lt(),
            }
            names.push(name);
        }
        if !sorted {
            names.sort_unstable();
            names.dedup();
        }
        names.into_iter().map(str::to_owned).collect()
    }
}

/// Returns the part before the first `/`. A byte loop, since that part is short.
fn first_segment(key: &str) -> Option<&str> {
    key.bytes().position(|byte| byte == b'/').map(|end| &key[..end])
}

/// Returns the parent key and the name of the first segment with a control character.
fn control(key: &str) -> Option<(Key, String)> {
    let at = key.find(char::is_control)?;
    let from = key[..at].rfind('/').map_or(0, |slash| slash + 1);
    let name = key[from..].split('/').next().unwrap_or_default();
    Some((Key::new(key[..from].trim_end_matches('/')).ok()?, name.to_owned()))
}

/// Checks one document and its key. `checked` is scratch memory.
fn check(key: &str, document: &LazyDocument<'_>, checked: &mut Key, limits: &Limits) -> Result<()> {
    // A defect of a child's document is reported at the child.
    if !document.is_object() && !key.contains('/') {
        let document = document.value(limits)?;
        let found = document.kind();
        return Err(ErrorKind::ZarrMeta
            .context(format!("member \"metadata\": {key:?}: expected an object, found {found}")));
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
type Documents<'t> = Vec<(Cow<'t, str>, LazyDocument<'t>)>;

/// Parses an object with a member `metadata`, whose members it parses in parallel, about `piece` bytes per
/// thread at a time. Returns the other members and the checked documents. `None` if the text has another form
/// or exceeds a limit.
fn split<'t>(text: &'t str, limits: &Limits, piece: usize) -> Option<(ObjectMembers<'t>, Documents<'t>)> {
    let (mut room, below) = (ParseBudget::of(limits), ParseBudget::of(limits).deeper(2)?);
    let (mut documents, mut values) = (Vec::new(), 0u64);
    let members = json::read_around(text, "metadata", &mut room, |from| {
        let cuts = cuts(text, from, piece);
        let pieces = parallel::map_indices(cuts.len(), 1, |i| {
            let until = cuts.get(i + 1).copied().unwrap_or(usize::MAX);
            let piece = json::read_members(text, cuts[i], until, below)?;
            // The vector is reused in place: a document is as large as its text slice.
            const { assert!(size_of::<(Cow<'_, str>, LazyDocument<'_>)>() == size_of::<(Cow<'_, str>, &str)>()) };
            let documents: Documents<'_> =
                piece.members.into_iter().map(|(key, text)| (key, LazyDocument::Text(text))).collect();
            let mut checked = Key::root();
            let legal =
                documents.iter().all(|(key, document)| check(key, document, &mut checked, limits).is_ok());
            legal.then_some((documents, piece.end, piece.closed, piece.values))
        });
        documents.reserve_exact(pieces.iter().flatten().map(|(members, ..)| members.len()).sum());
        let (mut end, mut closed) = (from, false);
        for (piece, from) in pieces.into_iter().zip(cuts) {
            // Each piece begins where the one before it ends.
            if closed || end != from {
                return None;
            }
            let (mut members, more);
            (members, end, closed, more) = piece?;
            values = values.saturating_add(more);
            documents.append(&mut members);
        }
        closed.then_some(end)
    })?;
    sort(&mut documents);
    let repeated = documents.windows(2).any(|pair| pair[0].0 == pair[1].0);
    (room.has_room_for(values) && !repeated).then_some((members, documents))
}

/// Sorts by key; stable. Writers store them almost in order, so insertion sort runs first, with a bound on
/// its steps.
fn sort(documents: &mut Documents<'_>) {
    let mut steps = documents.len();
    for i in 1..documents.len() {
        let mut at = i;
        while at > 0 && documents[at].0 < documents[at - 1].0 {
            if steps == 0 {
                documents.sort_by(|(a, _), (b, _)| a.cmp(b));
                return;
            }
            documents.swap(at, at - 1);
            steps -= 1;
            at -= 1;
        }
    }
}

/// Returns positions at which the members that begin at `from` may be split, `from` first: at strings that
/// look like keys of documents. A wrong guess is detected and only costs time.
fn cuts(text: &str, from: usize, piece: usize) -> Vec<usize> {
    let bytes = text.as_bytes();
    let mut cuts = vec![from];
    let mut at = from.saturating_add(piece);
    while let Some(found) = bytes.get(at..).and_then(|rest| rest.windows(3).position(|three| three == b"/.z"))
    {
        let Some(quote) = bytes[from..at + found].iter().rposition(|&byte| byte == b'"') else { break };
        if cuts.last().is_some_and(|&last| last < from + quote) {
            cuts.push(from + quote);
        }
        at = (at + found + 3).saturating_add(piece);
    }
    cuts
}

/// Renders the document that repeats these texts.
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

    fn whole(document: &str) -> Option<ObjectMembers<'_>> {
        match json::read(document.as_bytes(), &Limits::default()) {
            Ok(Value::Object(members)) => Some(members),
            _ => None,
        }
    }

    /// Splits a document, parses its parts and joins them.
    fn together(document: &str, piece: usize) -> Option<ObjectMembers<'_>> {
        let (mut members, documents) = split(document, &Limits::default(), piece)?;
        let mut all = ObjectMembers::new();
        for (key, document) in documents {
            all.insert(key, document.value(&Limits::default()).unwrap().into_owned());
        }
        members.insert("metadata", Value::Object(all));
        Some(members)
    }

    proptest! {
        /// The search finds each document from any starting point and in any order of documents.
        #[test]
        fn a_guess_changes_nothing(
            names in prop::collection::btree_set("([a-c]/)?[a-c]{1,3}", 0..20),
            order in prop::collection::vec(any::<prop::sample::Index>(), 20),
            looks in prop::collection::vec(("[a-c]?", "[a-c]{1,3}", 0usize..25), 1..30),
        ) {
            let mut documents: Vec<_> = names.iter().map(|name| (Cow::from(name.clone()), LazyDocument::Read(Box::new(Value::Null)))).collect();
            for i in 1..documents.len() {
                let other = order[i % order.len()].index(documents.len());
                documents.swap(i, other);
            }
            sort(&mut documents);
            prop_assert!(documents.iter().map(|(key, _)| &**key).eq(names.iter().map(String::as_str)));
            let consolidated = Consolidated { documents, unnameable: Vec::new() };
            for (node, name, mut place) in looks {
                let node = Key::new(&node).unwrap();
                let key = node.join(&name).unwrap();
                let found = consolidated.document_near(&node, &name, &mut place).is_some();
                prop_assert_eq!(found, names.contains(key.as_str()));
                prop_assert_eq!(consolidated.document(&key).is_some(), found);
                prop_assert!(!found || consolidated.documents[place].0 == key.as_str());
            }
        }

        /// A document read in parts equals the document read as a whole. The parser may refuse to split a
        /// document.
        #[test]
        fn parts_make_the_whole(
            pieces in prop::collection::vec(prop::sample::select(vec![
                "{", "}", "[", "]", ",", ":", "\"a\"", "\"}\\\"\"", "\"metadata\"", "{\"k\":[1,{}]}", "\"b/c\":", "\"a/.z\": {}", "/.z", "1",
                " ", "\n", "\"", "\\", "é", "01",
            ]), 0..14),
            head in prop::sample::select(vec!["", "{\"metadata\": {", "{\"metadata\": {\"a\": {}, \"b\": {\"x\": "]),
            tail in prop::sample::select(vec!["", "}}", "}}}", "}, \"zarr_consolidated_format\": 1}"]),
            piece in 0usize..20,
        ) {
            let document = format!("{head}{}{tail}", pieces.concat());
            if let Some(parts) = together(&document, piece) {
                prop_assert_eq!(Some(parts), whole(&document), "{}", document);
            }
        }
    }

    #[test]
    fn consolidated_documents_are_read_in_parts() {
        let mut many = String::from("{\n  \"zarr_consolidated_format\": 1, \"metadata\": {\"\": {}");
        for i in 0..500 {
            many += &format!(",\n\t\"v{i:03}/.zarray\": {{\"shape\": [{i}], \"s\": \"}}\\\"{{ \"}}");
        }
        many += "}}\n";
        for piece in [1, 7, 100, 1000, 10_000, usize::MAX] {
            assert_eq!(together(&many, piece).unwrap(), whole(&many).unwrap());
        }
        let read = read(&many).unwrap();
        assert_eq!(read.children(&Key::root()).len(), 500);
        assert!(read.document(&Key::new("v499/.zarray").unwrap()).is_some());
        for odd in [
            "{\"metadata\": {}, \"metadata\": {\"a\": {}}}",
            "{\"metadata\": {\"a\": {}, \"a\": {\"b\": 1}}}",
            "{\"metadata\": {\"a\": {\"b\": [1}}}",
            "{\"metadata\": {\"a\": }}",
            "{\"metadata\": {\"a\": 1 2}}",
            "{\"metadata\": {\"a\": {}}} x",
            "[]",
            "",
        ] {
            assert_eq!(together(odd, 1), None, "{odd}");
        }
    }

    #[test]
    fn limits_hold_for_the_parts_together() {
        let document = "{\"metadata\": {\"a\": {\"x\": [1,2,3]}, \"b\": {\"x\": [1,2,3]}}, \"zarr_consolidated_format\": 1}";
        let mut limits = Limits::default();
        for (values, depth) in [(7, 4), (6, 4), (7, 3)] {
            limits.document = 128 * values;
            limits.json_depth = depth;
            let whole = json::read(document.as_bytes(), &limits).is_ok();
            assert_eq!(split(document, &limits, 1).is_some(), whole, "{values} values, {depth} deep");
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
        let documents = [
            (key(".zgroup"), "{\"zarr_format\": 2}"),
            (key("g/h/v/.zarray"), "{}"),
            (key("b/.zattrs"), "{}"),
        ];
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
        let deep =
            format!("{{\"metadata\": {{\"{}a\": 1}}, \"zarr_consolidated_format\": 1}}", "x/".repeat(20_000));
        assert_eq!(read(&deep).unwrap_err().kind(), ErrorKind::ZarrMeta);
    }
}
