//! [`ZarrDataset`]: an open NCZarr or Zarr dataset.
//!
//! The model answers inquiries. [`NodeStates`] holds, per id, the parsed documents and, after the first
//! access to data, the engine's array. `edit` decides about edits. `write` stores documents.
//! `description` has the facts about the whole dataset.

pub(crate) mod description;
pub(crate) mod preserved_json;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use nczarr_chunkio::{ArrayDim, ArraySpec, ChunkedArray, DimOrder, ElementLayout, QuantizedArray, ShardSpec};
use nczarr_codec::ZarrFormat;
use nczarr_dispatch::{
    Audit, CacheConfig, Dataset, DatasetInfo, Fault, Options, Registry, StoredType, VarData,
};
use nczarr_model::{
    Defined, DimId, Edit, ErrorKind, GroupId, Lengths, Model, ModelCell, NcType, Result, Values, VarId,
};
use nczarr_runtime::CloseState;
use nczarr_storage::{Key, ZMap};

use crate::data::guarded_array::GuardedArray;
use crate::data::rectilinear::RectilinearArray;
use crate::data::variable_chunks::VariableChunks;
use crate::dataset::description::DatasetDescription;
use crate::dataset::preserved_json::PreservedJson;
use crate::edit::plan::LayoutPlanner;
use crate::flavour::Flavour;
use crate::metadata::codecs::null_string::NullStringCodec;
use crate::metadata::json::Object;
use crate::metadata::v2::var::StoredVariable;
use crate::metadata::v3::node_name;
use crate::open::tree::slashed;
use crate::write::commit::CommittedMetadata;
use crate::write::rename;
use crate::write::store::NodeId;

/// Why a node is left out whose name no node can have.
pub(crate) const UNNAMEABLE: &str =
    "the name holds control characters or is no UTF-8, so no node can have it";

/// An open dataset.
pub(crate) struct ZarrDataset {
    pub(crate) model: ModelCell,
    pub(crate) map: Arc<dyn ZMap>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) options: Options,
    pub(crate) flavour: Flavour,
    pub(crate) format: ZarrFormat,
    /// Whether dimension names are stored as xarray does.
    pub(crate) xarray_dims: bool,
    /// Whether a plain store gets annotations (`_netcdf`).
    pub(crate) annotate: bool,
    pub(crate) writable: bool,
    /// The store is one array without a group.
    pub(crate) root_array: bool,
    /// It was created in this session.
    pub(crate) created: bool,
    /// Only features of the classic model are allowed.
    pub(crate) classic_model: bool,
    /// The separator of the indices in chunk keys of new variables.
    pub(crate) separator: char,
    pub(crate) description: DatasetDescription,
    /// Taken before the model's own lock, and never held while the map or the engine is called. Under it, an
    /// edit of the model and its effect on the layout are one step.
    pub(crate) state: RwLock<NodeStates>,
    /// Held while metadata is written, and taken before `state`. These writes run on the calling thread and
    /// on threads of their own. So no other task runs meanwhile, and none is waited for.
    pub(crate) committed: Mutex<CommittedMetadata>,
    pub(crate) closing: Arc<CloseState>,
    /// Deletes a created dataset, for an abort before the first commit.
    pub(crate) undo: Option<Box<dyn Fn() -> Result<()> + Send + Sync>>,
}

impl fmt::Debug for ZarrDataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZarrDataset")
            .field("map", &self.map)
            .field("info", &self.description.info())
            .finish_non_exhaustive()
    }
}

