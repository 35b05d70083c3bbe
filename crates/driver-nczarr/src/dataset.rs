//! [`ZarrDataset`]: an open NCZarr or Zarr dataset.
//!
//! The model answers inquiries; [`State`] remembers, per id, what the documents said and the engine's array once data
//! was asked for. What edits are legal is in `admit`, what is written and when in `commit`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::{fmt, mem};

use nczarr_chunkio::{ArrayDim, ArraySpec, ChunkedArray, Element, Order, Rounded, ShardSpec};
use nczarr_dispatch::{
    Audit, CacheConfig, CloseState, Dataset, DatasetInfo, Fault, Key, Options, Registry, StoredType, VarData, ZMap,
    ZarrFormat, drop_in_background,
};
use nczarr_model::{
    Defined, DimId, Edit, ErrorKind, GroupId, Lengths, Model, ModelCell, NcType, Result, Values, VarId,
};

use crate::about::About;
use crate::commit::Committed;
use crate::flavour::Flavour;
use crate::gate::Gate;
use crate::json::Object;
use crate::layout::Chunks;
use crate::moves::{self, Child};
use crate::nil::Nil;
use crate::plan::Planning;
use crate::rectilinear::Rectilinear;
use crate::told::Told;
use crate::tree::slashed;
use crate::v3::node_name;
use crate::var::Stored;

/// Why a node is left out that only the storage knows.
pub(crate) const UNNAMABLE: &str = "the name holds control characters or is no UTF-8, so no node can have it";

/// An open dataset.
pub(crate) struct ZarrDataset {
    pub(crate) model: ModelCell,
    pub(crate) map: Arc<dyn ZMap>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) options: Options,
    pub(crate) flavour: Flavour,
    pub(crate) format: ZarrFormat,
    /// Whether dimension names are stored as xarray does.
    pub(crate) named_dims: bool,
    /// Whether a plain store is told what Zarr has no word for.
    pub(crate) annotate: bool,
    pub(crate) writable: bool,
    /// The store is one array without a group.
    pub(crate) root_array: bool,
    /// It was made in this session.
    pub(crate) created: bool,
    /// Only what the classic model has.
    pub(crate) classic_model: bool,
    /// Between the indices of a chunk's key, for new variables.
    pub(crate) separator: char,
    pub(crate) about: About,
    /// Never held while the map or the engine is called. Taken before the model's own lock: what depends on both, such as
    /// an edit and what it means for the layout, is one step under it.
    pub(crate) state: RwLock<State>,
    /// Held by whoever writes metadata, and taken before `state`. Those writes stay on their thread and on threads made
    /// for them, so that no other task runs meanwhile, and none is waited for.
    pub(crate) committed: Mutex<Committed>,
    pub(crate) closing: Arc<CloseState>,
    /// Takes away what was created; for an abort before the first commit.
    pub(crate) undo: Option<Box<dyn Fn() -> Result<()> + Send + Sync>>,
}

impl fmt::Debug for ZarrDataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZarrDataset").field("map", &self.map).field("info", &self.about.info()).finish_non_exhaustive()
    }
}

/// So many variables take longer to give back than a thread to be made.
const MANY: usize = 512;

impl Drop for ZarrDataset {
    /// Has others give back what is known of many variables: the last who lets go of a dataset does not wait for that.
    fn drop(&mut self) {
        let mut state = mem::take(self.state.get_mut().unwrap_or_else(PoisonError::into_inner));
        if state.vars.len() < MANY {
            return;
        }
        for var in &mut state.vars {
            // These hold the storage, which goes now.
            (var.array, var.rectilinear, var.chunks) = (None, None, None);
        }
        let committed = mem::take(self.committed.get_mut().unwrap_or_else(PoisonError::into_inner));
        drop_in_background((state, committed, mem::take(&mut self.model)));
    }
}

/// What is known beside the model, by id.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Whether a node has one document, as in V3.
    pub(crate) joined: bool,
    /// What is remembered of variables of which nothing is decided yet.
    pub(crate) blank: Arc<Stored>,
    /// Whether what has a name that no node can have is stored under another one.
    pub(crate) escapes: bool,
    pub(crate) vars: Vec<VarState>,
    pub(crate) groups: Vec<GroupState>,
    /// The [`Model::naming`] by which all is where its name says, but for what waits; none while something moves, or if a move
    /// failed since.
    pub(crate) moved: Option<u64>,
    /// How many variables and groups wait for their place, because another one was still there when they came.
    pub(crate) waiting: usize,
    /// Whether something is being moved just now. No array is made then, and storage tells nothing of places.
    pub(crate) moving: bool,
    /// How many moves there were.
    pub(crate) moves: u64,
}

