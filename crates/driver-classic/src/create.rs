//! Creates an empty dataset, whose header is written at the first commit.

use std::sync::{Arc, Mutex, RwLock};

use nczarr_dispatch::single_file::{self, TempFile};
use nczarr_dispatch::{CreateRequest, Dataset, PersistTarget, settings};
use nczarr_model::{ErrorKind, Model, ModelCell, Result};

use crate::INFO;
use crate::committed::CommittedHeader;
use crate::dataset::ClassicDataset;
use crate::file_state::{FileState, ReadyData};
use crate::kind::CdfVersion;
use crate::layout::FileLayout;
use crate::open::info;
use crate::shared::ClassicShared;
use crate::store::FileStore;

/// Creates a file.
///
/// # Errors
/// `NC_EEXIST` if the path is in use and may not be replaced; `NC_EINVAL` for anything but a local path;
/// otherwise the system's error.
pub(crate) fn create(request: &CreateRequest<'_>) -> Result<Arc<dyn Dataset>> {
    check_place(request)?;
    let (opened, unfinished) =
        single_file::create(&request.target.path, request.clobber, request.registry, INFO.magic)?;
    start(request, FileStore::file(opened.file, opened.path), Some(unfinished), None)
}

/// Creates a dataset in memory. `persist`: closing writes it to the target.
///
/// # Errors
/// As [`create`].
pub(crate) fn create_in_memory(request: &CreateRequest<'_>, persist: bool) -> Result<Arc<dyn Dataset>> {
    let mut target = None;
    if persist {
        check_place(request)?;
        let path = &request.target.path;
        target = Some(PersistTarget::to_new(
            path,
            request.clobber,
            request.registry,
            request.options.durability,
            INFO.magic,
        )?);
    }
    start(request, FileStore::memory(Vec::new()), None, target)
}

fn check_place(request: &CreateRequest<'_>) -> Result<()> {
    let target = request.target;
    if request.map.is_some() || !target.scheme.is_local() {
        return Err(
            ErrorKind::Inval.context(format!("{target}: classic files are created as files, not in a map"))
        );
    }
    Ok(())
}

/// Creates a dataset without definitions in an empty store.
///
/// # Errors
/// Never for an empty model.
pub(crate) fn start(
    request: &CreateRequest<'_>,
    store: FileStore,
    unfinished: Option<TempFile>,
    persist: Option<PersistTarget>,
) -> Result<Arc<dyn Dataset>> {
    let kind = CdfVersion::of_modes(request.target)
        .or_else(|| CdfVersion::of_format(settings::default_format()))
        .unwrap_or(CdfVersion::Cdf1);
    let model = Model::new();
    let current =
        FileState::new(&model, FileLayout::default(), Arc::new(store), ReadyData::Nothing, request.options)?;
    let model = ModelCell::new(model);
    model.begin();
    Ok(Arc::new(ClassicDataset {
        shared: Arc::new(ClassicShared::new(model, kind, request.options, true, current)),
        registry: Arc::clone(request.registry),
        info: info(kind, true, Vec::new()).notes(vec!["created".to_owned()]),
        counted: 0,
        persist,
        committed: Mutex::new(CommittedHeader { unfinished, ..CommittedHeader::default() }),
        edits: Mutex::default(),
        vars: RwLock::default(),
    }))
}
