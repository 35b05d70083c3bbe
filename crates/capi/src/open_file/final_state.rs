//! [`FinalState`]: what can no longer change, since it exists in storage.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use nczarr::NcType;
use nczarr::model::{Model, VarId};

/// The objects of a dataset that can no longer change. Ids count up, so a number names the first ones.
#[derive(Default)]
pub struct FinalState {
    /// The number of variables that exist in storage. Their layout is final.
    vars: AtomicUsize,
    /// The number of variables whose fill value is final, since the program ended their define mode.
    fills: AtomicUsize,
    /// Other variables whose fill value is final, since they have data.
    written: Mutex<HashSet<VarId>>,
    /// The number of types that exist in storage.
    types: AtomicUsize,
}

impl FinalState {
    /// Makes the state of a dataset in which all objects of a model are stored.
    pub fn of_stored(model: &Model) -> Self {
        let state = Self::default();
        state.note_stored(model.vars().len(), model.user_types().len());
        state.note_fills();
        state
    }

    /// Notes that the first variables and types exist in storage.
    pub fn note_stored(&self, vars: usize, types: usize) {
        self.vars.fetch_max(vars, Ordering::AcqRel);
        self.types.fetch_max(types, Ordering::AcqRel);
    }

    /// Notes that the fill values of all stored variables are final.
    pub fn note_fills(&self) {
        self.fills.fetch_max(self.vars.load(Ordering::Acquire), Ordering::AcqRel);
    }

    /// Notes that a variable has data.
    pub fn note_write(&self, var: VarId) {
        if !self.is_defined_fill(var) {
            self.written.lock().unwrap_or_else(PoisonError::into_inner).insert(var);
        }
    }

    /// Whether a variable exists in storage.
    pub fn has_var(&self, var: VarId) -> bool {
        var.index() < self.vars.load(Ordering::Acquire)
    }

    /// Whether the fill value of a variable is final.
    pub fn has_fill(&self, var: VarId) -> bool {
        let written = || self.written.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_defined_fill(var) || written().contains(&var)
    }

    fn is_defined_fill(&self, var: VarId) -> bool {
        var.index() < self.fills.load(Ordering::Acquire)
    }

    /// Returns the number of types that exist in storage.
    pub fn types(&self) -> usize {
        self.types.load(Ordering::Acquire)
    }

    /// Whether a type exists in storage.
    pub fn has_type(&self, ty: NcType) -> bool {
        match ty {
            NcType::User(id) => id.index() < self.types(),
            _ => true,
        }
    }
}
