//! Creates an empty dataset. Its metadata are written at the first commit.

use std::sync::{Arc, Mutex, RwLock};

use nczarr_dispatch::{CreateRequest, Dataset, DatasetInfo, Format, PersistTarget, single_file};
use nczarr_model::{ErrorKind, Model, ModelCell, Result};

use super::committed::CommittedFile;
use super::dataset::WritableDataset;
use super::file::WritableFile;
use super::superblock;
use super::var::WriteContext;
use super::vlen::FileHeap;
use crate::INFO;

/// Creates a file.
///
/// # Errors
/// `NC_EEXIST` if a file exists and may not be replaced; `NC_EINVAL` if the target is not a local path; I/O
/// errors.
pub(crate) fn create(request: &CreateRequest<'_>) -> Result<Arc<dyn Dataset>> {
    check_place(request)?;
    let target = &request.target.path;
    let (opened, unfinished) = single_file::create(target, request.clobber, request.registry, INFO.magic)?;
    Ok(start(request, WritableFile::of(opened), CommittedFile::new(Some(unfinished)), None))
}

/// Creates a dataset in memory. `persist`: closing writes it to the target.
///
/// # Errors
/// As [`create`].
pub(crate) fn create_in_memory(request: &CreateRequest<'_>, persist: bool) -> Result<Arc<dyn Dataset>> {
    let mut target = None;
    if persist {
        check_place(request)?;
        let (path, durability) = (&request.target.path, request.options.durability);
        target =
            Some(PersistTarget::to_new(path, request.clobber, request.registry, durability, INFO.magic)?);
    }
    Ok(start(request, WritableFile::memory(Vec::new()), CommittedFile::default(), target))
}

fn check_place(request: &CreateRequest<'_>) -> Result<()> {
    let target = request.target;
    if request.map.is_some() || !target.scheme.is_local() {
        return Err(ErrorKind::Inval.context(format!(
            "{target}: a netCDF-4 file cannot be created in a storage map; use a file path"
        )));
    }
    Ok(())
}

pub(super) fn start(
    request: &CreateRequest<'_>,
    file: WritableFile,
    committed: CommittedFile,
    persist: Option<PersistTarget>,
) -> Arc<WritableDataset> {
    let classic_model = request.classic_model || request.target.has_mode("nc4-classic");
    let format = if classic_model { Format::NetCdf4Classic } else { Format::NetCdf4 };
    let file = Arc::new(file);
    let model = ModelCell::new(Model::new());
    model.begin();
    Arc::new(WritableDataset {
        model,
        shared: Arc::new(WriteContext {
            heap: Arc::new(FileHeap::new(Arc::clone(&file))),
            file,
            registry: Arc::clone(request.registry),
            options: request.options.clone(),
            closing: Arc::default(),
            texts: Default::default(),
        }),
        info: DatasetInfo::new(&INFO, format)
            .writable(true)
            .notes(vec!["created".to_owned()])
            .properties(Some(format!("version=2,nczarr-rs={}", env!("CARGO_PKG_VERSION"))))
            .superblock(Some(superblock::VERSION.into())),
        classic_model,
        persist,
        vars: RwLock::default(),
        orders: Mutex::default(),
        committed: Mutex::new(committed),
    })
}