/// What is known of a group.
#[derive(Debug, Default)]
pub(crate) struct GroupState {
    /// Where it is; differs from its name between a rename and the next commit.
    pub(crate) key: Key,
    /// The name that no node made here has, under which it was found as it is: it has its place by that name.
    pub(crate) found: Option<Box<str>>,
    /// It waits for its place, and has nothing stored.
    pub(crate) waiting: bool,
    pub(crate) zgroup: Option<Object>,
    pub(crate) attrs: Object,
    /// Its documents could not be read and so must not be replaced.
    pub(crate) lost: bool,
    pub(crate) told: Told,
}

/// What is known of a variable.
#[derive(Debug)]
pub(crate) struct VarState {
    /// Where it is; differs from its name between a rename and the next commit.
    pub(crate) key: Key,
    /// The name that no node made here has, under which it was found as it is: it has its place by that name.
    pub(crate) found: Option<Box<str>>,
    /// It waits for its place, and has nothing stored.
    pub(crate) waiting: bool,
    /// In common with other variables that are stored alike.
    pub(crate) stored: Arc<Stored>,
    /// It was loaded, or written at least once.
    pub(crate) on_disk: bool,
    /// Its layout is to be decided anew: it is new, or was changed before there were data.
    pub(crate) replan: bool,
    /// Its layout was decided and is not stored yet.
    pub(crate) planned: bool,
    pub(crate) chunks: Option<Arc<Chunks>>,
    pub(crate) array: Option<Arc<Gate>>,
    /// In the place of `array` where chunks differ in shape.
    pub(crate) rectilinear: Option<Arc<Rectilinear>>,
    /// What was set on an array that was given up since.
    pub(crate) cache: Option<CacheConfig>,
    pub(crate) told: Told,
}

/// The data of a variable.
enum Made {
    Gate(Arc<Gate>),
    Rectilinear(Arc<Rectilinear>),
}

impl VarState {
    /// Its data, if they were asked for before.
    fn made(&self) -> Option<Made> {
        let rectilinear = || self.rectilinear.clone().map(Made::Rectilinear);
        self.array.clone().map(Made::Gate).or_else(rectilinear)
    }

    /// A variable that was read from where `key` says.
    pub(crate) fn loaded(key: Key, stored: Arc<Stored>) -> Self {
        Self { on_disk: true, replan: false, ..Self::new(key, stored) }
    }

    /// A new variable, to be stored where `key` says; nothing is decided yet.
    fn new(key: Key, blank: Arc<Stored>) -> Self {
        Self {
            key,
            found: None,
            waiting: false,
            stored: blank,
            on_disk: false,
            replan: true,
            planned: false,
            chunks: None,
            array: None,
            rectilinear: None,
            cache: None,
            told: Told::default(),
        }
    }
}

impl State {
    /// Makes room for what was defined since.
    pub(crate) fn extend(&mut self, model: &Model) -> Result<()> {
        for (_, group) in model.groups_from(self.groups.len()) {
            let parent = group.parent.and_then(|parent| self.groups.get(parent.index()));
            let (key, waiting) = match parent {
                Some(parent) => self.free_key(model, &parent.key, &group.name)?,
                None => (Key::root(), false),
            };
            self.waiting += usize::from(waiting);
            self.groups.push(GroupState { key, waiting, ..GroupState::default() });
        }
        for (_, var) in model.vars_from(self.vars.len()) {
            let (key, waiting) = self.free_key(model, &self.group(var.group)?.key, &var.name)?;
            self.waiting += usize::from(waiting);
            self.vars.push(VarState { waiting, ..VarState::new(key, Arc::clone(&self.blank)) });
        }
        Ok(())
    }

