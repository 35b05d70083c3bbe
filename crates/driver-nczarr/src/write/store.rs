//! Parallel rendering and writing of documents: each node's attributes before its marker.
//!
//! A node is a group or a variable. In V2 it has a `.zattrs` and, as its marker, a `.zgroup` or `.zarray`.
//! `commit` decides which nodes are stored and in what order.
//!
//! *Invariant:* the batch runs on the calling thread and on threads of its own. The caller holds the metadata
//! lock, and the pool's threads may wait for that lock.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use nczarr_codec::ZarrFormat;
use nczarr_model::{Error, ErrorKind, Model, Result};
use nczarr_runtime::run_on_new_threads;
use nczarr_storage::batch::{Payload, WriteJob, WriteTicket};
use nczarr_storage::{Key, Precondition, UpdateFn, WriteOutcome, ZMapExt};

use crate::dataset::catalog::Catalog;
use crate::dataset::node_id::NodeId;
use crate::dataset::node_states::NodeStates;
use crate::edit::parallel_layouts::planner;
use crate::flavour::kind::Flavour;
use crate::metadata::v2::{ZARRAY, ZGROUP};
use crate::metadata::v3::document::ZARR_JSON;
use crate::metadata::v3::render::V3Renderer;
use crate::metadata::variable::StoredVariable;
use crate::write::committed::CommittedMetadata;
use crate::write::documents::{DocumentKind, NodeTexts};
use crate::write::joined;
use crate::write::length_merge::{LengthMerge, UnlimitedDim};
use crate::write::merge::{self, MergeKind};
use crate::write::merge_v3::EMPTY_BASE;
use crate::write::render::{self, Renderer};
use crate::write::threads::{lock, threads};

/// The largest text buffer that a thread keeps.
const MAX_KEPT_TEXT: usize = 64 << 10;

thread_local! {
    /// The buffer of a thread for rendering; documents are copied out of it at their exact size.
    static TEXT: Cell<String> = const { Cell::new(String::new()) };
}

/// Renders and stores the documents of nodes.
#[derive(Clone, Copy)]
pub(crate) struct DocumentStore<'c> {
    pub(crate) catalog: &'c Catalog,
}

