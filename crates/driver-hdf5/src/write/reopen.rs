//! Opens an existing file for writing. The metadata give the places of all data.
//!
//! A commit rewrites all metadata. So the file must be a netCDF-4 file that this driver reads completely, and
//! stores in the same form. Nothing is written before the first change.

use std::sync::{Arc, Mutex, RwLock};

use nczarr_dispatch::{Dataset, DatasetInfo, Format, OpenRequest, PersistTarget, Registry, single_file};
use nczarr_model::{DimId, ErrorKind, Model, ModelCell, Result, Var};
use nczarr_storage::source::SharedBytes;

use super::att_order::AttOrders;
use super::bytes::UNDEFINED;
use super::committed::CommittedFile;
use super::dataset::{VarSlot, WritableDataset};
use super::datatype::describe;
use super::file::{FileRange, WritableFile};
use super::fixed_text::{FixedText, FixedTexts};
use super::netcdf::{StoredFilter, is_big};
use super::plan::{FLETCHER32, StorageForm, StoragePlan};
use super::superblock;
use super::var::{ExistingData, WritableVar, WriteContext};
use super::vlen::FileHeap;
use crate::INFO;
use crate::read::{
    ChunkTable, DataLayout, DatasetStorage, Dataspace, Datatype, FileBytes, HdfFile, lock, open_hdf, padding,
};

/// Opens a file.
///
/// # Errors
/// `NC_EPERM` if writing would lose some content; errors of opening for reading.
pub(crate) fn open(request: &OpenRequest<'_>) -> Result<Arc<dyn Dataset>> {
    let opened = single_file::open(&request.target.path, true)?;
    let file =
        opened.file.try_clone().map_err(|error| nczarr_model::Error::io_at(&request.target.path, error))?;
    start(request, FileBytes::File(file, opened.path.clone()), WritableFile::of(opened), None)
}

/// Opens a file in memory. A copy is written.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_bytes(request: &OpenRequest<'_>, bytes: SharedBytes) -> Result<Arc<dyn Dataset>> {
    let file = WritableFile::memory(bytes.to_vec());
    start(request, FileBytes::Memory(bytes), file, None)
}

/// Reads a file into memory and opens it. `persist`: closing writes it back.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_in_memory(request: &OpenRequest<'_>, persist: bool) -> Result<Arc<dyn Dataset>> {
    let opened = single_file::open(&request.target.path, persist)?;
    if !persist {
        lock(&opened.file, &request.target.path)?;
    }
    let bytes = SharedBytes::from(opened.read()?);
    let persist = persist.then(|| PersistTarget::to_opened(opened, request.options.durability, INFO.magic));
    let file = WritableFile::memory(bytes.to_vec());
    start(request, FileBytes::Memory(bytes), file, persist)
}

fn refuse(what: impl std::fmt::Display) -> nczarr_model::Error {
    ErrorKind::Perm.context(format!("the file can be read but not written: {what}"))
}

fn start(
    request: &OpenRequest<'_>,
    store: FileBytes,
    file: WritableFile,
    persist: Option<PersistTarget>,
) -> Result<Arc<dyn Dataset>> {
    take(request, store, file, persist).map_err(|error| error.at(request.target))
}

