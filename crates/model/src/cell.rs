//! [`ModelCell`]: the model of an open dataset, shared by all threads.

use std::sync::{Arc, PoisonError, RwLock};

use crate::{Defined, Edit, Model, Result};

/// The current model, and the one to go back to when a redefinition is aborted.
///
/// Readers take a snapshot and work without a lock; edits are ordered. An edit copies the model only while
/// somebody holds a snapshot.
#[derive(Debug, Default)]
pub struct ModelCell {
    current: RwLock<Arc<Model>>,
    saved: RwLock<Option<Arc<Model>>>,
}

impl ModelCell {
    /// A cell holding `model`.
    pub fn new(model: Model) -> Self {
        Self { current: RwLock::new(Arc::new(model)), saved: RwLock::default() }
    }

    /// The model as it is now.
    pub fn snapshot(&self) -> Arc<Model> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Applies one edit; on an error nothing has changed.
    ///
    /// # Errors
    /// As [`Model::apply`].
    pub fn apply(&self, edit: &Edit<'_>) -> Result<Defined> {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut current).apply(edit)
    }

    /// Lets `change` work on the model directly: for a driver that fills in what it found, not for edits.
    pub fn change<T>(&self, change: impl FnOnce(&mut Model) -> T) -> T {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut current))
    }

    /// Remembers the model as the state an abort goes back to (`redef`).
    pub fn begin(&self) {
        *self.saved.write().unwrap_or_else(PoisonError::into_inner) = Some(self.snapshot());
    }

    /// Whether a state is remembered: the dataset is in define mode.
    pub fn is_defining(&self) -> bool {
        self.saved.read().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Forgets the remembered state (`enddef`); answers whether there was one.
    pub fn end(&self) -> bool {
        self.saved.write().unwrap_or_else(PoisonError::into_inner).take().is_some()
    }

    /// Goes back to the remembered state (`abort`); answers whether there was one.
    pub fn roll_back(&self) -> bool {
        match self.saved.write().unwrap_or_else(PoisonError::into_inner).take() {
            Some(saved) => {
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = saved;
                true
            }
            None => false,
        }
    }
}
