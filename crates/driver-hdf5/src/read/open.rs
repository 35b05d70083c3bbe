//! Opening: a file, or bytes in memory, or a file somewhere else.

use std::fs::{File, TryLockError};
use std::io::Read as _;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, RwLock};

use nczarr_dispatch::{ByteSource, Dataset, DatasetInfo, Format, OpenRequest, Part, Registry};
use nczarr_model::{Error, ErrorKind, ModelCell, Result};

use super::build::{self, Built};
use super::dataset::HdfDataset;
use super::file::Hdf;
use super::store::Store;
use super::{superblock, walk};
use crate::{INFO, write};

/// Bytes of a file elsewhere that are read at once.
const FIRST: u64 = 64 << 10;

/// Opens a file.
///
/// # Errors
/// `NC_ENOTNC` if it is no HDF5 file; `NC_EACCESS` if somebody writes it; `NC_ETRUNC` if it was cut short; `NC_EHDFERR` if it is damaged; what the system says.
pub(crate) fn open(request: &OpenRequest<'_>) -> Result<Arc<dyn Dataset>> {
    let target = request.target;
    if request.map.is_some() {
        return Err(ErrorKind::NotNc.context(format!("{target}: HDF5 files are opened as files, not in a map")));
    }
    if request.writable {
        return match target.scheme.is_local() {
            true => write::open(request),
            false => Err(only_read(request)),
        };
    }
    match target.scheme.is_local() {
        true => open_store(request, local(&target.path)?),
        false => open_from(request, request.registry.open_source(request, Part::Head(FIRST))?),
    }
}

/// As [`open`], of a file elsewhere that was opened before.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_from(request: &OpenRequest<'_>, source: Arc<dyn ByteSource>) -> Result<Arc<dyn Dataset>> {
    match request.writable {
        true => Err(only_read(request)),
        false => open_store(request, Store::elsewhere(source)),
    }
}

fn only_read(request: &OpenRequest<'_>) -> Error {
    ErrorKind::Perm.context(format!("{}: HDF5 files that are not local ones are only read", request.target))
}

fn local(path: &str) -> Result<Store> {
    let io = |error| Error::io(path, error);
    // The files beside it are looked for later, when this process may be in another folder.
    let place = std::path::absolute(path).map_err(io)?;
    if !std::fs::metadata(&place).map_err(io)?.is_file() {
        return Err(ErrorKind::NotNc.context(format!("{path}: not a regular file")));
    }
    let file = File::open(&place).map_err(io)?;
    lock(&file, path)?;
    Ok(Store::File(file, place))
}

/// Keeps writers out as long as the file is open: they would put other chunks where those are that were found.
///
/// # Errors
/// `NC_EACCESS` if somebody writes it.
pub(crate) fn lock(file: &File, path: &str) -> Result<()> {
    match file.try_lock_shared() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            Err(ErrorKind::Access.context(format!("{path}: it is open for writing elsewhere")))
        }
        // Not every file system has locks.
        Err(TryLockError::Error(error)) => {
            tracing::debug!(path, %error, "the file could not be locked");
            Ok(())
        }
    }
}

/// Opens what `bytes` hold.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_bytes(request: &OpenRequest<'_>, bytes: Arc<[u8]>) -> Result<Arc<dyn Dataset>> {
    if request.writable {
        return write::open_bytes(request, bytes);
    }
    open_store(request, Store::Memory(bytes))
}

/// Opens a file whose bytes are read into memory first.
///
/// # Errors
/// As [`open`]; `NC_ENOMEM`.
pub(crate) fn open_in_memory(request: &OpenRequest<'_>, persist: bool) -> Result<Arc<dyn Dataset>> {
    if request.map.is_some() || !request.target.scheme.is_local() {
        return Err(ErrorKind::NotNc.context(format!("{}: not a local file", request.target)));
    }
    if request.writable {
        return write::open_in_memory(request, persist);
    }
    let io = |error| Error::io(request.target.path.clone(), error);
    let (mut file, mut bytes) = (File::open(&request.target.path).map_err(io)?, Vec::new());
    lock(&file, &request.target.path)?;
    file.read_to_end(&mut bytes).map_err(io)?;
    open_bytes(request, bytes.into())
}

fn open_store(request: &OpenRequest<'_>, store: Store) -> Result<Arc<dyn Dataset>> {
    read(request, store).map_err(|error| error.at(request.target))
}

/// What a file holds, and the version of its superblock.
pub(crate) fn open_hdf(store: Store, registry: &Registry) -> Result<(Hdf, u8, Built)> {
    let store = Arc::new(store);
    // An object that cannot be read yet keeps the others from nothing: so all of a level are asked for at once.
    store.in_rounds(|| {
        let (file, superblock) = superblock::open(Arc::clone(&store))?;
        let tree = walk::walk(&file)?;
        let built = build::build(&file, registry, tree)?;
        Ok((file, superblock.version, built))
    })
}

fn read(request: &OpenRequest<'_>, store: Store) -> Result<Arc<dyn Dataset>> {
    let (file, version, built) = open_hdf(store, request.registry)?;
    let Built { model, stored, faults, classic, properties, foreign, .. } = built;
    let format = if classic { Format::NetCdf4Classic } else { Format::NetCdf4 };
    let superblock = Some(version.into());
    let info = DatasetInfo { faults, properties, superblock, foreign, ..DatasetInfo::of(&INFO, format) };
    Ok(Arc::new(HdfDataset {
        file: Arc::new(file),
        registry: Arc::clone(request.registry),
        options: request.options.clone(),
        info,
        model: ModelCell::new(model),
        stored,
        vars: RwLock::default(),
        closed: AtomicBool::new(false),
    }))
}