/// Everything known beside the model, by id.
#[derive(Debug, Default)]
pub(crate) struct NodeStates {
    /// Whether a node has a single document, as in V3.
    pub(crate) single_document: bool,
    /// See [`NodeStates::unplanned`].
    pub(crate) unplanned: OnceLock<Arc<StoredVariable>>,
    /// Whether nodes with illegal names are stored under escaped names.
    pub(crate) escapes_names: bool,
    pub(crate) vars: Vec<VarState>,
    pub(crate) groups: Vec<GroupState>,
    /// The [`Model::naming`] for which every node that does not wait has its proper key. `None` during a
    /// move, or after a failed one.
    pub(crate) placed_naming: Option<u64>,
    /// How many variables and groups wait for their key, which another node still occupied at their
    /// definition.
    pub(crate) waiting: usize,
    /// Whether a move is in progress. Then no array is made, and the storage's answers about keys do not
    /// count.
    pub(crate) is_moving: bool,
    /// The number of moves so far.
    pub(crate) move_count: u64,
}

/// The state of a group.
#[derive(Debug, Default)]
pub(crate) struct GroupState {
    /// Its current key; differs from its name between a rename and the next commit.
    pub(crate) key: Key,
    /// The unusual stored name under which the group was found, which this library would not give. The group
    /// keeps that key.
    pub(crate) stored_name: Option<Box<str>>,
    /// It waits for its key, and has nothing stored.
    pub(crate) waiting: bool,
    pub(crate) zgroup: Option<Object>,
    pub(crate) attrs: Object,
    /// Its documents could not be read and so must not be replaced.
    pub(crate) unreadable: bool,
    pub(crate) preserved_json: PreservedJson,
}

/// The state of a variable.
#[derive(Debug)]
pub(crate) struct VarState {
    /// Its current key; differs from its name between a rename and the next commit.
    pub(crate) key: Key,
    /// The unusual stored name under which the variable was found, which this library would not give. The
    /// variable keeps that key.
    pub(crate) stored_name: Option<Box<str>>,
    /// It waits for its key, and has nothing stored.
    pub(crate) waiting: bool,
    /// Shared with other variables of the same layout.
    pub(crate) stored: Arc<StoredVariable>,
    /// It was loaded, or written at least once.
    pub(crate) on_disk: bool,
    /// Its layout must be planned: it is new, or was changed before it had data.
    pub(crate) replan: bool,
    /// Its layout was planned and is not stored yet.
    pub(crate) planned: bool,
    pub(crate) chunks: Option<Arc<VariableChunks>>,
    pub(crate) array: Option<Arc<GuardedArray>>,
    /// Used in place of `array` if chunks differ in shape.
    pub(crate) rectilinear: Option<Arc<RectilinearArray>>,
    /// The cache settings of an array that was dropped.
    pub(crate) cache: Option<CacheConfig>,
    pub(crate) preserved_json: PreservedJson,
}

/// The data of a variable.
enum ArrayHandle {
    Chunked(Arc<GuardedArray>),
    RectilinearArray(Arc<RectilinearArray>),
}

impl VarState {
    /// Returns the data, if an earlier access made them.
    fn handle(&self) -> Option<ArrayHandle> {
        let rectilinear = || self.rectilinear.clone().map(ArrayHandle::RectilinearArray);
        self.array.clone().map(ArrayHandle::Chunked).or_else(rectilinear)
    }

    /// The state of a variable that was loaded from `key`.
    pub(crate) fn loaded(key: Key, stored: Arc<StoredVariable>) -> Self {
        Self { on_disk: true, replan: false, ..Self::new(key, stored) }
    }

    /// The state of a new variable that will be stored at `key`, without a layout.
    fn new(key: Key, blank: Arc<StoredVariable>) -> Self {
        Self {
            key,
            stored_name: None,
            waiting: false,
            stored: blank,
            on_disk: false,
            replan: true,
            planned: false,
            chunks: None,
            array: None,
            rectilinear: None,
            cache: None,
            preserved_json: PreservedJson::default(),
        }
    }
}

impl NodeStates {
    /// Returns the shared [`StoredVariable`] of variables without a planned layout.
    pub(crate) fn unplanned(&self) -> Arc<StoredVariable> {
        Arc::clone(self.unplanned.get_or_init(Arc::default))
    }

