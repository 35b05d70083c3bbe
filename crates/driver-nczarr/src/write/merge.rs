//! Merging of documents that several writers store: lengths of unlimited dimensions by maximum
//! ([`LengthMerge`]), lists of a group by union (`merge_lists`).
//!
//! This module does no I/O: `store` passes the stored text and gets the merged one.

use nczarr_codec::ZarrFormat;
use nczarr_dispatch::Limits;
use nczarr_model::{ErrorKind, Result};

use crate::metadata::json::{self, Json, Object};
use crate::write::length_merge::LengthMerge;
use crate::write::merge_attributes::merge_attributes;
use crate::write::merge_v3;

/// The result of a merge.
#[derive(Debug)]
pub(crate) struct MergedDocument {
    pub(crate) text: String,
    /// Names whose listing is in doubt. The stored list may lack a name that this session stored: the node
    /// may be gone, or the other writer did not know it. Or the stored list has a new name: a rename may be
    /// incomplete.
    pub(crate) doubtful: Vec<String>,
}

/// The kind of document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MergeKind {
    /// The only document of a node, as in V3.
    SingleDocument,
    /// Attributes alone.
    Attrs,
    /// The document that makes a node an array, in V2.
    Marker,
}

/// Merges the changes from `base` to `ours` into the stored text `old`. Names in `gone` are not listed.
///
/// # Errors
/// `NC_ENCZARR` if a text cannot be parsed, or the stored node is another one.
pub(crate) fn merge_documents(
    merge: &LengthMerge,
    kind: MergeKind,
    [ours, base]: [&str; 2],
    old: &[u8],
    gone: &[String],
    limits: &Limits,
) -> Result<MergedDocument> {
    let mut missing = Vec::new();
    if old == base.as_bytes() && gone.is_empty() {
        // No other writer stored anything, and our lengths only grow.
        return Ok(MergedDocument { text: ours.to_owned(), doubtful: missing });
    }
    // A document that became unreadable stays: it may hold changes of another writer.
    let other = json::parse(old, limits)?;
    let found = other.kind();
    let other = other.into_object();
    let other =
        other.ok_or_else(|| ErrorKind::NcZarr.context(format!("expected an object, found {found}")))?;
    let object = |text: &str| -> Result<Object> {
        Ok(json::parse(text.as_bytes(), limits)?.into_object().unwrap_or_default())
    };
    let texts = [object(ours)?, object(base)?, other];
    let all = match kind {
        MergeKind::SingleDocument => {
            Json::Object(merge_v3::merge_document(merge, &texts, gone, &mut missing)?)
        }
        MergeKind::Attrs => {
            Json::Object(merge_attributes(merge, ZarrFormat::V2, texts.each_ref(), gone, &mut missing)?)
        }
        MergeKind::Marker => {
            let [ours, _, other] = texts;
            let mut ours = Json::Object(ours);
            merge.raise(&mut ours, &Json::Object(other));
            ours
        }
    };
    let mut text = String::with_capacity(old.len() + 64);
    json::write_strict(&all, &mut text);
    Ok(MergedDocument { text, doubtful: missing })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn additions_of_others_and_own_deletions_are_merged() {
        let document = |arrays: &str, dims: &str| {
            format!(
                "{{\"_nczarr_group\": {{\"dimensions\": {{{dims}}}, \"arrays\": [{arrays}], \"groups\": []}}}}"
            )
        };
        let group = |ours: &str, base: &str, other: &str, gone: &[String]| {
            merge_documents(
                &LengthMerge::Group(Vec::new()),
                MergeKind::Attrs,
                [ours, base],
                other.as_bytes(),
                gone,
                &Limits::default(),
            )
            .unwrap()
        };
        for (base, ours, other, gone, expected, missing) in [
            ("", "\"a\"", "", "", "\"a\"", ""),
            ("", "\"a\"", "\"b\"", "", "\"a\",\"b\"", "b"),
            ("", "\"a\"", "\"b\"", "b", "\"a\"", ""),
            ("\"x\"", "\"y\"", "\"x\",\"z\"", "", "\"y\",\"z\"", "z"),
            ("\"x\"", "\"x\",\"y\"", "\"x\",\"y\"", "", "\"x\",\"y\"", ""),
            // Another writer renamed `x`, or wrote the list without it.
            ("\"x\"", "\"x\"", "\"w\"", "", "\"x\",\"w\"", "x,w"),
            ("\"x\"", "\"x\"", "\"w\"", "x", "\"w\"", "w"),
        ] {
            let [base, ours, other, expected] =
                [base, ours, other, expected].map(|arrays| document(arrays, ""));
            let found = group(&ours, &base, &other, &[gone.to_owned()]);
            assert_eq!((found.text, found.doubtful.join(",")), (expected, missing.to_owned()));
        }
        let dims = |dims: &str| document("", dims);
        let (base, ours) = (dims("\"t\": 2, \"u\": 3"), dims("\"t\": 2, \"v\": 3"));
        let other = dims("\"t\": 2, \"u\": 3, \"s\": {\"size\": 4, \"unlimited\": 1}");
        assert_eq!(
            group(&ours, &base, &other, &[]).text,
            dims("\"t\": 2, \"v\": 3, \"s\": {\"size\": 4, \"unlimited\": 1}")
        );
        // A document without lists adds nothing.
        for other in ["{\"_nczarr_group\": 1}", "{\"_nczarr_group\": {\"arrays\": 5, \"dimensions\": []}}"] {
            assert_eq!(group(&ours, &base, other, &[]).text, ours, "{other}");
        }
    }
}
