//! Writing of consolidated metadata: one document that repeats all others.
//!
//! Other writers may have stored more than this session knows. So the documents are read back, unless this
//! process is the only writer. If the store has nodes that the model lacks, no consolidated metadata is
//! written, rather than an incomplete one. `commit` decides when to write it.

use std::borrow::Cow;
use std::collections::HashSet;

use nczarr_codec::ZarrFormat;
use nczarr_model::{ErrorKind, GroupId, Model, Result};
use nczarr_storage::{Key, ZMapExt};

use crate::dataset::catalog::Catalog;
use crate::dataset::node_id::NodeId;
use crate::dataset::node_states::VarState;
use crate::flavour::kind::Flavour;
use crate::metadata::json::{Json, text};
use crate::metadata::v2::ZARRAY;
use crate::metadata::v2::consolidated::{self, ZMETADATA};
use crate::metadata::v3;
use crate::metadata::v3::document::ZARR_JSON;
use crate::metadata::variable::StoredVariable;
use crate::write::committed::CommittedMetadata;
use crate::write::documents::DocumentKind;
use crate::write::merge_lists;
use crate::write::merge_v3;
use crate::write::remove_consolidated::remove_inline;
use crate::write::store::DocumentStore;

/// One document in the consolidated metadata.
struct ConsolidatedDocument<'t> {
    node: NodeId,
    key: Key,
    text: Cow<'t, str>,
}

/// A document whose text may be known.
type KnownDocument<'c> = (NodeId, DocumentKind, Key, Option<&'c str>);

/// How often the consolidated metadata is written again because another writer changed a document.
const MAX_ATTEMPTS: usize = 8;

/// Whether two readings found the same documents. In V3, the root's document contains the consolidated
/// metadata and is not repeated there.
fn same_documents(one: &[ConsolidatedDocument<'_>], other: &[ConsolidatedDocument<'_>], is_v3: bool) -> bool {
    let is_root = |document: &ConsolidatedDocument<'_>| document.node == NodeId::Group(GroupId::ROOT);
    one.len() == other.len()
        && one.iter().zip(other).all(|(one, other)| {
            one.node == other.node
                && one.key == other.key
                && (is_v3 && is_root(one) || one.text == other.text)
        })
}

/// Writes consolidated metadata.
#[derive(Clone, Copy)]
pub(crate) struct ConsolidatedWriter<'c> {
    pub(crate) catalog: &'c Catalog,
}

