//! Planning of a new variable's layout in Zarr V3: type, codecs and fill value; the counterpart of `plan` for
//! V2.

use nczarr_chunkio::DimOrder;
use nczarr_codec::{ChunkInfo, Filter, ZarrFormat};
use nczarr_dispatch::Registry;
use nczarr_model::{Chunking, ErrorKind, FilterSpec, GroupId, Model, NcType, Result, Var, VarFill, VarId};
use serde_json::json;

use super::chain::{self, CHECKSUM_BYTES, CodecChain, ShardIndexCodecs, ShardingCodec};
use super::render::uses_array_fill;
use super::source_type::SourceType;
use super::types::{self, DataType, VariableLength};
use super::{fill, filters, var};
use crate::edit::plan::{self, LayoutPlanner};
use crate::flavour::kind::Flavour;
use crate::metadata::attributes::maxstrlen;
use crate::metadata::attributes::{DEFAULT_MAXSTRLEN, FILL_VALUE, MAXSTRLEN};
use crate::metadata::codecs::filters::chunk_bytes;
use crate::metadata::codecs::filters::make_filter;
use crate::metadata::json::{Json, Object};
use crate::metadata::types::dtype::{DType, DTypeKind};
use crate::metadata::v2::array_meta::{ArrayMeta, V3Description};
use crate::metadata::variable::StoredVariable;
use crate::user;

/// Bytes per chunk in the index of a shard.
const INDEX_ENTRY: u64 = 16;

