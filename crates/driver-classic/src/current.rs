//! [`Current`]: the file as it is laid out now, and its variables' data. A redefinition makes another one.

use std::sync::{Arc, OnceLock};

use nczarr_chunkio::{ArrayDim, BeyondEnd, FlatArray, FlatSpec};
use nczarr_dispatch::Options;
use nczarr_model::{Error, ErrorKind, Model, ModelCell, Result, VarFill, VarId};

use crate::fill;
use crate::growth::Growth;
use crate::layout::{Layout, Slot};
use crate::store::Store;

/// A layout, the store that has it, and what is known of the data there.
#[derive(Debug)]
pub(crate) struct Current {
    pub(crate) layout: Layout,
    pub(crate) store: Arc<Store>,
    pub(crate) vars: Vec<Here>,
    writable: bool,
    options: Options,
}

/// One variable in it.
#[derive(Debug)]
pub(crate) struct Here {
    pub(crate) slot: Slot,
    /// Bytes of it, or of each of its records, that are nobody else's.
    pub(crate) own: u64,
    /// One fill value; `None` if it is not filled.
    pub(crate) pattern: Option<Vec<u8>>,
    /// Which of its records have been filled or written; of a fixed variable there is one.
    pub(crate) growth: Arc<Growth>,
    /// Made when it is first asked for.
    array: OnceLock<Box<FlatArray>>,
}

/// How much of the data is there already.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ready {
    /// All that will ever be: nothing is written.
    All,
    /// So many records, and all fixed variables.
    Records(u64),
    /// Nothing.
    Nothing,
}

impl Current {
    /// # Errors
    /// `NC_EBADTYPE` for fill values that cannot be stored.
    pub(crate) fn new(
        model: &Model,
        layout: Layout,
        store: Arc<Store>,
        ready: Ready,
        options: &Options,
    ) -> Result<Self> {
        let writable = !matches!(ready, Ready::All);
        // Where nothing grows one will do for all.
        let all = (!writable).then(|| Arc::new(Growth::new(u64::MAX)));
        let ready = |slot: &Slot| match ready {
            Ready::All => u64::MAX,
            Ready::Records(records) if slot.record => records,
            Ready::Records(_) => 1,
            Ready::Nothing => 0,
        };
        let here = |(slot, (_, var)): (&Slot, (VarId, &nczarr_model::Var))| {
            let pattern = match &var.fill {
                VarFill::NoFill => None,
                _ if !writable => None,
                _ => var.fill_value().map(|value| fill::pattern(&value)).transpose()?,
            };
            let growth = match &all {
                Some(all) => Arc::clone(all),
                None => Arc::new(Growth::new(ready(slot))),
            };
            Ok::<_, Error>(Here {
                slot: slot.clone(),
                own: layout.own_len(slot),
                pattern,
                growth,
                array: OnceLock::new(),
            })
        };
        // Collecting results would not know how many there are.
        let mut vars = Vec::with_capacity(layout.slots.len());
        for of in layout.slots.iter().zip(model.vars()) {
            vars.push(here(of)?);
        }
        Ok(Self { layout, store, vars, writable, options: options.clone() })
    }

    /// The same file with what `model` says of its variables now.
    ///
    /// # Errors
    /// As [`Current::new`].
    pub(crate) fn renewed(&self, model: &Model, layout: Layout) -> Result<Self> {
        let mut new = Self::new(model, layout, Arc::clone(&self.store), Ready::Nothing, &self.options)?;
        for (new, old) in new.vars.iter_mut().zip(&self.vars) {
            new.growth = Arc::clone(&old.growth);
        }
        Ok(new)
    }

    /// A variable's place.
    ///
    /// # Errors
    /// `NC_EINDEFINE` if it has none yet.
    pub(crate) fn here(&self, id: VarId) -> Result<&Here> {
        self.vars.get(id.index()).ok_or_else(|| no_place(id))
    }

    /// A variable's data.
    ///
    /// # Errors
    /// As [`Current::here`]; why the data cannot be read, if so; what the engine says of the sizes.
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
            // Also where nothing is written: others may add records, which `sync` lets be seen.
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

impl Here {
    /// How many records it has when there are `records`.
    pub(crate) fn units(&self, records: u64) -> u64 {
        if self.slot.record { records } else { 1 }
    }

    pub(crate) fn is_ready(&self, units: u64) -> bool {
        self.growth.is_ready(units)
    }
}

fn no_place(id: VarId) -> Error {
    ErrorKind::InDefine.context(format!("{id:?} has no place in the file before define mode ends"))
}
