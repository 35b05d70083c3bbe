//! Planning of a variable's layout: type, chunks, filters and fill value, from the model.
//!
//! A layout is planned once, when metadata is written or data are first accessed. A new plan keeps stored
//! properties that the model lacks (separator, order, foreign types). Read [`LayoutPlanner::plan`] first.

use nczarr_chunkio::{DimOrder, default_shape};
use nczarr_codec::{Filter, ItemKind, ItemType, ZarrFormat};
use nczarr_dispatch::{Options, Registry};
use nczarr_model::{
    Chunking, Endian, Error, ErrorKind, GroupId, Model, NcType, Result, TypeId, Values, Var, VarFill, VarId,
};

use crate::flavour::kind::Flavour;
use crate::metadata::attributes::maxstrlen;
use crate::metadata::attributes::{DEFAULT_MAXSTRLEN, FILL_VALUE, MAXSTRLEN};
use crate::metadata::codecs::filters::make_filter;
use crate::metadata::codecs::filters::{STRING_ITEM, bind_filter, chunk_bytes};
use crate::metadata::json::{Json, Object};
use crate::metadata::types::dtype::{DType, DTypeKind};
use crate::metadata::types::foreign;
use crate::metadata::v2::array_meta::ArrayMeta;
use crate::metadata::v2::fill::{self, TextFill};
use crate::metadata::variable::StoredVariable;
use crate::user::{self, ElementEncoding};

/// Bytes of a string without a declared length.
const DEFAULT_WIDTH: usize = 128;

/// The inputs of a plan other than the model.
pub(crate) struct LayoutPlanner<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) options: &'a Options,
    pub(crate) flavour: Flavour,
    pub(crate) format: ZarrFormat,
    /// The separator of the indices in chunk keys of new variables.
    pub(crate) separator: char,
    /// Readers of the dataset take all elements as little-endian, whatever their type says.
    pub(crate) forces_little_endian: bool,
}