impl DocumentStore<'_> {
    /// Returns the documents of a node in the form to store.
    pub(crate) fn texts(&self, model: &Model, state: &NodeStates, node: NodeId) -> Result<NodeTexts> {
        self.texts_after(&Mutex::default(), model, state, node)
    }

    /// As [`DocumentStore::texts`]; `last` caches the previous array document, which often equals the next
    /// one.
    fn texts_after(
        &self,
        last: &Mutex<Option<RenderedArray>>,
        model: &Model,
        state: &NodeStates,
        node: NodeId,
    ) -> Result<NodeTexts> {
        let written = |write: &dyn Fn(&mut String) -> Result<()>| {
            let mut text = TEXT.take();
            text.clear();
            let done = write(&mut text).map(|()| Some(Arc::from(text.as_str())));
            if text.capacity() <= MAX_KEPT_TEXT {
                TEXT.set(text);
            }
            done
        };
        match node {
            NodeId::Group(id) if state.group(id)?.unreadable => Ok(NodeTexts::default()),
            NodeId::Group(id) if state.single_document => {
                Ok([None, written(&|out| V3Renderer { catalog: self.catalog }.group(model, id, state, out))?])
            }
            NodeId::Var(id) if state.single_document => {
                let here = state.var(id)?;
                let Some(meta) = here.stored.meta.as_ref().filter(|_| !here.stored.attrs_lost) else {
                    return Ok(NodeTexts::default());
                };
                Ok([
                    None,
                    written(&|out| V3Renderer { catalog: self.catalog }.array(model, id, here, meta, out))?,
                ])
            }
            NodeId::Group(id) => {
                let here = state.group(id)?;
                let attrs =
                    written(&|out| Renderer { catalog: self.catalog }.group_attrs(model, id, here, out))?;
                let marker = written(&|out| {
                    render::group(here.zgroup.as_ref(), out);
                    Ok(())
                })?;
                Ok([attrs, marker])
            }
            NodeId::Var(id) => {
                let here = state.var(id)?;
                let mut texts = NodeTexts::default();
                if !here.stored.attrs_lost {
                    texts[DocumentKind::Attrs as usize] =
                        written(&|out| Renderer { catalog: self.catalog }.var_attrs(model, id, here, out))?;
                }
                if let Some(meta) = &here.stored.meta {
                    let shape = match model.var(id)?.problem {
                        None => planner(self.catalog).shape(model, id)?,
                        // Unreadable metadata is not replaced.
                        Some(_) => meta.shape.clone(),
                    };
                    let before = lock(last).as_ref().and_then(|last| last.of(&here.stored, &shape));
                    if before.is_some() {
                        texts[DocumentKind::Marker as usize] = before;
                        return Ok(texts);
                    }
                    let text = written(&|out| {
                        render::array(meta, &shape, out);
                        Ok(())
                    })?;
                    *lock(last) = text.clone().map(|text| RenderedArray {
                        stored: Arc::clone(&here.stored),
                        shape,
                        text,
                    });
                    texts[DocumentKind::Marker as usize] = text;
                }
                Ok(texts)
            }
        }
    }

    /// Returns the document that other writers may have changed, and how to merge its lengths.
    pub(crate) fn merge(
        &self,
        model: &Model,
        node: NodeId,
        committed: &CommittedMetadata,
    ) -> Result<(DocumentKind, LengthMerge)> {
        let lists =
            if self.catalog.format == ZarrFormat::V3 { DocumentKind::Marker } else { DocumentKind::Attrs };
        match node {
            NodeId::Group(id) if self.catalog.flavour == Flavour::NcZarr => {
                let dims = model.group(id)?.dims.iter();
                let unlimited = dims.filter(|(_, dim)| model.dim(**dim).is_ok_and(|dim| dim.unlimited));
                let named = unlimited.map(|(name, &dim)| UnlimitedDim {
                    id: dim,
                    name: name.clone(),
                    stored_name: committed.stored_name(id, dim, name).map(str::to_owned),
                });
                Ok((lists, LengthMerge::Group(named.collect())))
            }
            NodeId::Group(_) => Ok((lists, LengthMerge::None)),
            NodeId::Var(id) => {
                let var = model.var(id)?;
                if var.problem.is_some() {
                    return Ok((DocumentKind::Marker, LengthMerge::None));
                }
                let unlimited = var.dims.iter().map(|&dim| Ok(model.dim(dim)?.unlimited.then_some(dim)));
                Ok((DocumentKind::Marker, LengthMerge::shape(unlimited.collect::<Result<_>>()?)))
            }
        }
    }

    /// Stores the documents of `nodes` that differ from the recorded ones. The nodes must not list each
    /// other.
    ///
    /// # Errors
    /// The first error of the storage. Documents written before it are recorded.
    pub(crate) fn store(
        &self,
        model: &Model,
        nodes: &[NodeId],
        committed: &mut CommittedMetadata,
    ) -> Result<()> {
        let batch = StoreJob {
            documents: *self,
            model,
            nodes,
            committed,
            single_document: self.catalog.format == ZarrFormat::V3,
            merges: self.catalog.map.caps().conditional_write && !self.catalog.options.exclusive,
            joins: self.catalog.options.collective,
            next: AtomicUsize::new(0),
            ready: Mutex::default(),
            waiting: Mutex::default(),
            last: Mutex::default(),
            handed: AtomicUsize::new(0),
            slots: nodes.iter().map(|_| NodeProgress::default()).collect(),
        };
        loop {
            let before = batch.handed.load(Ordering::Relaxed);
            run_on_new_threads(threads(&self.catalog.options, nodes.len()), &|| {
                self.catalog.map.write_batch(&batch)
            });
            // Documents that became ready after the map saw `None` go into another batch.
            if batch.is_over() || batch.handed.load(Ordering::Relaxed) == before {
                break;
            }
        }
        let waiting = std::mem::take(&mut *lock(&batch.waiting));
        let turn = AtomicUsize::new(0);
        run_on_new_threads(threads(&self.catalog.options, waiting.len()), &|| {
            while let Some(&index) = waiting.get(turn.fetch_add(1, Ordering::Relaxed)) {
                batch.merge_one(index);
            }
        });
        let slots = batch.slots;
        let mut outcome = Ok(());
        for (&node, slot) in nodes.iter().zip(slots) {
            let stored = slot.into_outcome();
            committed.consolidated &= !stored.touched;
            committed.record(node, stored.texts, model);
            outcome = outcome.and(stored.outcome);
        }
        outcome
    }
}

