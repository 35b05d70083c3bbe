//! [`ModelCell`]: the model of an open dataset, shared by all threads.

use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::{Defined, Edit, Model, Result};

/// The current model, and the saved one for an aborted redefinition.
///
/// Readers use snapshots without a lock; edits are serialised. An edit copies the model only while a snapshot
/// exists. A caller that keeps values compares [`ModelCell::edition`] to detect edits. The comparison touches
/// no memory that other threads write, while a snapshot updates a counter.
#[derive(Debug, Default)]
pub struct ModelCell {
    models: RwLock<Models>,
    /// Whether a saved model exists.
    defining: AtomicBool,
    edition: AtomicU64,
}

/// The state behind the lock.
#[derive(Debug, Default)]
struct Models {
    current: Arc<Model>,
    /// The state that an abort restores.
    saved: Option<Arc<Model>>,
}

impl ModelCell {
    /// Creates a cell. If `model` is shared, the first edit copies it.
    pub fn new(model: impl Into<Arc<Model>>) -> Self {
        Self {
            models: RwLock::new(Models { current: model.into(), saved: None }),
            defining: AtomicBool::new(false),
            edition: AtomicU64::new(0),
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Models> {
        self.models.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Models> {
        self.models.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the current model.
    pub fn snapshot(&self) -> Arc<Model> {
        Arc::clone(&self.read().current)
    }

    /// Calls `look` with the current model. As [`ModelCell::snapshot`], without updating a counter. `look`
    /// must not call this cell.
    pub fn with<T>(&self, look: impl FnOnce(&Model) -> T) -> T {
        look(&self.read().current)
    }

    /// Returns a number that changes with every edit, successful or not. Growth of unlimited dimensions does
    /// not change it.
    pub fn edition(&self) -> u64 {
        self.edition.load(Ordering::Acquire)
    }

    /// Changes the edition under the lock: a reader of the new number sees the new model.
    fn next_edition(&self, _locked: &Models) {
        // Only the holder of the lock changes it.
        self.edition.store(self.edition.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
    }

    /// Applies one edit; on an error nothing has changed.
    ///
    /// # Errors
    /// As [`Model::apply`].
    pub fn apply(&self, edit: &Edit<'_>) -> Result<Defined> {
        self.change(|model| model.apply(edit))
    }

    /// As [`ModelCell::apply`]; enters define mode first, as [`ModelCell::begin`], if the dataset is in data
    /// mode and the edit is valid. Other threads see this as one step.
    ///
    /// # Errors
    /// As [`Model::apply`].
    pub fn define(&self, edit: &Edit<'_>) -> Result<Defined> {
        self.define_if(|_| Ok(()), |model, ()| model.apply(edit))
    }

    /// As [`ModelCell::define`] with the function `edit`, which must change nothing if it fails. `check` sees
    /// the current model and may reject the edit; its result is passed to `edit`. Neither may call this cell.
    ///
    /// # Errors
    /// The error of `check`, if no edit was made; otherwise the error of `edit`.
    pub fn define_if<C, T>(
        &self,
        check: impl FnOnce(&Model) -> Result<C>,
        edit: impl FnOnce(&mut Model, C) -> Result<T>,
    ) -> Result<T> {
        let mut models = self.write();
        let Models { current, saved } = &mut *models;
        let checked = check(current)?;
        let before = saved.is_none().then(|| Arc::clone(current));
        let defined = edit(Arc::make_mut(current), checked);
        if let Some(before) = before {
            match defined {
                Ok(_) => {
                    *saved = Some(before);
                    self.defining.store(true, Ordering::Release);
                }
                Err(_) => *current = before,
            }
        }
        self.next_edition(&models);
        defined
    }

    /// Lets `change` modify the model directly: for a driver that loads a dataset, not for edits.
    pub fn change<T>(&self, change: impl FnOnce(&mut Model) -> T) -> T {
        let mut models = self.write();
        let outcome = change(Arc::make_mut(&mut models.current));
        self.next_edition(&models);
        outcome
    }

    /// Saves the model as the state that an abort restores (`redef`).
    pub fn begin(&self) {
        let mut models = self.write();
        let current = Arc::clone(&models.current);
        let old = models.saved.replace(current);
        self.defining.store(true, Ordering::Release);
        drop(models);
        drop(old);
    }

    /// Whether the dataset is in define mode: a saved state exists.
    pub fn is_defining(&self) -> bool {
        self.defining.load(Ordering::Acquire)
    }

    /// Drops the saved state (`enddef`). Returns whether there was one.
    pub fn end(&self) -> bool {
        let mut models = self.write();
        self.defining.store(false, Ordering::Release);
        let saved = models.saved.take();
        // Its memory is freed without the lock.
        drop(models);
        saved.is_some()
    }

    /// Restores the saved state (`abort`). Returns whether there was one.
    pub fn roll_back(&self) -> bool {
        let mut models = self.write();
        self.defining.store(false, Ordering::Release);
        match models.saved.take() {
            Some(saved) => {
                let aborted = mem::replace(&mut models.current, saved);
                self.next_edition(&models);
                drop(models);
                drop(aborted);
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
    fn a_refused_definition_changes_nothing() {
        let cell = ModelCell::default();
        let dim = |name| Edit::DefDim { group: GroupId::ROOT, name, len: None };
        let (before, edition) = (cell.snapshot(), cell.edition());
        let refused = cell.define_if(
            |model| Err::<(), _>(crate::ErrorKind::Perm.context(model.dims().len().to_string())),
            |model, ()| model.apply(&dim("t")),
        );
        assert_eq!(refused.unwrap_err().kind(), crate::ErrorKind::Perm);
        assert!(!cell.is_defining() && cell.edition() == edition && Arc::ptr_eq(&before, &cell.snapshot()));
        // The check sees the same model as the edit.
        for (count, name) in ["t", "u"].into_iter().enumerate() {
            let check = |model: &Model| {
                assert_eq!(model.dims().len(), count);
                Ok(name)
            };
            cell.define_if(check, |model, name| model.apply(&dim(name))).unwrap();
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
        assert!(
            cell.roll_back() && Arc::ptr_eq(&before, &cell.snapshot()),
            "an abort goes back before the first"
        );
    }
}
