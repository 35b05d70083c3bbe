//! Consolidated metadata beside the documents that they repeat.

use std::collections::{BTreeMap, BTreeSet};

use nczarr_dispatch::Fault;

use crate::consolidated::ZMETADATA;
use crate::json::Json;
use crate::v3::document::ZARR_JSON;

/// Finds documents of which the consolidated metadata say something else.
pub(super) fn compare(documents: &BTreeMap<String, Json>, faults: &mut Vec<Fault>) {
    let Some((place, copies)) = copies(documents) else { return };
    let mut stale = |text: String| faults.push(Fault::inconsistent(place, text));
    for (key, copy) in &copies {
        match documents.get(key) {
            Some(document) if bare(document) != bare(copy) => {
                stale(format!("is stale: its copy of {key} differs from the document"));
            }
            Some(_) => {}
            None => stale(format!("is stale: it has a copy of {key}, which does not exist")),
        }
    }
    let known: BTreeSet<&str> = copies.iter().map(|(key, _)| key.as_str()).collect();
    // Documents of the other version of Zarr are not repeated.
    let is_repeated = |key: &str| (place == ZARR_JSON) == (key.rsplit('/').next() == Some(ZARR_JSON));
    for key in documents.keys().filter(|key| *key != place && is_repeated(key) && !known.contains(key.as_str())) {
        stale(format!("is stale: it has no copy of {key}"));
    }
}

/// The document with the copies, and the copies by their keys.
fn copies(documents: &BTreeMap<String, Json>) -> Option<(&'static str, Vec<(String, &Json)>)> {
    let members = |document: &'static str, path: &[&str]| {
        let mut value = documents.get(document)?;
        for name in path {
            value = value.as_object()?.get(name)?;
        }
        value.as_object()
    };
    if let Some(all) = members(ZARR_JSON, &["consolidated_metadata", "metadata"]) {
        return Some((ZARR_JSON, all.iter().map(|(path, copy)| (format!("{path}/{ZARR_JSON}"), copy)).collect()));
    }
    let all = members(ZMETADATA, &["metadata"])?;
    Some((ZMETADATA, all.iter().map(|(key, copy)| (key.to_owned(), copy)).collect()))
}

/// A document without the copies that it may hold itself.
fn bare(document: &Json) -> nczarr_dispatch::Json {
    let mut document = document.to_serde();
    if let Some(members) = document.as_object_mut() {
        members.remove("consolidated_metadata");
    }
    document
}
