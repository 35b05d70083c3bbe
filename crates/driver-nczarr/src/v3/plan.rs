//! The layout of a new variable in Zarr V3: its type, codecs and fill value, as `plan` has it for V2.

use nczarr_chunkio::Order;
use nczarr_dispatch::{ChunkInfo, Filter, Registry, ZarrFormat};
use nczarr_model::{Chunking, ErrorKind, FilterSpec, GroupId, Model, NcType, Result, Var, VarFill, VarId};
use serde_json::json;

use super::chain::{self, CHECKSUM_BYTES, Chain, Index, Shards};
use super::render::is_told_by_array;
use super::stored_type::Given;
use super::types::{self, DataType, Variable};
use super::{fill, filters, var};
use crate::attrs::{DEFAULT_MAXSTRLEN, FILL_VALUE, MAXSTRLEN};
use crate::dtype::{DType, Kind};
use crate::flavour::Flavour;
use crate::json::{Json, Object};
use crate::meta::{ArrayMeta, Described};
use crate::plan::{self, Planning};
use crate::user;
use crate::var::{Stored, chunk_bytes};

/// Bytes that the index of a shard has for each chunk.
const INDEX_ENTRY: u64 = 16;

impl Planning<'_> {
    /// Decides the layout of a variable.
    ///
    /// # Errors
    /// As [`Planning::plan`]; `NC_EFILTER` for filters that V3 cannot have, `NC_ENOTNC4` for types.
    pub(crate) fn plan_v3(&self, model: &Model, id: VarId, stored: &mut Stored) -> Result<()> {
        let var = model.var(id)?;
        let data = self.data_type(model, id, stored.given.as_ref())?;
        let dtype = &data.dtype;
        let mut chunks = self.chunks(model, id, dtype)?;
        let shards = shards(var, &mut chunks);
        let user = match (var.xtype, self.flavour) {
            (NcType::User(ty), Flavour::NcZarr) => {
                Some((ty, user::new_form(model, var, ty, self.format, self.registry)?))
            }
            _ => None,
        };
        let element = match (data.variable, &user) {
            (Some(_), Some((_, form))) => form.element.clone(),
            (Some(_), None) => Some(self.registry.element("vlen-utf8")?.parse(&json!({"name": "vlen-utf8"}))?),
            (None, _) => None,
        };
        let asked = var
            .filters
            .iter()
            .map(|spec| plan::instance(spec, self.format, self.registry))
            .collect::<Result<Vec<_>>>()?;
        let filters = filters::interoperable(&asked, dtype.item_size().unwrap_or(1), self.registry)?;
        let bound = bound(&filters, dtype, &chunks)?;
        let mut chain = Chain { element, big_endian: dtype.big_endian, filters: bound, ..Chain::default() };
        if let Some(shards) = &shards {
            self.check_index(shards, &chunks)?;
            chain = in_shards(chain, &chunks, self.registry)?;
        }
        let codecs = chain::write(&chain, &data, chunks.len())?;
        let mut grid = shards.clone().unwrap_or_else(|| chunks.clone());
        let (levels, chain) = var::unfold(chain, &mut grid);
        let told = self.flavour == Flavour::Zarr && is_told_by_array(data.dtype.kind);
        let value = match &var.fill {
            VarFill::Value(value) => Some(value.clone()),
            VarFill::Default => nczarr_model::fill::default(var.xtype),
            // V3 has no array without one, and other readers see it where chunks are absent: zeros, unless the array's own
            // tells what the attribute is.
            VarFill::NoFill => var.atts.get(FILL_VALUE).filter(|_| told).cloned(),
        };
        let value = match &user {
            Some((ty, form)) => user::stored_fill(model, var, *ty, form)?,
            None => value,
        };
        stored.absent = value.clone().filter(|_| var.fill == VarFill::NoFill && user.is_none());
        let given = stored.given.as_ref().filter(|given| given.of(model, var.xtype, var.endian).is_some());
        let fill = match (&value, given) {
            (value, Some(given)) => given.fill(value.as_ref(), &data),
            (Some(value), None) => fill::write(value, &data),
            (None, None) => fill::zero(&data),
        };
        let text = match (dtype.kind, given) {
            (Kind::Text(width), _) => types::raw_text(width),
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
            order: nczarr_chunkio::Order::C,
            separator: self.separator,
            prefix: true,
            codecs: Vec::new(),
            v3: Some(Described { data_type: text, codecs }),
            raw: Object::new(),
        });
        Ok(())
    }

    /// Whether a variable can have these filters, as far as it is defined.
    ///
    /// # Errors
    /// `NC_EFILTER` if not; what else [`Planning::plan_v3`] says.
    pub(crate) fn check_filters_v3(
        &self,
        model: &Model,
        id: VarId,
        specs: &[FilterSpec],
        given: Option<&Given>,
    ) -> Result<()> {
        let data = self.data_type(model, id, given)?;
        let chunks = self.chunks(model, id, &data.dtype)?;
        let asked =
            specs.iter().map(|spec| plan::instance(spec, self.format, self.registry)).collect::<Result<Vec<_>>>()?;
        let filters = filters::interoperable(&asked, data.dtype.item_size().unwrap_or(1), self.registry)?;
        let chain = Chain { filters: bound(&filters, &data.dtype, &chunks)?, ..Chain::default() };
        chain::write(&chain, &data, chunks.len()).map(drop)
    }

    /// The index of a shard is read as a whole, so that its size has a limit.
    fn check_index(&self, shards: &[u64], chunks: &[u64]) -> Result<()> {
        let limit = self.options.limits.chunk;
        let counts = shards.iter().zip(chunks).map(|(shard, chunk)| shard / chunk);
        match counts.fold(INDEX_ENTRY, u64::saturating_mul).saturating_add(CHECKSUM_BYTES) {
            bytes if bytes <= limit => Ok(()),
            bytes => Err(ErrorKind::BadChunk.context(format!(
                "shards of {shards:?} with chunks of {chunks:?}: the index of one takes {bytes} bytes, the limit is {limit}"
            ))),
        }
    }

    /// The type a new variable is stored as: strings of a length that is set are bytes, all others text of any length.
    /// `given`: the type that was handed over with its definition.
    fn data_type(&self, model: &Model, id: VarId, given: Option<&Given>) -> Result<DataType> {
        let var = model.var(id)?;
        if let Some(data) = given.and_then(|given| given.of(model, var.xtype, var.endian)) {
            return Ok(data);
        }
        let root = model.group(GroupId::ROOT).ok().and_then(|root| root.atts.get(DEFAULT_MAXSTRLEN));
        let width = var.atts.get(MAXSTRLEN).and_then(plan::maxstrlen).or_else(|| root.and_then(plan::maxstrlen));
        let (dtype, variable) = match (var.xtype, width) {
            (NcType::String, Some(width)) if self.flavour == Flavour::NcZarr => {
                (DType::from_name(&format!("|S{width}")), None)
            }
            (NcType::String, _) => (DType::from_name("|O"), Some(Variable::Text)),
            (NcType::Char, _) => (DType::from_name(">S1"), None),
            (NcType::User(ty), _) if self.flavour == Flavour::NcZarr => {
                let form = user::new_form(model, var, ty, self.format, self.registry)?;
                (form.dtype, form.variable)
            }
            _ => (self.dtype(model, var, 1)?, None),
        };
        let big_endian = dtype.big_endian && dtype.item_size() != Some(1);
        Ok(DataType { dtype: DType { big_endian, ..dtype }, variable, is_core_raw: false })
    }
}

