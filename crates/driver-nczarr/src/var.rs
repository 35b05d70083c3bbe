//! One array as a variable: everything but its dimensions, which are the flavours' business.
//!
//! [`build`] turns an array's documents into a [`Var`] and what must be remembered to read its data and to write
//! the documents back ([`Stored`]). Whatever cannot be understood becomes the variable's `problem`: it is listed,
//! and reading its data is that error.

use dispatch::{ChunkInfo, ElementCodec, Filter, Key, Limits, Registry, ZarrFormat};
use model::{Att, Chunking, Error, ErrorKind, FilterSpec, NcType, Quantize, Result, Scalar, Values, Var, VarFill};

use crate::attrs::{self, FILL_VALUE};
use crate::dtype::{DType, Kind};
use crate::fill::{self, TextFill};
use crate::json::{Json, Object, text};
use crate::lists;
use crate::meta::{ArrayMeta, codec_id};
use crate::quantize;
use crate::tree::RawArray;

/// The size of a string to netCDF-C: that of a pointer.
pub(crate) const STRING_ITEM: usize = 8;

/// How documents are to be understood.
pub(crate) struct Reading<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) limits: &'a Limits,
    /// NCZarr's spelling of text fills, not the specification's.
    pub(crate) plain_fill: bool,
    /// Text of one byte that is marked so is char, not string.
    pub(crate) char_mark: bool,
    /// Multi-byte elements are little-endian whatever their type says: a defect of the library that wrote them.
    pub(crate) swapped: bool,
}

/// What is remembered of a variable beside the model.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    /// What its `.zarray` says; `None` if that could not be understood, or is not decided yet.
    pub(crate) meta: Option<ArrayMeta>,
    /// Its `.zattrs`.
    pub(crate) attrs: Object,
    /// Its `.zattrs` could not be read and so must not be replaced.
    pub(crate) attrs_lost: bool,
    /// Its `.zarray`, if that could not be understood.
    pub(crate) document: Option<Json>,
    /// The names of its dimensions as they were loaded: as long as they are the same, the stored ones stay.
    pub(crate) dim_names: Option<Vec<String>>,
    /// The filters of its chunks, in the order of encoding.
    pub(crate) filters: Vec<Box<dyn Filter>>,
    /// What makes bytes of elements of variable length.
    pub(crate) element: Option<Box<dyn ElementCodec>>,
    /// A fill value presented as an attribute although none is stored.
    pub(crate) implied_fill: Option<Values>,
}

/// The variable of an array, and what is remembered of it. Group, dimensions and the order of attributes are left.
pub(crate) fn build(raw: RawArray, reading: &Reading<'_>) -> (Var, Stored, Key) {
    let RawArray { key, name, zarray, attrs } = raw;
    let mut var = Var { name, chunking: Chunking::Default, ..Var::default() };
    let mut stored = Stored::default();
    match attrs {
        Ok(found) => stored.attrs = found.unwrap_or_default(),
        Err(error) => {
            stored.attrs_lost = true;
            note(&mut var, error);
        }
    }
    let meta = zarray.and_then(|document| {
        let meta = ArrayMeta::parse(&document, reading.limits.rank);
        meta.map_err(|error| {
            stored.document = Some(document);
            error.at(format_args!("{key}/.zarray"))
        })
    });
    match meta {
        Ok(mut meta) => {
            if reading.swapped {
                meta.dtype.big_endian = false;
            }
            if !reading.char_mark && meta.dtype.kind == Kind::Char {
                meta.dtype.kind = Kind::Text(1);
            }
            fill_in(&mut var, &mut stored, &meta, &key, reading);
            stored.meta = Some(meta);
        }
        Err(error) => {
            note(&mut var, error);
            var.atts = present(&stored.attrs, None);
        }
    }
    (var, stored, key)
}

/// Keeps the first problem.
pub(crate) fn note(var: &mut Var, error: Error) {
    var.problem.get_or_insert(error);
}

