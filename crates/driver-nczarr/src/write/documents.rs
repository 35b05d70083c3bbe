//! The documents of a node: their kinds, texts and keys.

use std::sync::Arc;

use nczarr_model::Result;
use nczarr_storage::Key;

use crate::dataset::node_id::NodeId;
use crate::dataset::node_states::NodeStates;
use crate::metadata::v2::{ZARRAY, ZATTRS, ZGROUP};
use crate::metadata::v3::document::ZARR_JSON;

/// A document of a node, in the order of writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DocumentKind {
    Attrs = 0,
    Marker = 1,
}

/// The texts of a node's documents, by [`DocumentKind`]; `None` for one that this library does not write.
/// Arrays with equal documents share the text.
pub(crate) type NodeTexts = [Option<Arc<str>>; 2];

impl NodeId {
    /// Sets `key` to the key of a document.
    pub(crate) fn key(self, state: &NodeStates, part: DocumentKind, key: &mut Key) -> Result<()> {
        if state.single_document {
            key.set(match self {
                Self::Group(id) => &state.group(id)?.key,
                Self::Var(id) => &state.var(id)?.key,
            });
            return key.push(ZARR_JSON);
        }
        let (base, marker) = match self {
            Self::Group(id) => (&state.group(id)?.key, ZGROUP),
            Self::Var(id) => (&state.var(id)?.key, ZARRAY),
        };
        key.set(base);
        key.push(if part == DocumentKind::Attrs { ZATTRS } else { marker })
    }
}
