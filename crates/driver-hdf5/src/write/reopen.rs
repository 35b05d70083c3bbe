//! Opening a file to write it: where its data are goes into the tables that writing goes by.
//!
//! All metadata will be written anew, so a file is taken only if everything in it was understood, is netCDF-4, and is stored
//! as it would be stored here. Nothing is written before something changed.

use std::sync::{Arc, Mutex, RwLock};

use nczarr_dispatch::{Dataset, DatasetInfo, Format, OpenRequest, Persist, Registry, place};
use nczarr_model::{DimId, ErrorKind, Model, ModelCell, Result, Var};

use super::bytes::UNDEFINED;
use super::commit::Committed;
use super::dataset::{NewFile, Slot};
use super::datatype::describe;
use super::file::{File, Stretch};
use super::netcdf::{StoredFilter, is_big};
use super::plan::{FLETCHER32, Form, Plan};
use super::strings::FileHeap;
use super::superblock;
use super::var::{Shared, Stand, Variable};
use crate::INFO;
use crate::read::{Datatype, Hdf, Layout, Space, Store, Stored, Table, beyond, lock, open_hdf};

/// Opens a file.
///
/// # Errors
/// `NC_EPERM` if it holds what would be lost; as opening it for reading.
pub(crate) fn open(request: &OpenRequest<'_>) -> Result<Arc<dyn Dataset>> {
    let opened = place::open(&request.target.path, true)?;
    let file = opened.file.try_clone().map_err(|error| nczarr_model::Error::io(request.target.path.clone(), error))?;
    start(request, Store::File(file, opened.path.clone()), File::of(opened), None)
}

/// Opens what `bytes` hold; written is a copy in memory.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_bytes(request: &OpenRequest<'_>, bytes: Arc<[u8]>) -> Result<Arc<dyn Dataset>> {
    let file = File::memory(bytes.to_vec());
    start(request, Store::Memory(bytes), file, None)
}

/// Opens a file that is read into memory first. `persist`: what is written goes back when it is closed.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_in_memory(request: &OpenRequest<'_>, persist: bool) -> Result<Arc<dyn Dataset>> {
    let opened = place::open(&request.target.path, persist)?;
    if !persist {
        lock(&opened.file, &request.target.path)?;
    }
    let bytes: Arc<[u8]> = opened.read()?.into();
    let persist = persist.then(|| Persist::to_opened(opened, request.options.durability, INFO.magic));
    let file = File::memory(bytes.to_vec());
    start(request, Store::Memory(bytes), file, persist)
}

fn refuse(what: impl std::fmt::Display) -> nczarr_model::Error {
    ErrorKind::Perm.context(format!("it can be read, but not written: {what}"))
}

fn start(request: &OpenRequest<'_>, store: Store, file: File, persist: Option<Persist>) -> Result<Arc<dyn Dataset>> {
    take(request, store, file, persist).map_err(|error| error.at(request.target))
}

fn take(request: &OpenRequest<'_>, store: Store, file: File, persist: Option<Persist>) -> Result<Arc<dyn Dataset>> {
    let (hdf, version, built) = open_hdf(store, request.registry)?;
    if let Some(fault) = built.faults.first() {
        return Err(refuse(fault));
    }
    if let Some(what) = built.converted {
        return Err(refuse(what));
    }
    if let Some(what) = &built.unshown {
        return Err(refuse(format!("netCDF does not show {what}, which would be lost")));
    }
    if hdf.base != 0 {
        return Err(refuse("it begins with a block of the user's"));
    }
    if built.made_up {
        return Err(refuse("it has dimensions without names: it is no netCDF-4 file"));
    }
    if let Some((_, ty)) = built.model.user_types().find(|(_, ty)| ty.name.starts_with("_Anonymous")) {
        return Err(refuse(format!("type {} has no name there", ty.name)));
    }
    if let Some((_, var)) = built.model.vars().find(|(_, var)| var.problem.is_some()) {
        return Err(refuse(format!("variable {:?} was not understood", var.name)));
    }
    file.begin(hdf.len);
    let file = Arc::new(file);
    let model = Arc::new(built.model);
    let shared = Arc::new(Shared {
        heap: Arc::new(FileHeap::new(Arc::clone(&file))),
        file: Arc::clone(&file),
        registry: Arc::clone(request.registry),
        options: request.options.clone(),
        closing: Arc::default(),
    });
    let (mut vars, mut used, mut pointers) = (Vec::new(), vec![(0, superblock::LEN)], false);
    for ((id, var), stored) in model.vars().zip(&built.stored) {
        let (stored, space) = stored.as_ref().ok_or_else(|| refuse(format!("variable {:?}", var.name)))?;
        check_shape(&model, var, space).map_err(|error| error.at(&var.name))?;
        pointers |= !model.is_fixed(var.xtype)?;
        let described = Datatype::parse(&describe(&model, var.xtype, is_big(var))?)?;
        if !described.is_stored_like(&stored.ty) {
            return Err(refuse(format!("variable {:?}: its elements are of the type {}", var.name, stored.ty.name())));
        }
        let growing = var.dims.iter().any(|&dim| model.dim(dim).is_ok_and(|dim| dim.unlimited));
        let (plan, stand) = lie(&hdf, stored, space, growing, request.registry).map_err(|error| error.at(&var.name))?;
        let data = Variable::taken(&shared, &model, id, plan, stand, &mut used)?;
        vars.push(Slot { data: Some(Arc::new(data)), cache: None });
    }
    let gaps = gaps(&mut used, hdf.len).ok_or_else(|| refuse("data of two variables lie in one place"))?;
    // Where values of variable length are, only the data know.
    if !pointers {
        file.free_later(gaps);
    }
    for (((id, _), stored), slot) in model.vars().zip(&built.stored).zip(&vars) {
        if let (Some((stored, space)), Some(data)) = (stored, &slot.data)
            && let Some((own, value)) = beyond(&model, id, stored, space)?
        {
            data.extend(&model.shape(id)?, &own, &value)?;
        }
    }
    let format = if built.classic { Format::NetCdf4Classic } else { Format::NetCdf4 };
    let cell = ModelCell::new(Arc::unwrap_or_clone(model));
    let committed = Committed::of_opened(cell.edition(), &cell.snapshot(), file.changes(), hdf.len);
    Ok(Arc::new(NewFile {
        model: cell,
        shared,
        info: DatasetInfo {
            writable: true,
            properties: built.properties,
            superblock: Some(version.into()),
            ..DatasetInfo::of(&INFO, format)
        },
        classic_model: built.classic,
        persist,
        vars: RwLock::new(vars),
        committed: Mutex::new(committed),
    }))
}