    /// Adds states for nodes that were defined since.
    pub(crate) fn extend(&mut self, model: &Model) -> Result<()> {
        for (_, group) in model.groups_from(self.groups.len()) {
            let parent = group.parent.and_then(|parent| self.groups.get(parent.index()));
            let (key, waiting) = match parent {
                Some(parent) => self.assign_key(model, &parent.key, &group.name)?,
                None => (Key::root(), false),
            };
            self.waiting += usize::from(waiting);
            self.groups.push(GroupState { key, waiting, ..GroupState::default() });
        }
        for (_, var) in model.vars_from(self.vars.len()) {
            let (key, waiting) = self.assign_key(model, &self.group(var.group)?.key, &var.name)?;
            self.waiting += usize::from(waiting);
            self.vars.push(VarState { waiting, ..VarState::new(key, self.unplanned()) });
        }
        Ok(())
    }

    /// Records nodes that were found under unusual stored names.
    pub(crate) fn record_stored_names(&mut self, model: &Model) {
        if !self.escapes_names {
            return;
        }
        let is_found =
            |key: &Key, name: &str| node_name::needs_escape(name) && node_name::stored(key) == name;
        let found = |key: &Key, name: &str| is_found(key, name).then(|| name.into());
        for ((_, group), here) in model.groups().zip(&mut self.groups) {
            here.stored_name = found(&here.key, &group.name);
        }
        for ((_, var), here) in model.vars().zip(&mut self.vars) {
            here.stored_name = found(&here.key, &var.name);
        }
    }

    /// Whether every node has the key of its name in this model, and none waits. Later definitions do not
    /// change names.
    pub(crate) fn is_in_place(&self, model: &Model) -> bool {
        self.placed_naming == Some(model.naming()) && self.waiting == 0
    }

    /// Whether a variable or a group around it waits for its key.
    fn is_waiting(&self, id: VarId) -> Result<bool> {
        Ok(self.waiting > 0 && self.var(id)?.key.segments().any(rename::is_waiting))
    }

    /// Counts the waiting nodes again, after some were forgotten.
    pub(crate) fn count_waiting(&mut self) {
        let groups = self.groups.iter().filter(|group| group.waiting).count();
        self.waiting = groups + self.vars.iter().filter(|var| var.waiting).count();
    }

    /// Returns the key of a new node until the next commit, and whether it waits. If a renamed node still
    /// occupies the proper key, the new node gets a unique temporary key and waits. So no two nodes share a
    /// key.
    fn assign_key(&self, model: &Model, group: &Key, name: &str) -> Result<(Key, bool)> {
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
        Ok((group.join(&rename::waiting(self.vars.len() + self.groups.len()))?, true))
    }

    /// Returns the key that a node's name requires, below its parent's current key; `None` for the root.
    pub(crate) fn proper_key(&self, model: &Model, child: NodeId) -> Result<Option<Key>> {
        let (parent, name) = parent_and_name(model, child)?;
        parent.map(|parent| self.key_of(&self.group(parent)?.key, name, Some(child))).transpose()
    }

    /// Whether `key` is the key that the node's name requires, below its parent's current key.
    pub(crate) fn is_proper(&self, model: &Model, child: NodeId, key: &Key) -> Result<bool> {
        let (parent, name) = parent_and_name(model, child)?;
        let Some(parent) = parent else { return Ok(true) };
        let parent = &self.group(parent)?.key;
        // Most names have no escaped form, so a comparison suffices.
        let is_plain = !(self.escapes_names && node_name::needs_escape(name));
        Ok(is_plain && key.relative_to(parent) == Some(name)
            || self.key_of(parent, name, Some(child))? == *key)
    }

    /// Returns the key of a new node of this name in a group.
    fn new_key(&self, group: &Key, name: &str) -> Result<Key> {
        group.join(&node_name::escaped(name, self.escapes_names))
    }