fn fill_in(var: &mut Var, stored: &mut Stored, meta: &ArrayMeta, key: &Key, reading: &Reading<'_>) {
    let at = |error: Error| error.at(format_args!("{key}/.zarray"));
    let dtype = &meta.dtype;
    // A type of some size for what has none of ours: nothing is ever read with it.
    var.xtype = dtype.xtype().unwrap_or(NcType::Byte);
    var.stored_type = dtype.foreign_name();
    if !reading.plain_fill && matches!(dtype.kind, Kind::Text(_)) {
        // What the length of strings is in NCZarr, attributes say.
        var.stored_type = Some(dtype.text.clone());
    }
    // What is presented is what the dataset means, also where its writer stored something else.
    var.endian = DType::from_name(&dtype.text).endian();
    var.chunking = Chunking::Chunked(meta.chunks.clone());
    var.atts = present(&stored.attrs, Some(dtype));
    var.quantize = rounding(&var.atts);
    if dtype.kind == Kind::Other {
        note(var, at(ErrorKind::BadType.context(format!("member \"dtype\": type {} cannot be read", dtype.text))));
    }
    if let Err(error) = codecs(var, stored, meta, reading) {
        note(var, at(error));
    }
    if dtype.kind != Kind::Other {
        let attribute = stored.attrs.get(FILL_VALUE).and_then(Json::as_str);
        let form = if reading.plain_fill { TextFill::Plain } else { TextFill::Standard(attribute) };
        match fill::parse(&meta.fill, dtype, form) {
            Ok(None) => var.fill = VarFill::NoFill,
            Ok(Some(value)) if Some(&value) == model::fill::default(var.xtype).as_ref() => var.fill = VarFill::Default,
            Ok(Some(value)) => var.fill = VarFill::Value(same_nan(value, var.atts.get(FILL_VALUE))),
            Err(error) => note(var, at(error)),
        }
    }
}

/// The fill value of an array; if it is NaN, the one that the attribute is.
fn same_nan(value: Values, attribute: Option<&Values>) -> Values {
    let is_nan = |values: &Values| match values {
        Values::Float(v) => matches!(v[..], [v] if v.is_nan()),
        Values::Double(v) => matches!(v[..], [v] if v.is_nan()),
        _ => false,
    };
    match attribute.filter(|same| same.nc_type() == value.nc_type() && is_nan(same)) {
        Some(same) if is_nan(&value) => same.clone(),
        _ => value,
    }
}

/// The attributes to show. `dtype`: the variable's, which its `_FillValue` has whatever was recorded.
pub(crate) fn present(attrs: &Object, dtype: Option<&DType>) -> Att {
    let shown = attrs.iter().filter(|(name, _)| !attrs::is_reserved(name));
    shown.map(|(name, value)| (name.clone(), present_one(attrs, name, value, dtype))).collect()
}

/// One attribute, likewise.
pub(crate) fn present_one(attrs: &Object, name: &str, value: &Json, dtype: Option<&DType>) -> Values {
    let fill =
        dtype.filter(|_| name == FILL_VALUE).and_then(|dtype| fill::parse(value, dtype, TextFill::Plain).ok()?);
    let values = fill.unwrap_or_else(|| attrs::read(value, lists::recorded(attrs, name)));
    attrs::nan::restore(values, lists::nans(attrs, name))
}

/// How the values of a variable were rounded, as its attributes tell.
fn rounding(atts: &Att) -> Option<Quantize> {
    quantize::ATTRIBUTES.iter().find_map(|(name, kind)| match atts.get(*name)?.scalar(0)? {
        Scalar::Int(kept) => Some(kind(kept.try_into().ok()?)),
        Scalar::Float(_) => None,
    })
}