impl DocumentStore<'_> {
    /// Replaces a document by a function of the stored one. If the map has no conditional write, another
    /// writer may interfere.
    ///
    /// # Errors
    /// As [`nczarr_storage::ZMap::update`].
    pub(crate) fn update(&self, key: &Key, limit: usize, change: &mut UpdateFn<'_>) -> Result<()> {
        if self.catalog.map.caps().conditional_write {
            return self.catalog.map.update(key, limit, change);
        }
        let keys = std::slice::from_ref(key);
        let found =
            crate::open::metadata_reader::read_bytes(&*self.catalog.map, keys, &self.catalog.options.limits)
                .pop();
        let mut new = Vec::new();
        change(found.transpose()?.flatten().as_deref(), &mut new)?;
        self.catalog.map.write(key, &new)
    }

    /// Whether a group stores a group or array of this name.
    pub(crate) fn is_node(&self, group: &Key, name: &str) -> Result<bool> {
        let place = group.join(name)?;
        if self.catalog.format == ZarrFormat::V3 {
            return self.catalog.map.exists(&place.join(ZARR_JSON)?);
        }
        Ok(self.catalog.map.exists(&place.join(ZARRAY)?)? || self.catalog.map.exists(&place.join(ZGROUP)?)?)
    }
}

/// A rendered array document.
struct RenderedArray {
    /// Its source; immutable while held here.
    stored: Arc<StoredVariable>,
    shape: Vec<u64>,
    text: Arc<str>,
}

impl RenderedArray {
    /// Returns the text, if it fits an array with this layout and shape.
    fn of(&self, stored: &Arc<StoredVariable>, shape: &[u64]) -> Option<Arc<str>> {
        (Arc::ptr_eq(&self.stored, stored) && self.shape == shape).then(|| Arc::clone(&self.text))
    }
}

/// The progress of one node.
#[derive(Default)]
struct NodeProgress {
    /// The documents to write.
    texts: OnceLock<NodeTexts>,
    handed: [AtomicBool; 2],
    outcomes: [OnceLock<Result<()>>; 2],
    /// The error that prevented rendering.
    failed: OnceLock<Error>,
}

struct NodeOutcome {
    texts: NodeTexts,
    outcome: Result<()>,
    touched: bool,
}

impl NodeProgress {
    fn text(&self, part: DocumentKind) -> Option<&str> {
        self.texts.get()?[part as usize].as_deref()
    }

    fn into_outcome(self) -> NodeOutcome {
        let mut texts = self.texts.into_inner().unwrap_or_default();
        let touched = self.handed.iter().any(|handed| handed.load(Ordering::Relaxed));
        let mut outcome = self.failed.into_inner().map_or(Ok(()), Err);
        for (text, done) in texts.iter_mut().zip(self.outcomes) {
            let done = match (&text, done.into_inner()) {
                (None, _) => continue,
                (Some(_), Some(done)) => done,
                (Some(_), None) => Err(ErrorKind::Internal.context("the map did not return this ticket")),
            };
            if done.is_err() {
                *text = None;
            }
            outcome = outcome.and(done);
        }
        NodeOutcome { texts, outcome, touched }
    }
}

