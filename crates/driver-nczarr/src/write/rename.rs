//! Renames in storage: when metadata is written, variables and groups move to the keys of their names.
//!
//! Before that, a rename changes only the model, so it can be undone. Groups move before their contents, and
//! swapped names use a hidden name in between. No data access happens during a move. A new node whose name is
//! still occupied gets a hidden key and waits. Nothing is stored for it until the move ends.

use std::collections::HashMap;
use std::sync::Arc;

use nczarr_model::{GroupId, Model, Result, VarId};
use nczarr_storage::Key;

use crate::data::variable_chunks::VariableChunks;
use crate::dataset::catalog::Catalog;
use crate::dataset::hidden_names::MOVING_PREFIX;
use crate::dataset::node_id::NodeId;
use crate::dataset::node_states::NodeStates;
use crate::legacy::upgrade::LegacyUpgrade;
use crate::write::committed::CommittedMetadata;
use crate::write::remove_consolidated;

struct KeyMove {
    child: NodeId,
    from: Key,
    to: Key,
}

/// Moves renamed nodes to the keys of their names.
#[derive(Clone, Copy)]
pub(crate) struct NodeMover<'c> {
    pub(crate) catalog: &'c Catalog,
}

impl NodeMover<'_> {
    /// Moves all nodes that were renamed since the last commit.
    ///
    /// # Errors
    /// Errors of the map. Completed moves stay; the next call does the rest.
    pub(crate) fn move_renamed(&self, model: &Model, committed: &mut CommittedMetadata) -> Result<()> {
        if self.catalog.read_state().is_in_place(model) {
            return Ok(());
        }
        LegacyUpgrade { catalog: self.catalog }.upgrade(committed)?;
        for (parent, _) in model.groups() {
            let moves = self.pending_moves(model, parent)?;
            if moves.is_empty() {
                continue;
            }
            // Consolidated metadata names keys that will be gone.
            remove_consolidated::remove(self.catalog, committed)?;
            remove_consolidated::remove_nested(self.catalog, committed)?;
            self.move_all(model, moves)?;
        }
        self.catalog.write_state().placed_naming = Some(model.naming());
        Ok(())
    }

    /// Moves children of one group, each after its new key is free.
    fn move_all(&self, model: &Model, moves: Vec<KeyMove>) -> Result<()> {
        let leaving: HashMap<Key, usize> =
            moves.iter().enumerate().map(|(i, one)| (one.from.clone(), i)).collect();
        // For each move, the move that waits for its old key.
        let mut waiting = vec![None; moves.len()];
        let mut free = Vec::new();
        for (i, one) in moves.iter().enumerate() {
            match leaving.get(&one.to).and_then(|&other| waiting.get_mut(other)) {
                Some(place) => *place = Some(i),
                None => free.push(i),
            }
        }
        let mut moves: Vec<Option<KeyMove>> = moves.into_iter().map(Some).collect();
        let (mut next, mut detours) = (0, 0);
        loop {
            while let Some(i) = free.pop() {
                if let Some(KeyMove { child, from, to }) = moves.get_mut(i).and_then(Option::take) {
                    self.move_one(model, child, &from, &to)?;
                    free.extend(waiting.get(i).copied().flatten());
                }
            }
            // The remaining moves form cycles: one node of each moves to a hidden name first.
            let Some(left) = moves.get(next) else { return Ok(()) };
            if let Some(one) = left {
                detours += 1;
                let name = format!("{MOVING_PREFIX}{detours}");
                let hidden = match one.from.parent() {
                    Some(parent) => parent.join(&name)?,
                    None => Key::new(&name)?,
                };
                self.move_one(model, one.child, &one.from, &hidden)?;
                if let Some(Some(one)) = moves.get_mut(next) {
                    one.from = hidden;
                }
                // The last move of its cycle, after all others.
                free.extend(waiting.get_mut(next).and_then(Option::take));
            }
            next += 1;
        }
    }

    /// Returns the moves among the children of one group.
    fn pending_moves(&self, model: &Model, parent: GroupId) -> Result<Vec<KeyMove>> {
        let state = self.catalog.read_state();
        let group = model.group(parent)?;
        let Some(place) = state.groups.get(parent.index()) else { return Ok(Vec::new()) };
        let mut moves = Vec::new();
        let mut check = |child: NodeId, name: &str, from: Option<&Key>| -> Result<()> {
            let Some(from) = from else { return Ok(()) };
            let to = state.key_of(&place.key, name, Some(child))?;
            if *from != to {
                moves.push(KeyMove { child, from: from.clone(), to });
            }
            Ok(())
        };
        for (name, &id) in &group.groups {
            check(NodeId::Group(id), name, state.groups.get(id.index()).map(|group| &group.key))?;
        }
        if !self.catalog.root_array {
            for (name, &id) in &group.vars {
                check(NodeId::Var(id), name, state.vars.get(id.index()).map(|var| &var.key))?;
            }
        }
        Ok(moves)
    }

    fn move_one(&self, model: &Model, child: NodeId, from: &Key, to: &Key) -> Result<()> {
        // Until the move ends, no thread uses existing arrays, and none makes new ones.
        let mut under_way = MoveGuard(Some(self.catalog));
        let (waits, chunks) = {
            let mut state = self.catalog.write_state();
            (state.is_moving, state.placed_naming) = (true, None);
            (state.is_node_waiting(child)?, state.chunks(model, child))
        };
        let last = self.catalog.closing.is_closed();
        let alone = chunks.iter().map(|chunks| chunks.lock_for_move(last)).collect::<Result<Vec<_>>>();
        // A waiting node has nothing stored.
        let renamed =
            alone.and_then(
                |alone| if waits { Ok(alone) } else { self.catalog.map.rename(from, to).map(|()| alone) },
            );
        let mut state = self.catalog.write_state();
        under_way.0 = None;
        state.end_move();
        let _alone = renamed?;
        match child {
            NodeId::Var(id) => {
                if let Some(var) = state.vars.get_mut(id.index()) {
                    move_key(&mut var.key, from, to)?;
                    if let Some(chunks) = &var.chunks {
                        chunks.move_to(var.key.clone());
                    }
                    var.waiting = false;
                }
            }
            NodeId::Group(id) => move_group(&mut state, model, id, from, to)?,
        }
        if waits {
            state.count_waiting();
        }
        Ok(())
    }
}

