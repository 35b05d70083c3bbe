//! [`ModelCell`]: the model of an open dataset, shared by all threads.

use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::{Defined, Edit, Model, Result};

/// The current model, and the one to go back to when a redefinition is aborted.
///
/// Readers take a snapshot and work without a lock; edits are ordered. An edit copies the model only while
/// somebody holds a snapshot. Who keeps something that was looked up asks [`ModelCell::edition`] whether it still
/// holds: that touches nothing that other threads touch, while a snapshot counts itself.
#[derive(Debug, Default)]
pub struct ModelCell {
    models: RwLock<Models>,
    /// Whether there is a saved model.
    defining: AtomicBool,
    edition: AtomicU64,
}

/// What is behind the one lock.
#[derive(Debug, Default)]
struct Models {
    current: Arc<Model>,
    /// What an abort goes back to.
    saved: Option<Arc<Model>>,
}

impl ModelCell {
    /// A cell holding `model`, which others may hold too: an edit then copies it.
    pub fn new(model: impl Into<Arc<Model>>) -> Self {
        Self { models: RwLock::new(Models { current: model.into(), saved: None }), ..Self::default() }
    }

    fn read(&self) -> RwLockReadGuard<'_, Models> {
        self.models.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Models> {
        self.models.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The model as it is now.
    pub fn snapshot(&self) -> Arc<Model> {
        Arc::clone(&self.read().current)
    }

    /// What `look` sees of the model as it is now. As [`ModelCell::snapshot`], without counting one: nothing of this cell is to be
    /// called meanwhile.
    pub fn with<T>(&self, look: impl FnOnce(&Model) -> T) -> T {
        look(&self.read().current)
    }

    /// A number that is another one after every edit, successful or not. Lengths of unlimited dimensions grow without.
    pub fn edition(&self) -> u64 {
        self.edition.load(Ordering::Acquire)
    }

    /// Another edition, while the lock is held: who sees the new number sees the new model.
    fn next_edition(&self, _locked: &Models) {
        // Nobody else changes it meanwhile.
        self.edition.store(self.edition.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
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
        self.define_if(|_| Ok(()), |model, ()| model.apply(edit))
    }

    /// As [`ModelCell::define`], of what `edit` changes, which changes nothing if it fails. It is made if `check` allows it, which
    /// sees the model that it is made of, and is given what that answers. Nothing of this cell is to be called meanwhile.
    ///
    /// # Errors
    /// What `check` says: then no edit was made. Else what `edit` says.
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

    /// Lets `change` work on the model directly: for a driver that fills in what it found, not for edits.
    pub fn change<T>(&self, change: impl FnOnce(&mut Model) -> T) -> T {
        let mut models = self.write();
        let outcome = change(Arc::make_mut(&mut models.current));
        self.next_edition(&models);
        outcome
    }

    /// Remembers the model as the state an abort goes back to (`redef`).
    pub fn begin(&self) {
        let mut models = self.write();
        let current = Arc::clone(&models.current);
        let old = models.saved.replace(current);
        self.defining.store(true, Ordering::Release);
        drop(models);
        drop(old);
    }

    /// Whether a state is remembered: the dataset is in define mode.
    pub fn is_defining(&self) -> bool {
        self.defining.load(Ordering::Acquire)
    }

    /// Forgets the remembered state (`enddef`); answers whether there was one.
    pub fn end(&self) -> bool {
        let mut models = self.write();
        self.defining.store(false, Ordering::Release);
        let saved = models.saved.take();
        // What it held alone is given back without the lock.
        drop(models);
        saved.is_some()
    }

    /// Goes back to the remembered state (`abort`); answers whether there was one.
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
    fn a_definition_that_is_not_allowed_is_none() {
        let cell = ModelCell::default();
        let dim = |name| Edit::DefDim { group: GroupId::ROOT, name, len: None };
        let (before, edition) = (cell.snapshot(), cell.edition());
        let refused = cell.define_if(
            |model| Err::<(), _>(crate::ErrorKind::Perm.context(model.dims().len().to_string())),
            |model, ()| model.apply(&dim("t")),
        );
        assert_eq!(refused.unwrap_err().kind(), crate::ErrorKind::Perm);
        assert!(!cell.is_defining() && cell.edition() == edition && Arc::ptr_eq(&before, &cell.snapshot()));
        // What checks sees what the edit is made of.
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
        assert!(cell.roll_back() && Arc::ptr_eq(&before, &cell.snapshot()), "an abort goes back before the first");
    }
}
