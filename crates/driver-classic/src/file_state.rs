//! [`FileState`]: the current layout of the file, and the data of its variables. A redefinition creates
//! another one.

use std::sync::{Arc, OnceLock};

use nczarr_chunkio::{ArrayDim, BeyondEnd, FlatArray, FlatSpec};
use nczarr_dispatch::Options;
use nczarr_model::{Error, ErrorKind, Model, ModelCell, Result, VarFill, VarId};

use crate::encoding::big_endian;
use crate::layout::{FileLayout, VarSlot};
use crate::record_growth::RecordGrowth;
use crate::store::FileStore;

/// A layout, its store, and the progress of its data.
#[derive(Debug)]
pub(crate) struct FileState {
    pub(crate) layout: FileLayout,
    pub(crate) store: Arc<FileStore>,
    pub(crate) vars: Vec<VarPlacement>,
    writable: bool,
    options: Options,
}

/// A variable in the file.
#[derive(Debug)]
pub(crate) struct VarPlacement {
    pub(crate) slot: VarSlot,
    /// The bytes of it, or of each record, that belong to it alone.
    pub(crate) own: u64,
    /// The stored fill value; `None` for no-fill.
    pub(crate) pattern: Option<Vec<u8>>,
    /// The filled or written records; a fixed variable has one.
    pub(crate) growth: Arc<RecordGrowth>,
    /// Created on first use.
    array: OnceLock<Box<FlatArray>>,
}

/// The data that exist.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ReadyData {
    /// All data: the file is read-only.
    All,
    /// This number of records, and all fixed variables.
    Records(u64),
    /// Nothing.
    Nothing,
}

impl FileState {
    /// # Errors
    /// `NC_EBADTYPE` for fill values that cannot be stored.
    pub(crate) fn new(
        model: &Model,
        layout: FileLayout,
        store: Arc<FileStore>,
        ready: ReadyData,
        options: &Options,
    ) -> Result<Self> {
        let writable = !matches!(ready, ReadyData::All);
        // A read-only file needs only one.
        let all = (!writable).then(|| Arc::new(RecordGrowth::new(u64::MAX)));
        let ready = |slot: &VarSlot| match ready {
            ReadyData::All => u64::MAX,
            ReadyData::Records(records) if slot.record => records,
            ReadyData::Records(_) => 1,
            ReadyData::Nothing => 0,
        };
        let here = |(slot, (_, var)): (&VarSlot, (VarId, &nczarr_model::Var))| {
            let pattern = match &var.fill {
                VarFill::NoFill => None,
                _ if !writable => None,
                _ => var.fill_value().map(|value| big_endian(&value)).transpose()?,
            };
            let growth = match &all {
                Some(all) => Arc::clone(all),
                None => Arc::new(RecordGrowth::new(ready(slot))),
            };
            Ok::<_, Error>(VarPlacement {
                slot: slot.clone(),
                own: layout.own_len(slot),
                pattern,
                growth,
                array: OnceLock::new(),
            })
        };
        // Collecting results does not reserve the capacity.
        let mut vars = Vec::with_capacity(layout.slots.len());
        for of in layout.slots.iter().zip(model.vars()) {
            vars.push(here(of)?);
        }
        Ok(Self { layout, store, vars, writable, options: options.clone() })
    }

    /// Returns the state of the same file with the variables of `model`.
    ///
    /// # Errors
    /// As [`FileState::new`].
    pub(crate) fn renewed(&self, model: &Model, layout: FileLayout) -> Result<Self> {
        let mut new = Self::new(model, layout, Arc::clone(&self.store), ReadyData::Nothing, &self.options)?;
        for (new, old) in new.vars.iter_mut().zip(&self.vars) {
            new.growth = Arc::clone(&old.growth);
        }
        Ok(new)
    }

    /// Returns a variable's placement.
    ///
    /// # Errors
    /// `NC_EINDEFINE` if it has none yet.
    pub(crate) fn here(&self, id: VarId) -> Result<&VarPlacement> {
        self.vars.get(id.index()).ok_or_else(|| no_place(id))
    }

    /// Returns a variable's data.
    ///
    /// # Errors
    /// As [`FileState::here`]; the reason why the data cannot be read; the engine's error about sizes.
    pub(crate) fn array(&self, model: &ModelCell, id: VarId) -> Result<&FlatArray> {
        let here = self.here(id)?;
        if let Some(array) = here.array.get() {
            return Ok(array);
        }
        let model = model.snapshot();
        let var = model.var(id)?;
        if let Some(problem) = &var.problem {
            return Err(problem.clone());
        }
        let dims = var.dims.iter().map(|&dim| {
            let dim = model.dim(dim)?;
            // Also for read-only files: `sync` shows records of other writers.
            Ok(ArrayDim { len: Arc::clone(dim.shared_len()), unlimited: dim.unlimited })
        });
        let array = FlatArray::new(FlatSpec {
            name: model.var_path(id)?,
            dims: dims.collect::<Result<_>>()?,
            ty: var.xtype,
            big_endian: true,
            begin: here.slot.begin,
            record: here.slot.record.then_some(self.layout.recsize),
            store: Arc::clone(&self.store) as Arc<_>,
            options: self.options.clone(),
            writable: self.writable,
            beyond_end: BeyondEnd::Error,
        })?;
        Ok(here.array.get_or_init(|| Box::new(array)))
    }
}

impl VarPlacement {
    /// Returns its number of records if the file has `records`.
    pub(crate) fn units(&self, records: u64) -> u64 {
        if self.slot.record { records } else { 1 }
    }

    pub(crate) fn is_ready(&self, units: u64) -> bool {
        self.growth.is_ready(units)
    }
}

fn no_place(id: VarId) -> Error {
    ErrorKind::InDefine.context(format!("{id:?} has no position in the file before define mode ends"))
}