/// The write of some nodes.
struct StoreJob<'b> {
    documents: DocumentStore<'b>,
    model: &'b Model,
    nodes: &'b [NodeId],
    committed: &'b CommittedMetadata,
    /// Whether each node has a single document (V3), which may have foreign members.
    single_document: bool,
    /// Whether changes of other writers can be merged.
    merges: bool,
    /// Whether a new document joins the one that another process stored.
    joins: bool,
    next: AtomicUsize,
    /// Nodes whose attributes are stored and whose marker has no ticket yet.
    ready: Mutex<Vec<usize>>,
    /// Nodes with a document that must be merged.
    waiting: Mutex<Vec<usize>>,
    /// The last rendered array document.
    last: Mutex<Option<RenderedArray>>,
    /// The number of tickets so far.
    handed: AtomicUsize,
    slots: Vec<NodeProgress>,
}

impl StoreJob<'_> {
    fn is_over(&self) -> bool {
        self.next.load(Ordering::Relaxed) >= self.nodes.len() && lock(&self.ready).is_empty()
    }

    /// Renders a node; returns the document to write first, if any.
    fn begin(&self, index: usize, key: &mut Key) -> Result<Option<DocumentKind>> {
        let (Some(&node), Some(slot)) = (self.nodes.get(index), self.slots.get(index)) else {
            return Ok(None);
        };
        let state = self.documents.catalog.read_state();
        let mut texts = self.documents.texts_after(&self.last, self.model, &state, node)?;
        let known = self.committed.texts(node);
        for (text, known) in texts.iter_mut().zip(known) {
            text.take_if(|text| known.as_ref() == Some(text));
        }
        let changed = |part: DocumentKind| texts[part as usize].is_some();
        let (part, merge) = self.documents.merge(self.model, node, self.committed)?;
        let is_shared = |of: DocumentKind| match of {
            DocumentKind::Attrs => !self.single_document && self.merges,
            DocumentKind::Marker => {
                self.single_document || self.merges && of == part && !matches!(merge, LengthMerge::None)
            }
        };
        let joins = |part: DocumentKind| self.joins && known[part as usize].is_none();
        let merges = [DocumentKind::Attrs, DocumentKind::Marker]
            .into_iter()
            .any(|part| changed(part) && (joins(part) || is_shared(part) && known[part as usize].is_some()));
        let first = [DocumentKind::Attrs, DocumentKind::Marker].into_iter().find(|&part| changed(part));
        if let Some(first) = first.filter(|_| !merges) {
            node.key(&state, first, key)?;
        }
        let _ = slot.texts.set(texts);
        if merges {
            lock(&self.waiting).push(index);
            return Ok(None);
        }
        Ok(first)
    }

    fn ticket(&self, index: usize, part: DocumentKind) -> WriteTicket {
        self.handed.fetch_add(1, Ordering::Relaxed);
        if let Some(slot) = self.slots.get(index) {
            slot.handed[part as usize].store(true, Ordering::Relaxed);
        }
        WriteTicket { index: 2 * index + part as usize, precondition: Precondition::Any }
    }

    fn fail(&self, index: usize, error: Error) {
        if let Some(slot) = self.slots.get(index) {
            let _ = slot.failed.set(error);
        }
    }

    /// Writes the documents of a node, merged with the stored ones.
    fn merge_one(&self, index: usize) {
        if let Err(error) = self.try_merge(index) {
            self.fail(index, error);
        }
    }

    fn try_merge(&self, index: usize) -> Result<()> {
        let (Some(&node), Some(slot)) = (self.nodes.get(index), self.slots.get(index)) else { return Ok(()) };
        let (merged_part, merge) = self.documents.merge(self.model, node, self.committed)?;
        let mut key = Key::root();
        for part in [DocumentKind::Attrs, DocumentKind::Marker] {
            let Some(text) = slot.text(part) else { continue };
            node.key(&self.documents.catalog.read_state(), part, &mut key)?;
            slot.handed[part as usize].store(true, Ordering::Relaxed);
            let known = self.committed.texts(node)[part as usize].as_deref();
            let joins = self.joins && known.is_none();
            let (merge, kind) = match part {
                _ if self.single_document => (&merge, MergeKind::SingleDocument),
                DocumentKind::Attrs if part == merged_part => (&merge, MergeKind::Attrs),
                DocumentKind::Attrs => (&LengthMerge::None, MergeKind::Attrs),
                DocumentKind::Marker => (&merge, MergeKind::Marker),
            };
            let is_shared = kind != MergeKind::Marker || part == merged_part;
            let done = match known.filter(|_| is_shared) {
                Some(base) => self.merge_text(&key, (merge, kind), [text, base]),
                None if joins => self.merge_text(&key, (merge, kind), [text, EMPTY_BASE]),
                None => self.documents.catalog.map.write(&key, text.as_bytes()),
            };
            let stop = done.is_err();
            let _ = slot.outcomes[part as usize].set(done);
            if stop {
                break;
            }
        }
        Ok(())
    }

    fn merge_text(
        &self,
        key: &Key,
        (merge, kind): (&LengthMerge, MergeKind),
        [text, base]: [&str; 2],
    ) -> Result<()> {
        let limits = &self.documents.catalog.options.limits;
        let limit = usize::try_from(limits.document).unwrap_or(usize::MAX);
        let mut gone: Vec<String> = Vec::new();
        loop {
            let mut missing = Vec::new();
            self.documents.update(key, limit, &mut |old, new| {
                missing.clear();
                let Some(old) = old else {
                    new.extend_from_slice(text.as_bytes());
                    return Ok(());
                };
                if self.joins {
                    let format = self.documents.catalog.format;
                    joined::check(merge, kind, format, [text, base], old, limits)
                        .map_err(|error| error.in_key(key).at(key))?;
                }
                let merged = merge::merge_documents(merge, kind, [text, base], old, &gone, limits);
                let merged = merged.map_err(|error| error.in_key(key).at(key))?;
                new.extend_from_slice(merged.text.as_bytes());
                missing = merged.doubtful;
                Ok(())
            })?;
            // A node that another writer moved away is not listed again. A node that the other writer did not
            // know is listed.
            let before = gone.len();
            for name in missing {
                if !self.documents.is_node(&key.parent().unwrap_or_default(), &name)? {
                    gone.push(name);
                }
            }
            if gone.len() == before {
                return Ok(());
            }
        }
    }
}