/// Where it lies is told by the shape that is stored, and what is written goes by its dimensions.
fn check_shape(model: &Model, var: &Var, space: &Space) -> Result<()> {
    let stored = space.dims.as_deref().ok_or_else(|| refuse("it has no dataspace"))?;
    let fits = |&dim: &DimId, stored: u64| {
        let dim = model.dim(dim)?;
        Ok::<_, nczarr_model::Error>(if dim.unlimited { stored <= dim.len() } else { stored == dim.len() })
    };
    let mut is_like = stored.len() == var.dims.len();
    for (dim, &stored) in var.dims.iter().zip(stored) {
        is_like &= fits(dim, stored)?;
    }
    match is_like {
        true => Ok(()),
        false => Err(refuse(format!("its shape is {stored:?} there, which its dimensions are not"))),
    }
}

/// How the data of a variable lie in the file, and where.
fn lie(hdf: &Hdf, stored: &Stored, space: &Space, growing: bool, registry: &Registry) -> Result<(Plan, Stand)> {
    let one = |form| Plan { form, filters: Vec::new(), stored: Vec::new() };
    let item = u64::from(stored.ty.size);
    let bytes = space.len()?.checked_mul(item).ok_or_else(|| refuse("its size"))?;
    let layout = &stored.layout;
    if growing && !matches!(layout, Layout::Chunked { .. }) {
        return Err(refuse("it is in one piece along an unlimited dimension"));
    }
    Ok(match layout {
        Layout::Compact(data) if data.len() as u64 == bytes => (one(Form::Compact), Stand::Bytes(data.clone())),
        Layout::Contiguous(address, _) if *address == UNDEFINED || bytes == 0 => {
            (one(Form::Contiguous), Stand::Chunks(Vec::new()))
        }
        Layout::Contiguous(_, Some(len)) if *len < bytes => {
            return Err(refuse(format!("{len} bytes are stored of {bytes}")));
        }
        Layout::Contiguous(address, _) => (one(Form::Contiguous), Stand::Piece(hdf.place(*address, bytes)?, bytes)),
        Layout::Chunked { plain_edges: false, shape, .. } => {
            let (mut filters, mut kept) = (Vec::new(), Vec::new());
            for filter in &stored.filters {
                let class = registry.filter_by_id(filter.id)?;
                if !class.encodes() {
                    return Err(refuse(format!("its filter {} is only read", class.info().name)));
                }
                filters.push(class.parse_hdf5(&filter.params)?);
                kept.push(StoredFilter {
                    id: filter.id as u16,
                    name: filter.name.clone(),
                    optional: filter.id != FLETCHER32,
                    params: filter.params.clone(),
                });
            }
            let chunk = shape.iter().try_fold(item, |bytes, &side| bytes.checked_mul(side));
            let table =
                Table::read(hdf, layout, space, chunk.ok_or_else(|| refuse("its chunks"))?, !filters.is_empty())?;
            if table.chunks().iter().any(|chunk| chunk.skipped != 0) {
                return Err(refuse("it has chunks without some of its filters"));
            }
            let chunks = table.placed().map(|(index, chunk)| (index, chunk.address, chunk.len)).collect();
            (Plan { form: Form::Chunked(shape.clone()), filters, stored: kept }, Stand::Chunks(chunks))
        }
        _ => return Err(refuse("its layout")),
    })
}

/// What lies between used stretches; `None` if two of them overlap.
fn gaps(used: &mut [Stretch], end: u64) -> Option<Vec<Stretch>> {
    used.sort_unstable();
    let (mut at, mut gaps) = (0, Vec::new());
    for &mut (address, len) in used {
        gaps.push((at, address.checked_sub(at)?));
        at = address.checked_add(len)?;
    }
    gaps.push((at, end.checked_sub(at)?));
    Some(gaps)
}