impl LayoutPlanner<'_> {
    /// Plans the layout of a variable.
    ///
    /// # Errors
    /// As [`LayoutPlanner::plan`]; `NC_EFILTER` for filters that V3 cannot have, `NC_ENOTNC4` for types.
    pub(crate) fn plan_v3(&self, model: &Model, id: VarId, stored: &mut StoredVariable) -> Result<()> {
        let var = model.var(id)?;
        let data = self.data_type(model, id, stored.source_type.as_ref())?;
        let dtype = &data.dtype;
        let mut chunks = self.chunks(model, id, dtype)?;
        let shards = shards(var, &mut chunks);
        let user = match (var.xtype, self.flavour) {
            (NcType::User(ty), Flavour::NcZarr) => {
                Some((ty, user::new_encoding(model, var, ty, self.format, self.registry)?))
            }
            _ => None,
        };
        let element = match (data.variable, &user) {
            (Some(_), Some((_, form))) => form.element.clone(),
            (Some(_), None) => {
                Some(self.registry.element("vlen-utf8")?.parse(&json!({"name": "vlen-utf8"}))?)
            }
            (None, _) => None,
        };
        let asked = var
            .filters
            .iter()
            .map(|spec| make_filter(spec, self.format, self.registry))
            .collect::<Result<Vec<_>>>()?;
        let filters = filters::interoperable(&asked, dtype.item_size().unwrap_or(1), self.registry)?;
        let bound = bound(&filters, dtype, &chunks)?;
        let mut chain =
            CodecChain { element, big_endian: dtype.big_endian, filters: bound, ..CodecChain::default() };
        if let Some(shards) = &shards {
            self.check_index(shards, &chunks)?;
            chain = in_shards(chain, &chunks, self.registry)?;
        }
        let codecs = chain::write(&chain, &data, chunks.len())?;
        let mut grid = shards.clone().unwrap_or_else(|| chunks.clone());
        let (levels, chain) = var::unfold(chain, &mut grid);
        let uses_fill = self.flavour == Flavour::Zarr && uses_array_fill(data.dtype.kind);
        let value = match &var.fill {
            VarFill::Value(value) => Some(value.clone()),
            VarFill::Default => nczarr_model::fill::default(var.xtype),
            // V3 requires a fill value, and other readers see it in absent chunks: zeros, unless it is also
            // the only record of the attribute.
            VarFill::NoFill => var.atts.get(FILL_VALUE).filter(|_| uses_fill).cloned(),
        };
        let value = match &user {
            Some((ty, form)) => user::stored_fill(model, var, *ty, form)?,
            None => value,
        };
        stored.absent_value = value.clone().filter(|_| var.fill == VarFill::NoFill && user.is_none());
        let value = match (value, &var.fill) {
            // Absent chunks read as zero if the default is no value of the type.
            (Some(default), VarFill::Default) if !fill::fits(&default, &data) => {
                stored.absent_value = fill::read(&fill::zero(&data)?, &data)?;
                None
            }
            (value, _) => value,
        };
        let given = stored
            .source_type
            .as_ref()
            .filter(|given| given.of(model, var.xtype, var.endian, self.registry).is_some());
        let fill = match (&value, given) {
            (value, Some(given)) => given.fill(value.as_ref(), &data),
            (Some(value), None) => fill::write(value, &data),
            (None, None) => fill::zero(&data),
        };
        let text = match (dtype.kind, given) {
            (DTypeKind::Text(width), _) => types::raw_text(width),
            (_, Some(given)) => given.data_type.clone(),
            (_, None) => types::write(dtype, data.variable)?,
        };
        stored.filters = filters;
        (stored.element, stored.pieces) = match user {
            Some((_, form)) => (form.element, form.pieces),
            None => (chain.element, None),
        };
        stored.shards = levels;
        stored.meta = Some(ArrayMeta {
            shape: model.shape(id)?,
            chunks,
            axes: None,
            shards,
            fill: fill.map_err(|error| error.at(FILL_VALUE))?,
            dtype: data.dtype,
            order: nczarr_chunkio::DimOrder::C,
            separator: self.separator,
            prefix: true,
            codecs: Vec::new(),
            v3: Some(V3Description { data_type: text, codecs }),
            raw: Object::new(),
        });
        Ok(())
    }

    /// Checks whether a variable can have these filters, given its definition so far.
    ///
    /// # Errors
    /// `NC_EFILTER` if not; other errors as [`LayoutPlanner::plan_v3`].
    pub(crate) fn check_filters_v3(
        &self,
        model: &Model,
        id: VarId,
        specs: &[FilterSpec],
        given: Option<&SourceType>,
    ) -> Result<()> {
        let data = self.data_type(model, id, given)?;
        let chunks = self.chunks(model, id, &data.dtype)?;
        let asked = specs
            .iter()
            .map(|spec| make_filter(spec, self.format, self.registry))
            .collect::<Result<Vec<_>>>()?;
        let filters = filters::interoperable(&asked, data.dtype.item_size().unwrap_or(1), self.registry)?;
        let chain = CodecChain { filters: bound(&filters, &data.dtype, &chunks)?, ..CodecChain::default() };
        chain::write(&chain, &data, chunks.len()).map(drop)
    }

    /// Checks the size of a shard's index, which is read as a whole.
    fn check_index(&self, shards: &[u64], chunks: &[u64]) -> Result<()> {
        let limit = self.options.limits.chunk;
        let counts = shards.iter().zip(chunks).map(|(shard, chunk)| shard / chunk);
        match counts.fold(INDEX_ENTRY, u64::saturating_mul).saturating_add(CHECKSUM_BYTES) {
            bytes if bytes <= limit => Ok(()),
            bytes => Err(ErrorKind::BadChunk.context(format!(
                "shards of {shards:?} with chunks of {chunks:?}: the index is too large (expected at most {limit} bytes, found {bytes})"
            ))),
        }
    }

    /// Returns the stored type of a new variable: strings with a declared length are bytes, others text of
    /// any length. `given` is the stored type that the caller gave.
    fn data_type(&self, model: &Model, id: VarId, given: Option<&SourceType>) -> Result<DataType> {
        let var = model.var(id)?;
        if let Some(data) = given.and_then(|given| given.of(model, var.xtype, var.endian, self.registry)) {
            return Ok(data);
        }
        let root = model.group(GroupId::ROOT).ok().and_then(|root| root.atts.get(DEFAULT_MAXSTRLEN));
        let width = var.atts.get(MAXSTRLEN).and_then(maxstrlen).or_else(|| root.and_then(maxstrlen));
        let (dtype, variable) = match (var.xtype, width) {
            (NcType::String, Some(width)) if self.flavour == Flavour::NcZarr => {
                (DType::from_name(&format!("|S{width}")), None)
            }
            (NcType::String, _) => (DType::from_name("|O"), Some(VariableLength::Text)),
            (NcType::Char, _) => (DType::from_name(">S1"), None),
            (NcType::User(ty), _) if self.flavour == Flavour::NcZarr => {
                let form = user::new_encoding(model, var, ty, self.format, self.registry)?;
                (form.dtype, form.variable)
            }
            _ => (self.dtype(model, var, 1)?, None),
        };
        let big_endian = dtype.big_endian && dtype.item_size() != Some(1);
        Ok(DataType { dtype: DType { big_endian, ..dtype }, variable, is_core_raw: false, problem: None })
    }
}

