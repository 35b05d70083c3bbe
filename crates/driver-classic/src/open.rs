//! Opening: a file, or bytes in memory.

use std::sync::{Arc, Mutex, RwLock};

use nczarr_chunkio::ByteStore as _;
use nczarr_dispatch::{ByteSource, Dataset, DatasetInfo, Fault, InitialRead, OpenRequest, PersistTarget, single_file};
use nczarr_model::{ErrorKind, ModelCell, Result};

use crate::commit::Committed;
use crate::current::{Current, Ready};
use crate::dataset::{ClassicDataset, Shared};
use crate::kind::Kind;
use crate::load::{self, Loaded};
use crate::store::Store;
use crate::{INFO, parse};

/// Opens a file.
///
/// # Errors
/// `NC_ENOTNC` if it is not a classic file or its header makes no sense, naming the place; `NC_ETRUNC` if the header is
/// cut short, or if it is to be written and data are missing; what the system says.
pub(crate) fn open(request: &OpenRequest<'_>) -> Result<Arc<dyn Dataset>> {
    if request.map.is_none() && !request.target.scheme.is_local() {
        return open_elsewhere(request);
    }
    check_place(request)?;
    let opened = single_file::open(&request.target.path, request.writable)?;
    let store = match request.options.memory_map && !request.writable {
        true => Store::mapped(opened.file, opened.path)?,
        false => Store::file(opened.file, opened.path),
    };
    open_store(request, store, None)
}

/// Bytes of a file elsewhere that are read at once: of most, all of the header.
const FIRST: u64 = 64 << 10;

/// Opens a file that is not a local one, for reading.
fn open_elsewhere(request: &OpenRequest<'_>) -> Result<Arc<dyn Dataset>> {
    check_read_only(request)?;
    open_from_source(request, request.registry.open_source(request, InitialRead::Head(FIRST))?)
}

/// As [`open`], of a file elsewhere that was opened before.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_from_source(request: &OpenRequest<'_>, source: Arc<dyn ByteSource>) -> Result<Arc<dyn Dataset>> {
    check_read_only(request)?;
    open_store(request, Store::elsewhere(source), None)
}

fn check_read_only(request: &OpenRequest<'_>) -> Result<()> {
    if request.writable {
        let what = "a classic file that is not a local one is only read";
        return Err(ErrorKind::Perm.context(what).at(request.target));
    }
    Ok(())
}

/// Opens a file whose bytes are read into memory first. `persist`: what is written there goes back to the file when it
/// is closed, which nobody else writes meanwhile.
///
/// # Errors
/// As [`open`]; `NC_ENOMEM`.
pub(crate) fn open_in_memory(request: &OpenRequest<'_>, persist: bool) -> Result<Arc<dyn Dataset>> {
    check_place(request)?;
    let persist = persist && request.writable;
    let opened = single_file::open(&request.target.path, persist)?;
    let bytes = opened.read()?;
    let persist = persist.then(|| PersistTarget::to_opened(opened, request.options.durability, INFO.magic));
    open_store(request, if request.writable { Store::memory(bytes) } else { Store::own(bytes) }, persist)
}

fn check_place(request: &OpenRequest<'_>) -> Result<()> {
    let target = request.target;
    if request.map.is_some() || !target.scheme.is_local() {
        return Err(ErrorKind::NotNc.context(format!("{target}: classic files are opened as files, not in a map")));
    }
    Ok(())
}

/// Opens what `bytes` hold; written is a copy in memory.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_bytes(request: &OpenRequest<'_>, bytes: Arc<[u8]>) -> Result<Arc<dyn Dataset>> {
    open_store(request, if request.writable { Store::memory(bytes.to_vec()) } else { Store::fixed(bytes) }, None)
}

/// No memory is taken for more than so much of a record that nothing stands for.
const MISSING: u64 = 16 << 20;

fn open_store(request: &OpenRequest<'_>, store: Store, persist: Option<PersistTarget>) -> Result<Arc<dyn Dataset>> {
    let (writable, options) = (request.writable, request.options);
    let at = |error: nczarr_model::Error| error.at(request.target);
    let size = store.size()?;
    let header = parse::read(&store, size, &options.limits).map_err(at)?;
    let (told, len) = (header.records, header.len);
    let loaded = load::load(header, size).map_err(at)?;
    let Loaded { kind, model, layout, records, whole, mut faults, odd_names } = loaded;
    // Of a record that was cut short the rest reads as zeros. More than that is lost, and so is what lies before the
    // records.
    let missing = whole.saturating_sub(size);
    let in_last_record = records > 0 && missing < layout.recsize && missing <= MISSING;
    if missing > 0 && in_last_record {
        store.zeros_until(whole);
    }
    if missing > 3 {
        let text = format!("the file is {missing} bytes shorter than its header says");
        faults.push(match in_last_record {
            true => Fault::unusual("/", format_args!("{text}; they read as zeros")),
            false => Fault::inconsistent("/", text),
        });
    }
    if writable {
        if missing > 3 && !in_last_record {
            let what = format!("{missing} bytes of data are missing; what is left can be read, and copied");
            return Err(at(ErrorKind::Trunc.context(what)));
        }
        if odd_names {
            return Err(at(ErrorKind::BadName.context("it has names that are not UTF-8, and would be changed")));
        }
        if let Some((_, var)) = model.vars().find(|(_, var)| var.problem.is_some()) {
            return Err(at(ErrorKind::VarMeta.context(format!("variable {:?} is damaged", var.name))));
        }
    }
    let header = if writable { Some(store.read(0, len)?) } else { None };
    let ready = if writable { Ready::Records(records) } else { Ready::All };
    let current = Current::new(&model, layout, Arc::new(store), ready, options).map_err(at)?;
    let model = ModelCell::new(model);
    let committed = Committed {
        header,
        records: told,
        edition: Some(model.edition()),
        model: Some(model.snapshot()),
        ..Committed::default()
    };
    Ok(Arc::new(ClassicDataset {
        shared: Arc::new(Shared::new(model, kind, options, writable, current)),
        registry: Arc::clone(request.registry),
        info: info(kind, writable, faults),
        counted: records,
        persist,
        committed: Mutex::new(committed),
        edits: Mutex::default(),
        vars: RwLock::default(),
    }))
}

/// What a dataset of this kind says of itself.
pub(crate) fn info(kind: Kind, writable: bool, faults: Vec<Fault>) -> DatasetInfo {
    DatasetInfo { version: kind.version().to_string(), writable, faults, ..DatasetInfo::new(&INFO, kind.format()) }
}
