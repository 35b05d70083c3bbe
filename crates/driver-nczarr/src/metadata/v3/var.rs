//! Builds the variable of a Zarr V3 array, except for its dimensions; the counterpart of `var` for V2.

use std::sync::Arc;

use nczarr_chunkio::{ShardIndexSpec, ShardSpec};
use nczarr_model::{Chunking, Error, ErrorKind, NcType, Result, Values, Var, VarFill};
use nczarr_storage::Key;

use super::chain::{CodecChain, ShardIndexCodecs, ShardingCodec};
use super::document::{self, ArrayDocument, ZARR_JSON};
use super::{fill, filters, keys};
use crate::flavour::annotation;
use crate::flavour::kind::DimNaming;
use crate::flavour::nczarr_lists;
use crate::metadata::attributes::{ARRAY_DIMENSIONS, FILL_VALUE, NCZARR_ARRAY};
use crate::metadata::json::{ObjectMembers, Value};
use crate::metadata::members::at_document;
use crate::metadata::types::dtype::DTypeKind;
use crate::metadata::types::foreign;
use crate::metadata::v2::array_meta::{ArrayMeta, V3Description};
use crate::metadata::v2::var::{show_times, shown_attributes};
use crate::metadata::variable::{DimRefs, ReadContext, StoredVariable, VariableDraft, set_problem};
use crate::user;

/// Builds the variable of the array at `key` from its document.
pub(crate) fn build(key: &Key, found: Result<&Value<'_>>, reading: &ReadContext<'_>) -> VariableDraft {
    let mut var = Var { chunking: Chunking::Default, ..Var::default() };
    let mut shared = Arc::<StoredVariable>::default();
    let stored = Arc::make_mut(&mut shared);
    let mut links = DimRefs::None;
    let at = |error: Error| at_document(error, key, ZARR_JSON);
    match found {
        Err(error) => set_problem(&mut var, error),
        Ok(found) => {
            let none = ObjectMembers::new();
            let attrs = document::attributes(found).map(|attrs| attrs.unwrap_or(&none));
            let (mut attrs, extra) = match attrs.and_then(keys::array) {
                Ok(read) => read,
                Err(error) => {
                    stored.attrs_lost = true;
                    set_problem(&mut var, at(error));
                    (ObjectMembers::new(), keys::ArrayKeys::default())
                }
            };
            let extra =
                if reading.naming == DimNaming::References { extra } else { keys::annotation_keys(&attrs) };
            match document::read(found, reading.limits.rank, reading.registry) {
                Ok(mut document) => {
                    extra.apply(&mut document.data);
                    keys::plain_fill(&mut attrs, &document.data, &extra);
                    links = self::links(&attrs, std::mem::take(&mut document.names), reading);
                    let mut meta = fill_in(&mut var, stored, document, &attrs, &extra, reading, &at);
                    if reading.keep {
                        meta.raw = document::without_attributes(found);
                    }
                    stored.meta = Some(meta);
                }
                Err(error) => {
                    stored.document = reading.keep.then(|| found.clone().into_owned());
                    // The attributes are in the same document.
                    stored.attrs_lost = true;
                    set_problem(&mut var, at(error));
                    var.atts = shown_attributes(&attrs, None, 0);
                }
            }
            if reading.naming == DimNaming::References {
                stored.typed = user::typed_atts(&attrs);
            }
            if reading.keep {
                stored.attrs = attrs.into_owned();
            }
        }
    }
    VariableDraft { var: Arc::new(var), stored: shared, dim_refs: links }
}

/// Returns the dimension references: NCZarr's, else V3's `names`, else xarray's.
fn links(attrs: &ObjectMembers<'_>, mut names: Vec<Option<String>>, reading: &ReadContext<'_>) -> DimRefs {
    if reading.naming == DimNaming::None {
        return DimRefs::None;
    }
    if reading.naming == DimNaming::References && attrs.contains_key(NCZARR_ARRAY) {
        return DimRefs::References(nczarr_lists::references(attrs, None).map(|found| found.map(Box::new)));
    }
    let older =
        attrs.get(ARRAY_DIMENSIONS).and_then(Value::as_array).filter(|older| older.len() == names.len());
    if let (true, Some(older)) = (names.iter().all(Option::is_none), older) {
        names = older.iter().map(|name| name.as_str().map(str::to_owned)).collect();
    }
    DimRefs::Names(names)
}

