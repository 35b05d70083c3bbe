//! Renames in storage: variables and groups move to where their names say, when metadata is written.
//!
//! Until then a rename is a matter of the model alone, so that it can be taken back. Groups move before what is in
//! them; names that were swapped go by way of a hidden one. Nobody is at data while they move. What is defined meanwhile, under a name by which another is still
//! stored, is known by a hidden name too, until that has moved: nothing is stored before.

use std::collections::HashMap;
use std::sync::Arc;

use nczarr_dispatch::Key;
use nczarr_model::{GroupId, Model, Result, VarId};

use crate::commit::Committed;
use crate::dataset::{State, ZarrDataset};
use crate::layout::Chunks;

/// How the names begin that children have while they make room for one another.
pub(crate) const MOVING: &str = ".moving-";

/// How the names begin that new children have while one that was renamed is still in their place. There nothing ever is.
const WAITING: &str = ".waiting-";

/// Whether a name is one of those.
pub(crate) fn is_waiting(name: &str) -> bool {
    name.starts_with(WAITING)
}

/// One of those names.
pub(crate) fn waiting(number: usize) -> String {
    format!("{WAITING}{number}")
}

/// A variable or group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Child {
    Var(VarId),
    Group(GroupId),
}

struct Move {
    child: Child,
    from: Key,
    to: Key,
}

impl ZarrDataset {
    /// Moves what was renamed since the last commit.
    ///
    /// # Errors
    /// What the map says; what was moved until then stays moved, and the next call does the rest.
    pub(crate) fn move_renamed(&self, model: &Model, committed: &mut Committed) -> Result<()> {
        if self.read_state().is_in_place(model) {
            return Ok(());
        }
        self.upgrade(committed)?;
        for (parent, _) in model.groups() {
            let moves = self.moves(model, parent)?;
            if moves.is_empty() {
                continue;
            }
            // It names places that will be gone.
            self.drop_consolidated(committed)?;
            self.drop_nested(committed)?;
            self.move_all(model, moves)?;
        }
        self.write_state().moved = Some(model.naming());
        Ok(())
    }

    /// Moves children of one group: each once its place is free.
    fn move_all(&self, model: &Model, moves: Vec<Move>) -> Result<()> {
        let leaving: HashMap<Key, usize> = moves.iter().enumerate().map(|(i, one)| (one.from.clone(), i)).collect();
        // Who waits for the place of whom.
        let mut waiting = vec![None; moves.len()];
        let mut free = Vec::new();
        for (i, one) in moves.iter().enumerate() {
            match leaving.get(&one.to).and_then(|&other| waiting.get_mut(other)) {
                Some(place) => *place = Some(i),
                None => free.push(i),
            }
        }
        let mut moves: Vec<Option<Move>> = moves.into_iter().map(Some).collect();
        let (mut next, mut detours) = (0, 0);
        loop {
            while let Some(i) = free.pop() {
                if let Some(Move { child, from, to }) = moves.get_mut(i).and_then(Option::take) {
                    self.move_one(model, child, &from, &to)?;
                    free.extend(waiting.get(i).copied().flatten());
                }
            }
            // What is left moves in circles: one of each makes room.
            let Some(left) = moves.get(next) else { return Ok(()) };
            if let Some(one) = left {
                detours += 1;
                let name = format!("{MOVING}{detours}");
                let hidden = match one.from.parent() {
                    Some(parent) => parent.join(&name)?,
                    None => Key::new(&name)?,
                };
                self.move_one(model, one.child, &one.from, &hidden)?;
                if let Some(Some(one)) = moves.get_mut(next) {
                    one.from = hidden;
                }
                // The last one of its circle, it moves once all others did.
                free.extend(waiting.get_mut(next).and_then(Option::take));
            }
            next += 1;
        }
    }

    /// The moves among the children of one group.
    fn moves(&self, model: &Model, parent: GroupId) -> Result<Vec<Move>> {
        let state = self.read_state();
        let group = model.group(parent)?;
        let Some(place) = state.groups.get(parent.index()) else { return Ok(Vec::new()) };
        let mut moves = Vec::new();
        let mut check = |child: Child, name: &str, from: Option<&Key>| -> Result<()> {
            let Some(from) = from else { return Ok(()) };
            let to = state.key_of(&place.key, name, Some(child))?;
            if *from != to {
                moves.push(Move { child, from: from.clone(), to });
            }
            Ok(())
        };
        for (name, &id) in &group.groups {
            check(Child::Group(id), name, state.groups.get(id.index()).map(|group| &group.key))?;
        }
        if !self.root_array {
            for (name, &id) in &group.vars {
                check(Child::Var(id), name, state.vars.get(id.index()).map(|var| &var.key))?;
            }
        }
        Ok(moves)
    }

    fn move_one(&self, model: &Model, child: Child, from: &Key, to: &Key) -> Result<()> {
        // Arrays that are there are left alone by all others, and no new ones come, until they are known to be elsewhere.
        let mut under_way = UnderWay(Some(self));
        let (waits, chunks) = {
            let mut state = self.write_state();
            (state.moving, state.moved) = (true, None);
            (state.waits(child)?, state.chunks(model, child))
        };
        let last = self.closing.is_closed();
        let alone = chunks.iter().map(|chunks| chunks.alone(last)).collect::<Result<Vec<_>>>();
        // What waits has nothing stored.
        let renamed = alone.and_then(|alone| if waits { Ok(alone) } else { self.map.rename(from, to).map(|()| alone) });
        let mut state = self.write_state();
        under_way.0 = None;
        state.end_move();
        let _alone = renamed?;
        match child {
            Child::Var(id) => {
                if let Some(var) = state.vars.get_mut(id.index()) {
                    move_key(&mut var.key, from, to)?;
                    if let Some(chunks) = &var.chunks {
                        chunks.move_to(var.key.clone());
                    }
                    var.waiting = false;
                }
            }
            Child::Group(id) => move_group(&mut state, model, id, from, to)?,
        }
        if waits {
            state.count_waiting();
        }
        Ok(())
    }
}

/// A move that others wait for: it ends with whoever makes it, also where that fails or panics.
struct UnderWay<'d>(Option<&'d ZarrDataset>);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if let Some(dataset) = self.0 {
            dataset.write_state().end_move();
        }
    }
}

impl State {
    fn end_move(&mut self) {
        self.moving = false;
        self.moves += 1;
    }

    /// Whether a child waits for its place, where nothing is stored.
    fn waits(&self, child: Child) -> Result<bool> {
        match child {
            Child::Var(id) => self.var(id).map(|var| var.waiting),
            Child::Group(id) => self.group(id).map(|group| group.waiting),
        }
    }

    /// The chunks that move with a child, as far as somebody may be at them.
    fn chunks(&self, model: &Model, child: Child) -> Vec<Arc<Chunks>> {
        let moves = |id: VarId, group: GroupId| match child {
            Child::Var(var) => id == var,
            Child::Group(outer) => is_within(model, group, outer),
        };
        let vars = model.vars().zip(&self.vars).filter(|((id, var), _)| moves(*id, var.group));
        vars.filter_map(|(_, here)| here.chunks.clone()).collect()
    }
}

/// Moves the places of a group and of all that is in it.
fn move_group(state: &mut State, model: &Model, id: GroupId, from: &Key, to: &Key) -> Result<()> {
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

/// Puts `to` in place of the prefix `from`.
fn move_key(key: &mut Key, from: &Key, to: &Key) -> Result<()> {
    if key == from {
        *key = to.clone();
    } else if let Some(rest) = key.relative_to(from) {
        *key = to.join(rest)?;
    }
    Ok(())
}
