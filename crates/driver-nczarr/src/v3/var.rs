//! One array of Zarr V3 as a variable: everything but its dimensions, as `var` has it for V2.

use std::sync::Arc;

use nczarr_chunkio::{ShardIndex, ShardSpec};
use nczarr_dispatch::Key;
use nczarr_model::{Chunking, ErrorKind, NcType, Result, Values, Var, VarFill};

use super::chain::{Chain, Index, Shards};
use super::document::{self, Document, ZARR_JSON};
use super::{fill, filters, keys};
use crate::annotation;
use crate::attrs::{ARRAY_DIMENSIONS, FILL_VALUE, NCZARR_ARRAY};
use crate::dtype::Kind;
use crate::flavour::Naming;
use crate::json::{Members, Value};
use crate::lists;
use crate::types;
use crate::user;
use crate::var::{Built, Links, Reading, Stored, note, present, times};

/// The variable of the array at `key`, from its document.
pub(crate) fn build(key: &Key, found: Result<&Value<'_>>, reading: &Reading<'_>) -> Built {
    let mut var = Var { chunking: Chunking::Default, ..Var::default() };
    let mut shared = Arc::<Stored>::default();
    let stored = Arc::make_mut(&mut shared);
    let mut links = Links::None;
    let place = || key.join(ZARR_JSON).map_or_else(|_| ZARR_JSON.to_owned(), |key| key.to_string());
    match found {
        Err(error) => note(&mut var, error),
        Ok(found) => {
            let attrs = document::attributes(found).map(|attrs| attrs.cloned().unwrap_or_default());
            let (mut attrs, extra) = match attrs.and_then(|attrs| keys::array(&attrs)) {
                Ok(read) => read,
                Err(error) => {
                    stored.attrs_lost = true;
                    note(&mut var, error.at(place()));
                    (Members::new(), keys::Extra::default())
                }
            };
            let extra = if reading.naming == Naming::References { extra } else { keys::annotated(&attrs) };
            match document::read(found, reading.limits.rank, reading.keep, reading.registry) {
                Ok(mut document) => {
                    extra.apply(&mut document.data);
                    keys::plain_fill(&mut attrs, &document.data, &extra);
                    links = self::links(&attrs, &document, reading);
                    fill_in(&mut var, stored, document, &attrs, &extra, reading, &place);
                }
                Err(error) => {
                    stored.document = reading.keep.then(|| found.clone().into_owned());
                    // They stand in the same document.
                    stored.attrs_lost = true;
                    note(&mut var, error.at(place()));
                    var.atts = present(&attrs, None, 0);
                }
            }
            if reading.naming == Naming::References {
                stored.typed = user::typed_atts(&attrs);
            }
            if reading.keep {
                stored.attrs = attrs.into_owned();
            }
        }
    }
    Built { var: Arc::new(var), stored: shared, links }
}

/// What the array says of its dimensions: NCZarr's references count, then the names of V3, then those of xarray.
fn links(attrs: &Members<'_>, document: &Document<'_, '_>, reading: &Reading<'_>) -> Links {
    if reading.naming == Naming::None {
        return Links::None;
    }
    if reading.naming == Naming::References && attrs.contains_key(NCZARR_ARRAY) {
        return Links::References(lists::references(attrs, None).map(|found| found.map(Box::new)));
    }
    let mut names = document.names.clone();
    let older = attrs.get(ARRAY_DIMENSIONS).and_then(Value::as_array).filter(|older| older.len() == names.len());
    if let (true, Some(older)) = (names.iter().all(Option::is_none), older) {
        names = older.iter().map(|name| name.as_str().map(str::to_owned)).collect();
    }
    Links::Names(names)
}