fn take(
    request: &OpenRequest<'_>,
    store: FileBytes,
    file: WritableFile,
    persist: Option<PersistTarget>,
) -> Result<Arc<dyn Dataset>> {
    let (hdf, version, built) = open_hdf(store, request)?;
    if let Some(path) = built.oddities.unordered_group.as_ref().filter(|_| request.options.netcdf_c_rules) {
        let what = "the group has no order of creation, so netCDF-C does not write to the file";
        return Err(ErrorKind::CantWrite.context(what).at(path));
    }
    if let Some(fault) = built.faults.first() {
        return Err(refuse(fault));
    }
    if let Some(what) = built.converted {
        return Err(refuse(what));
    }
    if let Some(what) = &built.hidden_content {
        return Err(refuse(format!("it has content that netCDF cannot hold: {what}")));
    }
    if hdf.base != 0 {
        return Err(refuse("it begins with a user block"));
    }
    if built.phony_dims {
        return Err(refuse("it has unnamed dimensions, so it is not a netCDF-4 file"));
    }
    if let Some((_, ty)) = built.model.user_types().find(|(_, ty)| ty.name.starts_with("_Anonymous")) {
        return Err(refuse(format!("type {} has no name in the file", ty.name)));
    }
    if let Some((_, var)) = built.model.vars().find(|(_, var)| var.problem.is_some()) {
        return Err(refuse(format!("variable {:?} cannot be read", var.name)));
    }
    file.begin(hdf.len);
    let file = Arc::new(file);
    let model = Arc::new(built.model);
    let mut texts = FixedTexts::new(built.texts);
    for ((id, var), stored) in model.vars().zip(&built.stored) {
        if let Some(text) = stored.as_ref().and_then(|(stored, _)| FixedText::of(&stored.ty, var.xtype)) {
            texts.insert(id, text);
        }
    }
    let shared = Arc::new(WriteContext {
        heap: Arc::new(FileHeap::new(Arc::clone(&file))),
        file: Arc::clone(&file),
        registry: Arc::clone(request.registry),
        options: request.options.clone(),
        closing: Arc::default(),
        texts,
    });
    let (mut vars, mut used, mut pointers) = (Vec::new(), vec![(0, superblock::LEN)], false);
    for ((id, var), stored) in model.vars().zip(&built.stored) {
        let (stored, space) = stored.as_ref().ok_or_else(|| refuse(format!("variable {:?}", var.name)))?;
        check_shape(&model, var, space).map_err(|error| error.at(&var.name))?;
        let text = shared.texts.of_var(id);
        pointers |= text.is_none() && !model.is_fixed(var.xtype)?;
        let described = Datatype::parse(&describe(&model, var.xtype, is_big(var))?)?;
        if text.is_none() && !described.is_stored_like(&stored.ty) {
            return Err(refuse(format!("variable {:?}: its element type is {}", var.name, stored.ty.name())));
        }
        let growing = var.dims.iter().any(|&dim| model.dim(dim).is_ok_and(|dim| dim.unlimited));
        let (plan, stand) = locate_data(&hdf, stored, space, growing, request.registry)
            .map_err(|error| error.at(&var.name))?;
        let data = WritableVar::taken(&shared, &model, id, plan, stand, &mut used)?;
        vars.push(VarSlot { data: Some(Arc::new(data)), cache: None });
    }
    let gaps = gaps(&mut used, hdf.len).ok_or_else(|| refuse("the data of two variables overlap"))?;
    // Only the data refer to values of variable length, so gaps may hold them.
    if !pointers {
        file.free_later(gaps);
    }
    for (((id, _), stored), slot) in model.vars().zip(&built.stored).zip(&vars) {
        if let (Some((stored, space)), Some(data)) = (stored, &slot.data)
            // Without data it reads as padding anyway.
            && !(data.is_blank() && stored.fill.none)
            && let Some((own, value)) = padding(&model, id, stored, space)?
        {
            data.extend(&model.shape(id)?, &own, &value)?;
        }
    }
    let format = if built.classic { Format::NetCdf4Classic } else { Format::NetCdf4 };
    let cell = ModelCell::new(Arc::unwrap_or_clone(model));
    let committed = CommittedFile::of_opened(cell.edition(), &cell.snapshot(), file.changes(), hdf.len);
    Ok(Arc::new(WritableDataset {
        model: cell,
        shared,
        info: DatasetInfo::new(&INFO, format)
            .writable(true)
            .properties(built.properties)
            .superblock(Some(version.into())),
        classic_model: built.classic,
        persist,
        vars: RwLock::new(vars),
        orders: Mutex::new(AttOrders::of_opened(built.foreign_atts)),
        committed: Mutex::new(committed),
    }))
}

