//! Writing metadata: what differs from what was last known to be stored, children before what lists them.
//!
//! A document is replaced whole or not at all; the order leaves a store that opens at every point in between. Lengths
//! of unlimited dimensions merge with what other writers stored meanwhile, by maximum: nothing ever shrinks.

use std::collections::HashMap;
use std::sync::Arc;

use dispatch::Key;
use model::{Chunking, DimId, Endian, ErrorKind, GroupId, Model, Result, Var, VarId};

use crate::consolidated::{self, ZMETADATA};
use crate::dataset::{State, VarState, ZarrDataset};
use crate::flavour::Flavour;
use crate::json::{Json, Object, text};
use crate::merge::{self, Merge};
use crate::meta::ArrayMeta;
use crate::quantize;
use crate::tree::{ZARRAY, ZATTRS, ZGROUP};

/// What is known to be stored.
#[derive(Debug, Default)]
pub(crate) struct Committed {
    /// The documents, as this library writes them; a document that is not here was never written.
    pub(crate) documents: HashMap<Key, String>,
    /// Whether there is, or is to be, consolidated metadata.
    pub(crate) consolidate: bool,
    /// Whether the consolidated metadata says the same as the documents.
    pub(crate) consolidated: bool,
    /// Metadata was written at least once, or was there before.
    pub(crate) once: bool,
    /// The model all of which is stored, and the lengths of its dimensions then. Kept so that a variable nobody
    /// touched since is known by its address.
    pub(crate) last: Option<(Arc<Model>, Vec<u64>)>,
}

/// A document as it should be stored.
pub(crate) struct Document {
    pub(crate) key: Key,
    pub(crate) text: String,
    /// Lower ones are written first.
    phase: usize,
    pub(crate) merge: Merge,
}

impl ZarrDataset {
    /// Writes what changed.
    ///
    /// # Errors
    /// What the storage says; what was written until then stays, and the next call writes the rest.
    pub(crate) fn write_metadata(&self) -> Result<()> {
        let mut committed = self.lock_committed();
        let mut model = self.model.snapshot();
        self.move_renamed(&model, &mut committed)?;
        // Others may define variables meanwhile: what is written has a layout, all of it.
        while self.plan_new(&model)? {
            model = self.model.snapshot();
        }
        let mut lens = lens(&model);
        let mut documents = self.documents(&model, self.touched(&model, &lens, &committed))?;
        if self.grow_from_store(&model, &documents, &committed)? {
            lens = self::lens(&model);
            documents = self.documents(&model, self.touched(&model, &lens, &committed))?;
        }
        let mut changed: Vec<&Document> = documents
            .iter()
            .filter(|document| committed.documents.get(&document.key) != Some(&document.text))
            .collect();
        if !changed.is_empty() {
            committed.consolidated = false;
        }
        changed.sort_by_key(|document| document.phase);
        for phase in changed.chunk_by(|a, b| a.phase == b.phase) {
            self.store(phase, &mut committed)?;
        }
        committed.once = true;
        for var in self.write_state().vars.iter_mut().take(model.vars().len()) {
            (var.on_disk, var.planned) = (true, false);
        }
        if committed.consolidate && !committed.consolidated {
            self.write_consolidated(&self.documents(&model, |_, _| true)?, &committed)?;
            committed.consolidated = true;
        }
        committed.last = Some((model, lens));
        Ok(())
    }

