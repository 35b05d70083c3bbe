//! Inline consolidated metadata: the member of the root's `zarr.json` that repeats the documents of all nodes
//! below.
//!
//! [`take`] converts it for readers to [`Consolidated`]; [`InlineMetadata`] writes it into the root's
//! document. A defect in it never prevents opening: the member is optional, and the documents exist.
//!
//! Source: the convention of zarr-python 3 (`kind` is `inline`), in the format notes.

use std::borrow::Cow;

use nczarr_dispatch::Limits;
use nczarr_model::{Error, ErrorKind, Result};
use nczarr_storage::Key;

use super::document::{self, CONSOLIDATED, ZARR_JSON};
use crate::metadata::json::{Value, quote};
use crate::metadata::v2::consolidated::{Consolidated, LazyDocument};

/// Removes it from the document of a root group and parses it; `None` if absent.
///
/// # Errors
/// [`ErrorKind::ZarrMeta`], or the error of a key, if it is unusable.
pub(crate) fn take<'t>(root: &mut Value<'t>, limits: &Limits) -> Option<Result<Consolidated<'t>>> {
    let Value::Object(members) = root else { return None };
    match members.remove(CONSOLIDATED)? {
        // Early writers wrote `null` for none.
        Value::Null => None,
        found => Some(read(found, limits).map_err(|error| error.at(format_args!("member {CONSOLIDATED:?}")))),
    }
}

fn read<'t>(found: Value<'t>, limits: &Limits) -> Result<Consolidated<'t>> {
    let wrong = |what: &str, found: Option<&Value<'_>>| -> Error {
        let found = found.map_or_else(|| "nothing".to_owned(), super::types::short);
        ErrorKind::ZarrMeta.context(format!("expected {what}, found {found}"))
    };
    let Value::Object(mut members) = found else { return Err(wrong("an object", Some(&found))) };
    if members.get("kind").and_then(Value::as_str) != Some("inline") {
        return Err(wrong("the kind \"inline\"", members.get("kind")));
    }
    let nodes = match members.remove("metadata") {
        Some(Value::Object(nodes)) => nodes.into_list(),
        other => return Err(wrong("\"metadata\" with an object", other.as_ref())),
    };
    let mut documents = Vec::with_capacity(nodes.len());
    for (path, value) in nodes {
        document::node_type(&value).map_err(|error| error.at(format_args!("node {path:?}")))?;
        documents.push((Cow::Owned(format!("{path}/{ZARR_JSON}")), LazyDocument::Read(Box::new(value))));
    }
    Consolidated::of(documents, limits)
}

/// The member under construction.
pub(crate) struct InlineMetadata {
    text: String,
    is_first: bool,
}

impl InlineMetadata {
    pub(crate) fn new() -> Self {
        let text = format!(
            "\"{CONSOLIDATED}\": {{\"kind\": \"inline\", \"must_understand\": false, \"metadata\": {{"
        );
        Self { text, is_first: true }
    }

    /// Adds the document of a node below the root. A group also gets an empty consolidated member.
    pub(crate) fn add(&mut self, node: &Key, document: &str, is_group: bool) {
        if !std::mem::take(&mut self.is_first) {
            self.text.push_str(", ");
        }
        self.text.push_str(&quote(node.as_str()));
        self.text.push_str(": ");
        match is_group.then(|| within(document, &format!("{}}}}}", Self::new().text))).flatten() {
            Some(text) => self.text.push_str(&text),
            None => self.text.push_str(document),
        }
    }

    /// Returns the root's document with this member; `None` if the document is not an object.
    pub(crate) fn in_root(&self, document: &str) -> Option<String> {
        within(document, &format!("{}}}}}", self.text))
    }
}

/// Adds a member to a non-empty object.
fn within(object: &str, member: &str) -> Option<String> {
    let open = object.trim_end().strip_suffix('}')?.trim_end();
    let between = if open.ends_with('{') { "" } else { ", " };
    Some(format!("{open}{between}{member}}}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::json;

    fn parsed(text: &str) -> Value<'_> {
        json::read(text.as_bytes(), &Limits::default()).unwrap()
    }

    #[test]
    fn written_consolidated_metadata_parses_back() {
        let key = |text| Key::new(text).unwrap();
        let mut inline = InlineMetadata::new();
        let (group, array) =
            (r#"{"zarr_format": 3, "node_type": "group"}"#, r#"{"zarr_format": 3, "node_type": "array"}"#);
        inline.add(&key("g"), group, true);
        inline.add(&key("g/größe \"x\""), array, false);
        let text = inline.in_root("{\"zarr_format\": 3, \"node_type\": \"group\"}\n").unwrap();
        let mut root = parsed(&text);
        let inner = r#"{"kind": "inline", "must_understand": false, "metadata": {}}"#;
        let nested = root.as_object().unwrap().get(CONSOLIDATED).unwrap().clone();
        let metadata = nested.as_object().unwrap().get("metadata").unwrap().as_object().unwrap();
        assert_eq!(metadata.get("g").unwrap().as_object().unwrap().get(CONSOLIDATED), Some(&parsed(inner)));
        let read = take(&mut root, &Limits::default()).unwrap().unwrap();
        assert_eq!(root, parsed(group));
        assert_eq!(
            (read.children(&Key::root()), read.children(&key("g"))),
            (vec!["g".into()], vec!["größe \"x\"".into()])
        );
        assert!(read.document(&key("g/größe \"x\"/zarr.json")).is_some());
        assert!(read.document(&key("g/zarr.json")).is_some());
    }

    #[test]
    fn absent_and_invalid_consolidated_metadata() {
        let found = |member: &str| {
            take(&mut parsed(&format!("{{{member}}}")), &Limits::default()).map(|found| found.map(drop))
        };
        assert!(found("").is_none() && found(r#""consolidated_metadata": null"#).is_none());
        for (bad, word) in [
            ("7", "an object"),
            ("{}", "inline"),
            (r#"{"kind": "file", "metadata": {}}"#, "inline"),
            (r#"{"kind": "inline"}"#, "metadata"),
            (r#"{"kind": "inline", "metadata": []}"#, "metadata"),
            (r#"{"kind": "inline", "metadata": {"a": 1}}"#, "\"a\""),
            (
                r#"{"kind": "inline", "metadata": {"a": {"zarr_format": 2, "node_type": "array"}}}"#,
                "zarr_format",
            ),
            (r#"{"kind": "inline", "metadata": {"/a": {"zarr_format": 3, "node_type": "array"}}}"#, "/a"),
            (r#"{"kind": "inline", "metadata": {"a/../b": {"zarr_format": 3, "node_type": "array"}}}"#, ".."),
        ] {
            let error = found(&format!("\"consolidated_metadata\": {bad}")).unwrap().unwrap_err();
            assert!(error.to_string().contains(word), "{bad}: {error}");
        }
    }
}
