//! Writing of metadata: stores the documents that changed, children before the groups that list them.
//!
//! Each document is replaced whole or not at all, and the order keeps the store readable at every point.
//! Changes of other writers are merged: lengths of unlimited dimensions by maximum, so they never shrink, and
//! NCZarr's lists by union. `store` writes the documents. Read [`CommittedMetadata`] first, then
//! [`Committer::write_metadata`].

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nczarr_codec::ZarrFormat;
use nczarr_model::{DimId, ErrorKind, GroupId, Lengths, Model, Result, Var, VarId};
use nczarr_storage::{Key, ZMapExt};

use crate::dataset::catalog::Catalog;
use crate::dataset::node_id::NodeId;
use crate::dataset::node_states::VarState;
use crate::edit::parallel_layouts::plan_new_layouts;
use crate::flavour::kind::Flavour;
use crate::legacy::upgrade::LegacyUpgrade;
use crate::write::committed::CommittedMetadata;
use crate::write::consolidated::ConsolidatedWriter;
use crate::write::documents::{DocumentKind, NodeTexts};
use crate::write::length_merge::LengthMerge;
use crate::write::remove_consolidated::{self, is_consolidated, is_only_writer};
use crate::write::rename::NodeMover;
use crate::write::rename_dims;
use crate::write::render;
use crate::write::reserve::IndexReserver;
use crate::write::store::DocumentStore;

/// Deletes a created dataset, for an abort before the first commit.
pub(crate) type UndoCreate = Box<dyn Fn() -> Result<()> + Send + Sync>;

/// Stores the metadata of a dataset.
pub(crate) struct Committer {
    catalog: Arc<Catalog>,
    /// Held while metadata is written, and taken before the states of nodes. The writes run on the calling
    /// thread and on new threads, not on the pool, whose tasks may wait for this lock.
    committed: Mutex<CommittedMetadata>,
    undo: Option<UndoCreate>,
}

impl fmt::Debug for Committer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Committer").finish_non_exhaustive()
    }
}

impl Committer {
    pub(crate) fn new(catalog: Arc<Catalog>, committed: CommittedMetadata, undo: Option<UndoCreate>) -> Self {
        Self { catalog, committed: Mutex::new(committed), undo }
    }

    /// Locks the record of the stored metadata.
    pub(crate) fn lock(&self) -> MutexGuard<'_, CommittedMetadata> {
        self.committed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the end of a move.
    pub(crate) fn wait_for_move(&self) {
        drop(self.lock());
    }

    /// Moves all nodes that were renamed since the last commit.
    ///
    /// # Errors
    /// Errors of the map.
    pub(crate) fn move_renamed(&self, model: &Model) -> Result<()> {
        NodeMover { catalog: &self.catalog }.move_renamed(model, &mut self.lock())
    }

