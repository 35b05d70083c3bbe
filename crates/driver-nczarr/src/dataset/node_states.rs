//! The states of groups and variables beside the model, by id: [`NodeStates`].
//!
//! A node has the key of its name, except between a rename and the next commit.

use std::sync::{Arc, OnceLock};

use nczarr_dispatch::CacheConfig;
use nczarr_model::{ErrorKind, GroupId, Model, Result, VarId};
use nczarr_storage::Key;

use crate::data::guarded_array::GuardedArray;
use crate::data::rectilinear::RectilinearArray;
use crate::data::variable_chunks::VariableChunks;
use crate::dataset::hidden_names;
use crate::dataset::node_id::NodeId;
use crate::dataset::preserved_json::PreservedJson;
use crate::metadata::json::Object;
use crate::metadata::v3::node_name;
use crate::metadata::variable::StoredVariable;

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
    /// The stored name, if this library would not choose it for the group. The group keeps that key.
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
    /// The stored name, if this library would not choose it for the variable. The variable keeps that key.
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
pub(crate) enum ArrayHandle {
    Chunked(Arc<GuardedArray>),
    RectilinearArray(Arc<RectilinearArray>),
}

impl VarState {
    /// Returns the data, if an earlier access made them.
    pub(crate) fn handle(&self) -> Option<ArrayHandle> {
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
    pub(crate) fn is_waiting(&self, id: VarId) -> Result<bool> {
        Ok(self.waiting > 0 && self.var(id)?.key.segments().any(hidden_names::is_waiting))
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
        Ok((group.join(&hidden_names::waiting(self.vars.len() + self.groups.len()))?, true))
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

    /// Returns the key of `name` in a group; `child` is `None` for a new node. A node with an unusual stored
    /// name keeps its key.
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

/// Returns the parent group (`None` for the root) and the name of a node.
fn parent_and_name(model: &Model, child: NodeId) -> Result<(Option<GroupId>, &str)> {
    match child {
        NodeId::Var(id) => model.var(id).map(|var| (Some(var.group), &*var.name)),
        NodeId::Group(id) => model.group(id).map(|group| (group.parent, &*group.name)),
    }
}