impl LayoutPlanner<'_> {
    /// Plans the layout of a variable.
    ///
    /// # Errors
    /// `NC_EBADCHUNK` if a chunk exceeds the limit, `NC_ENOFILTER` for a missing filter, `NC_ENOTNC4` for an
    /// unsupported user-defined type.
    pub(crate) fn plan(&self, model: &Model, id: VarId, stored: &mut StoredVariable) -> Result<()> {
        let at = |error: Error| error.at(model.var_path(id).unwrap_or_default());
        if self.format == ZarrFormat::V3 {
            return self.plan_v3(model, id, stored).map_err(at);
        }
        let var = model.var(id)?;
        let before = stored.meta.clone();
        let mut user = None;
        if let (NcType::User(ty), Flavour::NcZarr) = (var.xtype, self.flavour) {
            let form = user::new_encoding(model, var, ty, self.format, self.registry).map_err(at)?;
            (stored.element, stored.pieces) = (form.element.clone(), form.pieces.clone());
            user = Some((ty, form));
        }
        let given = stored.source_type.as_ref();
        let given = given.and_then(|given| given.of(model, var.xtype, var.endian, self.registry));
        let dtype = match (&user, given, &before) {
            (Some((_, form)), ..) => form.dtype.clone(),
            (None, Some(given), _) => given.dtype,
            (None, None, Some(meta))
                if !matches!(meta.dtype.kind, DTypeKind::Number(_) | DTypeKind::Text(_)) =>
            {
                meta.dtype.clone()
            }
            _ => self.dtype(model, var, string_width(model, var)).map_err(at)?,
        };
        let chunks = self.chunks(model, id, &dtype).map_err(at)?;
        let (filters, mut codecs) = self.filters(model, id, &dtype, &chunks).map_err(at)?;
        if let (Some(element), DTypeKind::Object) = (&stored.element, dtype.kind) {
            codecs.insert(0, Json::from_serde(&element.to_json()));
        }
        if let (DTypeKind::Text(width), Some(Values::String(fill))) = (dtype.kind, var.fill_value())
            && let Some(len) = fill.first().map(|fill| fill.as_bytes().len()).filter(|&len| len > width)
        {
            return Err(at(ErrorKind::Inval.context(format!(
                "the fill value is too long (expected at most {width} bytes, found {len})"
            ))));
        }
        stored.filters = filters;
        stored.meta = Some(ArrayMeta {
            shape: self.shape(model, id)?,
            chunks,
            axes: None,
            shards: None,
            fill: match &user {
                Some((ty, form)) => user_fill(model, var, *ty, form).map_err(at)?,
                None => self.fill(var, &dtype).map_err(at)?,
            },
            dtype,
            order: before.as_ref().map_or(DimOrder::C, |meta| meta.order.clone()),
            separator: before.as_ref().map_or(self.separator, |meta| meta.separator),
            prefix: before.as_ref().is_some_and(|meta| meta.prefix),
            codecs,
            v3: None,
            raw: Object::new(),
        });
        Ok(())
    }

    /// Returns the stored type of a new variable.
    ///
    /// # Errors
    /// `NC_ENOTNC4` for a user-defined type that the store cannot hold.
    pub(crate) fn dtype(&self, model: &Model, var: &Var, width: usize) -> Result<DType> {
        match (var.xtype, self.flavour) {
            (NcType::User(id), Flavour::Zarr) => foreign::stored_dtype(model, id, var.endian),
            _ => {
                let endian = if self.forces_little_endian { Endian::Little } else { var.endian };
                DType::of(var.xtype, endian, width, self.flavour == Flavour::NcZarr)
            }
        }
    }

    /// Returns the shape to store. NCZarr V2 stores a scalar with one dimension of length 1.
    pub(crate) fn shape(&self, model: &Model, id: VarId) -> Result<Vec<u64>> {
        let shape = model.shape(id)?;
        Ok(if shape.is_empty() && self.flavour == Flavour::NcZarr && self.format == ZarrFormat::V2 {
            vec![1]
        } else {
            shape
        })
    }

    pub(crate) fn chunks(&self, model: &Model, id: VarId, dtype: &DType) -> Result<Vec<u64>> {
        let var = model.var(id)?;
        let mut dims = Vec::with_capacity(var.dims.len());
        for &dim in &var.dims {
            let dim = model.dim(dim)?;
            dims.push((dim.len(), dim.unlimited));
        }
        if dims.is_empty() {
            return self.shape(model, id);
        }
        let item = dtype.item_size().unwrap_or(1) as u64;
        let any_length = var.xtype == NcType::String || dtype.kind == DTypeKind::Object;
        let default = || default_shape(&dims, if any_length { STRING_ITEM as u64 } else { item });
        let shape = match &var.chunking {
            Chunking::Chunked(shape) if shape.len() == dims.len() => shape.clone(),
            Chunking::Contiguous | Chunking::Compact => {
                let whole: Vec<u64> = dims.iter().map(|&(len, _)| len.max(1)).collect();
                // A contiguous variable that is too large for one chunk gets default chunks.
                if chunk_bytes(&whole, item) <= self.options.limits.chunk { whole } else { default() }
            }
            _ => default(),
        };
        let bytes = chunk_bytes(&shape, item);
        if bytes > self.options.limits.chunk {
            let limit = self.options.limits.chunk;
            return Err(ErrorKind::BadChunk.context(format!(
                "chunk shape {shape:?} of type {}: the chunk is too large (expected at most {limit} bytes, found {bytes})",
                dtype.text
            )));
        }
        Ok(shape)
    }

    /// Returns the filters and their complete codec descriptions.
    #[allow(clippy::type_complexity)] // Two lists of one length, taken apart at once.
    fn filters(
        &self,
        model: &Model,
        id: VarId,
        dtype: &DType,
        chunks: &[u64],
    ) -> Result<(Vec<Box<dyn Filter>>, Vec<Json>)> {
        let (mut filters, mut codecs) = (Vec::new(), Vec::new());
        let mut item = dtype.item_type();
        let var = model.var(id)?;
        let last = var.dims.last().map(|&dim| model.dim(dim)).transpose()?;
        let line = last.filter(|dim| !dim.unlimited).map(|dim| dim.len());
        let netcdf = self.flavour == Flavour::NcZarr;
        for spec in &var.filters {
            let filter = make_filter(spec, self.format, self.registry)?;
            check_item(&*filter, item)?;
            let (filter, codec) = bind_filter(filter, dtype, chunks, line, &mut item, netcdf, self.registry)?;
            // netCDF-C reads numbers as parameters only for filters with an HDF5 id.
            let plain = self.flavour != Flavour::NcZarr || filter.info().hdf5_id.is_none();
            codecs.push(if plain { codec } else { unsigned_params(codec) });
            filters.push(filter);
        }
        Ok((filters, codecs))
    }

    /// Returns the fill value to store.
    pub(crate) fn fill(&self, var: &Var, dtype: &DType) -> Result<Json> {
        let form = match self.flavour {
            Flavour::NcZarr => TextFill::Plain,
            Flavour::Zarr => TextFill::Standard(None),
        };
        // Zeros are the default of user-defined types: with `null` other readers leave memory undefined.
        if dtype.is_user() && var.fill == VarFill::Default {
            return fill::print_zeros(dtype);
        }
        fill::print(var.fill_value().as_ref(), dtype, form).map_err(|error| error.at(FILL_VALUE))
    }
}

/// Returns the V2 fill value of a variable of a user-defined NCZarr type.
fn user_fill(model: &Model, var: &Var, ty: TypeId, form: &ElementEncoding) -> Result<Json> {
    let value = user::stored_fill(model, var, ty, form);
    value
        .and_then(|value| fill::print(value.as_ref(), &form.dtype, TextFill::Plain))
        .map_err(|error| error.at(FILL_VALUE))
}

/// Converts negative numbers in a codec description to the unsigned 32 bits of an HDF5 parameter. netCDF-C
/// rejects a dataset with a sign there.
fn unsigned_params(mut codec: Json) -> Json {
    if let Json::Object(members) = &mut codec {
        for value in members.values_mut() {
            if let Some(bits) =
                value.as_integer().and_then(|number| i32::try_from(number).ok()).filter(|bits| *bits < 0)
            {
                *value = Json::int(bits.cast_unsigned());
            }
        }
    }
    codec
}

/// Checks that a filter may encode elements of this type. Zarr readers accept packbits for truth values only.
///
/// # Errors
/// `NC_EFILTER` if not.
pub(crate) fn check_item(filter: &dyn Filter, item: ItemType) -> Result<()> {
    match filter.info().name {
        "packbits" if item.kind != ItemKind::Bool => {
            Err(ErrorKind::Filter
                .context("packbits: the elements are stored as numbers, not as truth values"))
        }
        _ => Ok(()),
    }
}

/// Returns the bytes of one string of a variable.
fn string_width(model: &Model, var: &Var) -> usize {
    let of = |values: Option<&Values>| values.and_then(maxstrlen);
    let root = model.group(GroupId::ROOT).ok().and_then(|root| root.atts.get(DEFAULT_MAXSTRLEN));
    of(var.atts.get(MAXSTRLEN)).or_else(|| of(root)).unwrap_or(DEFAULT_WIDTH)
}
