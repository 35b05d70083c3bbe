//! [`WritableDataset`]: a dataset whose file is written.
//!
//! The model answers inquiries. `admit` decides which edits are legal. `commit` decides what to write and
//! when.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use nczarr_chunkio::QuantizedArray;
use nczarr_dispatch::{
    CacheConfig, Dataset, DatasetInfo, Editor, HeaderPadding, PersistTarget, Registry, VarData,
};
use nczarr_model::{Defined, DimId, Edit, ErrorKind, Model, ModelCell, Result, VarId, name};

use super::att_order::AttOrders;
use super::committed::CommittedFile;
use super::var::{WritableVar, WriteContext, kept_value};

/// A dataset that is open for writing.
pub(super) struct WritableDataset {
    pub(super) model: ModelCell,
    pub(super) shared: Arc<WriteContext>,
    pub(super) info: DatasetInfo,
    /// Only the classic model is allowed.
    pub(super) classic_model: bool,
    /// Where closing writes the bytes of a dataset in memory.
    pub(super) persist: Option<PersistTarget>,
    /// Locked before the model: an edit and its effect on layouts are one step under this lock.
    pub(super) vars: RwLock<Vec<VarSlot>>,
    /// Locked after `vars` and before the model.
    pub(super) orders: Mutex<AttOrders>,
    /// Locked while metadata are written.
    pub(super) committed: Mutex<CommittedFile>,
}

/// The state of a variable.
#[derive(Debug, Default)]
pub(super) struct VarSlot {
    pub(super) data: Option<Arc<WritableVar>>,
    /// The chunk cache set on data that were discarded since.
    pub(super) cache: Option<CacheConfig>,
}

impl fmt::Debug for WritableDataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewFile").field("info", &self.info).finish_non_exhaustive()
    }
}

impl WritableDataset {
    pub(super) fn lock_committed(&self) -> MutexGuard<'_, CommittedFile> {
        self.committed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn lock_orders(&self) -> MutexGuard<'_, AttOrders> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn read_vars(&self) -> RwLockReadGuard<'_, Vec<VarSlot>> {
        self.vars.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write_vars(&self) -> RwLockWriteGuard<'_, Vec<VarSlot>> {
        self.vars.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn check_open(&self) -> Result<()> {
        if self.shared.closing.is_closed() {
            Err(ErrorKind::BadId.context("the dataset is closed"))
        } else {
            Ok(())
        }
    }

    /// Returns the data of a variable. The first call lays them out.
    pub(super) fn variable(&self, id: VarId) -> Result<Arc<WritableVar>> {
        if let Some(data) = self.read_vars().get(id.index()).and_then(|slot| slot.data.clone()) {
            return Ok(data);
        }
        let mut vars = self.write_vars();
        // Not older than the slots: an edit discards layouts that depend on an older model.
        let model = self.model.snapshot();
        model.var(id)?;
        if vars.len() <= id.index() {
            vars.resize_with(id.index() + 1, VarSlot::default);
        }
        let slot = &mut vars[id.index()];
        if let Some(data) = &slot.data {
            return Ok(Arc::clone(data));
        }
        let data = Arc::new(WritableVar::new(&self.shared, &model, id)?);
        if let Some(cache) = slot.cache {
            data.set_chunk_cache(cache)?;
        }
        slot.data = Some(Arc::clone(&data));
        Ok(data)
    }

    /// Stops new writers, waits for running ones, and does the final work once.
    fn end(&self, work: impl FnOnce() -> Result<()>) -> Result<()> {
        let gates = || self.read_vars().iter().filter_map(|slot| slot.data.clone()).collect();
        self.shared.closing.close_with(gates, work)
    }

    /// Unlocks the file for a later writer.
    fn release(&self) {
        if let Some((file, path)) = self.shared.file.as_file()
            && let Err(error) = file.unlock()
        {
            tracing::debug!(path = %path.display(), %error, "the file could not be unlocked");
        }
        self.persist.iter().for_each(PersistTarget::release);
    }

    fn write_image(&self) -> Result<()> {
        match &self.persist {
            Some(persist) => persist.write(&self.shared.file.image()?, &self.shared.registry),
            None => Ok(()),
        }
    }
}

/// Gives a renamed variable its name as it was given. netCDF-C normalises the names of new objects, but not
/// a new name of a variable.
fn keep_name_as_given(model: &mut Model, id: VarId, name: &str) -> Result<()> {
    let var = model.var(id)?;
    if var.name == name || name.len() > name::MAX_LEN {
        return Ok(());
    }
    let (group, normal) = (var.group, var.name.clone());
    let vars = &mut model.group_mut(group)?.vars;
    if let Some(at) = vars.get_index_of(&normal).filter(|_| !vars.contains_key(name)) {
        // The name is free, so it replaces the other one.
        let _ = vars.replace_index(at, name.to_owned());
        name.clone_into(&mut model.var_mut(id)?.name);
    }
    Ok(())
}

impl Dataset for WritableDataset {
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
            Some(quantize) => {
                Arc::new(QuantizedArray::new(data, var.xtype, quantize, kept_value(&model, id)?))
            }
            None => data,
        })
    }

    fn editor(&self) -> Result<&dyn Editor> {
        Ok(self)
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
            let written =
                self.write_metadata(&mut self.lock_committed(), true).and_then(|()| self.write_image());
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
                self.lock_orders().clear();
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

impl Editor for WritableDataset {
    fn admit(&self, edit: &Edit<'_>) -> Result<()> {
        self.admit_and(edit, |_| Ok(()))
    }

    fn apply(&self, edit: &Edit<'_>) -> Result<Defined> {
        self.admit_and(edit, |fixed_fill| {
            let change = |model: &mut Model| {
                let old = fixed_fill.map(|id| model.var(id).map(|var| var.fill.clone())).transpose()?;
                let defined = model.apply(edit)?;
                if let (Edit::RenameVar { var, name }, true) = (edit, self.shared.options.netcdf_c_rules) {
                    keep_name_as_given(model, *var, name)?;
                }
                if let (Some(id), Some(fill)) = (fixed_fill, old) {
                    model.var_mut(id)?.fill = fill;
                }
                Ok(defined)
            };
            let mut orders = self.lock_orders();
            self.model.define_if(|_| Ok(()), |model, ()| orders.apply(model, edit, change))
        })
    }

    fn commit(&self, _padding: HeaderPadding) -> Result<()> {
        let mut committed = self.lock_committed();
        self.check_open()?;
        self.write_metadata(&mut committed, false)
    }

    /// Writes metadata only if the file has none, and so no name. Each commit writes all metadata, and many
    /// programs define and write their variables in turns.
    fn commit_before_data(&self) -> Result<()> {
        let mut committed = self.lock_committed();
        self.check_open()?;
        if committed.is_new() { self.write_metadata(&mut committed, false) } else { Ok(()) }
    }

    fn reserve(&self, dim: DimId, count: u64) -> Result<u64> {
        self.check_open()?;
        // The file is locked, so only threads of this process write it.
        self.model.snapshot().dim(dim)?.reserve(count, i64::MAX as u64)
    }
}
