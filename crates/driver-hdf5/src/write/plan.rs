//! Decides the storage of a variable: contiguous, compact, or chunked with filters.
//!
//! The defaults are those of netCDF-C: chunked if it can grow or has filters, else contiguous. A scalar has
//! no filters.

use nczarr_chunkio::{ElementLayout, ElementPiece as Part, default_shape};
use nczarr_codec::{ChunkInfo, Filter};
use nczarr_dispatch::{Limits, Registry};
use nczarr_model::{Chunking, Error, ErrorKind, FilterSpec, Model, NcType, Result, VarId};

use super::chunks::MAX_RANK;
use super::datatype::stored_size;
use super::fixed_text::FixedText;
use super::netcdf::{StoredFilter, is_big, item_size};

/// Most bytes of compact data.
const COMPACT: u64 = 60 << 10;

/// HDF5's number of the filter that must never be left out.
pub(super) const FLETCHER32: u32 = 3;

/// The storage of a variable.
#[derive(Debug)]
pub(super) struct StoragePlan {
    pub(super) form: StorageForm,
    pub(super) filters: Vec<Box<dyn Filter>>,
    pub(super) stored: Vec<StoredFilter>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StorageForm {
    Compact,
    Contiguous,
    Chunked(Vec<u64>),
}

/// Decides the storage of a variable.
///
/// # Errors
/// `NC_EMAXDIMS` or `NC_EBADCHUNK` for shapes that HDF5 cannot hold; `NC_ENOFILTER` or `NC_EFILTER` for
/// filters.
pub(super) fn decide(
    model: &Model,
    id: VarId,
    text: Option<FixedText>,
    registry: &Registry,
    limits: &Limits,
) -> Result<StoragePlan> {
    let var = model.var(id)?;
    let at = |error: Error| error.at(model.var_path(id).unwrap_or_default());
    check_rank(var.dims.len()).map_err(at)?;
    let mut dims = Vec::with_capacity(var.dims.len());
    for &dim in &var.dims {
        let dim = model.dim(dim)?;
        dims.push((dim.len(), dim.unlimited));
    }
    let item = item_size(model, var, text)? as u64;
    let bytes = dims.iter().fold(item, |bytes, &(len, _)| bytes.saturating_mul(len));
    let growing = dims.iter().any(|&(_, unlimited)| unlimited);
    let one = |form| StoragePlan { form, filters: Vec::new(), stored: Vec::new() };
    let shape = match &var.chunking {
        _ if dims.is_empty() && matches!(var.chunking, Chunking::Compact) => {
            return Ok(one(StorageForm::Compact));
        }
        _ if dims.is_empty() => return Ok(one(StorageForm::Contiguous)),
        Chunking::Chunked(shape) if shape.len() == dims.len() => shape.clone(),
        Chunking::Compact if !growing && var.filters.is_empty() && bytes <= COMPACT => {
            return Ok(one(StorageForm::Compact));
        }
        _ if !growing && var.filters.is_empty() => return Ok(one(StorageForm::Contiguous)),
        _ => default_shape(&dims, item),
    };
    // A chunk is no longer than a dimension of fixed length.
    let side =
        |(side, &(len, unlimited)): (u64, &(u64, bool))| if unlimited { side } else { side.min(len) }.max(1);
    let shape: Vec<u64> = shape.into_iter().zip(&dims).map(side).collect();
    let chunk = shape.iter().fold(item, |bytes, &side| bytes.saturating_mul(side));
    if chunk >= 1 << 32 || chunk > limits.chunk {
        let most = limits.chunk.min((1 << 32) - 1);
        return Err(at(ErrorKind::BadChunk.context(format!(
            "chunk shape {shape:?} is too large (expected at most {most} bytes, found {chunk})"
        ))));
    }
    let item = if text.is_some() || model.is_fixed(var.xtype)? { item } else { 1 };
    let (filters, stored) = filters(model, id, &shape, item, registry).map_err(at)?;
    Ok(StoragePlan { form: StorageForm::Chunked(shape), filters, stored })
}

/// Checks the rank of a variable.
///
/// # Errors
/// `NC_EMAXDIMS` if HDF5 does not support it.
pub(super) fn check_rank(rank: usize) -> Result<()> {
    if rank <= MAX_RANK {
        Ok(())
    } else {
        Err(ErrorKind::MaxDims
            .context(format!("too many dimensions (expected at most {MAX_RANK}, found {rank})")))
    }
}

/// Makes the filter of a specification.
///
/// # Errors
/// `NC_ENOFILTER` if it does not exist; `NC_EFILTER` if HDF5 has no number for it; errors about parameters.
pub(super) fn instance(spec: &FilterSpec, registry: &Registry) -> Result<Box<dyn Filter>> {
    let class = match spec.hdf5_id {
        Some(id) => registry.filter_by_id(id)?,
        None => registry.filter(&spec.name)?,
    };
    let info = class.info();
    if !class.can_encode() {
        return Err(ErrorKind::NoFilter.context(format!("filter {}: it cannot encode", info.name)));
    }
    if info.hdf5_id.is_none_or(|id| id > u32::from(u16::MAX)) {
        return Err(ErrorKind::Filter.context(format!("filter {}: HDF5 has no id for it", info.name)));
    }
    class.parse_hdf5(&spec.params).map_err(|error| error.at(format_args!("filter {}", info.name)))
}

type Filters = (Vec<Box<dyn Filter>>, Vec<StoredFilter>);

fn filters(model: &Model, id: VarId, shape: &[u64], item: u64, registry: &Registry) -> Result<Filters> {
    let var = model.var(id)?;
    let (mut filters, mut stored) = (Vec::new(), Vec::new());
    let number = var.xtype.size().is_some();
    let elements = shape.iter().fold(1_u64, |count, &side| count.saturating_mul(side));
    let size = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    // The chunk engine binds filters in the same way.
    let line = var.dims.last().map(|&dim| model.dim(dim)).transpose()?.filter(|dim| number && !dim.unlimited);
    let mut entering = if number {
        nczarr_codec::ItemType::of(var.xtype, is_big(var))
    } else {
        nczarr_codec::ItemType::bytes(size(item))
    };
    for spec in &var.filters {
        let filter = instance(spec, registry)?;
        let mut bound = filter.clone();
        bound.bind(
            &ChunkInfo::new(entering, size(elements))
                .item_size(size(item))
                .chunk_bytes(size(elements.saturating_mul(item)))
                .shape(shape)
                .row(shape.last().map_or(1, |&row| size(row)))
                .array_row(line.map(|dim| size(dim.len())))
                .big_endian(is_big(var)),
        )?;
        entering = bound.encoded_item();
        let id = bound.info().hdf5_id.unwrap_or_default();
        stored.push(StoredFilter {
            id: id as u16,
            name: bound.info().name.to_owned(),
            optional: id != FLETCHER32,
            params: bound.working_params().into_owned(),
        });
        filters.push(filter);
    }
    Ok((filters, stored))
}

/// Describes elements of a type to the chunk engine; `None` for variable length. `text`: they are strings of
/// a fixed size.
pub(super) fn element(
    model: &Model,
    ty: NcType,
    text: Option<FixedText>,
    big_endian: bool,
) -> Result<Option<ElementLayout>> {
    if let Some(text) = text {
        return Ok(Some(ElementLayout::Text { width: text.size }));
    }
    Ok(match ty {
        NcType::User(_) if model.is_fixed(ty)? => {
            Some(ElementLayout::Packed { ty, pieces: vec![Part::Bytes(stored_size(model, ty)?)] })
        }
        NcType::User(_) | NcType::String => None,
        ty => Some(ElementLayout::Number { ty, big_endian }),
    })
}
