//! Makes the engine's array of a variable: [`make_array`].

use std::sync::Arc;

use nczarr_chunkio::{ArrayDim, ArraySpec, ChunkedArray, DimOrder, ElementLayout, ShardSpec};
use nczarr_dispatch::VarData as _;
use nczarr_model::{ErrorKind, Model, NcType, Result, Values, Var, VarFill, VarId};

use crate::data::guarded_array::GuardedArray;
use crate::data::rectilinear::RectilinearArray;
use crate::data::variable_chunks::VariableChunks;
use crate::dataset::catalog::Catalog;
use crate::dataset::node_states::{ArrayHandle, VarState};
use crate::flavour::kind::Flavour;
use crate::metadata::codecs::null_string::NullStringCodec;
use crate::metadata::variable::StoredVariable;

/// Makes the array of a variable that has a layout.
///
/// # Errors
/// Types and shards that the engine does not support.
pub(crate) fn make_array(
    catalog: &Catalog,
    model: &Model,
    id: VarId,
    state: &mut VarState,
) -> Result<ArrayHandle> {
    let var = model.var(id)?;
    let Some(meta) = &state.stored.meta else {
        return Err(ErrorKind::Internal.context("no layout"));
    };
    let element = match (&state.stored.element, &state.stored.pieces) {
        (Some(codec), _) if var.xtype == NcType::String && catalog.flavour == Flavour::NcZarr => {
            ElementLayout::Variable(Box::new(NullStringCodec(codec.clone())))
        }
        (Some(codec), _) => ElementLayout::Variable(codec.clone()),
        (None, Some(pieces)) => ElementLayout::Packed { ty: var.xtype, pieces: pieces.clone() },
        (None, None) => (meta.dtype.element(var.xtype)).ok_or_else(|| {
            ErrorKind::BadType.context(format!("type {} is not supported", meta.dtype.text))
        })?,
    };
    let mut dims = Vec::with_capacity(var.dims.len());
    for &dim in &var.dims {
        let dim = model.dim(dim)?;
        dims.push(ArrayDim { len: Arc::clone(dim.shared_len()), unlimited: dim.unlimited });
    }
    let place = (state.key.clone(), meta.separator, meta.prefix);
    let chunks = Arc::new(VariableChunks::new(Arc::clone(&catalog.map), place, catalog.writable));
    let spec = ArraySpec {
        name: model.var_path(id)?,
        dims,
        // NCZarr stores a scalar with one dimension of length 1.
        chunk_shape: if var.dims.is_empty() { Vec::new() } else { meta.chunks.clone() },
        element,
        order: meta.order.clone(),
        filters: state.stored.filters.clone(),
        fill: match absent_value(var, &state.stored) {
            // The engine needs an empty element for packed types of variable length.
            None if !var.xtype.is_atomic() && !model.is_fixed(var.xtype)? => Some(model.blank(var.xtype)?),
            fill => fill,
        },
        shards: shards(&state.stored.shards, var.dims.is_empty())?,
        store: Arc::clone(&chunks) as Arc<_>,
        options: catalog.options.clone(),
        writable: catalog.writable,
    };
    if let Some(axes) = &meta.axes {
        let array = Arc::new(RectilinearArray::new(spec, Arc::clone(axes), Arc::clone(&chunks))?);
        state.chunks = Some(chunks);
        state.rectilinear = Some(Arc::clone(&array));
        return Ok(ArrayHandle::RectilinearArray(array));
    }
    let array = ChunkedArray::new(spec)?;
    if let Some(cache) = state.cache {
        array.set_chunk_cache(cache)?;
    }
    let gate = Arc::new(GuardedArray::new(array, Arc::clone(&chunks), Arc::clone(&catalog.closing)));
    state.chunks = Some(chunks);
    state.array = Some(Arc::clone(&gate));
    Ok(ArrayHandle::Chunked(gate))
}

/// Returns the shards of an array; without dimensions for a scalar, which may be stored with one dimension of
/// length 1.
fn shards(stored: &[ShardSpec], scalar: bool) -> Result<Vec<ShardSpec>> {
    let mut shards = stored.to_vec();
    for shard in shards.iter_mut().filter(|_| scalar) {
        if shard.counts.iter().any(|&count| count != 1) || shard.index.order != DimOrder::C {
            return Err(ErrorKind::BadChunk.context("a scalar cannot have shards of several chunks"));
        }
        (shard.counts, shard.order) = (Vec::new(), DimOrder::C);
    }
    Ok(shards)
}

/// Returns the value of unwritten elements.
fn absent_value(var: &Var, stored: &StoredVariable) -> Option<Values> {
    match (&var.fill, &stored.absent_value) {
        // A default that the data type of a plugin does not hold.
        (VarFill::Default, Some(value)) => Some(value.clone()),
        (_, value) => var.fill_value().or_else(|| value.clone()),
    }
}
