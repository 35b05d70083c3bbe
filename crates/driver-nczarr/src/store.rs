//! Storing documents: rendered and written side by side, each node's attributes before what makes it a node.
//!
//! A node is a group or a variable; it has a `.zattrs` and, as its marker, a `.zgroup` or `.zarray`. Which nodes, and in what
//! order, is `commit`'s business. The map's batch runs on the calling thread and on threads made for it: whoever writes
//! metadata holds a lock, so none of it may wait for the pool, whose threads may be waiting for that lock.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use nczarr_dispatch::{Key, Payload, UpdateFn, WriteJob, WriteOutcome, WriteTicket, ZarrFormat, run_on_new_threads};
use nczarr_model::{Error, ErrorKind, GroupId, Model, Result, VarId};

use crate::commit::Committed;
use crate::dataset::{State, ZarrDataset};
use crate::flavour::Flavour;
use crate::merge::{self, Kind, Merge, Unlimited};
use crate::render;
use crate::tree::{ZARRAY, ZATTRS, ZGROUP};
use crate::v3::document::ZARR_JSON;
use crate::var::Stored;

/// Fewer nodes than this for each thread are not worth another.
pub(crate) const NODES_PER_THREAD: usize = 32;

/// A longer text is not kept for the next document.
const KEEP: usize = 64 << 10;

thread_local! {
    /// Where documents are rendered; what is kept of them takes no more memory than it is long.
    static TEXT: Cell<String> = const { Cell::new(String::new()) };
}

/// What has documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Node {
    Group(GroupId),
    Var(VarId),
}

/// Which of a node's documents; the order in which they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Attrs = 0,
    Marker = 1,
}

/// The texts of a node's documents, by [`Part`]; none of one that is not ours to write. Arrays that are alike have theirs in
/// common.
pub(crate) type Texts = [Option<Arc<str>>; 2];

impl Node {
    /// The key of a document.
    pub(crate) fn key(self, state: &State, part: Part, key: &mut Key) -> Result<()> {
        if state.joined {
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
        key.push(if part == Part::Attrs { ZATTRS } else { marker })
    }
}

impl ZarrDataset {
    /// The documents of a node as they should be stored.
    pub(crate) fn texts(&self, model: &Model, state: &State, node: Node) -> Result<Texts> {
        self.texts_after(&Mutex::default(), model, state, node)
    }

    /// As [`ZarrDataset::texts`]; `last` is an array's that was rendered before, which the next has mostly too.
    fn texts_after(&self, last: &Mutex<Option<Rendered>>, model: &Model, state: &State, node: Node) -> Result<Texts> {
        let written = |write: &dyn Fn(&mut String) -> Result<()>| {
            let mut text = TEXT.take();
            text.clear();
            let done = write(&mut text).map(|()| Some(Arc::from(text.as_str())));
            if text.capacity() <= KEEP {
                TEXT.set(text);
            }
            done
        };
        match node {
            Node::Group(id) if state.group(id)?.lost => Ok(Texts::default()),
            Node::Group(id) if state.joined => Ok([None, written(&|out| self.v3_group(model, id, state, out))?]),
            Node::Var(id) if state.joined => {
                let here = state.var(id)?;
                let Some(meta) = here.stored.meta.as_ref().filter(|_| !here.stored.attrs_lost) else {
                    return Ok(Texts::default());
                };
                Ok([None, written(&|out| self.v3_array(model, id, here, meta, out))?])
            }
            Node::Group(id) => {
                let here = state.group(id)?;
                let attrs = written(&|out| self.group_attrs(model, id, here, out))?;
                let marker = written(&|out| {
                    render::group(here.zgroup.as_ref(), out);
                    Ok(())
                })?;
                Ok([attrs, marker])
            }
            Node::Var(id) => {
                let here = state.var(id)?;
                let mut texts = Texts::default();
                if !here.stored.attrs_lost {
                    texts[Part::Attrs as usize] = written(&|out| self.var_attrs(model, id, here, out))?;
                }
                if let Some(meta) = &here.stored.meta {
                    let shape = match model.var(id)?.problem {
                        None => self.planning().shape(model, id)?,
                        // What could not be understood is not replaced.
                        Some(_) => meta.shape.clone(),
                    };
                    let before = lock(last).as_ref().and_then(|last| last.of(&here.stored, &shape));
                    if before.is_some() {
                        texts[Part::Marker as usize] = before;
                        return Ok(texts);
                    }
                    let text = written(&|out| {
                        render::array(meta, &shape, out);
                        Ok(())
                    })?;
                    *lock(last) = text.clone().map(|text| Rendered { stored: Arc::clone(&here.stored), shape, text });
                    texts[Part::Marker as usize] = text;
                }
                Ok(texts)
            }
        }
    }