/// Whether an array that was read is laid out as one that was planned: type, chunks, their keys, codecs.
pub(crate) fn is_same_layout(planned: &ArrayMeta, read: &ArrayMeta) -> bool {
    // Not every spelling of the same is ours.
    let ours = |name: &str, value: Json| read.raw.get(name) == Some(&value);
    let sizes = |sizes: &[u64]| Json::Array(sizes.iter().map(|&size| Json::int(size)).collect());
    let separator = Json::string(planned.separator);
    planned.v3 == read.v3
        && ours(
            "chunk_grid",
            types::configured("regular", [("chunk_shape", sizes(planned.shards.as_ref().unwrap_or(&planned.chunks)))]),
        )
        && ours("chunk_key_encoding", types::configured("default", [("separator", separator)]))
}

/// The shape of the shards, if there are to be some. Chunks whose shape nobody asked for are no longer than a shard, and shards
/// are whole numbers of them.
fn shards(var: &Var, chunks: &mut [u64]) -> Option<Vec<u64>> {
    let mut shards = var.shards.clone().filter(|shards| shards.len() == chunks.len() && !chunks.is_empty())?;
    let chosen = !matches!(var.chunking, Chunking::Chunked(_));
    for (shard, chunk) in shards.iter_mut().zip(chunks) {
        if chosen {
            *chunk = (*chunk).min(*shard);
        }
        *shard = shard.checked_next_multiple_of(*chunk).unwrap_or(*chunk);
    }
    Some(shards)
}

/// A chain whose chunks lie in shards: an index behind the chunks, with a checksum.
fn in_shards(chain: Chain, chunks: &[u64], registry: &Registry) -> Result<Chain> {
    let checksum = json!({"name": "crc32c"});
    let index = Index {
        order: Order::C,
        big_endian: false,
        filters: vec![registry.filter("crc32c")?.parse_json(&checksum, ZarrFormat::V3)?],
        extra: CHECKSUM_BYTES,
        at_start: false,
    };
    let big_endian = chain.big_endian;
    let shards = Shards { chunk_shape: chunks.to_vec(), chain, index };
    Ok(Chain { big_endian, shards: Some(Box::new(shards)), ..Chain::default() })
}

/// The filters with all that they learn of such chunks.
fn bound(filters: &[Box<dyn Filter>], dtype: &DType, chunks: &[u64]) -> Result<Vec<Box<dyn Filter>>> {
    let mut entering = dtype.item_type();
    let item = dtype.item_size().unwrap_or(1);
    let number = |size: u64| usize::try_from(size).unwrap_or(usize::MAX);
    let mut codecs = Vec::with_capacity(filters.len());
    for filter in filters {
        plan::check_item(&**filter, entering)?;
        let mut filter = filter.clone();
        filter.bind(&ChunkInfo {
            item_size: item,
            chunk_bytes: number(chunk_bytes(chunks, item as u64)),
            elements: number(chunk_bytes(chunks, 1)),
            row: chunks.last().map_or(1, |&row| number(row)),
            array_row: None,
            big_endian: dtype.big_endian,
            item: entering,
        })?;
        entering = filter.encoded_item();
        codecs.push(filter);
    }
    Ok(codecs)
}
