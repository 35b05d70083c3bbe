//! Writing metadata: what differs from what was last known to be stored, children before what lists them.
//!
//! A document is replaced whole or not at all; the order leaves a store that opens at every point in between. What other
//! writers stored meanwhile is merged: lengths of unlimited dimensions by maximum, so that nothing ever shrinks, and
//! NCZarr's lists of what a group holds by union. How documents get into the storage is `store`'s business.

use std::sync::Arc;

use nczarr_dispatch::{Key, ZarrFormat};
use nczarr_model::{DimId, ErrorKind, GroupId, Lengths, Model, Result, Var, VarId};

use crate::bridge;
use crate::consolidated::ZMETADATA;
use crate::dataset::{VarState, ZarrDataset};
use crate::flavour::Flavour;
use crate::joined;
use crate::json::Json;
use crate::merge::Merge;
use crate::moves::Child;
use crate::older::Generation;
use crate::render;
use crate::store::{Node, Part, Texts};
use crate::v3::document::{CONSOLIDATED, ZARR_JSON};

/// What is known to be stored.
#[derive(Debug, Default)]
pub(crate) struct Committed {
    /// The documents of groups and variables, by id, as this library wrote them last, or would have written what it
    /// found; one that is not here was never written. Others may have changed them since.
    pub(crate) groups: Vec<Texts>,
    pub(crate) vars: Vec<Texts>,
    /// The dimensions that those of groups declare, by group.
    pub(crate) dims: Vec<Vec<(DimId, String)>>,
    /// Whether there is, or is to be, consolidated metadata.
    pub(crate) consolidate: bool,
    /// Whether the consolidated metadata says the same as the documents.
    pub(crate) consolidated: bool,
    /// Whether groups below the root may still have consolidated metadata of their own.
    pub(crate) nested: bool,
    /// The older style that the dataset is of, until it is written to.
    pub(crate) older: Option<Generation>,
    /// Metadata was written at least once, or was there before.
    pub(crate) once: bool,
    /// The lengths that metadata may tell: the data below them are stored.
    pub(crate) counted: Lengths,
    /// The model all of which is stored, and the lengths of its dimensions then. Kept so that a variable nobody
    /// touched since is known by its address.
    pub(crate) last: Option<(Arc<Model>, Lengths)>,
}

impl Committed {
    /// The texts of a node's documents.
    pub(crate) fn texts(&self, node: Node) -> &Texts {
        let found = match node {
            Node::Group(id) => self.groups.get(id.index()),
            Node::Var(id) => self.vars.get(id.index()),
        };
        found.unwrap_or(const { &[None, None] })
    }

    /// The name of a dimension of a group in what was stored last; its own where nothing else is known, and none if that
    /// was another's.
    pub(crate) fn stored_name<'a>(&'a self, group: GroupId, dim: DimId, name: &'a str) -> Option<&'a str> {
        let Some(dims) = self.dims.get(group.index()) else { return Some(name) };
        match dims.iter().find(|(id, _)| *id == dim) {
            Some((_, stored)) => Some(stored),
            None => dims.iter().all(|(_, stored)| stored != name).then_some(name),
        }
    }

    /// Takes notice of what was stored of a node.
    pub(crate) fn know(&mut self, node: Node, texts: Texts, model: &Model) {
        if let (Node::Group(id), true) = (node, texts.iter().any(Option::is_some))
            && let Ok(group) = model.group(id)
        {
            if self.dims.len() <= id.index() {
                self.dims.resize_with(id.index() + 1, Vec::new);
            }
            self.dims[id.index()] = group.dims.iter().map(|(name, &dim)| (dim, name.clone())).collect();
        }
        let (nodes, index) = match node {
            Node::Group(id) => (&mut self.groups, id.index()),
            Node::Var(id) => (&mut self.vars, id.index()),
        };
        if nodes.len() <= index {
            nodes.resize_with(index + 1, Texts::default);
        }
        for (known, text) in nodes[index].iter_mut().zip(texts) {
            if text.is_some() {
                *known = text;
            }
        }
    }

