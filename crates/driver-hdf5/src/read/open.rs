//! Opens a local file, bytes in memory, or a remote file.

use std::fs::{File, TryLockError};
use std::io::Read as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, RwLock};

use nczarr_dispatch::{Dataset, DatasetInfo, Format, OpenRequest};
use nczarr_model::{Error, ErrorKind, ModelCell, Result};
use nczarr_storage::source::{ByteSource, InitialRead, SharedBytes};

use super::build::{self, LoadedFile};
use super::dataset::HdfDataset;
use super::file::HdfFile;
use super::file_bytes::FileBytes;
use super::{superblock, walk};
use crate::{INFO, write};

/// Bytes of a remote file that are read first.
const FIRST: u64 = 64 << 10;

/// Opens a file.
///
/// # Errors
/// `NC_ENOTNC` if it is not an HDF5 file; `NC_EACCESS` if another process writes it; `NC_ETRUNC` if it is cut
/// short; `NC_EHDFERR` if it is damaged; I/O errors.
pub(crate) fn open(request: &OpenRequest<'_>) -> Result<Arc<dyn Dataset>> {
    let target = request.target;
    if request.map.is_some() {
        return Err(ErrorKind::NotNc
            .context(format!("{target}: an HDF5 file cannot be opened in a storage map; use a file path")));
    }
    if request.writable {
        return if target.scheme.is_local() { write::open(request) } else { Err(only_read(request)) };
    }
    if target.scheme.is_local() {
        open_store(request, local(&target.path)?)
    } else {
        open_from_source(request, request.registry.open_source(request, InitialRead::Head(FIRST))?)
    }
}

/// Opens a remote file.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_from_source(
    request: &OpenRequest<'_>,
    source: Arc<dyn ByteSource>,
) -> Result<Arc<dyn Dataset>> {
    if request.writable { Err(only_read(request)) } else { open_store(request, FileBytes::remote(source)) }
}

fn only_read(request: &OpenRequest<'_>) -> Error {
    ErrorKind::Perm.context(format!("{}: remote HDF5 files are read-only", request.target))
}

fn local(path: &Path) -> Result<FileBytes> {
    let io = |error| Error::io_at(path, error);
    // Files beside it are opened later, perhaps after the working directory changed.
    let place = std::path::absolute(path).map_err(io)?;
    if !std::fs::metadata(&place).map_err(io)?.is_file() {
        return Err(ErrorKind::NotNc.context(format!("{}: not a regular file", path.display())));
    }
    let file = File::open(&place).map_err(io)?;
    lock(&file, path)?;
    Ok(FileBytes::File(file, place))
}

/// Locks out writers while the file is open, because they may move chunks.
///
/// # Errors
/// `NC_EACCESS` if another process writes the file.
pub(crate) fn lock(file: &File, path: &Path) -> Result<()> {
    match file.try_lock_shared() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            Err(ErrorKind::Access
                .context(format!("{}: another process has it open for writing", path.display())))
        }
        // Some file systems have no locks.
        Err(TryLockError::Error(error)) => {
            tracing::debug!(path = %path.display(), %error, "the file could not be locked");
            Ok(())
        }
    }
}

/// Opens a file in memory.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_bytes(request: &OpenRequest<'_>, bytes: SharedBytes) -> Result<Arc<dyn Dataset>> {
    if request.writable {
        return write::open_bytes(request, bytes);
    }
    open_store(request, FileBytes::Memory(bytes))
}

/// Reads a file into memory and opens it.
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
    let io = |error| Error::io_at(&request.target.path, error);
    let (mut file, mut bytes) = (File::open(&request.target.path).map_err(io)?, Vec::new());
    lock(&file, &request.target.path)?;
    file.read_to_end(&mut bytes).map_err(io)?;
    open_bytes(request, bytes.into())
}

fn open_store(request: &OpenRequest<'_>, store: FileBytes) -> Result<Arc<dyn Dataset>> {
    read(request, store).map_err(|error| error.at(request.target))
}

/// Reads the model of a file. Returns also the version of the superblock.
///
/// # Errors
/// `NC_EHDFERR` if the file is damaged, or if the rules of netCDF-C apply and a link leads nowhere.
pub(crate) fn open_hdf(store: FileBytes, request: &OpenRequest<'_>) -> Result<(HdfFile, u8, LoadedFile)> {
    let as_netcdf_c = request.options.netcdf_c_rules;
    let store = Arc::new(store);
    // An unreadable object does not stop the walk, so the objects of a level are requested together.
    store.in_rounds(|| {
        let (file, superblock) = superblock::open(Arc::clone(&store))?;
        let tree = walk::walk(&file)?;
        let built = build::build(&file, request.registry, tree, as_netcdf_c)?;
        if let Some(path) = built.oddities.dangling_link.as_ref().filter(|_| as_netcdf_c) {
            let what = "the link leads to no object, so netCDF-C refuses the file";
            return Err(ErrorKind::HdfErr.context(what).at(path));
        }
        Ok((file, superblock.version, built))
    })
}

fn read(request: &OpenRequest<'_>, store: FileBytes) -> Result<Arc<dyn Dataset>> {
    let (file, version, built) = open_hdf(store, request)?;
    let LoadedFile { model, stored, faults, classic, properties, foreign, .. } = built;
    let format = if classic { Format::NetCdf4Classic } else { Format::NetCdf4 };
    let superblock = Some(version.into());
    let info = DatasetInfo::new(&INFO, format)
        .faults(faults)
        .properties(properties)
        .superblock(superblock)
        .foreign(foreign);
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
