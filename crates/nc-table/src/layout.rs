//! The stored form of a variable: filters, chunks and byte order.

use std::borrow::Cow;

use nczarr_model::{Chunking, Edit, Endian, ErrorKind, FilterSpec, Model, NcType, Result, VarId};

use crate::inquire::VarInquiry;
use crate::{NcDispatch, define};
use nczarr_dispatch::Dataset;

// HDF5 ids of filters with functions in netCDF's interface. The registry supplies the filters.
const DEFLATE: u32 = 1;
const SHUFFLE: u32 = 2;
pub(crate) const FLETCHER32: u32 = 3;

const MAX_LEVEL: u32 = 9;

pub(crate) fn inquire<D: Dataset + ?Sized>(dataset: &D, id: VarId) -> Result<VarInquiry> {
    let model = dataset.model().snapshot();
    let var = model.var(id)?;
    let param = |id| var.filters.iter().find(|filter| filter.hdf5_id == Some(id));
    let chunking = match &var.chunking {
        Chunking::Default if var.dims.is_empty() => Chunking::Contiguous,
        Chunking::Default => match dataset.data(id).map(|data| data.chunk_shape()) {
            Ok(Some(shape)) => Chunking::Chunked(shape),
            Ok(None) => Chunking::Contiguous,
            // Unreadable data have no known chunks; the other properties are still known.
            Err(_) => Chunking::Default,
        },
        asked => asked.clone(),
    };
    Ok(VarInquiry {
        name: var.name.clone(),
        xtype: var.xtype,
        dims: var.dims.clone(),
        natts: var.atts.len(),
        shuffle: param(SHUFFLE).is_some(),
        deflate: param(DEFLATE).map(|filter| filter.params.first().copied().unwrap_or(0)),
        fletcher32: param(FLETCHER32).is_some(),
        chunking,
        shards: var.shards.clone(),
        fill: var.fill.clone(),
        endian: var.endian,
        filters: var.filters.clone(),
        quantize: var.quantize,
    })
}

pub(crate) fn deflate<D: Dataset + ?Sized>(
    dataset: &D,
    var: VarId,
    shuffle: bool,
    deflate: bool,
    level: u32,
) -> Result<()> {
    if deflate && level > MAX_LEVEL {
        return Err(ErrorKind::Inval
            .context(format!("deflate level {level}: out of range (expected 0 to {MAX_LEVEL})")));
    }
    let deflate = deflate && level > 0;
    // Both or none: a missing filter must not leave the other one behind.
    for (id, wanted) in [(SHUFFLE, shuffle), (DEFLATE, deflate)] {
        if wanted {
            dataset.inq_filter_avail(id)?;
        }
    }
    if shuffle {
        dataset.def_var_filter(var, SHUFFLE, &[])?;
    }
    if deflate {
        dataset.def_var_filter(var, DEFLATE, &[level])?;
    }
    Ok(())
}

pub(crate) fn filter<D: Dataset + ?Sized>(dataset: &D, var: VarId, id: u32, params: &[u32]) -> Result<()> {
    let registry = define::registry_of(dataset)?;
    let class = registry.filter_by_id(id)?;
    let instance = class
        .parse_params(params)
        .map_err(|error| error.at(format_args!("filter {id} ({})", class.info().name)))?;
    let filter = FilterSpec {
        hdf5_id: Some(id),
        name: class.info().name.to_owned(),
        params: match instance.params() {
            Cow::Borrowed(params) => params.to_vec(),
            Cow::Owned(params) => params,
        },
        codec: None,
    };
    dataset.def_var_filter_spec(var, &filter)
}

pub(crate) fn find_filter(model: &Model, var: VarId, id: u32) -> Result<&FilterSpec> {
    let filters = &model.var(var)?.filters;
    match filters.iter().find(|filter| filter.hdf5_id == Some(id)) {
        Some(filter) => Ok(filter),
        None => {
            let path = model.var_path(var)?;
            let known: Vec<_> = filters.iter().map(|filter| filter.name.as_str()).collect();
            Err(ErrorKind::NoFilter.context(format!("{path}: no filter {id} (found {})", known.join(", "))))
        }
    }
}

pub(crate) fn endian<D: Dataset + ?Sized>(dataset: &D, id: VarId, endian: Endian) -> Result<()> {
    let model = dataset.model().snapshot();
    let var = model.var(id)?;
    let has_order = |ty: NcType| ty.is_numeric() || matches!(ty, NcType::User(_));
    if endian != Endian::Native && !has_order(var.xtype) {
        let what =
            format!("{}: elements of type {} have no byte order", model.var_path(id)?, var.xtype.name());
        return Err(ErrorKind::Inval.context(what));
    }
    dataset.edit(&Edit::DefVarEndian { var: id, endian }).map(drop)
}