    /// Forgets all attributes: what is stored is not what would have been written, so it is replaced when something is.
    pub(crate) fn forget_attrs(&mut self) {
        for texts in self.groups.iter_mut().chain(&mut self.vars) {
            match texts {
                // What else is in the document stays.
                [None, Some(joined)] => *joined = joined::NOTHING.into(),
                [attrs, _] => *attrs = None,
            }
        }
        self.last = None;
    }

    /// Forgets all but the first groups and variables.
    fn forget(&mut self, groups: usize, vars: usize) {
        self.groups.truncate(groups);
        self.dims.truncate(groups);
        self.vars.truncate(vars);
    }
}

impl ZarrDataset {
    /// Writes what changed. Consolidated metadata once definitions are over: `finally`, and until then there is none.
    ///
    /// # Errors
    /// What the storage says; what was written until then stays, and the next call writes the rest.
    pub(crate) fn write_metadata(&self, finally: bool) -> Result<()> {
        let mut committed = self.lock_committed();
        let model = loop {
            self.move_renamed(&self.model.snapshot(), &mut committed)?;
            // Others may define and rename meanwhile: what is written has a layout, all of it, and is in its place.
            let model = self.plan_new()?;
            if self.read_state().is_in_place(&model) {
                break model;
            }
        };
        let is_first = self.created && !committed.once;
        if is_first {
            self.write_root(&mut committed)?;
        }
        if self.flavour == Flavour::NcZarr
            && let Some(between) = bridge::between(&model, &committed)?
        {
            self.write_nodes(Arc::new(between), &mut committed, finally)?;
        }
        self.write_nodes(Arc::clone(&model), &mut committed, finally)?;
        committed.once = true;
        for var in self.write_state().vars.iter_mut().take(model.vars().len()) {
            (var.on_disk, var.planned) = (true, false);
        }
        if finally && committed.consolidate && !committed.consolidated {
            self.write_consolidated(&model, &committed, is_first || self.options.exclusive)?;
            committed.consolidated = true;
        }
        Ok(())
    }

    /// Writes what makes the root a group, before anything is in it: whoever finds a dataset whose writer was stopped knows it
    /// for one, and may replace and delete it.
    fn write_root(&self, committed: &mut Committed) -> Result<()> {
        let root = Node::Group(GroupId::ROOT);
        if self.root_array || committed.texts(root)[Part::Marker as usize].is_some() {
            return Ok(());
        }
        let mut key = Key::root();
        root.key(&self.read_state(), Part::Marker, &mut key)?;
        let mut text = String::new();
        if self.format == ZarrFormat::V3 {
            // The rest of the document follows when there is what it tells of.
            text.push_str("{\"zarr_format\": 3, \"node_type\": \"group\"}");
            return self.map.write(&key, text.as_bytes());
        }
        render::group(None, &mut text);
        self.map.write(&key, text.as_bytes())?;
        committed.groups.resize_with(committed.groups.len().max(1), Texts::default);
        committed.groups[GroupId::ROOT.index()][Part::Marker as usize] = Some(text.into());
        Ok(())
    }

    /// Writes the documents of groups and variables that changed. They tell the lengths below which data are stored.
    fn write_nodes(&self, current: Arc<Model>, committed: &mut Committed, finally: bool) -> Result<()> {
        let model = counted(&current, committed);
        let mut lens = Lengths::of(&model);
        let mut vars = self.touched(&model, &lens, committed);
        let levels = self.levels(&model);
        self.check_places(&model, vars.iter().chain(levels.iter().flatten()))?;
        let is_known = committed.last.as_ref().is_some_and(|(last, then)| Arc::ptr_eq(last, &current) && *then == lens);
        if !(committed.consolidate || self.is_sole(committed) || is_known)
            && self.differs(&model, vars.iter().chain(levels.iter().flatten()), committed)?
        {
            // What another writer stored since would say something else than the documents.
            committed.consolidate = self.is_consolidated()?;
        }
        // Consolidated metadata is of one style.
        let consolidates = finally && committed.consolidate && !committed.consolidated;
        if committed.older.is_some() && (consolidates || self.is_changed(&model, committed)?) {
            self.upgrade(committed)?;
        }
        if (committed.once || !self.created) && !self.options.exclusive {
            let nodes = vars.iter().chain(levels.iter().flatten());
            if self.grow_from_store(&model, nodes, committed)? {
                lens = Lengths::of(&model);
                committed.counted.raise(&lens, &[]);
                current.dims().for_each(|(id, dim)| dim.grow(lens.get(id)));
                vars = self.touched(&model, &lens, committed);
            }
        }
        let lasts = finally && self.format == ZarrFormat::V2;
        if committed.consolidate && !lasts && self.is_changed(&model, committed)? {
            // It would stay old: until definitions are over, and in V3 it stands in the root's document, which is stored last.
            self.drop_consolidated(committed)?;
        }
        if committed.nested && self.differs(&model, vars.iter().chain(levels.iter().flatten()), committed)? {
            self.drop_nested(committed)?;
        }
        self.declare_both(&model, committed)?;
        self.store(&model, &vars, committed)?;
        for level in levels.iter().rev() {
            self.store(&model, level, committed)?;
        }
        committed.last = Some((current, lens));
        Ok(())
    }