    /// Returns the key of `name` in a group; `child` is `None` for a new node. A node found under an unusual
    /// stored name keeps that key.
    pub(crate) fn key_of(&self, group: &Key, name: &str, child: Option<NodeId>) -> Result<Key> {
        let found = match child {
            Some(NodeId::Var(id)) => self.var(id)?.stored_name.as_deref(),
            Some(NodeId::Group(id)) => self.group(id)?.stored_name.as_deref(),
            None => None,
        };
        match found {
            Some(found) if found == name => group.join(name),
            _ => self.new_key(group, name),
        }
    }

    /// Returns the path of another node of the group whose proper key is `key`: escaped names may collide
    /// with names found as they are.
    pub(crate) fn conflicting_node(
        &self,
        model: &Model,
        parent: GroupId,
        name: &str,
        key: &Key,
    ) -> Result<Option<String>> {
        let group = model.group(parent)?;
        let stored = node_name::stored(key);
        if stored == name && !stored.starts_with('_') {
            // The usual case: no other name maps to this key.
            return Ok(None);
        }
        for other in node_name::names(stored).filter(|other| *other != name) {
            let var = group.vars.get(other).map(|&id| NodeId::Var(id));
            let child = var.or_else(|| group.groups.get(other).map(|&id| NodeId::Group(id)));
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
    pub(crate) fn read_state(&self) -> RwLockReadGuard<'_, NodeStates> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write_state(&self) -> RwLockWriteGuard<'_, NodeStates> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the end of a move.
    pub(crate) fn wait_for_move(&self) {
        drop(self.lock_committed());
    }

    pub(crate) fn lock_committed(&self) -> MutexGuard<'_, CommittedMetadata> {
        self.committed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn planner(&self) -> LayoutPlanner<'_> {
        LayoutPlanner {
            registry: &self.registry,
            options: &self.options,
            flavour: self.flavour,
            format: self.format,
            separator: self.separator,
            forces_little_endian: self.description.writer_bugs.swapped,
        }
    }

    /// Returns the data of a variable; makes the array on the first call.
    fn array(&self, id: VarId) -> Result<ArrayHandle> {
        if let Some(array) = self.read_state().vars.get(id.index()).and_then(VarState::handle) {
            return Ok(array);
        }
        loop {
            let mut state = self.write_state();
            // Read under the lock of the states, so that an edit after this point plans the layout again.
            let model = self.model.snapshot();
            if let Some(problem) = &model.var(id)?.problem {
                return Err(problem.clone());
            }
            state.extend(&model)?;
            if state.is_moving {
                drop(state);
                self.wait_for_move();
                continue;
            }
            if state.is_waiting(id)? {
                drop(state);
                self.move_renamed(&model, &mut self.lock_committed())?;
                continue;
            }
            let Some(var) = state.vars.get_mut(id.index()) else {
                return Err(crate::edit::admit::no_var(id));
            };
            if let Some(array) = var.handle() {
                return Ok(array);
            }
            if var.replan {
                self.planner().plan(&model, id, Arc::make_mut(&mut var.stored))?;
                (var.replan, var.planned) = (false, true);
            }
            return self.make_array(&model, id, var);
        }
    }

    fn make_array(&self, model: &Model, id: VarId, state: &mut VarState) -> Result<ArrayHandle> {
        let var = model.var(id)?;
        let Some(meta) = &state.stored.meta else {
            return Err(ErrorKind::Internal.context("no layout"));
        };
        let element = match (&state.stored.element, &state.stored.pieces) {
            (Some(codec), _) if var.xtype == NcType::String && self.flavour == Flavour::NcZarr => {
                ElementLayout::Variable(Box::new(NullStringCodec(codec.clone())))
            }
            (Some(codec), _) => ElementLayout::Variable(codec.clone()),
            (None, Some(pieces)) => ElementLayout::Packed { ty: var.xtype, pieces: pieces.clone() },
            (None, None) => (meta.dtype.element(var.xtype)).ok_or_else(|| {
                ErrorKind::BadType.context(format!("type {} is not supported", meta.dtype.text))
            })?,
        };
        let dims = var.dims.iter().map(|&dim| {
            let dim = model.dim(dim)?;
            Ok(ArrayDim { len: Arc::clone(dim.shared_len()), unlimited: dim.unlimited })
        });
        let place = (state.key.clone(), meta.separator, meta.prefix);
        let chunks = Arc::new(VariableChunks::new(Arc::clone(&self.map), place, self.writable));
        let spec = ArraySpec {
            name: model.var_path(id)?,
            dims: dims.collect::<Result<_>>()?,
            // NCZarr stores a scalar with one dimension of length 1.
            chunk_shape: if var.dims.is_empty() { Vec::new() } else { meta.chunks.clone() },
            element,
            order: meta.order.clone(),
            filters: state.stored.filters.clone(),
            fill: match var.fill_value().or_else(|| state.stored.absent_value.clone()) {
                // The engine needs an empty element for packed types of variable length.
                None if !var.xtype.is_atomic() && !model.is_fixed(var.xtype)? => {
                    Some(model.blank(var.xtype)?)
                }
                fill => fill,
            },
            shards: shards(&state.stored.shards, var.dims.is_empty())?,
            store: Arc::clone(&chunks) as Arc<_>,
            options: self.options.clone(),
            writable: self.writable,
        };
        if let Some(axes) = &meta.axes {
            let array = Arc::new(RectilinearArray::new(spec, Arc::clone(axes), Arc::clone(&chunks))?);
            state.chunks = Some(chunks);
            state.rectilinear = Some(Arc::clone(&array));
            return Ok(ArrayHandle::RectilinearArray(array));
        }
        let array = ChunkedArray::new(spec)?;
        if let Some(cache) = state.cache {
            array.set_chunk_cache(cache)?;
        }
        let gate = Arc::new(GuardedArray::new(array, Arc::clone(&chunks), Arc::clone(&self.closing)));
        state.chunks = Some(chunks);
        state.array = Some(Arc::clone(&gate));
        Ok(ArrayHandle::Chunked(gate))
    }

    pub(crate) fn check_open(&self) -> Result<()> {
        if self.closing.is_closed() { Err(ErrorKind::BadId.context("the dataset is closed")) } else { Ok(()) }
    }

    /// Ends define mode and stores everything.
    fn write_all(&self) -> Result<()> {
        // Data first: metadata must only count stored data.
        let flushed = self.flush();
        self.write_metadata(true)?;
        self.model.end();
        flushed?;
        self.map.sync()
    }

    /// Rejects new writers, waits for the current ones, then runs `work` once.
    fn close_once(&self, work: impl FnOnce() -> Result<()>) -> Result<()> {
        // A dataset opened for reading has no writers.
        self.closing.close_with(|| if self.writable { self.arrays() } else { Vec::new() }, work)
    }

    fn arrays(&self) -> Vec<Arc<GuardedArray>> {
        self.read_state().vars.iter().filter_map(|var| var.array.clone()).collect()
    }

    /// Stores the data of all variables and then raises the lengths that metadata may declare. Tries all;
    /// returns the first error.
    fn flush(&self) -> Result<()> {
        // Read before the data are stored: other threads may append meanwhile.
        let reached = self.model.with(Lengths::of);
        let arrays: Vec<_> = self.read_state().vars.iter().map(|var| var.array.clone()).collect();
        self.read_state()
            .vars
            .iter()
            .filter_map(|var| var.rectilinear.as_ref())
            .for_each(|array| array.clear_cache());
        let model = self.model.snapshot();
        let (mut outcome, mut failed) = (Ok(()), Vec::new());
        for (at, array) in arrays.into_iter().enumerate() {
            if let Some(Err(error)) = array.map(|array| array.sync()) {
                failed.extend(model.var(VarId(at as u32)));
                outcome = outcome.and(Err(error));
            }
        }
        self.lock_committed().stored_lens.raise(&reached, &failed);
        outcome
    }
}

impl Dataset for ZarrDataset {
    fn info(&self) -> DatasetInfo {
        self.description.info()
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
        for key in groups.iter().chain(&self.description.empty_folders) {
            // Nodes are folders; other objects with such names do not matter.
            for name in self.map.invalid_names(key)?.iter().filter_map(|name| name.strip_suffix('/')) {
                found.push(Fault::left_out(format_args!("{}/{name}", slashed(key)), UNNAMEABLE));
            }
        }
        // Opening may have reported them, from consolidated metadata.
        found.retain(|fault| !self.description.faults.iter().any(|known| known.path == fault.path));
        Ok(found)
    }