/// The element codec and the filters.
fn codecs(var: &mut Var, stored: &mut Stored, meta: &ArrayMeta, reading: &Reading<'_>) -> Result<()> {
    let mut codecs = meta.codecs.iter();
    let mut first_error = Ok(());
    if meta.dtype.kind == Kind::Object {
        let codec = codecs.next().ok_or_else(|| {
            ErrorKind::BadType.context("member \"filters\": type |O wants an object codec, found none")
        })?;
        let id = codec_id(codec)?;
        if id == "vlen-utf8" {
            stored.element = Some(reading.registry.element(id)?.parse(&codec_json(codec))?);
        } else {
            // Its elements are no strings.
            first_error = Err(ErrorKind::BadType
                .context(format!("member \"filters\": type {} with codec {id:?} cannot be read", meta.dtype.text)));
        }
    }
    for codec in codecs {
        let mut spec =
            FilterSpec { name: codec_id(codec)?.to_owned(), codec: Some(text(codec)), ..FilterSpec::default() };
        match filter(codec, reading.registry) {
            Ok(filter) => {
                spec.hdf5_id = filter.info().hdf5_id;
                spec.name = filter.info().name.to_owned();
                spec.params = filter.params().into_owned();
                let filter = match meta.dtype.kind {
                    Kind::Text(_) => settled(filter, &meta.dtype, &meta.chunks, reading.registry).map(|pair| pair.0),
                    _ => Ok(filter),
                };
                match filter {
                    Ok(filter) => stored.filters.push(filter),
                    Err(error) => first_error = first_error.and(Err(error)),
                }
            }
            Err(error) => first_error = first_error.and(Err(error)),
        }
        var.filters.push(spec);
    }
    first_error
}

/// The filter of a codec description.
pub(crate) fn filter(codec: &Json, registry: &Registry) -> Result<Box<dyn Filter>> {
    let id = codec_id(codec)?;
    let class = registry.filter(id).map_err(|error| error.at(format_args!("codec {id:?}")))?;
    class
        .parse_json(&codec_json(codec), ZarrFormat::V2)
        .map_err(|error| error.at(format_args!("codec {}", text(codec))))
}

/// A filter as the engine gets it, and its description with all that it learns of such chunks.
pub(crate) fn settled(
    filter: Box<dyn Filter>,
    dtype: &DType,
    chunks: &[u64],
    registry: &Registry,
) -> Result<(Box<dyn Filter>, Json)> {
    let item = dtype.item_size().unwrap_or(1);
    let text = matches!(dtype.kind, Kind::Text(_));
    let mut bound = filter.clone();
    bound.bind(&ChunkInfo {
        // To netCDF-C, and so to its shuffle, a string is a pointer, however many bytes are stored of it.
        item_size: if text { STRING_ITEM } else { item },
        chunk_bytes: usize::try_from(chunk_bytes(chunks, item as u64)).unwrap_or(usize::MAX),
        row: chunks.last().map_or(1, |&row| usize::try_from(row).unwrap_or(usize::MAX)),
        big_endian: dtype.big_endian,
    })?;
    let codec = Json::from_serde(&bound.to_json(ZarrFormat::V2));
    // The engine tells filters how many bytes are stored: what is described is what holds.
    let filter = if text { self::filter(&codec, registry)? } else { filter };
    Ok((filter, codec))
}

/// Bytes of a decoded chunk; saturates.
pub(crate) fn chunk_bytes(chunks: &[u64], item: u64) -> u64 {
    chunks.iter().fold(item, |bytes, &len| bytes.saturating_mul(len))
}

/// A codec description for filters. Some versions wrote integer parameters as strings.
pub(crate) fn codec_json(codec: &Json) -> dispatch::Json {
    let mut codec = codec.clone();
    if let Json::Object(members) = &mut codec {
        for value in members.values_mut() {
            if let Json::String(number) = value
                && number.bytes().next().is_some_and(|byte| byte == b'-' || byte.is_ascii_digit())
                && let Some(number) = crate::json::integer(number)
            {
                *value = Json::int(number);
            }
        }
    }
    codec.to_serde()
}
