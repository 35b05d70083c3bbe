//! Opening: a file, one elsewhere, or bytes in memory.

use std::sync::{Arc, Mutex};

use nczarr_dispatch::{ByteSource, Dataset, DatasetInfo, Format, OpenRequest, Part};
use nczarr_model::{ErrorKind, ModelCell, Result};

use crate::dataset::Hdf4Dataset;
use crate::file::HdfFile;
use crate::load::{self, Loaded};
use crate::store::Store;
use crate::{INFO, ndg, sd};

/// Bytes of a file elsewhere that are read at once.
const FIRST: u64 = 64 << 10;

/// Opens a file.
///
/// # Errors
/// `NC_EPERM` if it is to be written; `NC_ENOTNC` if it is no HDF4 file; `NC_EHDFERR` if it is damaged; what storage says.
pub(crate) fn open(request: &OpenRequest<'_>) -> Result<Arc<dyn Dataset>> {
    if request.map.is_none() && !request.target.scheme.is_local() {
        return open_from(request, request.registry.open_source(request, Part::Head(FIRST))?);
    }
    open_store(request, local(request)?)
}

/// As [`open`], of a file elsewhere that was opened before.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_from(request: &OpenRequest<'_>, source: Arc<dyn ByteSource>) -> Result<Arc<dyn Dataset>> {
    open_store(request, Store::elsewhere(source))
}

/// Opens a file whose bytes are read into memory first.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_in_memory(request: &OpenRequest<'_>) -> Result<Arc<dyn Dataset>> {
    let store = local(request)?;
    let mut bytes = Vec::new();
    store.append(0, store.len(), &mut bytes)?;
    open_store(request, Store::memory(bytes.into()))
}

/// Opens what `bytes` hold.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_bytes(request: &OpenRequest<'_>, bytes: Arc<[u8]>) -> Result<Arc<dyn Dataset>> {
    open_store(request, Store::memory(bytes))
}

fn local(request: &OpenRequest<'_>) -> Result<Store> {
    let target = request.target;
    if request.map.is_some() || !target.scheme.is_local() {
        return Err(ErrorKind::NotNc.context(format!("{target}: HDF4 files are opened as files, not in a map")));
    }
    Store::file(&target.path)
}

fn open_store(request: &OpenRequest<'_>, store: Store) -> Result<Arc<dyn Dataset>> {
    let at = |error: nczarr_model::Error| error.at(request.target);
    if request.writable {
        let what = "HDF4 files are only read; `ncz copy` makes of it a dataset that can be written";
        return Err(at(ErrorKind::Perm.context(what)));
    }
    let limits = &request.options.limits;
    check_magic(&store).map_err(at)?;
    let file = HdfFile::new(store, limits).map_err(at)?;
    let sd = match sd::read(&file).map_err(at)? {
        Some(sd) => sd,
        None => ndg::read(&file).map_err(at)?,
    };
    let Loaded { model, data, faults } = load::load(&file, sd, limits.rank).map_err(at)?;
    Ok(Arc::new(Hdf4Dataset {
        file: Arc::new(file),
        model: ModelCell::new(model),
        data,
        arrays: Mutex::default(),
        registry: Arc::clone(request.registry),
        options: request.options.clone(),
        info: DatasetInfo { version: "4".to_owned(), faults, ..DatasetInfo::of(&INFO, Format::NetCdf4) },
    }))
}

fn check_magic(store: &Store) -> Result<()> {
    let magic = INFO.magic.first().map(|magic| magic.bytes).unwrap_or_default();
    let mut bytes = Vec::new();
    store.append(0, store.len().min(magic.len() as u64), &mut bytes)?;
    match bytes == magic {
        true => Ok(()),
        false => Err(ErrorKind::NotNc.context(format!("an HDF4 file begins with {magic:x?}, found {bytes:x?}"))),
    }
}
