//! [`Catalog`]: the contents of an open dataset, and the rules that it follows.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use nczarr_codec::ZarrFormat;
use nczarr_dispatch::{Options, Registry};
use nczarr_model::{ErrorKind, Model, ModelCell, Result};
use nczarr_runtime::CloseState;
use nczarr_storage::ZMap;

use super::description::DatasetDescription;
use super::node_states::NodeStates;
use crate::dataset::node_id::NodeId;
use crate::flavour::kind::Flavour;

/// The contents of a dataset: the model, which answers inquiries, and the states of nodes beside it.
pub(crate) struct Catalog {
    pub(crate) model: ModelCell,
    pub(crate) map: Arc<dyn ZMap>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) options: Options,
    pub(crate) flavour: Flavour,
    pub(crate) format: ZarrFormat,
    /// Whether dimension names are stored as xarray does.
    pub(crate) xarray_dims: bool,
    /// Whether a plain store gets annotations (`_netcdf`).
    pub(crate) annotate: bool,
    pub(crate) writable: bool,
    /// The store is one array without a group.
    pub(crate) root_array: bool,
    /// It was created in this session.
    pub(crate) created: bool,
    /// Only features of the classic model are allowed.
    pub(crate) classic_model: bool,
    /// The separator of the indices in chunk keys of new variables.
    pub(crate) separator: char,
    pub(crate) description: DatasetDescription,
    /// Taken before the model's own lock, and never held while the map or the engine is called. Under it, an
    /// edit of the model and its effect on the layout are one step.
    pub(crate) state: RwLock<NodeStates>,
    pub(crate) closing: Arc<CloseState>,
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog")
            .field("map", &self.map)
            .field("info", &self.description.info())
            .finish_non_exhaustive()
    }
}

impl Catalog {
    pub(crate) fn read_state(&self) -> RwLockReadGuard<'_, NodeStates> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write_state(&self) -> RwLockWriteGuard<'_, NodeStates> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks that the dataset is not closed.
    ///
    /// # Errors
    /// `NC_EBADID` if it is.
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.closing.is_closed() { Err(ErrorKind::BadId.context("the dataset is closed")) } else { Ok(()) }
    }

    /// Returns all nodes with documents: each group before its variables.
    pub(crate) fn nodes(&self, model: &Model) -> Vec<NodeId> {
        let groups = model.groups().flat_map(|(id, group)| {
            let group_itself = (!self.root_array).then_some(NodeId::Group(id));
            group_itself.into_iter().chain(group.vars.values().map(|&id| NodeId::Var(id)))
        });
        groups.collect()
    }
}