    /// Whether nodes are where their names say: what is stored elsewhere would be found under another name, or never.
    fn check_places<'n>(&self, model: &Model, nodes: impl Iterator<Item = &'n Node>) -> Result<()> {
        if self.root_array {
            return Ok(());
        }
        let state = self.read_state();
        for &node in nodes {
            let (child, key) = match node {
                Node::Group(id) => (Child::Group(id), &state.group(id)?.key),
                Node::Var(id) => (Child::Var(id), &state.var(id)?.key),
            };
            if !state.is_proper(model, child, key)? {
                let proper = state.proper_key(model, child)?.unwrap_or_default();
                return Err(ErrorKind::Internal.context(format!("{key}: {proper} was expected, where its name says")));
            }
        }
        Ok(())
    }

    /// Whether a document would be another than the one that is known.
    fn is_changed(&self, model: &Model, committed: &Committed) -> Result<bool> {
        self.differs(model, self.nodes(model).iter(), committed)
    }

    /// Whether one of these nodes' would.
    fn differs<'n>(&self, model: &Model, nodes: impl Iterator<Item = &'n Node>, committed: &Committed) -> Result<bool> {
        let state = self.read_state();
        for &node in nodes {
            if self.texts(model, &state, node)? != *committed.texts(node) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The variables that may have changed since all was stored.
    fn touched(&self, model: &Model, lens: &Lengths, committed: &Committed) -> Vec<Node> {
        let state = self.read_state();
        let last = committed.last.as_ref().filter(|(last, _)| same_names(last, model));
        let is_touched = |id: VarId, now: &Var, here: &VarState| {
            let Some((last, last_lens)) = last else { return true };
            let Ok(then) = last.var(id) else { return true };
            let same_len = |dim: &DimId| last_lens.get(*dim) == lens.get(*dim);
            here.planned || !std::ptr::eq(then, now) || !now.dims.iter().all(same_len)
        };
        let vars = model.vars().zip(&state.vars);
        vars.filter(|((id, var), here)| is_touched(*id, var, here)).map(|((id, _), _)| Node::Var(id)).collect()
    }

    /// The groups by depth; none of them has documents in a store that is a single array.
    fn levels(&self, model: &Model) -> Vec<Vec<Node>> {
        let mut levels: Vec<Vec<Node>> = Vec::new();
        if self.root_array {
            return levels;
        }
        let mut depths: Vec<usize> = Vec::with_capacity(model.groups().len());
        for (id, group) in model.groups() {
            // A group comes after the one it lies in.
            let depth = group.parent.and_then(|parent| depths.get(parent.index())).map_or(0, |depth| depth + 1);
            depths.push(depth);
            if levels.len() <= depth {
                levels.resize_with(depth + 1, Vec::new);
            }
            levels[depth].push(Node::Group(id));
        }
        levels
    }

    /// Takes what was loaded for what is stored.
    pub(crate) fn remember(&self) -> Result<()> {
        let mut committed = self.lock_committed();
        let state = self.read_state();
        let model = self.model.snapshot();
        for node in self.nodes(&model) {
            committed.know(node, self.texts(&model, &state, node)?, &model);
        }
        let lens = Lengths::of(&model);
        committed.nested = model.groups().len() > 1;
        committed.counted = lens.clone();
        committed.last = Some((model, lens));
        committed.once = true;
        Ok(())
    }

    /// All that has documents: each group before the variables in it.
    pub(crate) fn nodes(&self, model: &Model) -> Vec<Node> {
        let groups = model.groups().flat_map(|(id, group)| {
            let group_itself = (!self.root_array).then_some(Node::Group(id));
            group_itself.into_iter().chain(group.vars.values().map(|&id| Node::Var(id)))
        });
        groups.collect()
    }

    /// Lets unlimited dimensions grow to what is stored now.
    pub(crate) fn refresh_lengths(&self) -> Result<()> {
        let committed = self.lock_committed();
        let model = self.model.snapshot();
        match self.flavour {
            Flavour::NcZarr => self.grow(&model, model.groups().map(|(id, _)| Node::Group(id)), &committed),
            // What an annotation says of lengths, the arrays know better.
            Flavour::Zarr => self.grow(&model, model.vars().map(|(id, _)| Node::Var(id)), &committed),
        }
        .map(drop)
    }

    /// Lets unlimited dimensions grow to what the documents of `nodes` say; answers whether one did.
    fn grow(&self, model: &Model, nodes: impl Iterator<Item = Node>, committed: &Committed) -> Result<bool> {
        let (mut keys, mut merges): (Vec<Key>, Vec<Merge>) = (Vec::new(), Vec::new());
        let state = self.read_state();
        for node in nodes {
            let (part, merge) = self.merge(model, node, committed)?;
            if merge.has_lengths() {
                let mut key = Key::root();
                node.key(&state, part, &mut key)?;
                keys.push(key);
                merges.push(merge);
            }
        }
        drop(state);
        let mut grown = false;
        for (merge, found) in merges.iter().zip(crate::fetch::read_here(&*self.map, &keys, &self.options.limits)) {
            if let Some(found) = found? {
                grown |= merge.grow(model, &found, self.format == ZarrFormat::V3)?;
            }
        }
        Ok(grown)
    }

    /// Lets unlimited dimensions grow to what others stored in documents that are about to be replaced; answers whether one
    /// did.
    fn grow_from_store<'n>(
        &self,
        model: &Model,
        nodes: impl Iterator<Item = &'n Node>,
        committed: &Committed,
    ) -> Result<bool> {
        let mut stale = Vec::new();
        let state = self.read_state();
        for &node in nodes {
            let (part, merge) = self.merge(model, node, committed)?;
            if let Some(known) = committed.texts(node)[part as usize].as_ref().filter(|_| merge.has_lengths())
                && self.texts(model, &state, node)?[part as usize].as_ref() != Some(known)
            {
                stale.push(node);
            }
        }
        drop(state);
        self.grow(model, stale.into_iter(), committed)
    }

    /// Whether nobody else can have stored anything.
    fn is_sole(&self, committed: &Committed) -> bool {
        self.options.exclusive || self.created && !committed.once
    }

    /// Whether there is consolidated metadata, whoever stored it.
    fn is_consolidated(&self) -> Result<bool> {
        if self.format == ZarrFormat::V2 {
            return self.map.exists(&Key::new(ZMETADATA)?);
        }
        if self.root_array {
            return Ok(false);
        }
        let keys = [Key::new(ZARR_JSON)?];
        let found = crate::fetch::read_here(&*self.map, &keys, &self.options.limits).pop();
        let root = found.transpose()?.flatten().and_then(Json::into_object);
        Ok(root.is_some_and(|root| root.get(CONSOLIDATED).is_some_and(|found| !found.is_null())))
    }

    /// Takes consolidated metadata away, also what another writer stored meanwhile: it would say something else than the
    /// documents.
    ///
    /// # Errors
    /// What the storage says.
    pub(crate) fn drop_consolidated(&self, committed: &mut Committed) -> Result<()> {
        if !committed.consolidate || self.is_sole(committed) && !committed.consolidated {
            return Ok(());
        }
        if self.format == ZarrFormat::V3 {
            if !self.root_array {
                self.drop_inline(&Key::new(ZARR_JSON)?)?;
            }
        } else {
            self.map.delete(&Key::new(ZMETADATA)?)?;
        }
        committed.consolidated = false;
        Ok(())
    }

    /// Takes away the consolidated metadata that groups below the root have of their own: it is not kept up here. Once is enough.
    ///
    /// # Errors
    /// What the storage says.
    pub(crate) fn drop_nested(&self, committed: &mut Committed) -> Result<()> {
        if committed.nested {
            self.try_drop_nested()?;
            committed.nested = false;
        }
        Ok(())
    }

    fn try_drop_nested(&self) -> Result<()> {
        let name = if self.format == ZarrFormat::V3 { ZARR_JSON } else { ZMETADATA };
        let keys: Vec<Key> = {
            let state = self.read_state();
            let groups = state.groups.iter().skip(1).filter(|group| !group.lost);
            groups.map(|group| group.key.join(name)).collect::<Result<_>>()?
        };
        let limits = &self.options.limits;
        for (key, found) in keys.iter().zip(crate::fetch::read_here(&*self.map, &keys, limits)) {
            if self.format == ZarrFormat::V2 {
                // Whatever it says.
                if !matches!(found, Ok(None)) {
                    self.map.delete(key)?;
                }
            } else if found?.and_then(Json::into_object).is_some_and(|document| document.contains_key(CONSOLIDATED)) {
                self.drop_inline(key)?;
            }
        }
        Ok(())
    }

    /// Takes consolidated metadata out of the document of a group, if it is there.
    pub(crate) fn drop_inline(&self, key: &Key) -> Result<()> {
        let limits = &self.options.limits;
        let found = crate::fetch::read_bytes(&*self.map, std::slice::from_ref(key), limits).pop();
        if let Some(Some(text)) = found.transpose()?
            && joined::without_consolidated(&text, limits).is_none()
        {
            return Ok(());
        }
        let limit = usize::try_from(limits.document).unwrap_or(usize::MAX);
        self.update(key, limit, &mut |old, new| {
            let old = old.ok_or_else(|| ErrorKind::NoObject.context(format!("{key}: it is gone")))?;
            match joined::without_consolidated(old, limits) {
                Some(text) => new.extend_from_slice(text.as_bytes()),
                None => new.extend_from_slice(old),
            }
            Ok(())
        })
    }

    /// Whether nothing of the dataset was written yet.
    pub(crate) fn is_new(&self) -> bool {
        self.created && !self.lock_committed().once
    }

    /// Removes everything of a dataset that was created and never committed.
    pub(crate) fn take_away(&self) -> Result<()> {
        for key in self.map.list(&Key::root())? {
            self.map.delete(&key)?;
        }
        Ok(())
    }

    /// Forgets variables and groups that an abort took out of the model, and their chunks.
    pub(crate) fn forget_new(&self) -> Result<()> {
        let gone: Vec<Key> = {
            let mut committed = self.lock_committed();
            let mut state = self.write_state();
            let model = self.model.snapshot();
            committed.forget(model.groups().len(), model.vars().len());
            let vars = model.vars().len().min(state.vars.len());
            let groups = model.groups().len().min(state.groups.len());
            let mut gone: Vec<Key> = state.vars.drain(vars..).map(|var| var.key).collect();
            gone.extend(state.groups.drain(groups..).map(|group| group.key));
            state.count_waiting();
            // A change of layout that was not carried out is no more; one that was, its chunks have.
            for here in state.vars.iter_mut().filter(|here| here.stored.meta.is_some()) {
                here.replan = false;
            }
            gone
        };
        for key in gone {
            for object in self.map.list(&key)? {
                self.map.delete(&object)?;
            }
        }
        Ok(())
    }
}

/// The model with the lengths that metadata may tell.
fn counted(model: &Arc<Model>, committed: &Committed) -> Arc<Model> {
    match model.dims().any(|(_, dim)| dim.unlimited) {
        true => Arc::new(model.at(&committed.counted)),
        false => Arc::clone(model),
    }
}

/// Whether groups and dimensions have the same names in both models: variables speak of both.
fn same_names(a: &Model, b: &Model) -> bool {
    let groups = || a.groups().zip(b.groups()).all(|((_, a), (_, b))| a.name == b.name);
    let dims = || a.dims().zip(b.dims()).all(|((_, a), (_, b))| a.name == b.name);
    a.naming() == b.naming() || groups() && dims()
}
