//! Comparison of consolidated metadata with the documents that it repeats.

use std::collections::{BTreeMap, BTreeSet};

use nczarr_dispatch::Fault;

use crate::metadata::json::Json;
use crate::metadata::v2::consolidated::ZMETADATA;
use crate::metadata::v3::document::ZARR_JSON;

/// Finds documents that differ from their copy in the consolidated metadata.
pub(super) fn compare(documents: &BTreeMap<String, Json>, faults: &mut Vec<Fault>) {
    let Some((place, copies)) = copies(documents) else { return };
    let mut stale = |text: String| faults.push(Fault::inconsistent(place, text));
    for (key, copy) in &copies {
        match documents.get(key) {
            Some(document) if without_consolidated(document) != without_consolidated(copy) => {
                stale(format!("is stale: its copy of {key} differs from the document"));
            }
            Some(_) => {}
            None => stale(format!("is stale: it has a copy of {key}, which does not exist")),
        }
    }
    let known: BTreeSet<&str> = copies.iter().map(|(key, _)| key.as_str()).collect();
    // Consolidated metadata does not repeat documents of the other version of Zarr.
    let is_repeated = |key: &str| (place == ZARR_JSON) == (key.rsplit('/').next() == Some(ZARR_JSON));
    for key in
        documents.keys().filter(|key| *key != place && is_repeated(key) && !known.contains(key.as_str()))
    {
        stale(format!("is stale: it has no copy of {key}"));
    }
}

/// Returns the key of the consolidated metadata, and the copies by key.
fn copies(documents: &BTreeMap<String, Json>) -> Option<(&'static str, Vec<(String, &Json)>)> {
    let members = |document: &'static str, path: &[&str]| {
        let mut value = documents.get(document)?;
        for name in path {
            value = value.as_object()?.get(name)?;
        }
        value.as_object()
    };
    if let Some(all) = members(ZARR_JSON, &["consolidated_metadata", "metadata"]) {
        return Some((
            ZARR_JSON,
            all.iter().map(|(path, copy)| (format!("{path}/{ZARR_JSON}"), copy)).collect(),
        ));
    }
    let all = members(ZMETADATA, &["metadata"])?;
    Some((ZMETADATA, all.iter().map(|(key, copy)| (key.to_owned(), copy)).collect()))
}

/// Returns a document without consolidated metadata of its own.
fn without_consolidated(document: &Json) -> nczarr_codec::Json {
    let mut document = document.to_serde();
    if let Some(members) = document.as_object_mut() {
        members.remove("consolidated_metadata");
    }
    document
}
