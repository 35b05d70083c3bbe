//! Writing consolidated metadata: what all documents say, once more in one.
//!
//! Others may write the same dataset, so that what is stored may say more than what was written here: it is read back, unless nobody
//! else can have written. What they added that the model does not have is nothing that could be repeated; then there is no
//! consolidated metadata, rather than one that lacks it. When to write it is `commit`'s business.

use std::borrow::Cow;
use std::collections::HashSet;

use nczarr_dispatch::{Key, ZarrFormat};
use nczarr_model::{ErrorKind, GroupId, Model, Result};

use crate::commit::Committed;
use crate::consolidated::{self, ZMETADATA};
use crate::dataset::{VarState, ZarrDataset};
use crate::flavour::Flavour;
use crate::joined;
use crate::json::{Json, text};
use crate::merge;
use crate::nodes;
use crate::store::{Node, Part};
use crate::tree::ZARRAY;
use crate::v3;
use crate::v3::document::ZARR_JSON;
use crate::var::Stored;

/// A document that is repeated.
struct Repeated<'t> {
    node: Node,
    key: Key,
    text: Cow<'t, str>,
}

/// A document whose text may be known.
type Known<'c> = (Node, Part, Key, Option<&'c str>);

impl ZarrDataset {
    /// Writes it, or takes it away where it would lack what others added. `is_ours`: nobody else can have written.
    ///
    /// # Errors
    /// What the storage says, and a document that cannot be read.
    pub(crate) fn write_consolidated(&self, model: &Model, committed: &Committed, is_ours: bool) -> Result<()> {
        let is_v3 = self.format == ZarrFormat::V3;
        if is_v3 && self.root_array {
            return Ok(());
        }
        let known = self.known(model, committed)?;
        let repeated = if self.has_torn() {
            // It would lack them, and readers would take them for absent.
            None
        } else if is_ours {
            let ours =
                known.into_iter().filter_map(|(node, _, key, text)| Some(Repeated { node, key, text: text?.into() }));
            Some(ours.collect())
        } else {
            self.read_back(model, known)?
        };
        match repeated {
            Some(repeated) if is_v3 => self.write_inline(&repeated),
            Some(repeated) => self.write_zmetadata(&repeated),
            None if is_v3 => self.drop_inline(&Key::new(ZARR_JSON)?),
            None => self.map.delete(&Key::new(ZMETADATA)?).map(drop),
        }
    }

    /// Whether a document could not be read, so that it cannot be repeated.
    fn has_torn(&self) -> bool {
        let state = self.read_state();
        let is_torn = |var: &VarState| {
            let Stored { meta, document, attrs_lost, .. } = &*var.stored;
            let lacks_all = meta.is_none() && document.is_none();
            var.on_disk && (lacks_all || *attrs_lost && self.format == ZarrFormat::V2)
        };
        state.groups.iter().any(|group| group.lost) || state.vars.iter().any(is_torn)
    }