    /// Takes notice of what was loaded under the very name by which it is stored.
    pub(crate) fn take_as_found(&mut self, model: &Model) {
        if !self.escapes {
            return;
        }
        let is_found = |key: &Key, name: &str| node_name::is_elsewhere(name) && node_name::stored(key) == name;
        let found = |key: &Key, name: &str| is_found(key, name).then(|| name.into());
        for ((_, group), here) in model.groups().zip(&mut self.groups) {
            here.found = found(&here.key, &group.name);
        }
        for ((_, var), here) in model.vars().zip(&mut self.vars) {
            here.found = found(&here.key, &var.name);
        }
    }

    /// Whether all is where its name in this model says, and nothing waits: what is defined later changes no names.
    pub(crate) fn is_in_place(&self, model: &Model) -> bool {
        self.moved == Some(model.naming()) && self.waiting == 0
    }

    /// Whether a variable waits for a place of its own: it, or a group around it.
    fn is_waiting(&self, id: VarId) -> Result<bool> {
        Ok(self.waiting > 0 && self.var(id)?.key.segments().any(moves::is_waiting))
    }

    /// Counts anew what waits, after some were forgotten.
    pub(crate) fn count_waiting(&mut self) {
        let groups = self.groups.iter().filter(|group| group.waiting).count();
        self.waiting = groups + self.vars.iter().filter(|var| var.waiting).count();
    }

    /// Where something new is until the next commit: where it belongs, or, while that is still the place of something that
    /// was renamed, where nothing ever is: then it waits. No two have one place, and what is done to one is not done to the other.
    fn free_key(&self, model: &Model, group: &Key, name: &str) -> Result<(Key, bool)> {
        let key = self.new_key(group, name)?;
        let is_taken = |key: &Key| {
            self.vars
                .iter()
                .map(|var| &var.key)
                .chain(self.groups.iter().map(|group| &group.key))
                .any(|other| other == key)
        };
        if self.is_in_place(model) || !is_taken(&key) {
            return Ok((key, false));
        }
        Ok((group.join(&moves::waiting(self.vars.len() + self.groups.len()))?, true))
    }

    /// Where a variable or group belongs by its name, given where its group is; of the root `None`.
    pub(crate) fn proper_key(&self, model: &Model, child: Child) -> Result<Option<Key>> {
        let (parent, name) = named(model, child)?;
        parent.map(|parent| self.key_of(&self.group(parent)?.key, name, Some(child))).transpose()
    }

    /// Whether a variable or group that is at `key` is where it belongs by its name, given where its group is.
    pub(crate) fn is_proper(&self, model: &Model, child: Child, key: &Key) -> Result<bool> {
        let (parent, name) = named(model, child)?;
        let Some(parent) = parent else { return Ok(true) };
        let parent = &self.group(parent)?.key;
        // Almost all are where a name says that has no other form.
        let is_plain = !(self.escapes && node_name::is_elsewhere(name));
        Ok(is_plain && key.relative_to(parent) == Some(name) || self.key_of(parent, name, Some(child))? == *key)
    }

    /// Where something new of this name belongs in a group.
    fn new_key(&self, group: &Key, name: &str) -> Result<Key> {
        group.join(&node_name::of(name, self.escapes))
    }

    /// Where something belongs in a group if it has this name; `None` is something new. What others stored under a name that no
    /// node made here has stays there, and goes back there.
    pub(crate) fn key_of(&self, group: &Key, name: &str, child: Option<Child>) -> Result<Key> {
        let found = match child {
            Some(Child::Var(id)) => self.var(id)?.found.as_deref(),
            Some(Child::Group(id)) => self.group(id)?.found.as_deref(),
            None => None,
        };
        match found {
            Some(found) if found == name => group.join(name),
            _ => self.new_key(group, name),
        }
    }

    /// What else of a group is to be where something of this name belongs, given where that is: what is found by its own name
    /// may be where another one's escape leads.
    pub(crate) fn rival(&self, model: &Model, parent: GroupId, name: &str, key: &Key) -> Result<Option<String>> {
        let group = model.group(parent)?;
        let stored = node_name::stored(key);
        if stored == name && !stored.starts_with('_') {
            // As almost all: no other name leads there.
            return Ok(None);
        }
        for other in node_name::names(stored).filter(|other| *other != name) {
            let var = group.vars.get(other).map(|&id| Child::Var(id));
            let child = var.or_else(|| group.groups.get(other).map(|&id| Child::Group(id)));
            if let Some(child) = child
                && self.proper_key(model, child)?.as_ref() == Some(key)
            {
                return Ok(Some(model.fqn(parent, other)?));
            }
        }
        Ok(None)
    }

