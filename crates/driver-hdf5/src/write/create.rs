//! Creating: an empty dataset whose metadata are written at the first commit.

use std::path::Path;
use std::sync::{Arc, Mutex, RwLock};

use nczarr_dispatch::{CreateRequest, Dataset, DatasetInfo, Format, Persist, place};
use nczarr_model::{ErrorKind, Model, ModelCell, Result};

use super::commit::Committed;
use super::dataset::NewFile;
use super::file::File;
use super::strings::FileHeap;
use super::superblock;
use super::var::Shared;
use crate::INFO;

/// Creates a file.
///
/// # Errors
/// `NC_EEXIST` if something is there that may not be replaced; `NC_EINVAL` for a place that is no local path; what the
/// system says.
pub(crate) fn create(request: &CreateRequest<'_>) -> Result<Arc<dyn Dataset>> {
    check_place(request)?;
    let target = &request.target.path;
    let (opened, unfinished) = place::create(target, request.clobber, request.registry, INFO.magic)?;
    Ok(start(request, File::of(opened), Committed::new(Some(unfinished)), None))
}

/// Creates a dataset in memory. `persist`: when it is closed it is written to where the target says.
///
/// # Errors
/// As [`create`].
pub(crate) fn create_in_memory(request: &CreateRequest<'_>, persist: bool) -> Result<Arc<dyn Dataset>> {
    let mut target = None;
    if persist {
        check_place(request)?;
        let (path, durability) = (Path::new(&request.target.path), request.options.durability);
        target = Some(Persist::to_new(path, request.clobber, request.registry, durability, INFO.magic)?);
    }
    Ok(start(request, File::memory(Vec::new()), Committed::default(), target))
}

fn check_place(request: &CreateRequest<'_>) -> Result<()> {
    let target = request.target;
    if request.map.is_some() || !target.scheme.is_local() {
        return Err(ErrorKind::Inval.context(format!("{target}: netCDF-4 files are made as files, not in a map")));
    }
    Ok(())
}

pub(super) fn start(
    request: &CreateRequest<'_>,
    file: File,
    committed: Committed,
    persist: Option<Persist>,
) -> Arc<NewFile> {
    let classic_model = request.classic_model || request.target.has_mode("nc4-classic");
    let format = if classic_model { Format::NetCdf4Classic } else { Format::NetCdf4 };
    let file = Arc::new(file);
    let model = ModelCell::new(Model::new());
    model.begin();
    Arc::new(NewFile {
        model,
        shared: Arc::new(Shared {
            heap: Arc::new(FileHeap::new(Arc::clone(&file))),
            file,
            registry: Arc::clone(request.registry),
            options: request.options.clone(),
            closing: Arc::default(),
        }),
        info: DatasetInfo {
            writable: true,
            notes: vec!["created".to_owned()],
            properties: Some(format!("version=2,nczarr-rs={}", env!("CARGO_PKG_VERSION"))),
            superblock: Some(superblock::VERSION.into()),
            ..DatasetInfo::of(&INFO, format)
        },
        classic_model,
        persist,
        vars: RwLock::default(),
        committed: Mutex::new(committed),
    })
}
