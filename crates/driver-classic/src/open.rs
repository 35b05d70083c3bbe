//! Opens a file, or bytes in memory.

use std::sync::{Arc, Mutex, RwLock};

use nczarr_chunkio::ByteStore as _;
use nczarr_dispatch::{Dataset, DatasetInfo, Fault, OpenRequest, PersistTarget, single_file};
use nczarr_model::{ErrorKind, ModelCell, Result};
use nczarr_storage::source::{ByteSource, InitialRead, SharedBytes};

use crate::committed::CommittedHeader;
use crate::dataset::ClassicDataset;
use crate::file_state::{FileState, ReadyData};
use crate::kind::CdfVersion;
use crate::load::{self, LoadedHeader};
use crate::name_rooms::NameRooms;
use crate::shared::ClassicShared;
use crate::store::FileStore;
use crate::{INFO, parse};

/// Opens a file.
///
/// # Errors
/// `NC_ENOTNC` with the position if it is not a classic file or its header is invalid; `NC_ETRUNC` if the
/// header is truncated, or if data are missing in a file opened for writing; otherwise the system's error.
pub(crate) fn open(request: &OpenRequest<'_>) -> Result<Arc<dyn Dataset>> {
    if request.map.is_none() && !request.target.scheme.is_local() {
        return open_remote(request);
    }
    check_place(request)?;
    let opened = single_file::open(&request.target.path, request.writable)?;
    let store = if request.options.memory_map && !request.writable {
        FileStore::mapped(opened.file, opened.path)?
    } else {
        FileStore::file(opened.file, opened.path)
    };
    open_store(request, store, None)
}

/// The first read of a remote file: most headers are shorter.
const FIRST: u64 = 64 << 10;

/// Opens a remote file for reading.
fn open_remote(request: &OpenRequest<'_>) -> Result<Arc<dyn Dataset>> {
    check_read_only(request)?;
    open_from_source(request, request.registry.open_source(request, InitialRead::Head(FIRST))?)
}

/// As [`open`], from an open remote file.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_from_source(
    request: &OpenRequest<'_>,
    source: Arc<dyn ByteSource>,
) -> Result<Arc<dyn Dataset>> {
    check_read_only(request)?;
    open_store(request, FileStore::remote(source), None)
}

fn check_read_only(request: &OpenRequest<'_>) -> Result<()> {
    if request.writable {
        let what = "remote classic files are read-only";
        return Err(ErrorKind::Perm.context(what).at(request.target));
    }
    Ok(())
}

/// Reads a file into memory and opens it. `persist`: closing writes changes back to the file, which stays
/// locked meanwhile.
///
/// # Errors
/// As [`open`]; `NC_ENOMEM`.
pub(crate) fn open_in_memory(request: &OpenRequest<'_>, persist: bool) -> Result<Arc<dyn Dataset>> {
    check_place(request)?;
    let persist = persist && request.writable;
    let opened = single_file::open(&request.target.path, persist)?;
    let bytes = opened.read()?;
    let persist = persist.then(|| PersistTarget::to_opened(opened, request.options.durability, INFO.magic));
    open_store(
        request,
        if request.writable { FileStore::memory(bytes) } else { FileStore::fixed(bytes) },
        persist,
    )
}

fn check_place(request: &OpenRequest<'_>) -> Result<()> {
    let target = request.target;
    if request.map.is_some() || !target.scheme.is_local() {
        return Err(
            ErrorKind::NotNc.context(format!("{target}: classic files are opened as files, not in a map"))
        );
    }
    Ok(())
}

/// Opens a dataset from its bytes; writes go to a copy in memory.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_bytes(request: &OpenRequest<'_>, bytes: SharedBytes) -> Result<Arc<dyn Dataset>> {
    open_store(
        request,
        if request.writable { FileStore::memory(bytes.to_vec()) } else { FileStore::fixed(bytes) },
        None,
    )
}

/// The largest truncated rest of a record that is read as zeros.
const MISSING: u64 = 16 << 20;

fn open_store(
    request: &OpenRequest<'_>,
    store: FileStore,
    persist: Option<PersistTarget>,
) -> Result<Arc<dyn Dataset>> {
    let (writable, options) = (request.writable, request.options);
    let at = |error: nczarr_model::Error| error.at(request.target);
    let size = store.size()?;
    let header = parse::read(&store, size, &options.limits).map_err(at)?;
    let (declared, len) = (header.records, header.len);
    if let Some(error) = header.long_dim.as_ref().filter(|_| !options.netcdf_c_rules) {
        return Err(at(error.clone()));
    }
    let padded = if writable && options.netcdf_c_rules { header.padded_names.clone() } else { Vec::new() };
    let loaded = load::load(header, size).map_err(at)?;
    let LoadedHeader { kind, model, layout, records, whole, mut faults, odd_names } = loaded;
    // The missing rest of a truncated record reads as zeros. Everything else that is missing is lost.
    let missing = whole.saturating_sub(size);
    let in_last_record = records > 0 && missing < layout.recsize && missing <= MISSING;
    if missing > 0 && in_last_record {
        store.zeros_until(whole);
    }
    if missing > 3 {
        let text = format!("the file is {missing} bytes shorter than its header requires");
        faults.push(if in_last_record {
            Fault::unusual("/", format_args!("{text}; they read as zeros"))
        } else {
            Fault::inconsistent("/", text)
        });
    }
    if writable {
        if missing > 3 && !in_last_record {
            let what = format!("{missing} bytes of data are missing; open it for reading to copy the rest");
            return Err(at(ErrorKind::Trunc.context(what)));
        }
        if odd_names {
            return Err(at(ErrorKind::BadName.context("names that are not UTF-8 would be changed")));
        }
        if let Some((_, var)) = model.vars().find(|(_, var)| var.problem.is_some()) {
            return Err(at(ErrorKind::VarMeta.context(format!("variable {:?} is damaged", var.name))));
        }
    }
    let header = if writable { Some(store.read(0, len)?) } else { None };
    let ready = if writable { ReadyData::Records(records) } else { ReadyData::All };
    let current = FileState::new(&model, layout, Arc::new(store), ready, options).map_err(at)?;
    let rooms = NameRooms::of_stored(&model, &padded);
    let model = ModelCell::new(model);
    let committed = CommittedHeader {
        header,
        records: declared,
        edition: Some(model.edition()),
        model: Some(model.snapshot()),
        ..CommittedHeader::default()
    };
    Ok(Arc::new(ClassicDataset {
        shared: Arc::new(ClassicShared::new(model, kind, options, writable, current).with_name_rooms(rooms)),
        registry: Arc::clone(request.registry),
        info: info(kind, writable, faults),
        counted: records,
        persist,
        committed: Mutex::new(committed),
        edits: Mutex::default(),
        vars: RwLock::default(),
    }))
}

/// Returns the description of a dataset of this format.
pub(crate) fn info(kind: CdfVersion, writable: bool, faults: Vec<Fault>) -> DatasetInfo {
    DatasetInfo::new(&INFO, kind.format())
        .version(kind.version().to_string())
        .writable(writable)
        .faults(faults)
}