    /// Tells which variables may have changed since all was stored.
    fn touched<'a>(
        &self,
        model: &'a Model,
        lens: &'a [u64],
        committed: &'a Committed,
    ) -> impl Fn(VarId, &VarState) -> bool + use<'a> {
        let last = committed.last.as_ref().filter(|(last, _)| same_names(last, model));
        move |id, here| {
            let Some((last, last_lens)) = last else { return true };
            let (Ok(then), Ok(now)) = (last.var(id), model.var(id)) else { return true };
            let same_len = |dim: &DimId| last_lens.get(dim.index()) == lens.get(dim.index());
            here.planned || !std::ptr::eq(then, now) || !now.dims.iter().all(same_len)
        }
    }

    /// Takes what was loaded for what is stored.
    pub(crate) fn remember(&self) -> Result<()> {
        let model = self.model.snapshot();
        let lens = lens(&model);
        let documents = self.documents(&model, |_, _| true)?;
        let mut committed = self.lock_committed();
        committed.last = Some((model, lens));
        committed.documents = documents.into_iter().map(|document| (document.key, document.text)).collect();
        committed.once = true;
        Ok(())
    }

    /// Decides the layouts that are not decided yet; answers whether the model was told something.
    fn plan_new(&self, model: &Model) -> Result<bool> {
        let mut state = self.write_state();
        state.extend(model)?;
        let mut news = Vec::new();
        for (id, var) in model.vars() {
            let here = &mut state.vars[id.index()];
            if here.replan {
                self.planning().plan(model, id, &mut here.stored)?;
                (here.replan, here.planned) = (false, true);
            }
            // Also those whose layout was decided when data first moved.
            if let Some(meta) = here.stored.meta.as_ref().filter(|_| var.problem.is_none())
                && decided(var, meta).is_some()
            {
                news.push((id, meta.clone()));
            }
        }
        drop(state);
        let told = !news.is_empty();
        if told {
            self.model.change(|model| {
                // What the variable is by now counts: it may have been edited since the snapshot.
                for (id, meta) in news {
                    if let Ok(var) = model.var_mut(id)
                        && let Some(new) = decided(var, &meta)
                    {
                        *var = new;
                    }
                }
            });
        }
        Ok(told)
    }

    /// Lets unlimited dimensions grow to what is stored now.
    pub(crate) fn refresh_lengths(&self) -> Result<()> {
        let model = self.model.snapshot();
        let documents: Vec<Document> = self
            .documents(&model, |_, _| false)?
            .into_iter()
            .filter(|one| matches!(one.merge, Merge::Dims(_)))
            .collect();
        let keys: Vec<Key> = documents.iter().map(|document| document.key.clone()).collect();
        for (document, found) in documents.iter().zip(crate::fetch::read_here(&*self.map, &keys, &self.options.limits))
        {
            if let Some(found) = found? {
                document.merge.grow(&model, &found)?;
            }
        }
        Ok(())
    }

    /// The documents of all groups and of the variables that are `wanted`, each group's before those of what is in it.
    fn documents(&self, model: &Model, wanted: impl Fn(VarId, &VarState) -> bool) -> Result<Vec<Document>> {
        let state = self.read_state();
        let depth = |group: GroupId| model.group_names(group).map(|names| names.len());
        let mut deepest = 0;
        for (id, _) in model.groups() {
            deepest = deepest.max(depth(id)?);
        }
        let mut documents = Vec::new();
        for (id, group) in model.groups() {
            if !self.root_array {
                let phase = 2 + 2 * (deepest - depth(id)?);
                self.group_documents(model, id, &state, phase, &mut documents)?;
            }
            for &var in group.vars.values() {
                let here = state.vars.get(var.index()).ok_or_else(|| crate::admit::no_var(var))?;
                if wanted(var, here) {
                    self.var_documents(model, var, here, &mut documents)?;
                }
            }
        }
        Ok(documents)
    }

    fn group_documents(
        &self,
        model: &Model,
        id: GroupId,
        state: &State,
        phase: usize,
        documents: &mut Vec<Document>,
    ) -> Result<()> {
        let group = model.group(id)?;
        let here = state.groups.get(id.index()).ok_or_else(|| ErrorKind::BadGrpId.context(format!("{id:?}")))?;
        let plain = || Object::from_iter([("zarr_format".to_owned(), Json::int(2))]);
        let zgroup = Json::Object(here.zgroup.clone().unwrap_or_else(plain)).to_strict();
        let dims = group.dims.iter().filter(|(_, dim)| model.dim(**dim).is_ok_and(|dim| dim.unlimited));
        let merge = match self.flavour {
            Flavour::NcZarr => Merge::dims(dims.map(|(name, &dim)| (name.clone(), dim)).collect()),
            Flavour::Zarr => Merge::None,
        };
        documents.push(Document {
            key: here.key.join(ZGROUP)?,
            text: text(&zgroup),
            phase: phase + 1,
            merge: Merge::None,
        });
        let attrs = self.group_attrs(model, id, here)?;
        documents.push(Document { key: here.key.join(ZATTRS)?, text: attrs, phase, merge });
        Ok(())
    }

    fn var_documents(&self, model: &Model, id: VarId, here: &VarState, documents: &mut Vec<Document>) -> Result<()> {
        let var = model.var(id)?;
        if let Some(meta) = &here.stored.meta {
            let mut meta = meta.clone();
            let mut merge = Merge::None;
            // What could not be understood is not replaced.
            if var.problem.is_none() {
                meta.shape = self.planning().shape(model, id)?;
                let unlimited = var.dims.iter().map(|&dim| Ok(model.dim(dim)?.unlimited.then_some(dim)));
                merge = Merge::shape(unlimited.collect::<Result<_>>()?);
            }
            documents.push(Document { key: here.key.join(ZARRAY)?, text: text(&meta.document()), phase: 1, merge });
        }
        if !here.stored.attrs_lost {
            let attrs = self.var_attrs(model, id, here)?;
            documents.push(Document { key: here.key.join(ZATTRS)?, text: attrs, phase: 0, merge: Merge::None });
        }
        Ok(())
    }

    /// Lets unlimited dimensions grow to what others stored; answers whether one did.
    fn grow_from_store(&self, model: &Model, documents: &[Document], committed: &Committed) -> Result<bool> {
        if (self.created && !committed.once) || self.options.exclusive {
            return Ok(false);
        }
        let stale: Vec<&Document> = documents
            .iter()
            .filter(|document| !matches!(document.merge, Merge::None))
            .filter(|document| committed.documents.get(&document.key).is_some_and(|known| *known != document.text))
            .collect();
        let keys: Vec<Key> = stale.iter().map(|document| document.key.clone()).collect();
        let mut grown = false;
        for (document, found) in stale.iter().zip(crate::fetch::read_here(&*self.map, &keys, &self.options.limits)) {
            if let Some(found) = found? {
                grown |= document.merge.grow(model, &found)?;
            }
        }
        Ok(grown)
    }

    /// Stores documents of one phase.
    fn store(&self, documents: &[&Document], committed: &mut Committed) -> Result<()> {
        let conditional = self.map.caps().conditional_write && !self.options.exclusive;
        let (merged, plain): (Vec<&Document>, Vec<&Document>) = documents.iter().partition(|document| {
            conditional && !matches!(document.merge, Merge::None) && committed.documents.contains_key(&document.key)
        });
        let limit = usize::try_from(self.options.limits.document).unwrap_or(usize::MAX);
        for document in merged {
            let mut stored = String::new();
            self.map.update(&document.key, limit, &mut |old, new| {
                stored = match old {
                    Some(old) => merge::merged(document, old, &self.options.limits)?,
                    None => document.text.clone(),
                };
                new.extend_from_slice(stored.as_bytes());
                Ok(())
            })?;
            committed.documents.insert(document.key.clone(), stored);
        }
        for (document, outcome) in plain.iter().zip(merge::write(&*self.map, &plain)) {
            outcome?;
            committed.documents.insert(document.key.clone(), document.text.clone());
        }
        Ok(())
    }

    fn write_consolidated(&self, documents: &[Document], committed: &Committed) -> Result<()> {
        let state = self.read_state();
        let stored = |document: &Document| committed.documents.get(&document.key).unwrap_or(&document.text).clone();
        let mut all: Vec<(Key, String)> =
            documents.iter().map(|document| (document.key.clone(), stored(document))).collect();
        // Damaged arrays stay listed as they are.
        for var in &state.vars {
            if let Some(document) = &var.stored.document {
                all.push((var.key.join(ZARRAY)?, text(&document.to_strict())));
            }
        }
        drop(state);
        let text = consolidated::print(all.iter().map(|(key, text)| (key, text.as_str())));
        self.map.write(&Key::new(ZMETADATA)?, text.as_bytes())
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
        let model = self.model.snapshot();
        let gone: Vec<Key> = {
            let mut state = self.write_state();
            let vars = model.vars().len().min(state.vars.len());
            let groups = model.groups().len().min(state.groups.len());
            let mut gone: Vec<Key> = state.vars.drain(vars..).map(|var| var.key).collect();
            gone.extend(state.groups.drain(groups..).map(|group| group.key));
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

/// The lengths of all dimensions.
fn lens(model: &Model) -> Vec<u64> {
    model.dims().map(|(_, dim)| dim.len()).collect()
}

/// Whether groups and dimensions have the same names in both models: variables speak of both.
fn same_names(a: &Model, b: &Model) -> bool {
    let groups = a.groups().zip(b.groups()).all(|((_, a), (_, b))| a.name == b.name);
    groups && a.dims().zip(b.dims()).all(|((_, a), (_, b))| a.name == b.name)
}

/// The variable with what its layout decided, if that is news: chunk shape, byte order, codec descriptions, and the
/// attribute that tells how values are rounded.
fn decided(var: &Var, meta: &ArrayMeta) -> Option<Var> {
    let chunked = matches!(var.chunking, Chunking::Chunked(_));
    let ordered = var.endian != Endian::Native || meta.dtype.endian() == Endian::Native;
    let described = var.filters.iter().all(|filter| filter.codec.is_some());
    let rounding = var.quantize.map(quantize::attribute).filter(|(name, values)| var.atts.get(*name) != Some(values));
    if chunked && ordered && described && rounding.is_none() {
        return None;
    }
    let mut new = var.clone();
    if !chunked {
        new.chunking = Chunking::Chunked(if var.dims.is_empty() { Vec::new() } else { meta.chunks.clone() });
    }
    if !ordered {
        new.endian = meta.dtype.endian();
    }
    let codecs = meta.codecs.iter().skip(meta.codecs.len().saturating_sub(new.filters.len()));
    for (filter, codec) in new.filters.iter_mut().zip(codecs) {
        filter.codec = Some(text(codec));
    }
    if let Some((name, values)) = rounding {
        new.atts.insert(name.to_owned(), values);
    }
    Some(new)
}
