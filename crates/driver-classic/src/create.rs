//! Creating: an empty dataset whose header is written at the first commit.

use std::path::Path;
use std::sync::{Arc, Mutex, RwLock};

use nczarr_dispatch::single_file::{self, TempFile};
use nczarr_dispatch::{CreateRequest, Dataset, DatasetInfo, PersistTarget, settings};
use nczarr_model::{ErrorKind, Model, ModelCell, Result};

use crate::INFO;
use crate::commit::Committed;
use crate::current::{Current, Ready};
use crate::dataset::{ClassicDataset, Shared};
use crate::kind::Kind;
use crate::layout::Layout;
use crate::open::info;
use crate::store::Store;

/// Creates a file.
///
/// # Errors
/// `NC_EEXIST` if something is there that may not be replaced; `NC_EINVAL` for a place that is no local path; what the
/// system says.
pub(crate) fn create(request: &CreateRequest<'_>) -> Result<Arc<dyn Dataset>> {
    check_place(request)?;
    let (opened, unfinished) =
        single_file::create(&request.target.path, request.clobber, request.registry, INFO.magic)?;
    start(request, Store::file(opened.file, opened.path), Some(unfinished), None)
}

/// Creates a dataset in memory. `persist`: when it is closed it is written to where the target says.
///
/// # Errors
/// As [`create`].
pub(crate) fn create_in_memory(request: &CreateRequest<'_>, persist: bool) -> Result<Arc<dyn Dataset>> {
    let mut target = None;
    if persist {
        check_place(request)?;
        let path = Path::new(&request.target.path);
        target = Some(PersistTarget::to_new(
            path,
            request.clobber,
            request.registry,
            request.options.durability,
            INFO.magic,
        )?);
    }
    start(request, Store::memory(Vec::new()), None, target)
}

fn check_place(request: &CreateRequest<'_>) -> Result<()> {
    let target = request.target;
    if request.map.is_some() || !target.scheme.is_local() {
        return Err(ErrorKind::Inval.context(format!("{target}: classic files are made as files, not in a map")));
    }
    Ok(())
}

/// A dataset without definitions in a store without bytes.
///
/// # Errors
/// None that come from an empty model.
pub(crate) fn start(
    request: &CreateRequest<'_>,
    store: Store,
    unfinished: Option<TempFile>,
    persist: Option<PersistTarget>,
) -> Result<Arc<dyn Dataset>> {
    let kind =
        Kind::of_modes(request.target).or_else(|| Kind::of_format(settings::default_format())).unwrap_or(Kind::Cdf1);
    let model = Model::new();
    let current = Current::new(&model, Layout::default(), Arc::new(store), Ready::Nothing, request.options)?;
    let model = ModelCell::new(model);
    model.begin();
    Ok(Arc::new(ClassicDataset {
        shared: Arc::new(Shared::new(model, kind, request.options, true, current)),
        registry: Arc::clone(request.registry),
        info: DatasetInfo { notes: vec!["created".to_owned()], ..info(kind, true, Vec::new()) },
        counted: 0,
        persist,
        committed: Mutex::new(Committed { unfinished, ..Committed::default() }),
        edits: Mutex::default(),
        vars: RwLock::default(),
    }))
}