    fn documents(&self) -> DocumentStore<'_> {
        DocumentStore { catalog: &self.catalog }
    }

    /// Deletes the location of a dataset that was created and never committed.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(crate) fn undo_create(&self) -> Result<()> {
        match &self.undo {
            Some(undo) if self.is_new() => undo(),
            _ => Ok(()),
        }
    }

    /// Writes all changed metadata. `finally`: define mode is over, so consolidated metadata is written too.
    /// Otherwise it is removed.
    ///
    /// # Errors
    /// Errors of the storage. Documents written before the error stay; the next call writes the rest.
    pub(crate) fn write_metadata(&self, finally: bool) -> Result<()> {
        let mut committed = self.lock();
        let model = loop {
            NodeMover { catalog: &self.catalog }
                .move_renamed(&self.catalog.model.snapshot(), &mut committed)?;
            // Other threads may define and rename meanwhile. Repeats until every node has a layout and its
            // proper key.
            let model = plan_new_layouts(&self.catalog)?;
            if self.catalog.read_state().is_in_place(&model) {
                break model;
            }
        };
        let is_first = self.catalog.created && !committed.has_metadata;
        if is_first {
            self.write_root(&mut committed)?;
        }
        if self.catalog.flavour == Flavour::NcZarr
            && let Some(between) = rename_dims::intermediate_model(&model, &committed)?
        {
            self.write_nodes(Arc::new(between), &mut committed, finally)?;
        }
        self.write_nodes(Arc::clone(&model), &mut committed, finally)?;
        committed.has_metadata = true;
        for var in self.catalog.write_state().vars.iter_mut().take(model.vars().len()) {
            (var.on_disk, var.planned) = (true, false);
        }
        if finally && committed.consolidate && !committed.consolidated {
            ConsolidatedWriter { catalog: &self.catalog }.write(
                &model,
                &committed,
                is_first || self.catalog.options.exclusive,
            )?;
            committed.consolidated = true;
        }
        Ok(())
    }

    /// Writes the root's marker before anything else. A store whose writer crashed is then recognised, and
    /// can be replaced or deleted.
    fn write_root(&self, committed: &mut CommittedMetadata) -> Result<()> {
        let root = NodeId::Group(GroupId::ROOT);
        if self.catalog.root_array || committed.texts(root)[DocumentKind::Marker as usize].is_some() {
            return Ok(());
        }
        let mut key = Key::root();
        root.key(&self.catalog.read_state(), DocumentKind::Marker, &mut key)?;
        let mut text = String::new();
        if self.catalog.format == ZarrFormat::V3 {
            // The full document follows after the nodes that it lists.
            text.push_str("{\"zarr_format\": 3, \"node_type\": \"group\"}");
            return self.catalog.map.write(&key, text.as_bytes());
        }
        render::group(None, &mut text);
        self.catalog.map.write(&key, text.as_bytes())?;
        committed.groups.resize_with(committed.groups.len().max(1), NodeTexts::default);
        committed.groups[GroupId::ROOT.index()][DocumentKind::Marker as usize] = Some(text.into());
        Ok(())
    }

    /// Writes the changed documents of groups and variables. They declare only lengths below which all data
    /// are stored.
    fn write_nodes(
        &self,
        current: Arc<Model>,
        committed: &mut CommittedMetadata,
        finally: bool,
    ) -> Result<()> {
        let model = counted(&current, committed);
        let mut lens = Lengths::of(&model);
        let mut vars = self.changed_vars(&model, &lens, committed);
        let levels = self.levels(&model);
        self.check_places(&model, vars.iter().chain(levels.iter().flatten()))?;
        let is_known = committed
            .last_written
            .as_ref()
            .is_some_and(|(last, then)| Arc::ptr_eq(last, &current) && *then == lens);
        // Another writer may add consolidated metadata, which would then not match the documents.
        let is_unaware = !(committed.consolidate || is_only_writer(&self.catalog, committed) || is_known)
            && self.differs(&model, vars.iter().chain(levels.iter().flatten()), committed)?;
        if is_unaware && committed.legacy.is_some() {
            // Before the documents: consolidated metadata needs them in the current style.
            committed.consolidate = is_consolidated(&self.catalog)?;
        }
        // Consolidated metadata needs all documents in the current style.
        let consolidates = finally && committed.consolidate && !committed.consolidated;
        if committed.legacy.is_some() && (consolidates || self.is_changed(&model, committed)?) {
            LegacyUpgrade { catalog: &self.catalog }.upgrade(committed)?;
        }
        if (committed.has_metadata || !self.catalog.created) && !self.catalog.options.exclusive {
            let nodes = vars.iter().chain(levels.iter().flatten());
            if self.grow_from_store(&model, nodes, committed)? {
                lens = Lengths::of(&model);
                committed.stored_lens.raise(&lens, &[]);
                current.dims().for_each(|(id, dim)| dim.grow(lens.get(id)));
                vars = self.changed_vars(&model, &lens, committed);
            }
        }
        let lasts = finally && self.catalog.format == ZarrFormat::V2;
        if committed.consolidate && !lasts && self.is_changed(&model, committed)? {
            // It would be outdated until define mode ends. In V3 it is part of the root's document, which is
            // stored last.
            remove_consolidated::remove(&self.catalog, committed)?;
        }
        if committed.may_have_nested
            && self.differs(&model, vars.iter().chain(levels.iter().flatten()), committed)?
        {
            remove_consolidated::remove_nested(&self.catalog, committed)?;
        }
        rename_dims::declare_both(&self.catalog, &model, committed)?;
        self.documents().store(&model, &vars, committed)?;
        for level in levels.iter().rev() {
            self.documents().store(&model, level, committed)?;
        }
        // After the documents: consolidated metadata that another writer stores later includes them.
        if is_unaware && !committed.consolidate && is_consolidated(&self.catalog)? {
            committed.consolidate = true;
            if !finally {
                remove_consolidated::remove(&self.catalog, committed)?;
            }
        }
        committed.last_written = Some((current, lens));
        Ok(())
    }

    /// Checks that each node has the key that its name requires; a reader would find it under another name,
    /// or not at all.
    fn check_places<'n>(&self, model: &Model, nodes: impl Iterator<Item = &'n NodeId>) -> Result<()> {
        if self.catalog.root_array {
            return Ok(());
        }
        let state = self.catalog.read_state();
        for &node in nodes {
            let key = match node {
                NodeId::Group(id) => &state.group(id)?.key,
                NodeId::Var(id) => &state.var(id)?.key,
            };
            if !state.is_proper(model, node, key)? {
                let proper = state.proper_key(model, node)?.unwrap_or_default();
                return Err(ErrorKind::Internal.context(format!(
                    "{key}: the key of the node does not match its name (expected {proper})"
                )));
            }
        }
        Ok(())
    }

    /// Whether any document differs from the recorded one.
    fn is_changed(&self, model: &Model, committed: &CommittedMetadata) -> Result<bool> {
        self.differs(model, self.catalog.nodes(model).iter(), committed)
    }

    /// Whether a document of one of these nodes differs from the recorded one.
    fn differs<'n>(
        &self,
        model: &Model,
        nodes: impl Iterator<Item = &'n NodeId>,
        committed: &CommittedMetadata,
    ) -> Result<bool> {
        let state = self.catalog.read_state();
        for &node in nodes {
            if self.documents().texts(model, &state, node)? != *committed.texts(node) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the variables that may have changed since the last complete write.
    fn changed_vars(&self, model: &Model, lens: &Lengths, committed: &CommittedMetadata) -> Vec<NodeId> {
        let state = self.catalog.read_state();
        let last = committed.last_written.as_ref().filter(|(last, _)| same_names(last, model));
        let is_touched = |id: VarId, now: &Var, here: &VarState| {
            let Some((last, last_lens)) = last else { return true };
            let Ok(then) = last.var(id) else { return true };
            let same_len = |dim: &DimId| last_lens.get(*dim) == lens.get(*dim);
            here.planned || !std::ptr::eq(then, now) || !now.dims.iter().all(same_len)
        };
        let vars = model.vars().zip(&state.vars);
        vars.filter(|((id, var), here)| is_touched(*id, var, here))
            .map(|((id, _), _)| NodeId::Var(id))
            .collect()
    }

    /// Returns the groups by depth; empty in a store that is a single array.
    fn levels(&self, model: &Model) -> Vec<Vec<NodeId>> {
        let mut levels: Vec<Vec<NodeId>> = Vec::new();
        if self.catalog.root_array {
            return levels;
        }
        let mut depths: Vec<usize> = Vec::with_capacity(model.groups().len());
        for (id, group) in model.groups() {
            // A group comes after its parent.
            let depth =
                group.parent.and_then(|parent| depths.get(parent.index())).map_or(0, |depth| depth + 1);
            depths.push(depth);
            if levels.len() <= depth {
                levels.resize_with(depth + 1, Vec::new);
            }
            levels[depth].push(NodeId::Group(id));
        }
        levels
    }

    /// Records the loaded documents as stored.
    pub(crate) fn record_loaded(&self) -> Result<()> {
        let mut committed = self.lock();
        let state = self.catalog.read_state();
        let model = self.catalog.model.snapshot();
        for node in self.catalog.nodes(&model) {
            committed.record(node, self.documents().texts(&model, &state, node)?, &model);
        }
        let lens = Lengths::of(&model);
        committed.may_have_nested = model.groups().len() > 1;
        committed.stored_lens = lens.clone();
        committed.last_written = Some((model, lens));
        committed.has_metadata = true;
        Ok(())
    }

    /// Extends unlimited dimensions to their stored lengths.
    pub(crate) fn refresh_lengths(&self) -> Result<()> {
        let committed = self.lock();
        let model = self.catalog.model.snapshot();
        match self.catalog.flavour {
            Flavour::NcZarr => self.grow(&model, model.groups().map(|(id, _)| NodeId::Group(id)), &committed),
            // Arrays have more recent lengths than annotations.
            Flavour::Zarr => self.grow(&model, model.vars().map(|(id, _)| NodeId::Var(id)), &committed),
        }
        .map(drop)
    }

    /// Extends unlimited dimensions to the lengths in the documents of `nodes`; returns whether one grew.
    fn grow(
        &self,
        model: &Model,
        nodes: impl Iterator<Item = NodeId>,
        committed: &CommittedMetadata,
    ) -> Result<bool> {
        let (mut keys, mut merges): (Vec<Key>, Vec<LengthMerge>) = (Vec::new(), Vec::new());
        let state = self.catalog.read_state();
        for node in nodes {
            let (part, merge) = self.documents().merge(model, node, committed)?;
            if merge.has_lengths() {
                let mut key = Key::root();
                node.key(&state, part, &mut key)?;
                keys.push(key);
                merges.push(merge);
            }
        }
        drop(state);
        let mut grown = false;
        for (merge, found) in merges.iter().zip(crate::open::metadata_reader::read_here(
            &*self.catalog.map,
            &keys,
            &self.catalog.options.limits,
        )) {
            if let Some(found) = found? {
                grown |= merge.grow(model, &found, self.catalog.format == ZarrFormat::V3)?;
            }
        }
        Ok(grown)
    }

    /// As [`Committer::grow`], but reads only documents that are about to be replaced.
    fn grow_from_store<'n>(
        &self,
        model: &Model,
        nodes: impl Iterator<Item = &'n NodeId>,
        committed: &CommittedMetadata,
    ) -> Result<bool> {
        let mut stale = Vec::new();
        let state = self.catalog.read_state();
        for &node in nodes {
            let (part, merge) = self.documents().merge(model, node, committed)?;
            if let Some(known) = committed.texts(node)[part as usize].as_ref().filter(|_| merge.has_lengths())
                && self.documents().texts(model, &state, node)?[part as usize].as_ref() != Some(known)
            {
                stale.push(node);
            }
        }
        drop(state);
        self.grow(model, stale.into_iter(), committed)
    }

    /// As [`IndexReserver::reserve`].
    pub(crate) fn reserve(&self, dim: DimId, count: u64) -> Result<u64> {
        let mut committed = self.lock();
        self.catalog.check_open()?;
        IndexReserver { catalog: &self.catalog }.reserve(&mut committed, dim, count)
    }

    /// Whether nothing of the dataset was written yet.
    pub(crate) fn is_new(&self) -> bool {
        self.catalog.created && !self.lock().has_metadata
    }

    /// Removes all objects of a dataset that was created and never committed.
    pub(crate) fn delete_all(&self) -> Result<()> {
        for key in self.catalog.map.keys(&Key::root())? {
            self.catalog.map.delete(&key)?;
        }
        Ok(())
    }

    /// Forgets variables and groups that an abort removed from the model, and deletes their objects.
    pub(crate) fn forget_new(&self) -> Result<()> {
        let gone: Vec<Key> = {
            let mut committed = self.lock();
            let mut state = self.catalog.write_state();
            let model = self.catalog.model.snapshot();
            committed.forget(model.groups().len(), model.vars().len());
            let vars = model.vars().len().min(state.vars.len());
            let groups = model.groups().len().min(state.groups.len());
            let mut gone: Vec<Key> = state.vars.drain(vars..).map(|var| var.key).collect();
            gone.extend(state.groups.drain(groups..).map(|group| group.key));
            state.count_waiting();
            // A pending layout change is cancelled; a completed one stays because its chunks exist.
            for here in state.vars.iter_mut().filter(|here| here.stored.meta.is_some()) {
                here.replan = false;
            }
            gone
        };
        for key in gone {
            for object in self.catalog.map.keys(&key)? {
                self.catalog.map.delete(&object)?;
            }
        }
        Ok(())
    }
}

/// Returns the model with the lengths that metadata may declare.
fn counted(model: &Arc<Model>, committed: &CommittedMetadata) -> Arc<Model> {
    if model.dims().any(|(_, dim)| dim.unlimited) {
        Arc::new(model.at(&committed.stored_lens))
    } else {
        Arc::clone(model)
    }
}

/// Whether groups and dimensions have the same names in both models: documents of variables contain both.
fn same_names(a: &Model, b: &Model) -> bool {
    let groups = || a.groups().zip(b.groups()).all(|((_, a), (_, b))| a.name == b.name);
    let dims = || a.dims().zip(b.dims()).all(|((_, a), (_, b))| a.name == b.name);
    a.naming() == b.naming() || groups() && dims()
}