    /// Which document of a node others may have changed, and how that is merged.
    pub(crate) fn merge(&self, model: &Model, node: Node, committed: &Committed) -> Result<(Part, Merge)> {
        let lists = if self.format == ZarrFormat::V3 { Part::Marker } else { Part::Attrs };
        match node {
            Node::Group(id) if self.flavour == Flavour::NcZarr => {
                let dims = model.group(id)?.dims.iter();
                let unlimited = dims.filter(|(_, dim)| model.dim(**dim).is_ok_and(|dim| dim.unlimited));
                let named = unlimited.map(|(name, &dim)| Unlimited {
                    id: dim,
                    name: name.clone(),
                    stored: committed.stored_name(id, dim, name).map(str::to_owned),
                });
                Ok((lists, Merge::Group(named.collect())))
            }
            Node::Group(_) => Ok((lists, Merge::None)),
            Node::Var(id) => {
                let var = model.var(id)?;
                if var.problem.is_some() {
                    return Ok((Part::Marker, Merge::None));
                }
                let unlimited = var.dims.iter().map(|&dim| Ok(model.dim(dim)?.unlimited.then_some(dim)));
                Ok((Part::Marker, Merge::shape(unlimited.collect::<Result<_>>()?)))
            }
        }
    }

    /// How many threads so many nodes are worth.
    pub(crate) fn threads(&self, nodes: usize) -> usize {
        let most = if self.options.threads == 0 { usize::MAX } else { self.options.threads };
        most.min(nodes.div_ceil(NODES_PER_THREAD))
    }

    /// Stores the documents of `nodes` that differ from what is known to be stored. Nothing here lists anything else here.
    ///
    /// # Errors
    /// The first of what the storage says; what was written until then is known.
    pub(crate) fn store(&self, model: &Model, nodes: &[Node], committed: &mut Committed) -> Result<()> {
        let batch = Batch {
            dataset: self,
            model,
            nodes,
            committed,
            joined: self.format == ZarrFormat::V3,
            merges: self.map.caps().conditional_write && !self.options.exclusive,
            next: AtomicUsize::new(0),
            ready: Mutex::default(),
            waiting: Mutex::default(),
            last: Mutex::default(),
            handed: AtomicUsize::new(0),
            slots: nodes.iter().map(|_| Slot::default()).collect(),
        };
        loop {
            let before = batch.handed.load(Ordering::Relaxed);
            run_on_new_threads(self.threads(nodes.len()), &|| self.map.write_batch(&batch));
            // A map that does not ask again after a `None` gets what became ready since in another batch.
            if batch.is_over() || batch.handed.load(Ordering::Relaxed) == before {
                break;
            }
        }
        let waiting = std::mem::take(&mut *lock(&batch.waiting));
        let turn = AtomicUsize::new(0);
        run_on_new_threads(self.threads(waiting.len()), &|| {
            while let Some(&index) = waiting.get(turn.fetch_add(1, Ordering::Relaxed)) {
                batch.merge_one(index);
            }
        });
        let slots = batch.slots;
        let mut outcome = Ok(());
        for (&node, slot) in nodes.iter().zip(slots) {
            let stored = slot.into_outcome();
            committed.consolidated &= !stored.touched;
            committed.know(node, stored.texts, model);
            outcome = outcome.and(stored.outcome);
        }
        outcome
    }
}

impl ZarrDataset {
    /// Makes a new document of the one that is there; where the map cannot do that in one step, somebody may come between.
    ///
    /// # Errors
    /// As [`nczarr_dispatch::ZMap::update`].
    pub(crate) fn update(&self, key: &Key, limit: usize, change: &mut UpdateFn<'_>) -> Result<()> {
        if self.map.caps().conditional_write {
            return self.map.update(key, limit, change);
        }
        let keys = std::slice::from_ref(key);
        let found = crate::fetch::read_bytes(&*self.map, keys, &self.options.limits).pop();
        let mut new = Vec::new();
        change(found.transpose()?.flatten().as_deref(), &mut new)?;
        self.map.write(key, &new)
    }