    pub(crate) fn group(&self, id: GroupId) -> Result<&GroupState> {
        self.groups.get(id.index()).ok_or_else(|| ErrorKind::BadGrpId.context(format!("{id:?}")))
    }

    pub(crate) fn var(&self, id: VarId) -> Result<&VarState> {
        self.vars.get(id.index()).ok_or_else(|| ErrorKind::NotVar.context(format!("{id:?}")))
    }
}

impl ZarrDataset {
    pub(crate) fn read_state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write_state(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until what is being moved is in its place.
    pub(crate) fn see_moved(&self) {
        drop(self.lock_committed());
    }

    pub(crate) fn lock_committed(&self) -> MutexGuard<'_, Committed> {
        self.committed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn planning(&self) -> Planning<'_> {
        Planning {
            registry: &self.registry,
            options: &self.options,
            flavour: self.flavour,
            format: self.format,
            separator: self.separator,
            swapped: self.about.defects.swapped,
        }
    }

    /// The data of a variable: the engine's array, or what reads a rectilinear one. Made at the first call.
    fn array(&self, id: VarId) -> Result<Made> {
        if let Some(array) = self.read_state().vars.get(id.index()).and_then(VarState::made) {
            return Ok(array);
        }
        loop {
            let mut state = self.write_state();
            // Not older than the state: what was decided by it is decided anew after an edit.
            let model = self.model.snapshot();
            if let Some(problem) = &model.var(id)?.problem {
                return Err(problem.clone());
            }
            state.extend(&model)?;
            if state.moving {
                drop(state);
                self.see_moved();
                continue;
            }
            if state.is_waiting(id)? {
                drop(state);
                self.move_renamed(&model, &mut self.lock_committed())?;
                continue;
            }
            let Some(var) = state.vars.get_mut(id.index()) else { return Err(crate::admit::no_var(id)) };
            if let Some(array) = var.made() {
                return Ok(array);
            }
            if var.replan {
                self.planning().plan(&model, id, Arc::make_mut(&mut var.stored))?;
                (var.replan, var.planned) = (false, true);
            }
            return self.make_array(&model, id, var);
        }
    }

    fn make_array(&self, model: &Model, id: VarId, state: &mut VarState) -> Result<Made> {
        let var = model.var(id)?;
        let Some(meta) = &state.stored.meta else {
            return Err(ErrorKind::Internal.context("no layout"));
        };
        let element = match (&state.stored.element, &state.stored.pieces) {
            (Some(codec), _) if var.xtype == NcType::String && self.flavour == Flavour::NcZarr => {
                Element::Variable(Box::new(Nil(codec.clone())))
            }
            (Some(codec), _) => Element::Variable(codec.clone()),
            (None, Some(pieces)) => Element::Packed { ty: var.xtype, pieces: pieces.clone() },
            (None, None) => (meta.dtype.element(var.xtype))
                .ok_or_else(|| ErrorKind::BadType.context(format!("type {} cannot be read", meta.dtype.text)))?,
        };
        let dims = var.dims.iter().map(|&dim| {
            let dim = model.dim(dim)?;
            Ok(ArrayDim { len: Arc::clone(dim.shared_len()), unlimited: dim.unlimited })
        });
        let place = (state.key.clone(), meta.separator, meta.prefix);
        let chunks = Arc::new(Chunks::new(Arc::clone(&self.map), place, self.writable));
        let spec = ArraySpec {
            name: model.var_path(id)?,
            dims: dims.collect::<Result<_>>()?,
            // A scalar of NCZarr is stored with one dimension of length 1.
            chunk_shape: if var.dims.is_empty() { Vec::new() } else { meta.chunks.clone() },
            element,
            order: meta.order.clone(),
            filters: state.stored.filters.clone(),
            fill: match var.fill_value().or_else(|| state.stored.absent.clone()) {
                // Of packed elements not even none is without form.
                None if !var.xtype.is_atomic() && !model.is_fixed(var.xtype)? => Some(model.blank(var.xtype)?),
                fill => fill,
            },
            shards: shards(&state.stored.shards, var.dims.is_empty())?,
            store: Arc::clone(&chunks) as Arc<_>,
            options: self.options.clone(),
            writable: self.writable,
        };
        if let Some(axes) = &meta.axes {
            let array = Arc::new(Rectilinear::new(spec, Arc::clone(axes), Arc::clone(&chunks))?);
            state.chunks = Some(chunks);
            state.rectilinear = Some(Arc::clone(&array));
            return Ok(Made::Rectilinear(array));
        }
        let array = ChunkedArray::new(spec)?;
        if let Some(cache) = state.cache {
            array.set_chunk_cache(cache)?;
        }
        let gate = Arc::new(Gate::new(array, Arc::clone(&chunks), Arc::clone(&self.closing)));
        state.chunks = Some(chunks);
        state.array = Some(Arc::clone(&gate));
        Ok(Made::Gate(gate))
    }

