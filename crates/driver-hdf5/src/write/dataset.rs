//! [`NewFile`]: an HDF5 file that is written.
//!
//! The model answers inquiries; what edits are legal is in `admit`, what is written and when in `commit`.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use nczarr_chunkio::Rounded;
use nczarr_dispatch::{CacheConfig, Dataset, DatasetInfo, Persist, Registry, VarData};
use nczarr_model::{Defined, Edit, ErrorKind, ModelCell, Result, VarId};

use super::commit::Committed;
use super::var::{Shared, Variable, kept_value};

/// A file that is written.
pub(super) struct NewFile {
    pub(super) model: ModelCell,
    pub(super) shared: Arc<Shared>,
    pub(super) info: DatasetInfo,
    /// Only what the classic model has.
    pub(super) classic_model: bool,
    /// Where the bytes in memory go when it is closed.
    pub(super) persist: Option<Persist>,
    /// Taken before the model's own lock: an edit, and what it means for a layout, are one step under it.
    pub(super) vars: RwLock<Vec<Slot>>,
    /// Held by whoever writes metadata.
    pub(super) committed: Mutex<Committed>,
}

/// What is known of a variable.
#[derive(Debug, Default)]
pub(super) struct Slot {
    pub(super) data: Option<Arc<Variable>>,
    /// What was set on data that were given up since.
    pub(super) cache: Option<CacheConfig>,
}

impl fmt::Debug for NewFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewFile").field("info", &self.info).finish_non_exhaustive()
    }
}

impl NewFile {
    pub(super) fn lock_committed(&self) -> MutexGuard<'_, Committed> {
        self.committed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn read_vars(&self) -> RwLockReadGuard<'_, Vec<Slot>> {
        self.vars.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write_vars(&self) -> RwLockWriteGuard<'_, Vec<Slot>> {
        self.vars.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn check_open(&self) -> Result<()> {
        match self.shared.closing.is_closed() {
            true => Err(ErrorKind::BadId.context("the dataset is closed")),
            false => Ok(()),
        }
    }

    /// The data of a variable, laid out at the first call.
    pub(super) fn variable(&self, id: VarId) -> Result<Arc<Variable>> {
        if let Some(data) = self.read_vars().get(id.index()).and_then(|slot| slot.data.clone()) {
            return Ok(data);
        }
        let mut vars = self.write_vars();
        // Not older than the slots: what was decided by it is decided anew after an edit.
        let model = self.model.snapshot();
        model.var(id)?;
        if vars.len() <= id.index() {
            vars.resize_with(id.index() + 1, Slot::default);
        }
        let slot = &mut vars[id.index()];
        if let Some(data) = &slot.data {
            return Ok(Arc::clone(data));
        }
        let data = Arc::new(Variable::new(&self.shared, &model, id)?);
        if let Some(cache) = slot.cache {
            data.tune(cache)?;
        }
        slot.data = Some(Arc::clone(&data));
        Ok(data)
    }

    /// Lets nobody write from now on, waits for those who do, and does what is left to do, if that was not done already.
    fn end(&self, work: impl FnOnce() -> Result<()>) -> Result<()> {
        let gates = || self.read_vars().iter().filter_map(|slot| slot.data.clone()).collect();
        self.shared.closing.close_with(gates, work)
    }

    /// Gives up the lock of a file, for who opens it next.
    fn release(&self) {
        if let Some((file, path)) = self.shared.file.as_file()
            && let Err(error) = file.unlock()
        {
            tracing::debug!(path = %path.display(), %error, "the file could not be unlocked");
        }
        self.persist.iter().for_each(Persist::release);
    }

    fn write_image(&self) -> Result<()> {
        match &self.persist {
            Some(persist) => persist.write(&self.shared.file.image()?, &self.shared.registry),
            None => Ok(()),
        }
    }
}

impl Dataset for NewFile {
    fn info(&self) -> DatasetInfo {
        self.info.clone()
    }

    fn model(&self) -> &ModelCell {
        &self.model
    }

    fn registry(&self) -> Option<&Arc<Registry>> {
        Some(&self.shared.registry)
    }

    fn data(&self, id: VarId) -> Result<Arc<dyn VarData>> {
        self.check_open()?;
        let data = self.variable(id)?;
        let model = self.model.snapshot();
        let var = model.var(id)?;
        Ok(match var.quantize {
            Some(quantize) => Arc::new(Rounded::new(data, var.xtype, quantize, kept_value(&model, id)?)),
            None => data,
        })
    }

    fn admit(&self, edit: &Edit<'_>) -> Result<()> {
        self.admit_and(edit, || Ok(()))
    }

    fn apply(&self, edit: &Edit<'_>) -> Result<Defined> {
        self.admit_and(edit, || self.model.define(edit))
    }

    fn commit(&self) -> Result<()> {
        let mut committed = self.lock_committed();
        self.check_open()?;
        self.write_metadata(&mut committed, false)
    }

    fn sync(&self) -> Result<()> {
        self.check_open()?;
        let flushed = self.flush();
        let mut committed = self.lock_committed();
        self.check_open()?;
        self.write_metadata(&mut committed, false)?;
        self.model.end();
        flushed
    }

    fn close(&self) -> Result<()> {
        self.end(|| {
            let flushed = self.flush();
            let written = self.write_metadata(&mut self.lock_committed(), true).and_then(|()| self.write_image());
            self.model.end();
            self.release();
            flushed.and(written)
        })
    }

    fn abort(&self) -> Result<()> {
        self.end(|| {
            let is_new = self.lock_committed().is_new();
            let outcome = if is_new {
                self.lock_committed().discard()
            } else {
                self.model.roll_back();
                let kept = self.model.snapshot().vars().len();
                self.write_vars().truncate(kept);
                let flushed = self.flush();
                let written = self.write_metadata(&mut self.lock_committed(), true);
                flushed.and(written).and_then(|()| self.write_image())
            };
            self.release();
            outcome
        })
    }

    fn image(&self) -> Result<Vec<u8>> {
        if !self.shared.closing.is_closed() {
            self.sync()?;
        }
        self.shared.file.image()
    }
}
