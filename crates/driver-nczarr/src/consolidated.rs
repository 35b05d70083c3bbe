//! Consolidated metadata: the `.zmetadata` document of the root, which repeats all others.
//!
//! For reading it answers in place of the documents. A session that changes metadata writes it anew, from the texts
//! it wrote or knows, if it was there or was asked for. What the documents mean is not known here.
//!
//! Source: the convention of zarr-python 2 (`zarr_consolidated_format` 1).

use std::collections::{BTreeSet, HashMap};

use dispatch::{Key, Limits};
use model::{ErrorKind, Result};

use crate::json::{Json, Object, quote, text};

/// The key of the document.
pub(crate) const ZMETADATA: &str = ".zmetadata";

/// Keys with more segments are refused: nothing nests so deep, and every prefix is kept.
const MAX_SEGMENTS: usize = 256;

/// Documents by key, and the tree their keys make.
#[derive(Debug)]
pub(crate) struct Consolidated {
    documents: Object,
    children: HashMap<String, BTreeSet<String>>,
}

impl Consolidated {
    /// Reads the document.
    ///
    /// # Errors
    /// [`ErrorKind::ZarrMeta`] if it is of another format or not an object of objects.
    pub(crate) fn parse(document: Json, limits: &Limits) -> Result<Self> {
        let Json::Object(mut members) = document else {
            return Err(ErrorKind::ZarrMeta.context(format!("expected an object, found {}", document.kind())));
        };
        let format = members.get("zarr_consolidated_format");
        if format.and_then(Json::as_u64) != Some(1) {
            let found = format.map_or("nothing".to_owned(), text);
            return Err(
                ErrorKind::ZarrMeta.context(format!("member \"zarr_consolidated_format\": expected 1, found {found}"))
            );
        }
        let documents = match members.shift_remove("metadata") {
            Some(Json::Object(documents)) => documents,
            other => {
                let found = other.as_ref().map_or("nothing", Json::kind);
                return Err(
                    ErrorKind::ZarrMeta.context(format!("member \"metadata\": expected an object, found {found}"))
                );
            }
        };
        let mut children: HashMap<String, BTreeSet<String>> = HashMap::new();
        for (key, document) in &documents {
            if document.as_object().is_none() {
                let found = document.kind();
                return Err(ErrorKind::ZarrMeta
                    .context(format!("member \"metadata\": {key:?}: expected an object, found {found}")));
            }
            let checked = Key::new(key).map_err(|error| {
                ErrorKind::ZarrMeta.context(format!("member \"metadata\": illegal key {key:?}")).caused_by(error)
            })?;
            let segments: Vec<&str> = checked.segments().collect();
            if segments.len() > MAX_SEGMENTS || key.len() > limits.key {
                return Err(ErrorKind::ZarrMeta.context(format!(
                    "member \"metadata\": a key of {} segments and {} bytes exceeds the limits of {MAX_SEGMENTS} and {}",
                    segments.len(),
                    key.len(),
                    limits.key
                )));
            }
            let mut prefix = String::new();
            for name in segments.iter().take(segments.len().saturating_sub(1)) {
                children.entry(prefix.clone()).or_default().insert((*name).to_owned());
                if !prefix.is_empty() {
                    prefix.push('/');
                }
                prefix.push_str(name);
            }
        }
        Ok(Self { documents, children })
    }

    /// The document of a key.
    pub(crate) fn document(&self, key: &Key) -> Option<&Json> {
        self.documents.get(key.as_str())
    }

    /// The names of the nodes right below `prefix`, sorted bytewise.
    pub(crate) fn children(&self, prefix: &Key) -> Vec<String> {
        self.children.get(prefix.as_str()).map(|names| names.iter().cloned().collect()).unwrap_or_default()
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
    use crate::json::parse;

    fn read(document: &str) -> Result<Consolidated> {
        Consolidated::parse(parse(document.as_bytes(), &Limits::default())?, &Limits::default())
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