    /// The documents that were written here, or found when it was opened. One of V3 has no text if it is not ours to write.
    fn known<'c>(&self, model: &Model, committed: &'c Committed) -> Result<Vec<Known<'c>>> {
        let state = self.read_state();
        let mut known = Vec::new();
        for node in self.nodes(model) {
            for part in [Part::Marker, Part::Attrs] {
                let text = committed.texts(node)[part as usize].as_deref();
                if text.is_some() || state.joined && part == Part::Marker {
                    let mut key = Key::root();
                    node.key(&state, part, &mut key)?;
                    known.push((node, part, key, text));
                }
            }
        }
        Ok(known)
    }

    /// These documents as they are stored now; `None` if something is stored that the model does not have.
    fn read_back(&self, model: &Model, known: Vec<Known<'_>>) -> Result<Option<Vec<Repeated<'static>>>> {
        let keys: Vec<Key> = known.iter().map(|(_, _, key, _)| key.clone()).collect();
        let found = crate::fetch::read_here(&*self.map, &keys, &self.options.limits);
        let (mut repeated, mut gone) = (Vec::with_capacity(keys.len()), None);
        for ((node, part, key, _), found) in known.into_iter().zip(found) {
            // What others moved away is no more.
            let Some(found) = found?.filter(|_| gone != Some(node)) else {
                gone = (part == Part::Marker).then_some(node).or(gone);
                continue;
            };
            let listed = match node {
                Node::Group(id) => self.stored_below(id, part, &found)?,
                Node::Var(_) => HashSet::new(),
            };
            if let Node::Group(id) = node
                && self.has_more(model, id, listed)?
            {
                return Ok(None);
            }
            repeated.push(Repeated { node, key, text: text(&found.to_strict()).into() });
        }
        Ok(Some(repeated))
    }

    /// The names of what a group holds, as far as this document of it says; those of plain Zarr the storage tells, if it
    /// can.
    fn stored_below(&self, group: GroupId, part: Part, document: &Json) -> Result<HashSet<String>> {
        match (self.flavour, self.format) {
            (Flavour::NcZarr, ZarrFormat::V3) => {
                Ok(nodes::v3_attributes(document)?.as_ref().map(merge::listed).unwrap_or_default())
            }
            (Flavour::NcZarr, _) => Ok(merge::listed(document)),
            (Flavour::Zarr, _) if part == Part::Marker && self.map.caps().list => {
                let key = self.read_state().group(group)?.key.clone();
                Ok(self.map.possible_children(&key)?.into_iter().filter(|name| !name.starts_with('.')).collect())
            }
            (Flavour::Zarr, _) => Ok(HashSet::new()),
        }
    }

    /// Whether one of these names in a group is that of a node which the model does not have.
    fn has_more(&self, model: &Model, id: GroupId, mut names: HashSet<String>) -> Result<bool> {
        let group = model.group(id)?;
        let here = {
            let state = self.read_state();
            let vars = group.vars.values().map(|&var| state.var(var).map(|var| &var.key));
            let groups = group.groups.values().map(|&group| state.group(group).map(|group| &group.key));
            for key in vars.chain(groups) {
                names.remove(key?.as_str().rsplit('/').next().unwrap_or_default());
            }
            state.group(id)?.key.clone()
        };
        for name in names {
            // What is no key names nothing that is stored.
            if here.join(&name).is_ok() && self.is_node(&here, &name)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn write_zmetadata(&self, repeated: &[Repeated<'_>]) -> Result<()> {
        // Damaged arrays stay listed as they are.
        let mut damaged = Vec::new();
        for var in &self.read_state().vars {
            if let Some(document) = &var.stored.document {
                damaged.push((var.key.join(ZARRAY)?, text(&document.to_strict())));
            }
        }
        let all = repeated.iter().map(|document| (&document.key, &*document.text));
        let text = consolidated::print(all.chain(damaged.iter().map(|(key, text)| (key, text.as_str()))));
        self.map.write(&Key::new(ZMETADATA)?, text.as_bytes())
    }

    /// Puts what all other documents say into that of the root.
    fn write_inline(&self, repeated: &[Repeated<'_>]) -> Result<()> {
        let mut inline = v3::consolidated::Inline::new();
        for Repeated { node, key, text } in repeated {
            if *node != Node::Group(GroupId::ROOT) {
                inline.add(&key.parent().unwrap_or_default(), text, matches!(node, Node::Group(_)));
            }
        }
        let limits = &self.options.limits;
        let limit = usize::try_from(limits.document).unwrap_or(usize::MAX);
        self.update(&Key::new(ZARR_JSON)?, limit, &mut |old, new| {
            let old = old.ok_or_else(|| ErrorKind::NoObject.context(format!("{ZARR_JSON}: it is gone")))?;
            let without = joined::without_consolidated(old, limits);
            let root = without.as_deref().or_else(|| std::str::from_utf8(old).ok());
            let text = root.and_then(|root| inline.in_root(root));
            let text =
                text.ok_or_else(|| ErrorKind::NcZarr.context(format!("{ZARR_JSON}: it is no object any more")))?;
            new.extend_from_slice(text.as_bytes());
            Ok(())
        })
    }
}
