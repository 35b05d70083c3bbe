//! Rewrites a legacy dataset in the current style, before its metadata is written for the first time.
//!
//! The dataset opens at every intermediate state: while the root has the legacy style, each other node may
//! have either style. So arrays come first, each with its attributes before its marker. Groups follow, each
//! after its contents, and the root last. Then the legacy documents are deleted. Each document is made from
//! the stored one, so concurrent changes survive. Values that are not legal JSON become legal and read as
//! before.

use nczarr_model::Result;
use nczarr_storage::Key;

use super::convert::{self, NodeDocuments};
use super::{NCZARR, NCZATTR, NCZGROUP, NCZVAR, NczarrVersion};
use crate::dataset::catalog::Catalog;
use crate::metadata::json::{self, Json, write_strict};
use crate::metadata::v2::{ZARRAY, ZATTRS, ZGROUP};
use crate::open::metadata_reader::read_here;
use crate::write::committed::CommittedMetadata;

/// A node and its documents: the marker, the attributes, and the two legacy documents.
struct UpgradedNode {
    is_array: bool,
    is_root: bool,
    keys: [Key; 4],
}

impl UpgradedNode {
    fn new(place: &Key, is_array: bool) -> Result<Self> {
        let (marker, own) = if is_array { (ZARRAY, NCZVAR) } else { (ZGROUP, NCZGROUP) };
        let keys = [place.join(marker)?, place.join(ZATTRS)?, place.join(own)?, place.join(NCZATTR)?];
        Ok(Self { is_array, is_root: place.is_root(), keys })
    }
}

/// Rewrites the stored metadata in the current style.
#[derive(Clone, Copy)]
pub(crate) struct LegacyUpgrade<'c> {
    pub(crate) catalog: &'c Catalog,
}

impl LegacyUpgrade<'_> {
    /// Upgrades the stored metadata if it has a legacy style.
    ///
    /// # Errors
    /// Errors of the storage, and invalid documents; the next call does the rest.
    pub(crate) fn upgrade(&self, committed: &mut CommittedMetadata) -> Result<()> {
        let Some(generation) = committed.legacy else { return Ok(()) };
        let mut nodes = Vec::new();
        {
            let state = self.catalog.read_state();
            for var in state.vars.iter().take(committed.vars.len()) {
                nodes.push(UpgradedNode::new(&var.key, true)?);
            }
            // A group comes after its parent.
            for group in state.groups.iter().take(committed.groups.len()).rev() {
                nodes.push(UpgradedNode::new(&group.key, false)?);
            }
        }
        let keys: Vec<Key> = nodes.iter().flat_map(|node| node.keys.iter().cloned()).collect();
        let found = read_here(&*self.catalog.map, &keys, &self.catalog.options.limits);
        let found = found.into_iter().collect::<Result<Vec<_>>>()?;
        for (node, found) in nodes.iter().zip(found.as_chunks::<4>().0) {
            self.upgrade_node(node, found, generation)?;
        }
        // The current documents exist, so the legacy ones are obsolete.
        for (node, found) in nodes.iter().zip(found.as_chunks::<4>().0) {
            for (key, _) in node.keys.iter().zip(found).skip(2).filter(|(_, found)| found.is_some()) {
                self.catalog.map.delete(key)?;
            }
        }
        if generation == NczarrVersion::SeparateKeys {
            self.catalog.map.delete(&Key::new(NCZARR)?)?;
        }
        (committed.legacy, committed.consolidated) = (None, false);
        Ok(())
    }

    fn upgrade_node(
        &self,
        node: &UpgradedNode,
        found: &[Option<Json>; 4],
        generation: NczarrVersion,
    ) -> Result<()> {
        let [marker, attrs, own, types] = found.each_ref().map(Option::as_ref);
        let [marker_key, attrs_key, ..] = &node.keys;
        if !attrs.is_some_and(convert::is_current) {
            self.replace(attrs_key, |attrs| {
                let documents = NodeDocuments { marker, attrs, own, types };
                let attrs = if node.is_array {
                    convert::array(documents)
                } else {
                    convert::group(documents, generation, node.is_root)
                };
                attrs.map(|attrs| convert::make_strict(attrs, &self.catalog.options.limits)).transpose()
            })?;
        }
        let plain = || Json::Object([("zarr_format", Json::int(2))].into_iter().collect());
        let turned = |marker: Option<&Json>| match marker {
            Some(marker) => Some(convert::marker(marker, self.catalog.description.writer_bugs)),
            None => (!node.is_array).then(plain),
        };
        if turned(marker).as_ref() != marker {
            self.replace(marker_key, |marker| Ok(turned(marker)))?;
        }
        Ok(())
    }

    /// Replaces the document at `key` by the result of `make`.
    fn replace(&self, key: &Key, make: impl Fn(Option<&Json>) -> Result<Option<Json>>) -> Result<()> {
        let limits = &self.catalog.options.limits;
        let limit = usize::try_from(limits.document).unwrap_or(usize::MAX);
        self.catalog.map.update(key, limit, &mut |old, new| {
            let old = old.map(|old| json::parse(old, limits)).transpose().map_err(|error| error.at(key))?;
            let mut text = String::new();
            let made = make(old.as_ref()).map_err(|error| error.at(key))?;
            write_strict(&made.unwrap_or(Json::Object(json::ObjectMembers::new())), &mut text);
            new.extend_from_slice(text.as_bytes());
            Ok(())
        })
    }
}