/// Fills in the variable from its document; returns the layout.
fn fill_in(
    var: &mut Var,
    stored: &mut StoredVariable,
    document: ArrayDocument<'_, '_>,
    attrs: &ObjectMembers<'_>,
    extra: &keys::ArrayKeys,
    reading: &ReadContext<'_>,
    at: &dyn Fn(Error) -> Error,
) -> ArrayMeta {
    let ArrayDocument { shape, mut chunks, axes, prefix, separator, .. } = document;
    let ArrayDocument { data_type, codecs, fill, mut data, chain, problem, .. } = document;
    stored.has_true_name = extra.has_true_name;
    let is_nczarr = reading.naming == DimNaming::References;
    let units = show_times(&mut data.dtype, reading.counted_times);
    let dtype = &data.dtype;
    var.endian = dtype.endian();
    var.xtype = if chain.innermost().list.is_some() {
        foreign::UNDEFINED
    } else {
        dtype.xtype().unwrap_or(NcType::Byte)
    };
    var.stored_type = match dtype.kind {
        DTypeKind::Text(_) if !is_nczarr => Some(dtype.text.clone()),
        // Text of any length is simply a string.
        DTypeKind::Object => None,
        _ => dtype.foreign_name(),
    };
    var.atts = shown_attributes(attrs, Some(dtype), 0);
    var.atts.extend(units);
    let is_char = !is_nczarr && annotation::is_char(attrs, dtype.kind);
    let char_fill = |value| if is_char { annotation::char_fill(value) } else { value };
    if is_char {
        var.xtype = NcType::Char;
        var.stored_type = None;
        if let Some(fill) = var.atts.get_mut(FILL_VALUE) {
            *fill = annotation::char_fill(fill.clone());
        }
    }
    var.quantize = nczarr_chunkio::rounding(&var.atts);
    if dtype.kind == DTypeKind::Other {
        let unknown = || ErrorKind::BadType.context(format!("type {} is not supported", dtype.text));
        set_problem(var, at(data.problem.take().unwrap_or_else(unknown).at("member \"data_type\"")));
    }
    if let Some(error) = problem.as_ref().or_else(|| chain.first_problem()) {
        set_problem(var, at(error.clone()));
    }
    if dtype.kind != DTypeKind::Other {
        match fill::read(fill, &data).map(|fill| fill.map(char_fill)) {
            Ok(None) => var.fill = VarFill::NoFill,
            // User-defined types have zeros. Other types read as the stored value that every reader sees.
            Ok(Some(value)) if extra.no_fill && (user::is_typed(attrs) || is_zero(&value)) => {
                stored.absent_value =
                    Some(value).filter(|value| value.nc_type().is_atomic() && !user::is_typed(attrs));
                var.fill = VarFill::NoFill;
            }
            Ok(Some(value)) if value.nc_type() == var.xtype && nczarr_model::fill::is_default(&value) => {
                var.fill = VarFill::Default
            }
            Ok(Some(value)) => var.fill = VarFill::Value(value),
            Err(error) => set_problem(var, at(error)),
        }
    }
    // The fill value of a user-defined type is resolved with the type.
    if is_nczarr && var.xtype.is_atomic() && !user::is_typed(attrs) && !extra.unwritten || extra.implied {
        imply_fill(var, stored, extra.implied);
    }
    let item = dtype.item_size().unwrap_or(1);
    var.filters = filters::shown_filters(&chain, extra.filters.as_deref(), item, reading.registry);
    // The shard of a scalar holds one chunk and has no shape.
    let shards = (chain.shards.is_some() && !chunks.is_empty()).then(|| chunks.clone());
    var.shards.clone_from(&shards);
    let (levels, chain) = unfold(chain, &mut chunks);
    stored.shards = levels;
    var.chunking = Chunking::Chunked(chunks.clone());
    stored.list = chain.list;
    stored.element = chain.element;
    stored.filters = chain.filters;
    let own = |value: &Value<'_>| value.clone().into_owned();
    ArrayMeta {
        shape,
        chunks,
        axes,
        shards,
        dtype: data.dtype,
        fill: if reading.keep { own(fill) } else { Value::Null },
        order: chain.order,
        separator,
        prefix,
        codecs: Vec::new(),
        v3: reading.keep.then(|| V3Description { data_type: own(data_type), codecs: own(codecs) }),
        raw: ObjectMembers::new(),
    }
}

/// Returns the levels of shards, outermost first, and the chain of the innermost chunks. Sets `chunks` to
/// their shape.
pub(super) fn unfold(mut chain: CodecChain, chunks: &mut Vec<u64>) -> (Vec<ShardSpec>, CodecChain) {
    let mut levels = Vec::new();
    while let Some(shards) = chain.shards.take() {
        let ShardingCodec { chunk_shape, chain: inner, index } = *shards;
        let ShardIndexCodecs { order, big_endian, filters, extra, at_start } = index;
        levels.push(ShardSpec {
            // `chain` has checked that each is at least 1 and divides the shard's.
            counts: chunks.iter().zip(&chunk_shape).map(|(of, size)| of / size.max(&1)).collect(),
            order: chain.order,
            index: ShardIndexSpec { order, big_endian, filters, extra, at_start },
            filters: chain.filters,
        });
        *chunks = chunk_shape;
        chain = inner;
    }
    (levels, chain)
}

/// Whether a fill value is zero or empty.
fn is_zero(value: &Values) -> bool {
    match value {
        Values::String(list) | Values::Packed(_, list) => {
            list.iter().all(|element| element.as_bytes().is_empty())
        }
        Values::User(_, bytes) => bytes.iter().all(|&byte| byte == 0),
        number => number.to_native_bytes().is_some_and(|bytes| bytes.iter().all(|&byte| byte == 0)),
    }
}

/// Shows the array's fill value as `_FillValue`, whatever the stored attribute is, unless it is the type's
/// default.
fn imply_fill(var: &mut Var, stored: &mut StoredVariable, implied: bool) {
    let value = match &var.fill {
        VarFill::Value(value) => value,
        VarFill::NoFill if implied => match &stored.absent_value {
            Some(value) => value,
            None => return,
        },
        VarFill::Default | VarFill::NoFill => return,
    };
    if var.atts.get(FILL_VALUE) != Some(value) {
        let had_fill = var.atts.insert(FILL_VALUE.to_owned(), value.clone()).is_some();
        stored.implied_fill = (!had_fill).then(|| value.clone());
    }
}
