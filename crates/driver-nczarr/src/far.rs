//! Opening a store far away, where each operation is a request: all documents there are, read at once.
//!
//! The root's documents and the list of all keys are asked for together (`open`). If the list is short enough to come in one
//! piece, what it names is read in one batch, and the levels of groups below are found in memory. If it is not, in a store of
//! many chunks, each level of groups is a batch of lists and a batch of documents.

use std::sync::Arc;

use nczarr_dispatch::{Key, Limits, MountedMap, PrefetchedMap};

use crate::older::{NCZATTR, NCZGROUP, NCZVAR};
use crate::tree::{ZARRAY, ZATTRS, ZGROUP};
use crate::v3::document::ZARR_JSON;

/// What nodes have of documents.
const DOCUMENTS: &[&str] = &[ZARRAY, ZATTRS, ZGROUP, ZARR_JSON, NCZGROUP, NCZVAR, NCZATTR];

/// What was seen of a map far away, or will be; none of one at hand.
pub(crate) fn survey(mounted: &MountedMap) -> Option<Arc<PrefetchedMap>> {
    match &mounted.prefetched {
        Some(survey) => Some(Arc::clone(survey)),
        None => mounted.caps().remote.then(|| Arc::new(PrefetchedMap::new(Arc::clone(&mounted.map)))),
    }
}

/// Reads the documents of all nodes, if it is known which there are.
pub(crate) fn look_at_all(survey: &PrefetchedMap, limits: &Limits) {
    survey.prefetch(&[], limits, true);
    let Some(keys) = survey.keys() else { return };
    let documents: Vec<Key> = keys.iter().filter(|key| DOCUMENTS.contains(&key.name())).cloned().collect();
    survey.prefetch(&documents, limits, false);
}
