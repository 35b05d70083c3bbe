//! Opening over a network: prefetches all metadata documents in few rounds.
//!
//! `discover` requests the root's documents and the listing of all keys together. If the listing fits in one
//! piece, one batch reads all documents that it names, and lower groups are then found in memory. Otherwise,
//! in a store of many chunks, each level of groups needs one batch of listings and one of documents.

use std::sync::Arc;

use nczarr_dispatch::MountedMap;
use nczarr_storage::{Key, PrefetchedMap};

use crate::legacy::{NCZATTR, NCZGROUP, NCZVAR};
use crate::metadata::v2::{ZARRAY, ZATTRS, ZGROUP};
use crate::metadata::v3::document::ZARR_JSON;
use crate::open::metadata_reader::MetadataReader;

/// The names of all documents of nodes.
const DOCUMENTS: &[&str] = &[ZARRAY, ZATTRS, ZGROUP, ZARR_JSON, NCZGROUP, NCZVAR, NCZATTR];

/// Returns the prefetching overlay of a remote map; `None` for a local map.
pub(super) fn prefetched_map(mounted: &MountedMap) -> Option<Arc<PrefetchedMap>> {
    match &mounted.prefetched {
        Some(prefetched) => Some(Arc::clone(prefetched)),
        None => mounted.caps().remote.then(|| Arc::new(PrefetchedMap::new(Arc::clone(&mounted.map)))),
    }
}

/// Prefetches the documents of all nodes, if the map is remote and the listing is complete.
pub(super) fn prefetch_all(reader: &MetadataReader<'_>) {
    let Some(prefetched) = reader.prefetched else { return };
    prefetched.prefetch(&[], reader.limits, true);
    let Some(keys) = prefetched.cached_keys() else { return };
    let documents: Vec<Key> = keys.iter().filter(|key| DOCUMENTS.contains(&key.name())).cloned().collect();
    prefetched.prefetch(&documents, reader.limits, false);
}