impl ConsolidatedWriter<'_> {
    /// Writes consolidated metadata, or removes it if it would lack nodes of other writers. `is_ours`: no
    /// other process can have written.
    ///
    /// # Errors
    /// Errors of the storage, and documents that cannot be parsed.
    pub(crate) fn write(&self, model: &Model, committed: &CommittedMetadata, is_ours: bool) -> Result<()> {
        let is_v3 = self.catalog.format == ZarrFormat::V3;
        if is_v3 && self.catalog.root_array {
            return Ok(());
        }
        let known = self.known(model, committed)?;
        if self.has_unreadable() {
            // The consolidated metadata would lack the unreadable nodes, and readers would treat them as
            // absent.
            return self.remove_consolidated();
        }
        if is_ours {
            let ours = known.into_iter().filter_map(|(node, _, key, text)| {
                Some(ConsolidatedDocument { node, key, text: text?.into() })
            });
            return self.write_repeated(&ours.collect::<Vec<_>>());
        }
        let Some(mut repeated) = self.read_back(model, &known)? else { return self.remove_consolidated() };
        for _ in 0..MAX_ATTEMPTS {
            self.write_repeated(&repeated)?;
            // A document may have changed after it was read, and its writer may have written the consolidated
            // metadata before this one.
            let Some(found) = self.read_back(model, &known)? else { return self.remove_consolidated() };
            if same_documents(&repeated, &found, is_v3) {
                return Ok(());
            }
            repeated = found;
        }
        // Other writers keep changing documents. The last of them finds no change and leaves the metadata
        // complete.
        Ok(())
    }

    fn write_repeated(&self, repeated: &[ConsolidatedDocument<'_>]) -> Result<()> {
        match self.catalog.format {
            ZarrFormat::V3 => self.write_inline(repeated),
            ZarrFormat::V2 => self.write_zmetadata(repeated),
        }
    }

    fn remove_consolidated(&self) -> Result<()> {
        match self.catalog.format {
            ZarrFormat::V3 => remove_inline(self.catalog, &Key::new(ZARR_JSON)?),
            ZarrFormat::V2 => self.catalog.map.delete(&Key::new(ZMETADATA)?).map(drop),
        }
    }

    /// Whether a document could not be read, so that it cannot be repeated.
    fn has_unreadable(&self) -> bool {
        let state = self.catalog.read_state();
        let is_torn = |var: &VarState| {
            let StoredVariable { meta, document, attrs_lost, .. } = &*var.stored;
            let lacks_all = meta.is_none() && document.is_none();
            var.on_disk && (lacks_all || *attrs_lost && self.catalog.format == ZarrFormat::V2)
        };
        state.groups.iter().any(|group| group.unreadable) || state.vars.iter().any(is_torn)
    }

    /// Returns the documents that were written or loaded. A V3 document without text is another writer's.
    fn known<'c>(&self, model: &Model, committed: &'c CommittedMetadata) -> Result<Vec<KnownDocument<'c>>> {
        let state = self.catalog.read_state();
        let mut known = Vec::new();
        for node in self.catalog.nodes(model) {
            for part in [DocumentKind::Marker, DocumentKind::Attrs] {
                let text = committed.texts(node)[part as usize].as_deref();
                if text.is_some() || state.single_document && part == DocumentKind::Marker {
                    let mut key = Key::root();
                    node.key(&state, part, &mut key)?;
                    known.push((node, part, key, text));
                }
            }
        }
        Ok(known)
    }

    /// Reads the current text of these documents; `None` if the store has a node that the model lacks.
    fn read_back(
        &self,
        model: &Model,
        known: &[KnownDocument<'_>],
    ) -> Result<Option<Vec<ConsolidatedDocument<'static>>>> {
        let keys: Vec<Key> = known.iter().map(|(_, _, key, _)| key.clone()).collect();
        let found =
            crate::open::metadata_reader::read_here(&*self.catalog.map, &keys, &self.catalog.options.limits);
        let (mut repeated, mut gone) = (Vec::with_capacity(keys.len()), None);
        for (&(node, part, ref key, _), found) in known.iter().zip(found) {
            // Skips nodes that another writer moved away.
            let Some(found) = found?.filter(|_| gone != Some(node)) else {
                gone = (part == DocumentKind::Marker).then_some(node).or(gone);
                continue;
            };
            let listed = match node {
                NodeId::Group(id) => self.stored_below(id, part, &found)?,
                NodeId::Var(_) => HashSet::new(),
            };
            if let NodeId::Group(id) = node
                && self.has_unknown_nodes(model, id, listed)?
            {
                return Ok(None);
            }
            repeated.push(ConsolidatedDocument {
                node,
                key: key.clone(),
                text: text(&found.to_strict()).into(),
            });
        }
        Ok(Some(repeated))
    }

    /// Returns the names of a group's children that this document lists. For plain Zarr the storage lists
    /// them, if it can.
    fn stored_below(&self, group: GroupId, part: DocumentKind, document: &Json) -> Result<HashSet<String>> {
        match (self.catalog.flavour, self.catalog.format) {
            (Flavour::NcZarr, ZarrFormat::V3) => Ok(v3::keys::group_attributes(document)?
                .as_ref()
                .map(merge_lists::listed)
                .unwrap_or_default()),
            (Flavour::NcZarr, _) => Ok(merge_lists::listed(document)),
            (Flavour::Zarr, _) if part == DocumentKind::Marker && self.catalog.map.caps().list => {
                let key = self.catalog.read_state().group(group)?.key.clone();
                Ok(self
                    .catalog
                    .map
                    .possible_children(&key)?
                    .into_iter()
                    .filter(|name| !name.starts_with('.'))
                    .collect())
            }
            (Flavour::Zarr, _) => Ok(HashSet::new()),
        }
    }

    /// Whether one of these names in a group belongs to a node that the model lacks.
    fn has_unknown_nodes(&self, model: &Model, id: GroupId, mut names: HashSet<String>) -> Result<bool> {
        let group = model.group(id)?;
        let here = {
            let state = self.catalog.read_state();
            let vars = group.vars.values().map(|&var| state.var(var).map(|var| &var.key));
            let groups = group.groups.values().map(|&group| state.group(group).map(|group| &group.key));
            for key in vars.chain(groups) {
                names.remove(key?.as_str().rsplit('/').next().unwrap_or_default());
            }
            state.group(id)?.key.clone()
        };
        let documents = DocumentStore { catalog: self.catalog };
        for name in names {
            // A name that is not a legal key names no stored node.
            if here.join(&name).is_ok() && documents.is_node(&here, &name)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn write_zmetadata(&self, repeated: &[ConsolidatedDocument<'_>]) -> Result<()> {
        // Damaged arrays stay listed with their document.
        let mut damaged = Vec::new();
        for var in &self.catalog.read_state().vars {
            if let Some(document) = &var.stored.document {
                damaged.push((var.key.join(ZARRAY)?, text(&document.to_strict())));
            }
        }
        let all = repeated.iter().map(|document| (&document.key, &*document.text));
        let text = consolidated::print(all.chain(damaged.iter().map(|(key, text)| (key, text.as_str()))));
        self.catalog.map.write(&Key::new(ZMETADATA)?, text.as_bytes())
    }

    /// Stores all other documents inside that of the root.
    fn write_inline(&self, repeated: &[ConsolidatedDocument<'_>]) -> Result<()> {
        let mut inline = v3::consolidated::InlineMetadata::new();
        for ConsolidatedDocument { node, key, text } in repeated {
            if *node != NodeId::Group(GroupId::ROOT) {
                inline.add(&key.parent().unwrap_or_default(), text, matches!(node, NodeId::Group(_)));
            }
        }
        let limits = &self.catalog.options.limits;
        let limit = usize::try_from(limits.document).unwrap_or(usize::MAX);
        DocumentStore { catalog: self.catalog }.update(&Key::new(ZARR_JSON)?, limit, &mut |old, new| {
            let old = old.ok_or_else(|| {
                ErrorKind::NoObject.context(format!("{ZARR_JSON}: the document no longer exists"))
            })?;
            let without = merge_v3::without_consolidated(old, limits);
            let root = without.as_deref().or_else(|| std::str::from_utf8(old).ok());
            let text = root.and_then(|root| inline.in_root(root));
            let text = text.ok_or_else(|| {
                ErrorKind::NcZarr
                    .context(format!("{ZARR_JSON}: the stored document is no longer a JSON object"))
            })?;
            new.extend_from_slice(text.as_bytes());
            Ok(())
        })
    }
}