/// Whether a loaded array has the layout of a planned one: type, chunks, chunk keys and codecs.
pub(crate) fn is_same_layout(planned: &ArrayMeta, read: &ArrayMeta) -> bool {
    // Another spelling of the same counts as different.
    let ours = |name: &str, value: Json| read.raw.get(name) == Some(&value);
    let sizes = |sizes: &[u64]| Json::Array(sizes.iter().map(|&size| Json::int(size)).collect());
    let separator = Json::string(planned.separator);
    planned.v3 == read.v3
        && ours(
            "chunk_grid",
            types::configured(
                "regular",
                [("chunk_shape", sizes(planned.shards.as_ref().unwrap_or(&planned.chunks)))],
            ),
        )
        && ours("chunk_key_encoding", types::configured("default", [("separator", separator)]))
}

/// Returns the shape of the shards, if requested. Chunks without a requested shape are at most as long as a
/// shard, and shards are rounded up to multiples of chunks.
fn shards(var: &Var, chunks: &mut [u64]) -> Option<Vec<u64>> {
    let mut shards =
        var.shards.clone().filter(|shards| shards.len() == chunks.len() && !chunks.is_empty())?;
    let chosen = !matches!(var.chunking, Chunking::Chunked(_));
    for (shard, chunk) in shards.iter_mut().zip(chunks) {
        if chosen {
            *chunk = (*chunk).min(*shard);
        }
        *shard = shard.checked_next_multiple_of(*chunk).unwrap_or(*chunk);
    }
    Some(shards)
}

/// Wraps a chain into shards: the index follows the chunks and has a checksum.
fn in_shards(chain: CodecChain, chunks: &[u64], registry: &Registry) -> Result<CodecChain> {
    let checksum = json!({"name": "crc32c"});
    let index = ShardIndexCodecs {
        order: DimOrder::C,
        big_endian: false,
        filters: vec![registry.filter("crc32c")?.parse_json(&checksum, ZarrFormat::V3)?],
        extra: CHECKSUM_BYTES,
        at_start: false,
    };
    let big_endian = chain.big_endian;
    let shards = ShardingCodec { chunk_shape: chunks.to_vec(), chain, index };
    Ok(CodecChain { big_endian, shards: Some(Box::new(shards)), ..CodecChain::default() })
}

/// Binds the filters to chunks of this shape.
fn bound(filters: &[Box<dyn Filter>], dtype: &DType, chunks: &[u64]) -> Result<Vec<Box<dyn Filter>>> {
    let mut entering = dtype.item_type();
    let item = dtype.item_size().unwrap_or(1);
    let number = |size: u64| usize::try_from(size).unwrap_or(usize::MAX);
    let mut shape = chunks.to_vec();
    let mut codecs = Vec::with_capacity(filters.len());
    for filter in filters {
        plan::check_item(&**filter, entering)?;
        let mut filter = filter.clone();
        filter.bind(
            &ChunkInfo::new(entering, number(chunk_bytes(&shape, 1)))
                .item_size(item)
                .chunk_bytes(number(chunk_bytes(chunks, item as u64)))
                .shape(&shape)
                .row(shape.last().map_or(1, |&row| number(row)))
                .big_endian(dtype.big_endian),
        )?;
        entering = filter.encoded_item();
        shape = filter.encoded_shape().unwrap_or(shape);
        codecs.push(filter);
    }
    Ok(codecs)
}