fn fill_in(
    var: &mut Var,
    stored: &mut Stored,
    document: Document<'_, '_>,
    attrs: &Members<'_>,
    extra: &keys::Extra,
    reading: &Reading<'_>,
    place: &dyn Fn() -> String,
) {
    let Document { mut meta, mut data, chain, fill, problem, .. } = document;
    stored.told_name = extra.named;
    let is_nczarr = reading.naming == Naming::References;
    let units = times(&mut data.dtype, reading.counted_times);
    let dtype = &data.dtype;
    var.endian = dtype.endian();
    var.xtype = if chain.innermost().list.is_some() { types::UNDEFINED } else { dtype.xtype().unwrap_or(NcType::Byte) };
    var.stored_type = match dtype.kind {
        Kind::Text(_) if !is_nczarr => Some(dtype.text.clone()),
        // Text of any length is what a string is here.
        Kind::Object => None,
        _ => dtype.foreign_name(),
    };
    var.atts = present(attrs, Some(dtype), 0);
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
    if dtype.kind == Kind::Other {
        note(
            var,
            ErrorKind::BadType.context(format!("member \"data_type\": type {} cannot be read", dtype.text)).at(place()),
        );
    }
    if let Some(error) = problem.as_ref().or_else(|| chain.first_problem()) {
        note(var, error.clone().at(place()));
    }
    if dtype.kind != Kind::Other {
        match fill::read(fill, &data).map(|fill| fill.map(char_fill)) {
            Ok(None) => var.fill = VarFill::NoFill,
            // Those of a user-defined type are zeros. Others are read as what every reader sees.
            Ok(Some(value)) if extra.no_fill && (user::is_typed(attrs) || is_zero(&value)) => {
                stored.absent = Some(value).filter(|value| value.nc_type().is_atomic() && !user::is_typed(attrs));
                var.fill = VarFill::NoFill;
            }
            Ok(Some(value)) if Some(&value) == nczarr_model::fill::default(var.xtype).as_ref() => {
                var.fill = VarFill::Default
            }
            Ok(Some(value)) => var.fill = VarFill::Value(value),
            Err(error) => note(var, error.at(place())),
        }
    }
    // What a user-defined type makes of it is seen when that is known.
    if is_nczarr && var.xtype.is_atomic() && !user::is_typed(attrs) && !extra.unwritten || extra.implied {
        imply_fill(var, stored, extra.implied);
    }
    let item = dtype.item_size().unwrap_or(1);
    var.filters = filters::presented(&chain, extra.filters.as_deref(), item, reading.registry);
    let outermost = meta.chunks.clone();
    let (shards, chain) = unfold(chain, &mut meta.chunks);
    meta.order.clone_from(&chain.order);
    // A scalar's shard holds one chunk, and has no shape.
    meta.shards = (!shards.is_empty() && !outermost.is_empty()).then_some(outermost);
    var.shards.clone_from(&meta.shards);
    stored.shards = shards;
    var.chunking = Chunking::Chunked(meta.chunks.clone());
    stored.list = chain.list;
    stored.element.clone_from(&chain.element);
    stored.filters = chain.filters;
    meta.dtype = data.dtype;
    stored.meta = Some(meta);
}

/// The levels of shards of a chain, the outermost first, and the chain of the innermost chunks, whose shape `chunks` is
/// afterwards.
pub(super) fn unfold(mut chain: Chain, chunks: &mut Vec<u64>) -> (Vec<ShardSpec>, Chain) {
    let mut levels = Vec::new();
    while let Some(shards) = chain.shards.take() {
        let Shards { chunk_shape, chain: inner, index } = *shards;
        let Index { order, big_endian, filters, extra, at_start } = index;
        levels.push(ShardSpec {
            // Each a divisor of the shard's, and at least 1.
            counts: chunks.iter().zip(&chunk_shape).map(|(of, size)| of / size.max(&1)).collect(),
            order: chain.order,
            index: ShardIndex { order, big_endian, filters, extra, at_start },
            filters: chain.filters,
        });
        *chunks = chunk_shape;
        chain = inner;
    }
    (levels, chain)
}

/// Whether a fill value is what there is without one.
fn is_zero(value: &Values) -> bool {
    match value {
        Values::String(list) | Values::Packed(_, list) => list.iter().all(|element| element.as_bytes().is_empty()),
        Values::User(_, bytes) => bytes.iter().all(|&byte| byte == 0),
        number => number.to_native_bytes().is_some_and(|bytes| bytes.iter().all(|&byte| byte == 0)),
    }
}

/// In NCZarr the fill value of an array is its variable's, whatever an attribute says; one that is not the type's
/// default is shown.
fn imply_fill(var: &mut Var, stored: &mut Stored, implied: bool) {
    let value = match &var.fill {
        VarFill::Value(value) => value,
        VarFill::NoFill if implied => match &stored.absent {
            Some(value) => value,
            None => return,
        },
        VarFill::Default | VarFill::NoFill => return,
    };
    if var.atts.get(FILL_VALUE) != Some(value) {
        let told = var.atts.insert(FILL_VALUE.to_owned(), value.clone()).is_some();
        stored.implied_fill = (!told).then(|| value.clone());
    }
}