    /// Whether a group or an array of this name is stored in a group.
    pub(crate) fn is_node(&self, group: &Key, name: &str) -> Result<bool> {
        let place = group.join(name)?;
        if self.format == ZarrFormat::V3 {
            return self.map.exists(&place.join(ZARR_JSON)?);
        }
        Ok(self.map.exists(&place.join(ZARRAY)?)? || self.map.exists(&place.join(ZGROUP)?)?)
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What makes an array one, as text.
struct Rendered {
    /// What it was made of; nobody changes it as long as it is held here.
    stored: Arc<Stored>,
    shape: Vec<u64>,
    text: Arc<str>,
}

impl Rendered {
    /// The text, if it is that of an array with this layout and shape.
    fn of(&self, stored: &Arc<Stored>, shape: &[u64]) -> Option<Arc<str>> {
        (Arc::ptr_eq(&self.stored, stored) && self.shape == shape).then(|| Arc::clone(&self.text))
    }
}

/// What becomes of one node.
#[derive(Default)]
struct Slot {
    /// The documents that are to be written.
    texts: OnceLock<Texts>,
    handed: [AtomicBool; 2],
    outcomes: [OnceLock<Result<()>>; 2],
    /// Why there are no documents.
    failed: OnceLock<Error>,
}

struct Outcome {
    texts: Texts,
    outcome: Result<()>,
    touched: bool,
}

impl Slot {
    fn text(&self, part: Part) -> Option<&str> {
        self.texts.get()?[part as usize].as_deref()
    }

    fn into_outcome(self) -> Outcome {
        let mut texts = self.texts.into_inner().unwrap_or_default();
        let touched = self.handed.iter().any(|handed| handed.load(Ordering::Relaxed));
        let mut outcome = self.failed.into_inner().map_or(Ok(()), Err);
        for (text, done) in texts.iter_mut().zip(self.outcomes) {
            let done = match (&text, done.into_inner()) {
                (None, _) => continue,
                (Some(_), Some(done)) => done,
                (Some(_), None) => Err(ErrorKind::Internal.context("the map gave no answer")),
            };
            if done.is_err() {
                *text = None;
            }
            outcome = outcome.and(done);
        }
        Outcome { texts, outcome, touched }
    }
}

/// The write of some nodes.
struct Batch<'b> {
    dataset: &'b ZarrDataset,
    model: &'b Model,
    nodes: &'b [Node],
    committed: &'b Committed,
    /// Whether a node has one document, which may hold what is not known here.
    joined: bool,
    /// Whether what others did meanwhile can be merged.
    merges: bool,
    next: AtomicUsize,
    /// Nodes whose attributes are stored, and whose marker is not handed out yet.
    ready: Mutex<Vec<usize>>,
    /// Nodes one of whose documents has to be merged.
    waiting: Mutex<Vec<usize>>,
    /// What was rendered last of what makes an array one.
    last: Mutex<Option<Rendered>>,
    /// How many tickets were handed out.
    handed: AtomicUsize,
    slots: Vec<Slot>,
}

impl Batch<'_> {
    fn is_over(&self) -> bool {
        self.next.load(Ordering::Relaxed) >= self.nodes.len() && lock(&self.ready).is_empty()
    }