/// Checks that the stored shape fits the dimensions. The stored shape gives the places, but writing uses the
/// dimensions.
fn check_shape(model: &Model, var: &Var, space: &Dataspace) -> Result<()> {
    let stored = space.dims.as_deref().ok_or_else(|| refuse("its dataspace is null"))?;
    let fits = |&dim: &DimId, stored: u64| {
        let dim = model.dim(dim)?;
        Ok::<_, nczarr_model::Error>(if dim.unlimited { stored <= dim.len() } else { stored == dim.len() })
    };
    let mut is_like = stored.len() == var.dims.len();
    for (dim, &stored) in var.dims.iter().zip(stored) {
        is_like &= fits(dim, stored)?;
    }
    if is_like {
        Ok(())
    } else {
        Err(refuse(format!("its stored shape {stored:?} does not match its dimensions")))
    }
}

/// Returns the storage plan and the place of a variable's data.
fn locate_data(
    hdf: &HdfFile,
    stored: &DatasetStorage,
    space: &Dataspace,
    growing: bool,
    registry: &Registry,
) -> Result<(StoragePlan, ExistingData)> {
    let one = |form| StoragePlan { form, filters: Vec::new(), stored: Vec::new() };
    let item = u64::from(stored.ty.size);
    let is_chunked = matches!(stored.layout, DataLayout::Chunked { .. });
    let bytes =
        if is_chunked { 0 } else { space.len()?.checked_mul(item).ok_or_else(|| refuse("its size"))? };
    let layout = &stored.layout;
    if growing && !is_chunked {
        return Err(refuse("it is contiguous but has an unlimited dimension"));
    }
    Ok(match layout {
        DataLayout::Compact(data) if data.len() as u64 == bytes => {
            (one(StorageForm::Compact), ExistingData::Bytes(data.clone()))
        }
        DataLayout::Contiguous(address, _) if *address == UNDEFINED || bytes == 0 => {
            (one(StorageForm::Contiguous), ExistingData::Chunks(Vec::new()))
        }
        DataLayout::Contiguous(_, Some(len)) if *len < bytes => {
            return Err(refuse(format!("its data are too short (expected {bytes} bytes, found {len})")));
        }
        DataLayout::Contiguous(address, _) => {
            (one(StorageForm::Contiguous), ExistingData::Piece(hdf.place(*address, bytes)?, bytes))
        }
        DataLayout::Chunked { plain_edges: false, shape, .. } => {
            let (mut filters, mut kept) = (Vec::new(), Vec::new());
            for filter in &stored.filters {
                let class = registry.filter_by_id(filter.id)?;
                if !class.can_encode() {
                    return Err(refuse(format!("its filter {} cannot encode", class.info().name)));
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
            let table = ChunkTable::read(
                hdf,
                layout,
                space,
                chunk.ok_or_else(|| refuse("its chunks"))?,
                !filters.is_empty(),
            )?;
            if table.chunks().iter().any(|chunk| chunk.skipped != 0) {
                return Err(refuse("some of its chunks lack filters"));
            }
            let chunks = table.placed().map(|(index, chunk)| (index, chunk.address, chunk.len)).collect();
            (
                StoragePlan { form: StorageForm::Chunked(shape.clone()), filters, stored: kept },
                ExistingData::Chunks(chunks),
            )
        }
        _ => return Err(refuse("its layout")),
    })
}

/// Returns the gaps between used ranges; `None` if two overlap.
fn gaps(used: &mut [FileRange], end: u64) -> Option<Vec<FileRange>> {
    used.sort_unstable();
    let (mut at, mut gaps) = (0, Vec::new());
    for &mut (address, len) in used {
        gaps.push((at, address.checked_sub(at)?));
        at = address.checked_add(len)?;
    }
    gaps.push((at, end.checked_sub(at)?));
    Some(gaps)
}