    fn attributes_json(&self, group: GroupId, var: Option<VarId>) -> Result<Option<Vec<(String, String)>>> {
        self.check_open()?;
        self.stored_json(group, var)
    }

    fn set_attribute_json(&self, group: GroupId, var: Option<VarId>, name: &str, json: &str) -> Result<()> {
        self.check_open()?;
        self.preserve_json(group, var, name, json)
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
        self.define_as_stored(group, name, xtype, dims, stored)
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
            ArrayHandle::Chunked(array) => array,
            ArrayHandle::RectilinearArray(array) => return Ok(array),
        };
        if !self.writable {
            return Ok(array);
        }
        let model = self.model.snapshot();
        let var = model.var(id)?;
        match var.quantize {
            Some(quantize) => {
                // Without a fill value, netCDF-C leaves the default fill value unrounded.
                let fill = var.fill_value().or_else(|| nczarr_model::fill::default(var.xtype));
                Ok(Arc::new(QuantizedArray::new(array, var.xtype, quantize, fill)))
            }
            None => Ok(array),
        }
    }

    fn admit(&self, edit: &Edit<'_>) -> Result<()> {
        let (mut state, asked) = self.begin_edit(edit)?;
        self.model.with(|model| self.check(edit, model, &mut state, &asked))
    }

