//! [`ModelCell`]: the model of an open dataset, shared by all threads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::{Defined, Edit, Model, Result};

/// The current model, and the one to go back to when a redefinition is aborted.
///
/// Readers take a snapshot and work without a lock; edits are ordered. An edit copies the model only while
/// somebody holds a snapshot. Who keeps something that was looked up asks [`ModelCell::edition`] whether it still
/// holds: that touches nothing that other threads touch, while a snapshot counts itself.
#[derive(Debug, Default)]
pub struct ModelCell {
    current: RwLock<Arc<Model>>,
    saved: RwLock<Option<Arc<Model>>>,
    /// Whether `saved` holds something.
    defining: AtomicBool,
    edition: AtomicU64,
}

impl ModelCell {
    /// A cell holding `model`, which others may hold too: an edit then copies it.
    pub fn new(model: impl Into<Arc<Model>>) -> Self {
        Self {
            current: RwLock::new(model.into()),
            saved: RwLock::default(),
            defining: AtomicBool::default(),
            edition: AtomicU64::default(),
        }
    }

    /// The model as it is now.
    pub fn snapshot(&self) -> Arc<Model> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// What `look` sees of the model as it is now. As [`ModelCell::snapshot`], without counting one: nothing of this cell is to be
    /// called meanwhile.
    pub fn with<T>(&self, look: impl FnOnce(&Model) -> T) -> T {
        look(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// A number that is another one after every edit, successful or not. Lengths of unlimited dimensions grow without.
    pub fn edition(&self) -> u64 {
        self.edition.load(Ordering::Acquire)
    }

    /// Applies one edit; on an error nothing has changed.
    ///
    /// # Errors
    /// As [`Model::apply`].
    pub fn apply(&self, edit: &Edit<'_>) -> Result<Defined> {
        self.change(|model| model.apply(edit))
    }

    /// As [`ModelCell::apply`]; enters define mode first, as [`ModelCell::begin`] does, if it is data mode and the edit can
    /// be applied. All of it is one step for other threads.
    ///
    /// # Errors
    /// As [`Model::apply`].
    pub fn define(&self, edit: &Edit<'_>) -> Result<Defined> {
        self.define_if(edit, |_| Ok(()))
    }

    /// As [`ModelCell::define`], if `check` allows it, which sees the model that the edit is made of. Nothing of this cell is to
    /// be called meanwhile.
    ///
    /// # Errors
    /// What `check` says: then no edit was made. Else as [`Model::apply`].
    pub fn define_if(&self, edit: &Edit<'_>, check: impl FnOnce(&Model) -> Result<()>) -> Result<Defined> {
        let mut saved = self.saved.write().unwrap_or_else(PoisonError::into_inner);
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        check(&current)?;
        let before = saved.is_none().then(|| Arc::clone(&current));
        let defined = Arc::make_mut(&mut current).apply(edit);
        if let Some(before) = before {
            match defined {
                Ok(_) => {
                    *saved = Some(before);
                    self.defining.store(true, Ordering::Release);
                }
                Err(_) => *current = before,
            }
        }
        self.edition.fetch_add(1, Ordering::Release);
        defined
    }

    /// Lets `change` work on the model directly: for a driver that fills in what it found, not for edits.
    pub fn change<T>(&self, change: impl FnOnce(&mut Model) -> T) -> T {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let outcome = change(Arc::make_mut(&mut current));
        // Before the lock goes: who sees the new number sees the new model.
        self.edition.fetch_add(1, Ordering::Release);
        outcome
    }

    /// Remembers the model as the state an abort goes back to (`redef`).
    pub fn begin(&self) {
        let mut saved = self.saved.write().unwrap_or_else(PoisonError::into_inner);
        *saved = Some(self.snapshot());
        self.defining.store(true, Ordering::Release);
    }

    /// Whether a state is remembered: the dataset is in define mode.
    pub fn is_defining(&self) -> bool {
        self.defining.load(Ordering::Acquire)
    }

    /// Forgets the remembered state (`enddef`); answers whether there was one.
    pub fn end(&self) -> bool {
        let mut saved = self.saved.write().unwrap_or_else(PoisonError::into_inner);
        self.defining.store(false, Ordering::Release);
        saved.take().is_some()
    }

    /// Goes back to the remembered state (`abort`); answers whether there was one.
    pub fn roll_back(&self) -> bool {
        let mut saved = self.saved.write().unwrap_or_else(PoisonError::into_inner);
        self.defining.store(false, Ordering::Release);
        match saved.take() {
            Some(saved) => {
                let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
                *current = saved;
                self.edition.fetch_add(1, Ordering::Release);
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GroupId;

    #[test]
    fn every_edit_makes_another_edition() {
        let cell = ModelCell::default();
        let mut seen = vec![cell.edition()];
        let mut see = |cell: &ModelCell| {
            let edition = cell.edition();
            let new = !seen.contains(&edition);
            seen.push(edition);
            new
        };
        let dim = |name| Edit::DefDim { group: GroupId::ROOT, name, len: None };
        cell.begin();
        assert!(cell.is_defining() && !see(&cell), "nothing was edited");
        assert!(cell.apply(&dim("t")).is_ok() && see(&cell));
        assert!(cell.apply(&dim("t")).is_err() && see(&cell), "what came of an edit makes no difference");
        cell.change(|_| ());
        assert!(see(&cell));
        cell.snapshot().dims().for_each(|(_, dim)| dim.grow(7));
        assert!(!see(&cell), "growth is no edit");
        assert!(cell.roll_back() && !cell.is_defining() && see(&cell));
        assert!(!cell.roll_back() && !see(&cell));
        cell.begin();
        assert!(cell.end() && !cell.is_defining() && !cell.end() && !see(&cell));
    }

    #[test]
    fn a_definition_that_is_not_allowed_is_none() {
        let cell = ModelCell::default();
        let dim = |name| Edit::DefDim { group: GroupId::ROOT, name, len: None };
        let (before, edition) = (cell.snapshot(), cell.edition());
        let refused =
            cell.define_if(&dim("t"), |model| Err(crate::ErrorKind::Perm.context(model.dims().len().to_string())));
        assert_eq!(refused.unwrap_err().kind(), crate::ErrorKind::Perm);
        assert!(!cell.is_defining() && cell.edition() == edition && Arc::ptr_eq(&before, &cell.snapshot()));
        // What checks sees what the edit is made of.
        for (count, name) in ["t", "u"].into_iter().enumerate() {
            cell.define_if(&dim(name), |model| {
                assert_eq!(model.dims().len(), count);
                Ok(())
            })
            .unwrap();
            assert_eq!(cell.with(|model| model.dims().len()), count + 1);
        }
    }

    #[test]
    fn a_definition_enters_define_mode_only_if_it_is_one() {
        let cell = ModelCell::default();
        let dim = |name| Edit::DefDim { group: GroupId::ROOT, name, len: None };
        let before = cell.snapshot();
        assert!(cell.define(&dim("/")).is_err() && !cell.is_defining());
        assert!(Arc::ptr_eq(&before, &cell.snapshot()), "nothing was copied for good");
        for name in ["t", "u"] {
            assert!(cell.define(&dim(name)).is_ok() && cell.is_defining());
        }
        assert!(cell.define(&dim("t")).is_err() && cell.is_defining());
        assert_eq!(cell.snapshot().dims().len(), 2);
        assert!(cell.roll_back() && Arc::ptr_eq(&before, &cell.snapshot()), "an abort goes back before the first");
    }
}
