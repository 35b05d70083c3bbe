//! Step 4 of opening, link: a tree becomes a model, and with it a dataset.

use std::sync::{Arc, RwLock};

use nczarr_codec::ZarrFormat;
use nczarr_dispatch::{Dataset, FaultKind};
use nczarr_model::{ErrorKind, ModelCell, Result};
use nczarr_url_infer::Target;

use super::context::OpenContext;
use super::fragment;
use super::scope::ReadScope;
use super::tree::{self, RawTree};
use crate::dataset::ZarrDataset;
use crate::dataset::catalog::Catalog;
use crate::dataset::node_states::NodeStates;
use crate::flavour::builder::DatasetBuilder;
use crate::flavour::kind::{DimNaming, Flavour};
use crate::flavour::{self};
use crate::legacy::NczarrVersion;
use crate::metadata::variable::ReadContext;
use crate::write::committed::CommittedMetadata;

/// Makes the dataset; `None` if a wider scope could give another variable.
///
/// # Errors
/// For [`ReadScope::Whole`]: `NC_ENOTZARR` for a plain store without nodes, and errors of the flavour.
/// `NC_EINVAL` for an invalid fragment; `NC_EPERM` if a legacy dataset is opened for writing and contains
/// something unreadable.
pub(super) fn dataset(
    mut tree: RawTree,
    scope: ReadScope<'_>,
    opening: OpenContext<'_>,
    reading: &ReadContext<'_>,
) -> Result<Option<Arc<dyn Dataset>>> {
    let target = opening.request.target;
    if let Some(array) = &mut tree.root_array {
        array.name = store_name(target);
    } else if reading.naming != DimNaming::References && tree.is_empty_root() {
        return Err(tree::not_zarr().at(target));
    }
    let loaded = match scope {
        ReadScope::Whole => Some(flavour::link(tree, reading)?),
        ReadScope::Variable(_) => {
            flavour::link(tree, reading).ok().filter(|loaded| is_determined(loaded, reading.naming))
        }
        ReadScope::Data(_) => flavour::link_data(tree).ok(),
    };
    let Some(mut loaded) = loaded else { return Ok(None) };
    loaded.faults.extend(reading.refused.faults(opening.mounted.for_opening()));
    assemble(loaded, opening).map(Some)
}

/// Whether the only variable is as in a full opening.
fn is_determined(loaded: &DatasetBuilder, naming: DimNaming) -> bool {
    let Some((_, var)) = loaded.model.vars().next() else { return false };
    // The length of an unlimited NCZarr dimension is that of its longest variable.
    let is_settled =
        |dim| loaded.model.dim(dim).is_ok_and(|dim| naming != DimNaming::References || !dim.unlimited);
    var.problem.is_none() && var.dims.iter().all(|&dim| is_settled(dim))
}

/// Returns the variable's name for a store that is a single array: the store's name without its last
/// extension.
fn store_name(target: &Target) -> String {
    let path = target.path_text();
    let path = path.trim_end_matches('/');
    let name = path.rsplit('/').next().unwrap_or("");
    let stem = match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    };
    if stem.is_empty() { "data".to_owned() } else { stem.to_owned() }
}

/// Assembles the dataset from its parts.
fn assemble(loaded: DatasetBuilder, opening: OpenContext<'_>) -> Result<Arc<dyn Dataset>> {
    let OpenContext { request, mounted, description: mut about, version, format, .. } = opening;
    let older = version.filter(|version| request.writable && *version != NczarrVersion::Current);
    if let Some((_, var)) = loaded.model.vars().find(|(_, var)| older.is_some() && var.problem.is_some()) {
        let why = var.problem.as_ref().map_or_else(String::new, |problem| format!("{problem:#}"));
        return Err(ErrorKind::Perm.context(format!(
            "{}: metadata of a legacy NCZarr style cannot be upgraded without loss, so the dataset is \
                 read-only: variable {:?}: {why}",
            request.target, var.name
        )));
    }
    let flavour = about.flavour;
    // Annotations refer to dimensions by name.
    let asked = loaded.annotated || request.target.has_mode("annotate");
    let annotate = opening.use_names && flavour == Flavour::Zarr && asked;
    // Processes that define the dataset together begin with an empty one.
    let is_new = request.options.collective && loaded.model.vars().len() == 0;
    let named_dims =
        opening.use_names && (loaded.xarray_dims || annotate || is_new || flavour == Flavour::NcZarr);
    about.xarray_dims = named_dims;
    let stale = loaded.stale_dims;
    if let Some(found) =
        loaded.faults.iter().find(|found| older.is_some() && found.kind == FaultKind::Damaged)
    {
        return Err(ErrorKind::Perm.context(format!(
            "{}: metadata of a legacy NCZarr style cannot be upgraded without loss, so the dataset is \
                 read-only: {found}",
            request.target
        )));
    }
    about.notes.extend(loaded.notes);
    about.faults.extend(loaded.faults);
    about.empty_folders = loaded.empty_folders;
    let mut state = NodeStates {
        single_document: format == ZarrFormat::V3,
        escapes_names: format == ZarrFormat::V3 && (flavour == Flavour::NcZarr || annotate),
        vars: loaded.vars,
        groups: loaded.groups,
        placed_naming: Some(loaded.model.naming()),
        ..NodeStates::default()
    };
    state.record_stored_names(&loaded.model);
    let catalog = Catalog {
        model: ModelCell::new(loaded.model),
        map: Arc::clone(&mounted.map),
        registry: Arc::clone(request.registry),
        options: request.options.clone(),
        flavour,
        format,
        xarray_dims: named_dims,
        annotate,
        writable: request.writable,
        root_array: loaded.root_array,
        created: false,
        classic_model: false,
        separator: fragment::separator(request.target, format, None)?,
        description: about,
        state: RwLock::new(state),
        closing: Arc::default(),
    };
    let committed = CommittedMetadata {
        consolidate: opening.has_consolidated || request.target.has_mode("consolidated"),
        consolidated: opening.has_consolidated,
        legacy: older,
        ..CommittedMetadata::default()
    };
    let dataset = ZarrDataset::new(catalog, committed, None);
    if request.writable {
        dataset.committer().record_loaded()?;
        if stale && annotate {
            dataset.committer().lock().forget_attrs();
        }
    }
    Ok(Arc::new(dataset))
}