/// Ends a move when dropped, also after an error or a panic.
struct MoveGuard<'d>(Option<&'d Catalog>);

impl Drop for MoveGuard<'_> {
    fn drop(&mut self) {
        if let Some(catalog) = self.0 {
            catalog.write_state().end_move();
        }
    }
}

impl NodeStates {
    fn end_move(&mut self) {
        self.is_moving = false;
        self.move_count += 1;
    }

    /// Whether a child waits for its key.
    fn is_node_waiting(&self, child: NodeId) -> Result<bool> {
        match child {
            NodeId::Var(id) => self.var(id).map(|var| var.waiting),
            NodeId::Group(id) => self.group(id).map(|group| group.waiting),
        }
    }

    /// Returns the chunks that move with a child and may be in use.
    fn chunks(&self, model: &Model, child: NodeId) -> Vec<Arc<VariableChunks>> {
        let moves = |id: VarId, group: GroupId| match child {
            NodeId::Var(var) => id == var,
            NodeId::Group(outer) => is_within(model, group, outer),
        };
        let vars = model.vars().zip(&self.vars).filter(|((id, var), _)| moves(*id, var.group));
        vars.filter_map(|(_, here)| here.chunks.clone()).collect()
    }
}

/// Updates the keys of a group and of all nodes below it.
fn move_group(state: &mut NodeStates, model: &Model, id: GroupId, from: &Key, to: &Key) -> Result<()> {
    for (group, _) in model.groups() {
        if is_within(model, group, id)
            && let Some(here) = state.groups.get_mut(group.index())
        {
            move_key(&mut here.key, from, to)?;
            here.waiting &= group != id;
        }
    }
    for (var, here) in model.vars().zip(&mut state.vars) {
        if is_within(model, var.1.group, id) {
            move_key(&mut here.key, from, to)?;
            if let Some(chunks) = &here.chunks {
                chunks.move_to(here.key.clone());
            }
        }
    }
    Ok(())
}

fn is_within(model: &Model, group: GroupId, outer: GroupId) -> bool {
    let mut here = Some(group);
    while let Some(group) = here {
        if group == outer {
            return true;
        }
        here = model.group(group).ok().and_then(|group| group.parent);
    }
    false
}

/// Replaces the prefix `from` by `to`.
fn move_key(key: &mut Key, from: &Key, to: &Key) -> Result<()> {
    if key == from {
        *key = to.clone();
    } else if let Some(rest) = key.relative_to(from) {
        *key = to.join(rest)?;
    }
    Ok(())
}
