//! [`ZarrDataset`]: an open NCZarr or Zarr dataset.
//!
//! The model answers inquiries; [`State`] remembers, per id, what the documents said and the engine's array once data
//! was asked for. Edits and commits are in `edit` and `commit`.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use chunkio::{ArrayDim, ArraySpec, ChunkedArray, Element};
use dispatch::{Dataset, DatasetInfo, Format, FormatX, Key, Options, Registry, VarData, ZMap};
use model::{Edit, Error, ErrorKind, Model, ModelCell, Result, VarId};

use crate::flavour::Flavour;
use crate::json::Object;
use crate::layout::Chunks;
use crate::var::Stored;

/// An open dataset.
pub(crate) struct ZarrDataset {
    pub(crate) model: ModelCell,
    pub(crate) map: Arc<dyn ZMap>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) options: Options,
    pub(crate) flavour: Flavour,
    /// Whether dimension names are stored as xarray does.
    pub(crate) named_dims: bool,
    pub(crate) writable: bool,
    pub(crate) info: DatasetInfo,
    pub(crate) state: RwLock<State>,
}

impl fmt::Debug for ZarrDataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZarrDataset").field("map", &self.map).field("info", &self.info).finish_non_exhaustive()
    }
}

/// What is known beside the model, by id.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) vars: Vec<VarState>,
    pub(crate) groups: Vec<GroupState>,
}

/// What is known of a group.
#[derive(Debug)]
pub(crate) struct GroupState {
    pub(crate) key: Key,
    pub(crate) zgroup: Option<Object>,
    pub(crate) attrs: Object,
}

/// What is known of a variable.
#[derive(Debug)]
pub(crate) struct VarState {
    pub(crate) key: Key,
    pub(crate) stored: Stored,
    pub(crate) chunks: Option<Arc<Chunks>>,
    pub(crate) array: Option<Arc<ChunkedArray>>,
}

impl ZarrDataset {
    pub(crate) fn read_state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write_state(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the engine's array of a variable.
    fn make_array(&self, model: &Model, id: VarId, state: &mut VarState) -> Result<Arc<ChunkedArray>> {
        let var = model.var(id)?;
        let name = model.var_path(id)?;
        if let Some(problem) = &var.problem {
            return Err(problem.clone().at(&name));
        }
        let Some(meta) = &state.stored.meta else {
            return Err(ErrorKind::Internal.context(format!("{name}: no layout")));
        };
        let element = match &state.stored.element {
            Some(codec) => Element::Variable(codec.clone()),
            None => meta.dtype.element(var.xtype).ok_or_else(|| {
                ErrorKind::BadType.context(format!("{name}: type {} cannot be read", meta.dtype.text))
            })?,
        };
        let dims = var.dims.iter().map(|&dim| {
            let dim = model.dim(dim)?;
            Ok(ArrayDim { len: Arc::clone(dim.shared_len()), unlimited: dim.unlimited })
        });
        let chunks = Arc::new(Chunks::new(Arc::clone(&self.map), state.key.clone(), meta.separator));
        // A scalar of NCZarr is stored with one dimension of length 1.
        let chunk_shape = if var.dims.is_empty() { Vec::new() } else { meta.chunks.clone() };
        let array = ChunkedArray::new(ArraySpec {
            name: name.clone(),
            dims: dims.collect::<Result<_>>()?,
            chunk_shape,
            element,
            order: meta.order,
            filters: state.stored.filters.clone(),
            fill: var.fill_value(),
            store: Arc::clone(&chunks) as Arc<_>,
            options: self.options.clone(),
            writable: self.writable,
        })
        .map_err(|error| error.at(&name))?;
        let array = Arc::new(array);
        state.chunks = Some(chunks);
        state.array = Some(Arc::clone(&array));
        Ok(array)
    }
}

pub(crate) fn no_var(id: VarId) -> Error {
    ErrorKind::NotVar.context(format!("{id:?}"))
}

impl Dataset for ZarrDataset {
    fn info(&self) -> DatasetInfo {
        self.info.clone()
    }

    fn model(&self) -> &ModelCell {
        &self.model
    }

    fn registry(&self) -> Option<&Arc<Registry>> {
        Some(&self.registry)
    }

    fn data(&self, id: VarId) -> Result<Arc<dyn VarData>> {
        if let Some(array) = self.read_state().vars.get(id.index()).and_then(|var| var.array.clone()) {
            return Ok(array);
        }
        let model = self.model.snapshot();
        model.var(id)?;
        let mut state = self.write_state();
        let var = state.vars.get_mut(id.index()).ok_or_else(|| no_var(id))?;
        match &var.array {
            Some(array) => Ok(Arc::clone(array) as Arc<_>),
            None => Ok(self.make_array(&model, id, var)?),
        }
    }

    fn admit(&self, _edit: &Edit<'_>) -> Result<()> {
        Err(ErrorKind::Perm.context("the dataset is read-only"))
    }

    fn close(&self) -> Result<()> {
        self.map.close()
    }
}

/// The fixed part of what a dataset says of itself.
pub(crate) fn info(flavour: Flavour, named_dims: bool, writable: bool) -> DatasetInfo {
    DatasetInfo {
        driver: crate::INFO.name,
        map: None,
        format: Format::NetCdf4,
        formatx: FormatX::NcZarr,
        flavour: match (flavour, named_dims) {
            (Flavour::NcZarr, _) => "nczarr",
            (Flavour::Zarr, true) => "xarray",
            (Flavour::Zarr, false) => "zarr",
        }
        .to_owned(),
        version: "2".to_owned(),
        writable,
        notes: Vec::new(),
        properties: None,
        superblock: Some(if flavour == Flavour::NcZarr { 2 } else { 0 }),
    }
}