    /// Renders a node; answers what of it is to be written first, if anything is.
    fn begin(&self, index: usize, key: &mut Key) -> Result<Option<Part>> {
        let (Some(&node), Some(slot)) = (self.nodes.get(index), self.slots.get(index)) else { return Ok(None) };
        let state = self.dataset.read_state();
        let mut texts = self.dataset.texts_after(&self.last, self.model, &state, node)?;
        let known = self.committed.texts(node);
        for (text, known) in texts.iter_mut().zip(known) {
            text.take_if(|text| known.as_ref() == Some(text));
        }
        let changed = |part: Part| texts[part as usize].is_some();
        let (part, merge) = self.dataset.merge(self.model, node, self.committed)?;
        let is_shared = |of: Part| match of {
            Part::Attrs => !self.joined && self.merges,
            Part::Marker => self.joined || self.merges && of == part && !matches!(merge, Merge::None),
        };
        let merges = [Part::Attrs, Part::Marker]
            .into_iter()
            .any(|part| changed(part) && is_shared(part) && known[part as usize].is_some());
        let first = [Part::Attrs, Part::Marker].into_iter().find(|&part| changed(part));
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

    fn ticket(&self, index: usize, part: Part) -> WriteTicket {
        self.handed.fetch_add(1, Ordering::Relaxed);
        if let Some(slot) = self.slots.get(index) {
            slot.handed[part as usize].store(true, Ordering::Relaxed);
        }
        WriteTicket { index: 2 * index + part as usize, precondition: None }
    }

    fn fail(&self, index: usize, error: Error) {
        if let Some(slot) = self.slots.get(index) {
            let _ = slot.failed.set(error);
        }
    }

    /// Writes the documents of a node, merging with what is stored.
    fn merge_one(&self, index: usize) {
        if let Err(error) = self.try_merge(index) {
            self.fail(index, error);
        }
    }

    fn try_merge(&self, index: usize) -> Result<()> {
        let (Some(&node), Some(slot)) = (self.nodes.get(index), self.slots.get(index)) else { return Ok(()) };
        let (merged_part, merge) = self.dataset.merge(self.model, node, self.committed)?;
        let mut key = Key::root();
        for part in [Part::Attrs, Part::Marker] {
            let Some(text) = slot.text(part) else { continue };
            node.key(&self.dataset.read_state(), part, &mut key)?;
            slot.handed[part as usize].store(true, Ordering::Relaxed);
            let base = self.committed.texts(node)[part as usize].as_deref();
            let (merge, kind) = match part {
                _ if self.joined => (&merge, Kind::Joined),
                Part::Attrs if part == merged_part => (&merge, Kind::Attrs),
                Part::Attrs => (&Merge::None, Kind::Attrs),
                Part::Marker => (&merge, Kind::Marker),
            };
            let is_shared = kind != Kind::Marker || part == merged_part;
            let done = match base.filter(|_| is_shared) {
                Some(base) => self.merge_text(&key, (merge, kind), [text, base]),
                None => self.dataset.map.write(&key, text.as_bytes()),
            };
            let stop = done.is_err();
            let _ = slot.outcomes[part as usize].set(done);
            if stop {
                break;
            }
        }
        Ok(())
    }

    fn merge_text(&self, key: &Key, (merge, kind): (&Merge, Kind), [text, base]: [&str; 2]) -> Result<()> {
        let limits = &self.dataset.options.limits;
        let limit = usize::try_from(limits.document).unwrap_or(usize::MAX);
        let mut gone: Vec<String> = Vec::new();
        loop {
            let mut missing = Vec::new();
            self.dataset.update(key, limit, &mut |old, new| {
                missing.clear();
                let Some(old) = old else {
                    new.extend_from_slice(text.as_bytes());
                    return Ok(());
                };
                let merged = merge::merged(merge, kind, [text, base], old, &gone, limits);
                let merged = merged.map_err(|error| error.at(key))?;
                new.extend_from_slice(merged.text.as_bytes());
                missing = merged.missing;
                Ok(())
            })?;
            // What others moved away is not listed again; what a writer left out that did not know it is.
            let before = gone.len();
            for name in missing {
                if !self.dataset.is_node(&key.parent().unwrap_or_default(), &name)? {
                    gone.push(name);
                }
            }
            if gone.len() == before {
                return Ok(());
            }
        }
    }
}

impl WriteJob for Batch<'_> {
    fn threads(&self) -> usize {
        1
    }

    fn next(&self, key: &mut Key) -> Option<WriteTicket> {
        loop {
            // A node that was begun is finished first, while its directory is at hand.
            let ready = lock(&self.ready).pop();
            if let Some(index) = ready {
                let named = self.nodes.get(index)?.key(&self.dataset.read_state(), Part::Marker, key);
                match named {
                    Ok(()) => return Some(self.ticket(index, Part::Marker)),
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
        let part = if index.is_multiple_of(2) { Part::Attrs } else { Part::Marker };
        match self.slots.get(index / 2).and_then(|slot| slot.text(part)) {
            Some(text) => Ok(Payload::Borrowed(text.as_bytes())),
            None => Err(ErrorKind::Internal.context(format!("no document {index}"))),
        }
    }

    fn done(&self, ticket: WriteTicket, outcome: Result<WriteOutcome>) {
        let (index, part) = (ticket.index / 2, ticket.index % 2);
        let Some(slot) = self.slots.get(index) else { return };
        let go_on = part == Part::Attrs as usize && outcome.is_ok() && slot.text(Part::Marker).is_some();
        let _ = slot.outcomes[part].set(outcome.map(drop));
        if go_on {
            lock(&self.ready).push(index);
        }
    }
}