    fn apply(&self, edit: &Edit<'_>) -> Result<Defined> {
        let (mut state, asked) = self.begin_edit(edit)?;
        let check = |model: &Model| self.check(edit, model, &mut state, &asked);
        self.model.define_if(check, |model, ()| model.apply(edit))
    }

    fn apply_att(&self, group: GroupId, var: Option<VarId>, name: &str, values: &mut Values) -> Result<()> {
        let (mut state, asked) = self.begin_edit(&Edit::PutAtt { group, var, name, values })?;
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
        // Makes the chunks and records of other writers visible, also through a caching map.
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
        self.close_once(|| {
            let written = if self.writable { self.write_all() } else { Ok(()) };
            let closed = self.map.close();
            written.and(closed)
        })
    }

    fn abort(&self) -> Result<()> {
        self.close_once(|| {
            let outcome = if !self.writable {
                Ok(())
            } else if self.is_new() {
                self.delete_all()
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

/// Returns the parent group (`None` for the root) and the name of a node.
fn parent_and_name(model: &Model, child: NodeId) -> Result<(Option<GroupId>, &str)> {
    match child {
        NodeId::Var(id) => model.var(id).map(|var| (Some(var.group), &*var.name)),
        NodeId::Group(id) => model.group(id).map(|group| (group.parent, &*group.name)),
    }
}

/// Returns the shards of an array; without dimensions for a scalar, which may be stored with one dimension of
/// length 1.
fn shards(stored: &[ShardSpec], scalar: bool) -> Result<Vec<ShardSpec>> {
    let mut shards = stored.to_vec();
    for shard in shards.iter_mut().filter(|_| scalar) {
        if shard.counts.iter().any(|&count| count != 1) || shard.index.order != DimOrder::C {
            return Err(ErrorKind::BadChunk.context("a scalar cannot have shards of several chunks"));
        }
        (shard.counts, shard.order) = (Vec::new(), DimOrder::C);
    }
    Ok(shards)
}
