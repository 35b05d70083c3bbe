//! Opens a local file, a remote file, or bytes in memory.

use std::sync::{Arc, Mutex};

use nczarr_dispatch::{Dataset, DatasetInfo, Format, OpenRequest};
use nczarr_model::{ErrorKind, ModelCell, Result};
use nczarr_storage::source::{ByteSource, InitialRead, SharedBytes};

use crate::dataset::Hdf4Dataset;
use crate::file::Hdf4File;
use crate::load::{self, LoadedModel};
use crate::source::FileSource;
use crate::{INFO, ndg, sd};

/// Bytes of a remote file that are read first.
const FIRST: u64 = 64 << 10;

/// Opens a file.
///
/// # Errors
/// `NC_EPERM` if it is to be written; `NC_ENOTNC` if it is not an HDF4 file; `NC_EHDFERR` if it is damaged;
/// I/O errors.
pub(crate) fn open(request: &OpenRequest<'_>) -> Result<Arc<dyn Dataset>> {
    if request.map.is_none() && !request.target.scheme.is_local() {
        return open_from_source(request, request.registry.open_source(request, InitialRead::Head(FIRST))?);
    }
    open_store(request, local(request)?)
}

/// Opens a remote file.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_from_source(
    request: &OpenRequest<'_>,
    source: Arc<dyn ByteSource>,
) -> Result<Arc<dyn Dataset>> {
    open_store(request, FileSource::remote(source))
}

/// Reads a file into memory and opens it.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_in_memory(request: &OpenRequest<'_>) -> Result<Arc<dyn Dataset>> {
    let store = local(request)?;
    let mut bytes = Vec::new();
    store.append(0, store.len(), &mut bytes)?;
    open_store(request, FileSource::memory(bytes.into()))
}

/// Opens a file in memory.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_bytes(request: &OpenRequest<'_>, bytes: SharedBytes) -> Result<Arc<dyn Dataset>> {
    open_store(request, FileSource::memory(bytes))
}

fn local(request: &OpenRequest<'_>) -> Result<FileSource> {
    let target = request.target;
    if request.map.is_some() || !target.scheme.is_local() {
        return Err(ErrorKind::NotNc
            .context(format!("{target}: an HDF4 file cannot be opened in a storage map; use a file path")));
    }
    FileSource::file(&target.path)
}

fn open_store(request: &OpenRequest<'_>, store: FileSource) -> Result<Arc<dyn Dataset>> {
    let at = |error: nczarr_model::Error| error.at(request.target);
    if request.writable {
        let what = "HDF4 files are read-only; convert the file with `ncz copy`";
        return Err(at(ErrorKind::Perm.context(what)));
    }
    let limits = &request.options.limits;
    check_magic(&store).map_err(at)?;
    let file = Hdf4File::new(store, limits).map_err(at)?;
    let sd = match sd::read(&file).map_err(at)? {
        Some(sd) => sd,
        None => ndg::read(&file).map_err(at)?,
    };
    let LoadedModel { model, data, faults } = load::load(&file, sd, limits.rank).map_err(at)?;
    Ok(Arc::new(Hdf4Dataset {
        file: Arc::new(file),
        model: ModelCell::new(model),
        data,
        arrays: Mutex::default(),
        registry: Arc::clone(request.registry),
        options: request.options.clone(),
        info: DatasetInfo::new(&INFO, Format::NetCdf4).version("4".to_owned()).faults(faults),
    }))
}

fn check_magic(store: &FileSource) -> Result<()> {
    let magic = INFO.magic.first().map(|magic| magic.bytes).unwrap_or_default();
    let mut bytes = Vec::new();
    store.append(0, store.len().min(magic.len() as u64), &mut bytes)?;
    if bytes == magic {
        Ok(())
    } else {
        Err(ErrorKind::NotNc
            .context(format!("not an HDF4 file: wrong signature (expected {magic:x?}, found {bytes:x?})")))
    }
}