impl WriteJob for StoreJob<'_> {
    fn threads(&self) -> usize {
        1
    }

    fn next(&self, key: &mut Key) -> Option<WriteTicket> {
        loop {
            // Finishes a started node first, while its directory is still cached.
            let ready = lock(&self.ready).pop();
            if let Some(index) = ready {
                let named = self.nodes.get(index)?.key(
                    &self.documents.catalog.read_state(),
                    DocumentKind::Marker,
                    key,
                );
                match named {
                    Ok(()) => return Some(self.ticket(index, DocumentKind::Marker)),
                    Err(error) => self.fail(index, error),
                }
                continue;
            }
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= self.nodes.len() {
                return None;
            }
            match self.begin(index, key) {
                Ok(Some(part)) => return Some(self.ticket(index, part)),
                Ok(None) => {}
                Err(error) => self.fail(index, error),
            }
        }
    }

    fn value(&self, index: usize, _scratch: &mut Vec<u8>) -> Result<Payload<'_>> {
        let part = if index.is_multiple_of(2) { DocumentKind::Attrs } else { DocumentKind::Marker };
        match self.slots.get(index / 2).and_then(|slot| slot.text(part)) {
            Some(text) => Ok(Payload::Borrowed(text.as_bytes())),
            None => Err(ErrorKind::Internal.context(format!("document {index} does not exist"))),
        }
    }

    fn done(&self, ticket: WriteTicket, outcome: Result<WriteOutcome>) {
        let (index, part) = (ticket.index / 2, ticket.index % 2);
        let Some(slot) = self.slots.get(index) else { return };
        let go_on = part == DocumentKind::Attrs as usize
            && outcome.is_ok()
            && slot.text(DocumentKind::Marker).is_some();
        let _ = slot.outcomes[part].set(outcome.map(drop));
        if go_on {
            lock(&self.ready).push(index);
        }
    }
}