    pub(crate) fn check_open(&self) -> Result<()> {
        match self.closing.is_closed() {
            true => Err(ErrorKind::BadId.context("the dataset is closed")),
            false => Ok(()),
        }
    }

    /// Ends define mode and writes everything out.
    fn write_all(&self) -> Result<()> {
        // Data first: what metadata counts is there.
        let flushed = self.flush();
        self.write_metadata(true)?;
        self.model.end();
        flushed?;
        self.map.sync()
    }

    /// Lets nobody write from now on, waits for those who do, and does what is left to do, if that was not done already.
    fn end(&self, work: impl FnOnce() -> Result<()>) -> Result<()> {
        // Where nobody writes, nobody is waited for.
        self.closing.close_with(|| if self.writable { self.arrays() } else { Vec::new() }, work)
    }

    fn arrays(&self) -> Vec<Arc<Gate>> {
        self.read_state().vars.iter().filter_map(|var| var.array.clone()).collect()
    }

    /// Writes data out, after which metadata may count them; the first error, after all were tried.
    fn flush(&self) -> Result<()> {
        // Taken before the data are: others may append meanwhile.
        let reached = self.model.with(Lengths::of);
        let arrays: Vec<_> = self.read_state().vars.iter().map(|var| var.array.clone()).collect();
        self.read_state().vars.iter().filter_map(|var| var.rectilinear.as_ref()).for_each(|array| array.forget());
        let model = self.model.snapshot();
        let (mut outcome, mut failed) = (Ok(()), Vec::new());
        for (at, array) in arrays.into_iter().enumerate() {
            if let Some(Err(error)) = array.map(|array| array.sync()) {
                failed.extend(model.var(VarId(at as u32)));
                outcome = outcome.and(Err(error));
            }
        }
        self.lock_committed().counted.raise(&reached, &failed);
        outcome
    }
}

impl Dataset for ZarrDataset {
    fn info(&self) -> DatasetInfo {
        self.about.info()
    }

    fn model(&self) -> &ModelCell {
        &self.model
    }

    fn search_faults(&self) -> Result<Vec<Fault>> {
        self.check_open()?;
        let mut found = Vec::new();
        if self.root_array {
            return Ok(found);
        }
        let groups: Vec<Key> = self.read_state().groups.iter().map(|group| group.key.clone()).collect();
        for key in groups.iter().chain(&self.about.hollow) {
            // A node is a folder. Whatever else has such a name is none.
            for name in self.map.invalid_names(key)?.iter().filter_map(|name| name.strip_suffix('/')) {
                found.push(Fault::left_out(format_args!("{}/{name}", slashed(key)), UNNAMABLE));
            }
        }
        // Consolidated metadata may have told of them.
        found.retain(|fault| !self.about.faults.iter().any(|known| known.path == fault.path));
        Ok(found)
    }

    fn attributes_json(&self, group: GroupId, var: Option<VarId>) -> Result<Option<Vec<(String, String)>>> {
        self.check_open()?;
        self.stored_json(group, var)
    }

    fn set_attribute_json(&self, group: GroupId, var: Option<VarId>, name: &str, json: &str) -> Result<()> {
        self.check_open()?;
        self.tell_json(group, var, name, json)
    }

    fn stored_type(&self, var: VarId) -> Result<Option<StoredType>> {
        self.check_open()?;
        self.type_as_stored(var)
    }

    fn def_var_as_stored(
        &self,
        group: GroupId,
        name: &str,
        xtype: NcType,
        dims: &[DimId],
        stored: &StoredType,
    ) -> Result<Option<VarId>> {
        self.check_open()?;
        self.define_as_stored((group, name), xtype, dims, stored)
    }

    fn registry(&self) -> Option<&Arc<Registry>> {
        Some(&self.registry)
    }

    fn audit(&self) -> Result<Audit> {
        self.audit_objects()
    }

    fn data(&self, id: VarId) -> Result<Arc<dyn VarData>> {
        self.check_open()?;
        let array = match self.array(id)? {
            Made::Gate(array) => array,
            Made::Rectilinear(array) => return Ok(array),
        };
        if !self.writable {
            return Ok(array);
        }
        let model = self.model.snapshot();
        let var = model.var(id)?;
        match var.quantize {
            Some(quantize) => {
                // Where there is no fill value, netCDF-C leaves the default one as it is all the same.
                let fill = var.fill_value().or_else(|| nczarr_model::fill::default(var.xtype));
                Ok(Arc::new(Rounded::new(array, var.xtype, quantize, fill)))
            }
            None => Ok(array),
        }
    }

    fn admit(&self, edit: &Edit<'_>) -> Result<()> {
        let (mut state, asked) = self.begin(edit)?;
        self.model.with(|model| self.check(edit, model, &mut state, &asked))
    }

    fn apply(&self, edit: &Edit<'_>) -> Result<Defined> {
        let (mut state, asked) = self.begin(edit)?;
        let check = |model: &Model| self.check(edit, model, &mut state, &asked);
        self.model.define_if(check, |model, ()| model.apply(edit))
    }

    fn apply_att(&self, group: GroupId, var: Option<VarId>, name: &str, values: &mut Values) -> Result<()> {
        let (mut state, asked) = self.begin(&Edit::PutAtt { group, var, name, values })?;
        let check = |model: &Model| {
            self.check(&Edit::PutAtt { group, var, name, values }, model, &mut state, &asked)?;
            Ok(values)
        };
        self.model.define_if(check, |model, values| model.take_att(group, var, name, values))
    }

    fn commit(&self) -> Result<()> {
        self.check_open()?;
        if self.writable { self.write_metadata(false) } else { Ok(()) }
    }

    fn sync(&self) -> Result<()> {
        self.check_open()?;
        if self.writable {
            return self.write_all();
        }
        // Others may have written: their chunks and records are seen from now on, also through a map that keeps some.
        self.map.sync()?;
        self.flush()?;
        self.refresh_lengths()
    }

    fn image(&self) -> Result<Vec<u8>> {
        if self.writable && !self.closing.is_closed() {
            self.write_all()?;
        }
        self.map.image()
    }

    fn close(&self) -> Result<()> {
        self.end(|| {
            let written = if self.writable { self.write_all() } else { Ok(()) };
            let closed = self.map.close();
            written.and(closed)
        })
    }

    fn abort(&self) -> Result<()> {
        self.end(|| {
            let outcome = if !self.writable {
                Ok(())
            } else if self.is_new() {
                self.take_away()
            } else {
                self.model.roll_back();
                self.forget_new().and_then(|()| self.write_all())
            };
            let closed = self.map.close();
            outcome.and(closed).and_then(|()| match &self.undo {
                Some(undo) if self.is_new() => undo(),
                _ => Ok(()),
            })
        })
    }
}

/// The group around a variable or group, which the root has not, and its name.
fn named(model: &Model, child: Child) -> Result<(Option<GroupId>, &str)> {
    match child {
        Child::Var(id) => model.var(id).map(|var| (Some(var.group), &*var.name)),
        Child::Group(id) => model.group(id).map(|group| (group.parent, &*group.name)),
    }
}

/// The shards of an array; of a scalar, which may be stored with one dimension of length 1, without dimensions.
fn shards(stored: &[ShardSpec], scalar: bool) -> Result<Vec<ShardSpec>> {
    let mut shards = stored.to_vec();
    for shard in shards.iter_mut().filter(|_| scalar) {
        if shard.counts.iter().any(|&count| count != 1) || shard.index.order != Order::C {
            return Err(ErrorKind::BadChunk.context("a scalar in shards of several chunks"));
        }
        (shard.counts, shard.order) = (Vec::new(), Order::C);
    }
    Ok(shards)
}
